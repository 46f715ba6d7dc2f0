"""Conversions between types: `int(x)`, `string(x)`, `timestamp(x)` and the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from nodewise.devices.cel.go_text import double_text
from nodewise.devices.cel.network import Address, Network
from nodewise.devices.cel.times import (
    MAX_UNIX_S,
    MIN_UNIX_S,
    Duration,
    TimeError,
    Timestamp,
    parse_duration,
    parse_timestamp,
)
from nodewise.devices.cel.values import (
    INT64_MAX,
    INT64_MIN,
    UINT64_MAX,
    Failure,
    TypeValue,
    Uint,
    checked_int,
    checked_uint,
    type_name,
)

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NATURAL = re.compile(r"[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity)|nan", re.ASCII | re.IGNORECASE
)
_HEX_FLOAT = re.compile(r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+", re.IGNORECASE)
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def _unreadable(value: Any, kind: str) -> Failure:
    return Failure(f"type conversion error from '{type_name(value)}' to '{kind}'")


def to_int(value: Any) -> int | Failure:
    """Return a value as int: text read, doubles cut off, seconds of a timestamp, nanoseconds of a duration."""
    if isinstance(value, str):
        if _INTEGER.fullmatch(value) and INT64_MIN <= int(value) <= INT64_MAX:
            return int(value)
        return _unreadable(value, "int")
    if isinstance(value, float):
        # the least int64 is refused as well
        return int(value) if -(2.0**63) < value < 2.0**63 else Failure("integer overflow")
    if isinstance(value, Timestamp):
        return value.unix_s
    if isinstance(value, Duration):
        return value.nanos
    return checked_int(int(value))


def to_uint(value: Any) -> Uint | Failure:
    """Return a value as uint."""
    if isinstance(value, str):
        if _NATURAL.fullmatch(value) and int(value) <= UINT64_MAX:
            return Uint(value)
        return _unreadable(value, "uint")
    if isinstance(value, float):
        return Uint(value) if 0 <= value < 2.0**64 else Failure("unsigned integer overflow")
    return checked_uint(int(value))


def to_double(value: Any) -> float | Failure:
    """Return a value as double (strconv.ParseFloat for text)."""
    if not isinstance(value, str):
        return float(value)
    if _FLOAT.fullmatch(value):
        number = float(value)
    elif _HEX_FLOAT.fullmatch(value):
        try:
            number = float.fromhex(value)
        except OverflowError:
            return _unreadable(value, "double")
    else:
        return _unreadable(value, "double")
    if number in (float("inf"), float("-inf")) and "inf" not in value.lower():
        return _unreadable(value, "double")
    return number


def to_bool(value: Any) -> bool | Failure:
    """Return a value as bool."""
    if isinstance(value, bool):
        return value
    if value in _TRUE:
        return True
    return False if value in _FALSE else _unreadable(value, "bool")


def to_string(value: Any) -> str | Failure:
    """Return a value as string."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return Failure("invalid UTF-8 in bytes, cannot convert to string")
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, TypeValue):
        return value.name
    return str(int(value)) if isinstance(value, int) else str(value)


def _to_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def to_timestamp(value: Any) -> Timestamp | Failure:
    """Return a value as timestamp: seconds since 1970, or text read as RFC 3339."""
    if isinstance(value, Timestamp):
        return value
    if isinstance(value, str):
        try:
            found = parse_timestamp(value)
        except TimeError:
            return _unreadable(value, "google.protobuf.Timestamp")
    else:
        found = Timestamp(int(value))
    return found if MIN_UNIX_S <= found.unix_s <= MAX_UNIX_S else Failure("timestamp overflow")


def to_duration(value: Any) -> Duration | Failure:
    """Return a value as duration."""
    if isinstance(value, Duration):
        return value
    try:
        return parse_duration(value)
    except TimeError:
        return _unreadable(value, "google.protobuf.Duration")


def _same(value: Any) -> Any:
    return value


def _network_text(value: Address | Network) -> str:
    return str(value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("bool_to_bool", "bytes_to_bytes", "double_to_double", "duration_to_duration"), _same),
    **dict.fromkeys(("int64_to_int64", "string_to_string", "timestamp_to_timestamp", "uint64_to_uint64"), _same),
    "string_to_bool": to_bool,
    "string_to_bytes": _to_bytes,
    **dict.fromkeys(("int64_to_double", "string_to_double", "uint64_to_double"), to_double),
    "string_to_duration": to_duration,
    **dict.fromkeys(
        ("double_to_int64", "duration_to_int64", "string_to_int64", "timestamp_to_int64", "uint64_to_int64"), to_int
    ),
    **dict.fromkeys(
        (
            *("bool_to_string", "bytes_to_string", "double_to_string", "duration_to_string"),
            *("int64_to_string", "timestamp_to_string", "uint64_to_string"),
        ),
        to_string,
    ),
    **dict.fromkeys(("int64_to_timestamp", "string_to_timestamp"), to_timestamp),
    **dict.fromkeys(("double_to_uint64", "int64_to_uint64", "string_to_uint64"), to_uint),
    "ip_to_string": _network_text,
    "cidr_to_string": _network_text,
    "to_dyn": _same,
}
"""By overload id."""
