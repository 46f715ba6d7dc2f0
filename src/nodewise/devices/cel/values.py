"""Values of CEL expressions that Python has no type of its own for, and how values are named and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nodewise.api.quantity import Quantity
from nodewise.devices.cel.go_text import double_text
from nodewise.devices.cel.network import Address, Network
from nodewise.devices.cel.semantic_versions import Semver
from nodewise.devices.cel.times import Duration, Timestamp
from nodewise.devices.cel.urls import Url
from nodewise.errors import NodewiseError

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
UINT64_MAX = 2**64 - 1


class CelError(NodewiseError):
    """An expression failed at run time; the text is cel-go's."""


class Panic(Exception):  # noqa: N818 - Go's word for it
    """Upstream's evaluation panics here; the text is what becomes of it."""


class Failure:
    """The value of an expression that failed: `&&`, `||` and `!=` may still make something of it.

    Attributes
    ----------
    text : str
        In the words of cel-go.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


NO_SUCH_OVERLOAD = Failure("no such overload")


class Uint(int):
    """CEL's unsigned integer."""

    __slots__ = ()


class ComputedQuantity(Quantity):
    """A sum or difference of quantities, which upstream holds by a pointer: `x == sum` fails, `sum == x` does not."""

    __slots__ = ()


class GrowingList(list[Any]):
    """The list that a loop fills; only its loop sees it, so adding to it needs no copy (mutableList)."""

    __slots__ = ()


class GrowingMap(dict[Any, Any]):
    """The map that a loop fills (mutableMap)."""

    __slots__ = ()


class StringMap(dict[Any, Any]):
    """A map of the device, which has keys of one type."""

    __slots__ = ()


class DefaultMap(dict[Any, Any]):
    """A map in which looking up an unknown key finds an empty map: device.attributes and device.capacity."""

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


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format of names, such as `format.dns1123Label()`.

    Attributes
    ----------
    problems_of : Callable[[str], Sequence[str]]
        What keeps a text from being of this format.
    max_regex_size : int
        What the length of its regular expression is taken to be when costs are counted.
    """

    name: str
    problems_of: Callable[[str], Any]
    max_regex_size: int


def is_number(value: Any) -> bool:
    """Tell whether a value is an int, uint or double."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def type_name(value: Any) -> str:
    """Return the name that CEL gives to a value's type."""
    found = _TYPE_NAMES.get(type(value))
    if found is None:
        raise AssertionError(f"no CEL value is a {type(value).__name__}")
    return found


_TYPE_NAMES: dict[type, str] = {
    type(None): "null_type",
    bool: "bool",
    Uint: "uint",
    int: "int",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    GrowingList: "list",
    dict: "map",
    StringMap: "map",
    GrowingMap: "map",
    DefaultMap: "map",
    Quantity: "kubernetes.Quantity",
    ComputedQuantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    Url: "kubernetes.URL",
    NamedFormat: "kubernetes.NamedFormat",
    Address: "net.IP",
    Network: "net.CIDR",
    TypeValue: "type",
    Optional: "optional_type",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Failure: "error",
}

ADDER, COMPARER, DIVIDER, MODDER, MULTIPLIER, NEGATOR, SUBTRACTOR, MATCHER, SIZER, RECEIVER = (
    1 << bit for bit in range(10)
)
TRAITS: dict[str, int] = {
    "bool": COMPARER | NEGATOR,
    "bytes": ADDER | COMPARER | SIZER,
    "double": ADDER | COMPARER | DIVIDER | MULTIPLIER | NEGATOR | SUBTRACTOR,
    "int": ADDER | COMPARER | DIVIDER | MODDER | MULTIPLIER | NEGATOR | SUBTRACTOR,
    "uint": ADDER | COMPARER | DIVIDER | MODDER | MULTIPLIER | SUBTRACTOR,
    "string": ADDER | COMPARER | MATCHER | RECEIVER | SIZER,
    "google.protobuf.Duration": ADDER | COMPARER | NEGATOR | RECEIVER | SUBTRACTOR,
    "google.protobuf.Timestamp": ADDER | COMPARER | RECEIVER | SUBTRACTOR,
    "list": ADDER | SIZER,
    "map": SIZER,
}
"""What operators a type has, by its name (Type.HasTrait); a receiver words missing ones differently."""


def go_type(value: Any) -> str:
    """Return the name of the Go type that holds a value, which some errors of cel-go show (`%T`)."""
    return _GO_TYPES.get(type(value), "types.Value")


_GO_TYPES: dict[type, str] = {
    type(None): "types.Null",
    bool: "types.Bool",
    Uint: "types.Uint",
    int: "types.Int",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    list: "*types.baseList",
    GrowingList: "*types.mutableList",
    dict: "*types.baseMap",
    StringMap: "*types.baseMap",
    GrowingMap: "*types.mutableMap",
    DefaultMap: "cel.mapper",
    Quantity: "cel.Quantity",
    ComputedQuantity: "*cel.Quantity",
    Semver: "cel.Semver",
    Url: "cel.URL",
    NamedFormat: "cel.Format",
    Address: "cel.IP",
    Network: "cel.CIDR",
    TypeValue: "*types.Type",
    Optional: "*types.Optional",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    Failure: "*types.Err",
}


def shown(value: Any) -> str:
    """Return a value as Go's `%v` shows it in an error."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join([f"{shown(key_value(key))}: {shown(item)}" for key, item in value.items()]) + "}"
    if isinstance(value, TypeValue):
        return value.name
    if isinstance(value, Optional):
        return f"optional({shown(value.value)})" if value.has_value else "optional.none()"
    if isinstance(value, (Timestamp, Duration)):
        return value.go_text()
    if isinstance(value, bytes):
        return f"[{' '.join(map(str, value))}]"
    return "0" if value is None else str(value)


def checked_int(number: int) -> int | Failure:
    """Return an int64, or a failure when it is out of range."""
    return number if INT64_MIN <= number <= INT64_MAX else Failure("integer overflow")


def checked_uint(number: int) -> Uint | Failure:
    """Return a uint64, or a failure when it is out of range."""
    return Uint(number) if 0 <= number <= UINT64_MAX else Failure("unsigned integer overflow")


def size_of(value: Any) -> int:
    """Return the size that costs are counted by; 1 for what has none (actualSize)."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if isinstance(value, Address):
        return value.n_bytes
    if isinstance(value, Network):
        return value.n_prefix_bytes
    return 1


# --- keys of maps -----------------------------------------------------------------------------------------------------


def map_key(value: Any) -> Any:
    """Return what stands for a key in a dict: Python would take true, 1 and 1.0 for the same."""
    kind = type(value)
    if kind is str or kind is int or kind is Uint:
        return value
    return _OtherKey(type_name(value), value)


def key_value(key: Any) -> Any:
    """Return the key that something in a dict stands for."""
    return key.value if type(key) is _OtherKey else key


@dataclass(frozen=True, slots=True)
class _OtherKey:
    type_name: str
    value: Any

    def __hash__(self) -> int:
        try:
            return hash((self.type_name, self.value))
        except TypeError:
            return id(self.value)


def check_hashable(key: Any) -> None:
    """Check that a value can be looked for in a map or set of upstream's.

    Raises
    ------
    Panic
        It cannot.
    """
    if isinstance(key, (bytes, Semver, NamedFormat)):
        raise Panic(f"runtime error: hash of unhashable type {go_type(key)}")


MISSING: Any = object()
"""What a lookup finds that finds nothing."""


def find_in_map(container: dict[Any, Any], key: Any) -> Any:
    """Return the value of a key, MISSING when there is none; whole doubles find integers (Mapper.Find)."""
    found = container.get(key if type(key) is str else map_key(key), MISSING)
    if found is MISSING and type(key) is float and key == key and abs(key) < 2.0**64 and key == int(key):
        found = container.get(int(key), MISSING)
    if found is MISSING and type(container) is DefaultMap:
        return {}
    return found


# --- equality and order -----------------------------------------------------------------------------------------------

_STRICT_TYPES = (Quantity, Semver, Url, NamedFormat, Address, Network)


def equal(left: Any, right: Any) -> bool | Failure:
    """Compare as CEL does: numbers across types, lists and maps by their contents, Kubernetes' types with their own."""
    if left is None or right is None:
        return left is right
    if is_number(left):
        return is_number(right) and bool(left == right)
    if isinstance(left, list):
        return _equal_lists(left, right)
    if isinstance(left, dict):
        return _equal_maps(left, right)
    if isinstance(left, Optional):
        if not isinstance(right, Optional) or left.has_value != right.has_value:
            return False
        return not left.has_value or _equal_contents(left.value, right.value)
    if isinstance(left, _STRICT_TYPES):
        return _equal_strictly(left, right)
    return type(left) is type(right) and bool(left == right)


def _equal_contents(left: Any, right: Any) -> bool | Failure:
    """Compare without the special case of null (ref.Val.Equal)."""
    if left is None or right is None:
        if isinstance(left, _STRICT_TYPES):
            return NO_SUCH_OVERLOAD
        return left is right
    return equal(left, right)


def _equal_strictly(left: Any, right: Any) -> bool | Failure:
    kind: type = Quantity if isinstance(left, Quantity) else type(left)
    if type(right) is not kind:
        return NO_SUCH_OVERLOAD
    if isinstance(left, NamedFormat) and isinstance(right, NamedFormat):
        return left.name == right.name
    return bool(left == right)


def _equal_lists(left: list[Any], right: Any) -> bool:
    """Compare element by element; elements that cannot be compared count as equal (baseList.Equal)."""
    return (
        isinstance(right, list)
        and len(left) == len(right)
        and all(equal(a, b) is not False for a, b in zip(left, right, strict=True))
    )


def _equal_maps(left: dict[Any, Any], right: Any) -> bool:
    if not isinstance(right, dict) or len(left) != len(right):
        return False
    for key, value in left.items():
        other = find_in_map(right, key_value(key))
        if other is MISSING or equal(value, other) is False:
            return False
    return True


def contains(items: list[Any], wanted: Any) -> bool:
    """Tell whether a list has an element (Lister.Contains)."""
    return any(_equal_contents(wanted, item) is True for item in items)


def compare(left: Any, right: Any) -> int | Failure:
    """Return -1, 0 or 1 (Comparer.Compare); the left value is of a type that has an order."""
    if is_number(left):
        if not is_number(right):
            return Failure("NaN values cannot be ordered") if left != left else NO_SUCH_OVERLOAD
        if left != left or right != right:
            return Failure("NaN values cannot be ordered")
    elif type(left) is not type(right):
        return NO_SUCH_OVERLOAD
    if isinstance(left, str):
        left, right = left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass")
    return int(left > right) - int(left < right)
