"""Holds one resource amount and reads it exactly as Kubernetes reads a quantity.

A Go quantity has two forms, and which one holds an amount can be seen from outside: the *fast* form is an int64
times a power of ten, and mostly yields 0 when its value leaves int64; the *exact* form is an arbitrary decimal whose
value wraps around. Both are kept here: 50E must read as 0, and a sum that overflows as kube-scheduler reads it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache, total_ordering
from typing import Final

from nodewise.errors import QuantityError

_MAX_INT64: Final = 2**63 - 1
_MIN_INT64: Final = -(2**63)
_NANO: Final = -9
_MILLI: Final = -3
# Amounts of more decimal digits than this keep only their sign, their size class and their last digits: enough for
# every int64 that can be read from them (10**64 is a multiple of 2**64), and time and memory stay bounded.
_MAX_DIGITS: Final = 2000
_KEPT_DIGITS: Final = 200
_HUGE: Final = 10**_MAX_DIGITS
_KEPT: Final = 10**_KEPT_DIGITS
# Enough fraction digits to tell any multiple of a nano-unit over 2**60 from its neighbours.
_BINARY_FRACTION_DIGITS: Final = 80
_WRAPPING_STEPS: Final = frozenset({1, 2, 3, 6, 9})
_CACHED_LENGTH: Final = 64

# Possessive, so that a megabyte of digits is read once.
_FORM: Final = re.compile(r"([+-]?+)(0*+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[-+]?+[0-9]*+)")
_EXPONENT: Final = re.compile(r"[eE]([+-]?)(?:0*+(?=[0-9]))?+([0-9]+)")
_DECIMAL_SUFFIXES: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIX_OF: Final = {exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}
# strings.TrimSpace, which the API applies to the text of a quantity; str.strip() also removes \x1c to \x1f.
_GO_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)

_WRONG_FORM: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_NUMBER: Final = "unable to parse numeric part of quantity"
_WRONG_SUFFIX: Final = "unable to parse quantity's suffix"


class QuantityFormat(Enum):
    """The notation a quantity is written back in."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


def _wrap(number: int, bits: int = 64) -> int:
    """Reduce to a two's complement integer, as Go arithmetic overflows."""
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def _power_of_ten(exponent: int) -> int:
    power: int = 10**exponent
    return power


def _is_int64(number: int) -> bool:
    return _MIN_INT64 <= number <= _MAX_INT64


def _clip(number: int) -> int:
    """Bound the size of an exact amount, keeping sign and low digits."""
    if -_HUGE < number < _HUGE:
        return number
    clipped = _HUGE + abs(number) % _KEPT
    return clipped if number > 0 else -clipped


def _times_power(number: int, power: int) -> int:
    """Return number * 10**power, clipped."""
    if number == 0 or power <= 2 * _MAX_DIGITS:
        return _clip(number * _power_of_ten(power)) if number else 0
    return _HUGE if number > 0 else -_HUGE


def _divide_away(number: int, power: int) -> int:
    """Return number / 10**power, rounded away from zero."""
    if number == 0:
        return 0
    if power > 2 * _MAX_DIGITS:
        return 1 if number > 0 else -1
    quotient = -(-abs(number) // _power_of_ten(power))
    return quotient if number > 0 else -quotient


def _scale_up_int64(number: int, power: int) -> int | None:
    """Return number * 10**power, or None when that leaves int64 (positiveScaleInt64)."""
    power = _wrap(power, 32)  # an exponent next to the int32 limit wraps, and then nothing is scaled
    if number == 0 or power <= 0:
        return number
    if power > 19:
        return None
    scaled = number * _power_of_ten(power)
    return scaled if _is_int64(scaled) else None


def _overflowing_scale_up(number: int, power: int) -> int:
    """Return number * 10**power as the Go product reads when its overflow goes unnoticed.

    The steps that positiveScaleInt64 multiplies at once leave the wrapped product, all others leave 0.
    """
    scaled = _scale_up_int64(number, power)
    if scaled is not None:
        return scaled
    return _wrap(number * _power_of_ten(power)) if power in _WRAPPING_STEPS and number != _MIN_INT64 else 0


@total_ordering
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quantity:
    """An amount `unscaled * 10**exponent`; equality, order and hash are those of the exact amount."""

    unscaled: int
    exponent: int = 0
    is_exact: bool = field(default=False, kw_only=True)
    format: QuantityFormat = QuantityFormat.DECIMAL_SI
    text: str = field(default="", kw_only=True)

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.unscaled > 0) - (self.unscaled < 0)

    def value(self) -> int:
        """Return what Go's Value() returns: units rounded up, 0 or wrapped when it leaves int64."""
        return self._scaled(0)

    def milli_value(self) -> int:
        """Return what Go's MilliValue() returns: thousandths rounded up, 0 or wrapped when it leaves int64."""
        return self._scaled(_MILLI)

    def round_up_milli(self) -> Quantity:
        """Round away from zero to thousandths, as the API's defaulting does to every resource list entry."""
        if not self.is_exact and self.exponent >= _MILLI:
            return self
        if self.exponent >= _MILLI:
            unscaled = _times_power(self.unscaled, self.exponent - _MILLI)
        else:
            unscaled = _divide_away(self.unscaled, _MILLI - self.exponent)
        return Quantity(unscaled, _MILLI, self.format, is_exact=self.is_exact)

    def as_exact(self) -> Quantity:
        """Return the same amount in the exact form (Go's ToDec())."""
        return Quantity(self.unscaled, self.exponent, self.format, is_exact=True)

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1 as this amount is less than, equal to or greater than the other."""
        if self.sign != other.sign or self.unscaled == 0:
            return (self.sign > other.sign) - (self.sign < other.sign)
        (mine, my_exponent), (theirs, their_exponent) = self._reduced(), other._reduced()
        gap = my_exponent - their_exponent
        if abs(gap) > 2 * _MAX_DIGITS:
            return self.sign if gap > 0 else -self.sign
        left, right = mine * _power_of_ten(max(gap, 0)), theirs * _power_of_ten(max(-gap, 0))
        return (left > right) - (left < right)

    def __add__(self, other: Quantity) -> Quantity:
        format_ = self.format if self.unscaled else other.format
        if not (self.is_exact or other.is_exact):
            total = self._fast_sum(other, format_)
            if total is not None:
                return total
        exponent = min(self.exponent, other.exponent)
        left = _times_power(self.unscaled, self.exponent - exponent)
        right = _times_power(other.unscaled, other.exponent - exponent)
        return Quantity(_clip(left + right), exponent, format_, is_exact=True)

    def __eq__(self, other: object) -> bool:
        return self.compare(other) == 0 if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __hash__(self) -> int:
        return hash(self._reduced())

    def __str__(self) -> str:
        """Return the canonical text (Go's String(), which keeps an already canonical text as written)."""
        if self.text:
            return self.text
        if self.unscaled == 0:
            return "0"
        if self.format is QuantityFormat.BINARY_SI and not Quantity(-1024) < self < Quantity(1024):
            unscaled, exponent = self._reduced()
            if exponent >= 0:
                return _base_1024_text(_times_power(unscaled, exponent))
        return self._decimal_text()

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _reduced(self) -> tuple[int, int]:
        """Return the one (unscaled, exponent) of this amount without trailing zeros."""
        unscaled, exponent = self.unscaled, self.exponent
        if unscaled == 0:
            return 0, 0
        while unscaled % 10 == 0:
            unscaled //= 10
            exponent += 1
        return unscaled, exponent

    def _fast_sum(self, other: Quantity, format_: QuantityFormat) -> Quantity | None:
        """Add two fast amounts, or return None when the sum leaves the fast form (int64Amount.Add)."""
        if other.unscaled == 0:
            return Quantity(self.unscaled, self.exponent, format_)
        if self.unscaled == 0:
            return Quantity(other.unscaled, other.exponent, format_)
        exponent = min(self.exponent, other.exponent)
        left = _scale_up_int64(self.unscaled, self.exponent - exponent)
        right = _scale_up_int64(other.unscaled, other.exponent - exponent)
        if left is None or right is None or not _is_int64(left + right):
            return None
        return Quantity(left + right, exponent, format_)

    def _scaled(self, exponent: int) -> int:
        """Return the amount in units of 10**exponent as int64 (Quantity.ScaledValue)."""
        shift = self.exponent - exponent
        if not self.is_exact:
            if shift < 0:
                return _divide_away(self.unscaled, -shift)
            return _overflowing_scale_up(self.unscaled, shift)
        if shift == 0:
            return _wrap(self.unscaled)
        if shift > 0:
            # int64(math.Pow10(19)) is already out of range, and reads as the least int64 on amd64
            factor = _power_of_ten(shift) if shift < 19 else _MIN_INT64
            return _wrap(_wrap(self.unscaled) * factor)
        divisor = _power_of_ten(-shift)
        if self.unscaled >= _MAX_INT64 or -shift >= 19:
            return _wrap(-(-self.unscaled // divisor))
        # scaledValue truncates here and then adds one, so negative amounts are not rounded like positive ones
        low = _wrap(self.unscaled)
        quotient = abs(low) // divisor * (1 if low >= 0 else -1)
        return quotient + 1 if low % divisor else quotient

    def _decimal_text(self) -> str:
        number, exponent = self._reduced()
        exponent = _wrap(exponent, 32)
        surplus = exponent % 3
        number, exponent = number * _power_of_ten(surplus), _wrap(exponent - surplus, 32)
        if self.format is QuantityFormat.DECIMAL_EXPONENT:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_DECIMAL_SUFFIX_OF.get(exponent, '')}"


def parse_quantity(raw: object) -> Quantity:
    """Read a quantity from its text or number.

    Parameters
    ----------
    raw
        The text, an int, or a finite float.

    Raises
    ------
    QuantityError
        When it is anything else, or text that Kubernetes does not accept.
    """
    if type(raw) is str:
        if len(raw) <= _CACHED_LENGTH:
            return _parse_cached(raw)
        return _parse(raw)
    if isinstance(raw, str):
        return _parse(str(raw))
    if isinstance(raw, int) and not isinstance(raw, bool):
        return _parse_cached(str(raw)) if _is_int64(raw) else _parse(str(_clip(raw)))
    if isinstance(raw, float) and math.isfinite(raw):
        return _parse_cached(repr(raw))
    found = repr(raw) if raw is None or isinstance(raw, (bool, float)) else f"a {type(raw).__name__}"
    raise QuantityError(found, "expected text or a number")


def _parse(text: str) -> Quantity:
    """Read trimmed text (ParseQuantity)."""
    trimmed = text.strip(_GO_SPACE)
    match = _FORM.fullmatch(trimmed)
    if not trimmed or match is None:
        raise _error(text, _WRONG_FORM)
    sign_text, zeros, whole, fraction, suffix = match.groups(default="")
    sign = -1 if sign_text == "-" else 1
    binary_power = _BINARY_SUFFIXES.get(suffix)
    if binary_power is not None:
        format_, exponent = QuantityFormat.BINARY_SI, 0
        fast = _fast_binary(sign, whole, fraction, binary_power, trimmed)
    else:
        format_, exponent = _decimal_suffix(text, suffix)
        fast = _fast_decimal(sign, whole, fraction, exponent, format_, trimmed)
    if fast is not None:
        return fast
    if not (zeros or whole or fraction):
        raise _error(text, _WRONG_NUMBER)
    digits = (whole + fraction).lstrip("0")
    # inf.Dec counts its scale in an int32, so it wraps
    exponent = _wrap(exponent - len(fraction), 32)
    if not digits:
        # zero keeps its scale, which a sum takes over and rounds negative amounts by
        return Quantity(0, max(exponent, -_BINARY_FRACTION_DIGITS), format_, is_exact=True)
    if binary_power is not None:
        return _exact_binary(sign, digits, len(fraction), binary_power)
    return Quantity(sign * _nanos_of_digits(digits, exponent), _NANO, format_, is_exact=True)


_parse_cached = lru_cache(maxsize=65536)(_parse)


def _error(text: str, reason: str) -> QuantityError:
    shown = text if len(text) <= 80 else f"{text[:60]}..."
    return QuantityError(f"{shown!r}", reason)


def _decimal_suffix(text: str, suffix: str) -> tuple[QuantityFormat, int]:
    """Return the format and the power of ten of a decimal suffix or exponent."""
    if suffix in _DECIMAL_SUFFIXES:
        return QuantityFormat.DECIMAL_SI, _DECIMAL_SUFFIXES[suffix]
    match = _EXPONENT.fullmatch(suffix)
    if match is not None and len(match[2]) <= 19:
        exponent = int(match[1] + match[2])
        if _is_int64(exponent):
            return QuantityFormat.DECIMAL_EXPONENT, _wrap(exponent, 32)
    raise _error(text, _WRONG_SUFFIX)


def _fast_decimal(
    sign: int, whole: str, fraction: str, exponent: int, format_: QuantityFormat, text: str
) -> Quantity | None:
    """Return the fast form of up to 18 digits that are no finer than nano-units."""
    digits = (whole or "0") + fraction
    if len(digits) > 18:
        return None
    exponent = _wrap(exponent - len(fraction), 32)
    if exponent < _NANO:
        return None
    is_canonical = exponent % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(sign * int(digits), exponent, format_, text=text if is_canonical else "")


def _fast_binary(sign: int, whole: str, fraction: str, power: int, text: str) -> Quantity | None:
    """Return the fast form of a whole number with few enough digits for its binary suffix."""
    digits = whole or "0"
    if fraction or len(digits) > 15 - power * 3 // 10 - 1:
        return None
    number = int(digits)
    if not _is_int64(number << power):
        return None
    is_canonical = number & 0x07 != 0
    return Quantity(sign * (number << power), 0, QuantityFormat.BINARY_SI, text=text if is_canonical else "")


def _nanos_of_digits(digits: str, exponent: int) -> int:
    """Return digits * 10**exponent in nano-units, rounded up and clipped, without reading more digits than needed."""
    shift = exponent - _NANO
    if shift >= 0:
        if len(digits) + shift > _MAX_DIGITS:
            return _HUGE + _times_power(int(digits[-_KEPT_DIGITS:]), min(shift, _KEPT_DIGITS)) % _KEPT
        return int(digits) * _power_of_ten(shift)
    kept, cut = (digits[:shift], digits[shift:]) if -shift < len(digits) else ("", digits)
    round_up = 1 if cut.strip("0") else 0
    if len(kept) > _MAX_DIGITS:
        return _HUGE + (int(kept[-_KEPT_DIGITS:]) + round_up) % _KEPT
    return int(kept or "0") + round_up


def _exact_binary(sign: int, digits: str, n_fraction: int, power: int) -> Quantity:
    """Return the exact form of digits * 2**power, rounded up to nano-units and capped at the greatest int64."""
    n_whole = len(digits) - n_fraction
    if n_whole > 19:
        return Quantity(sign * _MAX_INT64, 0, QuantityFormat.BINARY_SI, is_exact=True)
    if n_fraction > _BINARY_FRACTION_DIGITS:
        keep = n_whole + _BINARY_FRACTION_DIGITS
        rest = digits[max(keep, 0) :]
        # a last digit stands for all that was cut: it can only matter for rounding up
        digits = (digits[: max(keep, 0)] or "0") + ("1" if rest.strip("0") else "0")
        n_fraction = _BINARY_FRACTION_DIGITS + 1
    unscaled = int(digits) << power
    shift = -_NANO - n_fraction
    nanos = unscaled * _power_of_ten(shift) if shift >= 0 else _divide_away(unscaled, -shift)
    if nanos > _MAX_INT64 * _power_of_ten(9):
        return Quantity(sign * _MAX_INT64, 0, QuantityFormat.BINARY_SI, is_exact=True)
    format_ = QuantityFormat.DECIMAL_SI if nanos < _power_of_ten(9) else QuantityFormat.BINARY_SI
    return Quantity(sign * nanos, _NANO, format_, is_exact=True)


def _base_1024_text(number: int) -> str:
    power = 0
    while number and number % 1024 == 0:
        number //= 1024
        power += 10
    return f"{number}{_BINARY_SUFFIX_OF.get(power, '')}"
