"""Kubernetes' quantities and semantic versions in device expressions, by overload id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.devices.cel.semantic_versions import Semver, normalize_semver, parse_semver
from nodewise.devices.cel.values import ComputedQuantity, Failure, checked_int
from nodewise.errors import QuantityError


def _quantity(text: str) -> Quantity | Failure:
    try:
        return parse_quantity(text)
    except QuantityError as error:
        return Failure(error.reason)


def _integer_of(quantity: Quantity) -> int | None:
    """Return the amount as an int64 if it is held as one; fractions are not reduced first (Quantity.AsInt64)."""
    if quantity.is_exact or quantity.exponent < 0:
        return None
    value = quantity.unscaled * 10**quantity.exponent
    return value if type(checked_int(value)) is int else None


def _as_integer(quantity: Quantity) -> int | Failure:
    value = _integer_of(quantity)
    return Failure("cannot convert value to integer") if value is None else value


def _approximate_float(amount: Quantity) -> float:
    exponent = amount.exponent
    return float(amount.unscaled * 10**exponent if exponent >= 0 else amount.unscaled / 10**-exponent)


def _add(left: Quantity, right: Quantity) -> Quantity:
    return _computed(left + right)


def _subtract(left: Quantity, right: Quantity) -> Quantity:
    negated = Quantity(-right.unscaled, right.exponent, right.format, is_exact=right.is_exact)
    return _computed(left + negated)


def _computed(quantity: Quantity) -> ComputedQuantity:
    return ComputedQuantity(quantity.unscaled, quantity.exponent, quantity.format, is_exact=quantity.is_exact)


def _semver(text: str, normalize: bool = False) -> Semver | Failure:
    try:
        return parse_semver(normalize_semver(text) if normalize else text)
    except ValueError as error:
        return Failure(str(error))


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "quantity_compare_to": Quantity.compare,
    "quantity_is_greater_than": lambda left, right: left.compare(right) > 0,
    "quantity_is_less_than": lambda left, right: left.compare(right) < 0,
    "semver_compare_to": lambda left, right: int(left > right) - int(left < right),
    "semver_is_greater_than": lambda left, right: left > right,
    "semver_is_less_than": lambda left, right: left < right,
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "string_to_quantity": _quantity,
    "is_quantity_string": lambda text: type(_quantity(text)) is not Failure,
    "quantity_sign": lambda quantity: quantity.sign,
    "quantity_is_integer": lambda quantity: _integer_of(quantity) is not None,
    "quantity_get_int": _as_integer,
    "quantity_get_float": _approximate_float,
    "quantity_add": _add,
    "quantity_add_int": lambda left, right: _add(left, Quantity(right)),
    "quantity_sub": _subtract,
    "quantity_sub_int": lambda left, right: _subtract(left, Quantity(right)),
    "string_to_semver": _semver,
    "string_bool_to_semver": _semver,
    "is_semver_string": lambda text: type(_semver(text)) is not Failure,
    "is_semver_string_bool": lambda text, normalize: type(_semver(text, normalize)) is not Failure,
    # Go turns the uint64 into an int64 and lets it wrap
    "semver_major": lambda version: _wrapped(version.major),
    "semver_minor": lambda version: _wrapped(version.minor),
    "semver_patch": lambda version: _wrapped(version.patch),
    **_COMPARISONS,
}


def _wrapped(number: int) -> int:
    return number if type(checked_int(number)) is int else number - 2**64
