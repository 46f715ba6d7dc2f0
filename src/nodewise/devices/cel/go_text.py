"""How Go divides, and writes numbers and quoted texts."""

from __future__ import annotations

import math
import re
from decimal import Decimal

_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_PLAIN = re.compile(r"[ !#-\[\]-~]*")


def trunc_div(number: int, divisor: int) -> int:
    """Return a quotient rounded towards zero, where `//` floors."""
    quotient = abs(number) // abs(divisor)
    return quotient if (number < 0) == (divisor < 0) else -quotient


def quoted(text: str) -> str:
    """Return a text in double quotes (strconv.Quote)."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return f'"{"".join([_quoted_letter(letter) for letter in text])}"'


def _quoted_letter(letter: str) -> str:
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    if letter.isprintable():
        return letter
    number = ord(letter)
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def double_text(value: float) -> str:
    """Return a double as Go's `%g` and `%v` write it: the shortest digits, an exponent from 1e6 on and below 1e-4."""
    special = _special_text(value)
    if special:
        return special
    digits, exponent = _shortest(value)
    sign = "-" if math.copysign(1, value) < 0 else ""
    if -4 <= exponent < 6:
        return sign + _plain_text(digits, exponent)
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def plain_double_text(value: float) -> str:
    """Return a double without an exponent, with as few digits as are needed (strconv's format 'f', -1)."""
    special = _special_text(value)
    if special:
        return special
    return ("-" if math.copysign(1, value) < 0 else "") + _plain_text(*_shortest(value))


def _special_text(value: float) -> str:
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return ""


def _shortest(value: float) -> tuple[str, int]:
    """Return the shortest digits that read back as the value, and the power of ten of the first."""
    if value == 0:
        return "0", 0
    number = Decimal(repr(abs(value)))
    digits = "".join(map(str, number.as_tuple().digits))
    exponent = number.adjusted()
    return digits.lstrip("0").rstrip("0") or "0", exponent


def _plain_text(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
