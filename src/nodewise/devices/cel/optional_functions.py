"""Functions on optional values in device expressions, by overload id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodewise.devices.cel.times import MIN_UNIX_S, Duration, Timestamp
from nodewise.devices.cel.values import NONE, Failure, Optional


def _of(value: Any) -> Optional:
    return Optional(value, has_value=True)


def _value_of(optional: Optional) -> Any:
    return optional.value if optional.has_value else Failure("optional.none() dereference")


def _of_non_zero_value(value: Any) -> Optional:
    """Return an optional value that is there unless it is zero or empty (traits.Zeroer)."""
    if isinstance(value, (bool, int, float, str, bytes, list, dict, type(None))):
        return _of(value) if value else NONE
    if isinstance(value, Duration):
        return _of(value) if value.nanos else NONE
    if isinstance(value, Timestamp) and (value.unix_s, value.nanos) == (MIN_UNIX_S, 0):
        return NONE
    return _of(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "optional_of": _of,
    "optional_ofNonZeroValue": _of_non_zero_value,
    "optional_none": lambda: NONE,
    "optional_value": _value_of,
    "optional_hasValue": lambda optional: optional.has_value,
}
