"""Kubernetes' quantities and semantic versions in device expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.devices.cel.values import NO_SUCH_OVERLOAD, CelError, Semver, parse_semver
from nodewise.errors import QuantityError

_MAX_INT64 = 2**63 - 1


def _quantity(text: Any) -> Quantity:
    if not isinstance(text, str):
        raise CelError(NO_SUCH_OVERLOAD)
    try:
        return parse_quantity(text)
    except QuantityError as error:
        raise CelError(error.reason) from error


def _is_quantity(text: Any) -> bool:
    try:
        _quantity(text)
    except CelError as error:
        if str(error) == NO_SUCH_OVERLOAD:
            raise
        return False
    return True


def _as(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        raise CelError(NO_SUCH_OVERLOAD)
    return value


def _compare(left: Any, right: Any) -> int:
    if isinstance(left, Quantity):
        return left.compare(_as(Quantity, right))
    _as(Semver, left), _as(Semver, right)
    return int(left > right) - int(left < right)


def _integer_of(quantity: Quantity) -> int | None:
    """Return the amount as an int64 if it is one (Quantity.AsInt64)."""
    value = quantity.value()
    return value if Quantity(value) == quantity else None


def _as_integer(quantity: Any) -> int:
    value = _integer_of(_as(Quantity, quantity))
    if value is None:
        raise CelError("cannot convert value to integer")
    return value


def _approximate_float(quantity: Any) -> float:
    amount: Quantity = _as(Quantity, quantity)
    exponent = amount.exponent
    return float(amount.unscaled * 10**exponent if exponent >= 0 else amount.unscaled / 10**-exponent)


def _amount(value: Any) -> Quantity:
    if isinstance(value, int) and not isinstance(value, bool):
        return Quantity(value)
    return _as(Quantity, value)  # type: ignore[no-any-return]


def _negated(quantity: Quantity) -> Quantity:
    return Quantity(-quantity.unscaled, quantity.exponent, quantity.format, is_exact=quantity.is_exact)


def _semver(text: Any, normalize: Any = False) -> Semver:
    if not isinstance(text, str) or not isinstance(normalize, bool):
        raise CelError(NO_SUCH_OVERLOAD)
    return parse_semver(_normalized(text) if normalize else text)


def _is_semver(text: Any, normalize: Any = False) -> bool:
    try:
        _semver(text, normalize)
    except CelError as error:
        if str(error) == NO_SUCH_OVERLOAD:
            raise
        return False
    return True


def _normalized(text: str) -> str:
    """Drop a leading v and leading zeros, and fill up short versions (normalizeAndParse)."""
    parts = text.removeprefix("v").split(".", 2)
    for position, part in enumerate(parts):
        if len(part) > 1:
            short = part.lstrip("0")
            parts[position] = short if short and "0" <= short[0] <= "9" else "0" + short
    if len(parts) < 3:
        if set(parts[-1]) & set("+-"):
            raise CelError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": _quantity,
    "isQuantity": _is_quantity,
    "sign": lambda quantity: _as(Quantity, quantity).sign,
    "isInteger": lambda quantity: _integer_of(_as(Quantity, quantity)) is not None,
    "asInteger": _as_integer,
    "asApproximateFloat": _approximate_float,
    "add": lambda left, right: _as(Quantity, left) + _amount(right),
    "sub": lambda left, right: _as(Quantity, left) + _negated(_amount(right)),
    "semver": _semver,
    "isSemver": _is_semver,
    "major": lambda version: _as(Semver, version).major,
    "minor": lambda version: _as(Semver, version).minor,
    "patch": lambda version: _as(Semver, version).patch,
    "compareTo": _compare,
    "isGreaterThan": lambda left, right: _compare(left, right) > 0,
    "isLessThan": lambda left, right: _compare(left, right) < 0,
}
