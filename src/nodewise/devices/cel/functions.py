"""The functions and operators of device expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from nodewise.devices.cel import list_functions, quantity_functions, string_functions
from nodewise.devices.cel.values import (
    NO_SUCH_OVERLOAD,
    NONE,
    CelError,
    DefaultMap,
    Optional,
    TypeValue,
    Uint,
    checked_int,
    checked_uint,
    compare,
    equal,
    is_number,
    type_name,
)

_DURATION = re.compile(r"([-+]?)((?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


def select(value: Any, field: str) -> Any:
    """Return `value.field`.

    Raises
    ------
    CelError
        There is no such field.
    """
    if isinstance(value, Optional):
        return select_optional(value, field)
    if isinstance(value, dict):
        found = value.get(field, _MISSING)
        if found is not _MISSING:
            return found
        if isinstance(value, DefaultMap):
            return {}
    raise CelError(f"no such key: {field}")


def select_optional(value: Any, key: Any) -> Optional:
    """Return `value.?key` or `value[?key]`."""
    if isinstance(value, Optional):
        if not value.has_value:
            return NONE
        value = value.value
    try:
        return Optional(index(value, key), has_value=True)
    except CelError:
        return NONE


def index(value: Any, key: Any) -> Any:
    """Return `value[key]`.

    Raises
    ------
    CelError
        There is no such element.
    """
    if isinstance(value, Optional):
        return select_optional(value, key)
    if isinstance(value, dict):
        if isinstance(key, (list, tuple, dict)):
            raise CelError(NO_SUCH_OVERLOAD)
        found = value.get(key, _MISSING)
        if found is not _MISSING:
            return found
        if isinstance(value, DefaultMap):
            return {}
        raise CelError(f"no such key: {_shown(key)}")
    if isinstance(value, (list, tuple)):
        if not is_number(key) or key != int(key):
            raise CelError(f"unsupported index value '{_shown(key)}' in list")
        if not 0 <= key < len(value):
            raise CelError(f"index out of bounds: {int(key)}")
        return value[int(key)]
    raise CelError(f"no such key: {_shown(key)}")


_MISSING = object()


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- arithmetic -------------------------------------------------------------------------------------------------------


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, (bool, Uint))


def _arithmetic(
    ints: Callable[[int, int], int], doubles: Callable[[float, float], float] | None
) -> Callable[[Any, Any], Any]:
    def run(left: Any, right: Any) -> Any:
        if _is_int(left) and _is_int(right):
            return checked_int(ints(left, right))
        if isinstance(left, Uint) and isinstance(right, Uint):
            return checked_uint(ints(left, right))
        if doubles is not None and isinstance(left, float) and isinstance(right, float):
            return doubles(left, right)
        raise CelError(NO_SUCH_OVERLOAD)

    return run


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _modulo(left: int, right: int) -> int:
    if right == 0:
        raise CelError("modulus by zero")
    return left - right * _divide(left, right)


def _divide_doubles(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or left != left else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


_add_numbers = _arithmetic(lambda a, b: int(a) + int(b), lambda a, b: a + b)
_subtract_numbers = _arithmetic(lambda a, b: int(a) - int(b), lambda a, b: a - b)


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, bytes) and isinstance(right, bytes):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    if isinstance(left, (datetime, timedelta)) and isinstance(right, (datetime, timedelta)):
        return left + right  # type: ignore[operator]
    return _add_numbers(left, right)


def _subtract(left: Any, right: Any) -> Any:
    if isinstance(left, (datetime, timedelta)) and isinstance(right, (datetime, timedelta)):
        return left - right  # type: ignore[operator]
    return _subtract_numbers(left, right)


def _negate(value: Any) -> Any:
    if _is_int(value):
        return checked_int(-value)
    if isinstance(value, float):
        return -value
    raise CelError(NO_SUCH_OVERLOAD)


def _not(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError(NO_SUCH_OVERLOAD)
    return not value


def _contains(item: Any, container: Any) -> bool:
    if isinstance(container, dict):
        return not isinstance(item, (list, tuple, dict)) and item in container
    if isinstance(container, (list, tuple)):
        return any(equal(item, other) for other in container)
    raise CelError(NO_SUCH_OVERLOAD)


def _size(value: Any) -> int:
    if not isinstance(value, (str, bytes, list, tuple, dict)):
        raise CelError(NO_SUCH_OVERLOAD)
    return len(value)


# --- conversions ------------------------------------------------------------------------------------------------------


def _to_int(value: Any) -> int:
    if isinstance(value, str):
        if not re.fullmatch(r"[+-]?[0-9]+", value):
            raise CelError(f'strconv.ParseInt: parsing "{value}": invalid syntax')
        number = int(value)
        if not -(2**63) <= number < 2**63:
            raise CelError(f'strconv.ParseInt: parsing "{value}": value out of range')
        return number
    if isinstance(value, float):
        if not -(2.0**63) < value < 2.0**63:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, datetime):
        return int(value.timestamp())
    if isinstance(value, timedelta):
        return round(value.total_seconds() * 1e9)
    if is_number(value):
        return checked_int(int(value))
    raise CelError(NO_SUCH_OVERLOAD)


def _to_uint(value: Any) -> Uint:
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]+", value):
            raise CelError(f'strconv.ParseUint: parsing "{value}": invalid syntax')
        if int(value) >= 2**64:
            raise CelError(f'strconv.ParseUint: parsing "{value}": value out of range')
        return Uint(value)
    if is_number(value) and value == value:
        return checked_uint(int(value))
    raise CelError(NO_SUCH_OVERLOAD)


def _to_double(value: Any) -> float:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError as error:
            raise CelError(f'strconv.ParseFloat: parsing "{value}": invalid syntax') from error
    if is_number(value):
        return float(value)
    raise CelError(NO_SUCH_OVERLOAD)


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if value in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    if isinstance(value, str):
        raise CelError(f'strconv.ParseBool: parsing "{value}": invalid syntax')
    raise CelError(NO_SUCH_OVERLOAD)


def _to_string(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from error
    if isinstance(value, float):
        return string_functions.double_text(value)
    if isinstance(value, (str, bool)) or is_number(value):
        return _shown(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    raise CelError(NO_SUCH_OVERLOAD)


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, (str, bytes)):
        return value.encode() if isinstance(value, str) else value
    raise CelError(NO_SUCH_OVERLOAD)


def _timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if _is_int(value):
        return datetime.fromtimestamp(value, UTC)
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError) as error:
        raise CelError(f"{value} is no timestamp") from error


def _duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if _is_int(value):
        return timedelta(microseconds=value / 1000)
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise CelError(f'time: invalid duration "{value}"')
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(value))
    return timedelta(seconds=-seconds if match[1] == "-" else seconds)


CONSTANT_CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint", "type", "dyn"}
)
"""Conversions that cel-go runs beforehand when their argument is a literal."""


# --- optional values --------------------------------------------------------------------------------------------------


def _value_of(optional: Any) -> Any:
    if not isinstance(optional, Optional):
        raise CelError(NO_SUCH_OVERLOAD)
    if not optional.has_value:
        raise CelError("optional.none() dereference")
    return optional.value


def _has_value(optional: Any) -> bool:
    if not isinstance(optional, Optional):
        raise CelError(NO_SUCH_OVERLOAD)
    return optional.has_value


def _of_non_zero_value(value: Any) -> Optional:
    is_zero = value is None or (not isinstance(value, (datetime, Optional)) and not value)
    return NONE if is_zero else Optional(value, has_value=True)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": lambda left, right: compare(left, right) < 0,
    "_<=_": lambda left, right: compare(left, right) <= 0,
    "_>_": lambda left, right: compare(left, right) > 0,
    "_>=_": lambda left, right: compare(left, right) >= 0,
    "_+_": _add,
    "_-_": _subtract,
    "_*_": _arithmetic(lambda a, b: int(a) * int(b), lambda a, b: a * b),
    "_/_": _arithmetic(lambda a, b: _divide(int(a), int(b)), _divide_doubles),
    "_%_": _arithmetic(lambda a, b: _modulo(int(a), int(b)), None),
    "-_": _negate,
    "!_": _not,
    "_[_]": index,
    "@in": _contains,
    "size": _size,
    "type": lambda value: TypeValue(type_name(value)),
    "dyn": lambda value: value,
    "int": _to_int,
    "uint": _to_uint,
    "double": _to_double,
    "bool": _to_bool,
    "string": _to_string,
    "bytes": _to_bytes,
    "timestamp": _timestamp,
    "duration": _duration,
    "optional.of": lambda value: Optional(value, has_value=True),
    "optional.ofNonZeroValue": _of_non_zero_value,
    "optional.none": lambda: NONE,
    "value": _value_of,
    "hasValue": _has_value,
    **string_functions.FUNCTIONS,
    **list_functions.FUNCTIONS,
    **quantity_functions.FUNCTIONS,
}
