"""Values of CEL expressions that Python has no type of its own for, and how values are compared and named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import total_ordering
from typing import Any

from nodewise.api.quantity import Quantity
from nodewise.errors import NodewiseError

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_UINT64_MAX = 2**64 - 1


class CelError(NodewiseError):
    """An expression failed at run time; the text is cel-go's."""


NO_SUCH_OVERLOAD = "no such overload"


class Uint(int):
    """CEL's unsigned integer."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What `type(x)` gives."""

    name: str


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    value: Any = None
    has_value: bool = False


NONE = Optional()


class DefaultMap(dict[str, Any]):
    """A map in which looking up an unknown key finds an empty map: device.attributes and device.capacity."""

    __slots__ = ()


_NUMERIC = re.compile(r"0|[1-9][0-9]*")
_ALPHANUMERIC = re.compile(r"[0-9A-Za-z-]+")


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A semantic version; build metadata does not count in comparisons (blang/semver)."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()
    build: tuple[str, ...] = ()

    def _key(self) -> tuple[Any, ...]:
        pre = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return (self.major, self.minor, self.patch, not self.pre, pre)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._key() == other._key()

    def __lt__(self, other: Semver) -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def parse_semver(text: str) -> Semver:
    """Read a version such as `1.2.3-rc.1+build`.

    Raises
    ------
    CelError
        With the text of blang/semver.
    """
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = (_number(part, name) for part, name in zip(parts[:2], ("Major", "Minor"), strict=True))
    patch_text, has_build, build_text = parts[2].partition("+")
    patch_text, has_pre, pre_text = patch_text.partition("-")
    patch = _number(patch_text, "Patch")
    pre = tuple(pre_text.split(".")) if has_pre else ()
    for part in pre:
        _check_pre_release(part)
    build = tuple(build_text.split(".")) if has_build else ()
    for part in build:
        if not part:
            raise CelError("Build meta data is empty")
        if not _ALPHANUMERIC.fullmatch(part):
            raise CelError(f'Invalid character(s) found in build meta data "{part}"')
    return Semver(major, minor, patch, pre, build)


def _number(text: str, name: str) -> int:
    if not all("0" <= letter <= "9" for letter in text):
        raise CelError(f'Invalid character(s) found in {name.lower()} number "{text}"')
    if len(text) > 1 and text[0] == "0":
        raise CelError(f'{name} number must not contain leading zeroes "{text}"')
    if not text:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    if int(text) > _UINT64_MAX:
        raise CelError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _check_pre_release(part: str) -> None:
    if not part:
        raise CelError("Prerelease is empty")
    if part.isascii() and part.isdigit():
        if not _NUMERIC.fullmatch(part):
            raise CelError(f'Numeric PreRelease version must not contain leading zeroes "{part}"')
    elif not _ALPHANUMERIC.fullmatch(part):
        raise CelError(f'Invalid character(s) found in prerelease "{part}"')


def is_number(value: Any) -> bool:
    """Tell whether a value is an int, uint or double."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """Compare as CEL does: numbers across types, lists and maps by their contents, other types never."""
    if is_number(left):
        return is_number(right) and bool(left == right)
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left is right
    if isinstance(left, (list, tuple)):
        return (
            isinstance(right, (list, tuple))
            and len(left) == len(right)
            and all(equal(a, b) for a, b in zip(left, right, strict=True))
        )
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(key in right and equal(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, Optional):
        if not isinstance(right, Optional) or left.has_value != right.has_value:
            return False
        return not left.has_value or equal(left.value, right.value)
    if type(left) is not type(right) and not (
        isinstance(left, (str, bytes, Quantity)) and isinstance(right, type(left))
    ):
        return False
    return bool(left == right)


def compare(left: Any, right: Any) -> int:
    """Return -1, 0 or 1.

    Raises
    ------
    CelError
        When the two have no order.
    """
    if is_number(left) and is_number(right):
        if left != left or right != right:
            raise CelError("NaN values cannot be ordered")
    elif type(left) is not type(right) or not isinstance(left, (str, bytes, bool, datetime, timedelta)):
        raise CelError(NO_SUCH_OVERLOAD)
    return int(left > right) - int(left < right)


def type_name(value: Any) -> str:
    """Return the name that CEL gives to a value's type."""
    if value is None:
        return "null_type"
    for python_type, name in _TYPE_NAMES:
        if isinstance(value, python_type):
            return name
    raise AssertionError(f"no CEL value is a {type(value).__name__}")


_TYPE_NAMES: tuple[tuple[Any, str], ...] = (
    (bool, "bool"),
    (Uint, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    ((list, tuple), "list"),
    (dict, "map"),
    (Quantity, "kubernetes.Quantity"),
    (Semver, "kubernetes.Semver"),
    (TypeValue, "type"),
    (Optional, "optional_type"),
    (datetime, "google.protobuf.Timestamp"),
    (timedelta, "google.protobuf.Duration"),
)


def checked_int(number: int) -> int:
    """Return an int64.

    Raises
    ------
    CelError
        When it is out of range.
    """
    if not _INT64_MIN <= number <= _INT64_MAX:
        raise CelError("integer overflow")
    return number


def checked_uint(number: int) -> Uint:
    """Return a uint64.

    Raises
    ------
    CelError
        When it is out of range.
    """
    if not 0 <= number <= _UINT64_MAX:
        raise CelError("unsigned integer overflow")
    return Uint(number)


def size_of(value: Any) -> int:
    """Return the size that costs are counted by; 1 for what has none (actualSize)."""
    if isinstance(value, (str, bytes, list, tuple, dict)):
        return len(value)
    if isinstance(value, Optional) and value.has_value:
        return size_of(value.value)
    return 1
