"""Functions on lists, sets and maps in device expressions, by overload id."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from nodewise.devices.cel.times import Duration
from nodewise.devices.cel.values import (
    COMPARER,
    INT64_MAX,
    INT64_MIN,
    MISSING,
    NO_SUCH_OVERLOAD,
    NONE,
    TRAITS,
    Failure,
    GrowingMap,
    Optional,
    Uint,
    checked_int,
    checked_uint,
    compare,
    contains,
    equal,
    find_in_map,
    key_value,
    map_key,
    shown,
    type_name,
)

_MAX_RANGE = 1_000_000


def _has_order(value: Any) -> bool:
    return bool(TRAITS.get(type_name(value), 0) & COMPARER)


def _is_sorted(items: list[Any]) -> Any:
    if not all(map(_has_order, items)):
        return NO_SUCH_OVERLOAD
    return not any(compare(left, right) == 1 for left, right in pairwise(items))


def _sum(zero: Any) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        total = zero
        for item in items:
            total = _plus(total, item)
            if type(total) is Failure:
                return total
        return total

    return run


def _plus(left: Any, right: Any) -> Any:
    if type(left) is not type(right):
        return NO_SUCH_OVERLOAD
    if isinstance(left, Duration):
        nanos = left.nanos + right.nanos
        return Duration(nanos) if INT64_MIN <= nanos <= INT64_MAX else Failure("integer overflow")
    if isinstance(left, float):
        return left + right
    return checked_uint(int(left) + int(right)) if isinstance(left, Uint) else checked_int(left + right)


def _extreme(name: str, replacing: int) -> Callable[[list[Any]], Any]:
    """Make `max` or `min`: an element replaces the best so far when that compares to it as given."""

    def run(items: list[Any]) -> Any:
        if not items:
            return Failure(f"{name} called on empty list")
        if not all(map(_has_order, items)):
            return NO_SUCH_OVERLOAD
        best = items[0]
        for item in items[1:]:
            if compare(best, item) == replacing:
                best = item
        return best

    return run


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((position for position, item in enumerate(items) if equal(item, wanted) is True), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    backwards = range(len(items) - 1, -1, -1)
    return next((position for position in backwards if equal(items[position], wanted) is True), -1)


def _includes(items: Any, wanted: Any) -> bool:
    if isinstance(items, list):
        return any(equal(item, wanted) is True for item in items)
    return equal(items, wanted) is True


def _slice(items: list[Any], start: int, end: int) -> Any:
    if start < 0 or end < 0:
        return Failure(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        return Failure(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        return Failure(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: Any, *depths: Any) -> Any:
    shown_depth = type_name(depths[0]) if depths else ""
    if not isinstance(items, list) or not all(type(depth) is int for depth in depths):
        return Failure(f"no such overload: {type_name(items)}.flatten({shown_depth})")
    depth = depths[0] if depths else 1
    return Failure("level must be non-negative") if depth < 0 else _flattened(items, depth)


def _flattened(items: list[Any], depth: int) -> list[Any]:
    found: list[Any] = []
    for item in items:
        found += _flattened(item, depth - 1) if isinstance(item, list) and depth > 0 else [item]
    return found


def sort_by_keys(items: list[Any], keys: Any) -> Any:
    """Return a list in the order of its keys (sortListByAssociatedKeys)."""
    if not isinstance(keys, list):
        return NO_SUCH_OVERLOAD
    if not items:
        return items
    if not _has_order(keys[0]):
        return Failure("list elements must be comparable")
    if len({type_name(key) for key in keys}) > 1:
        return Failure("list elements must have the same type")

    def order(left: int, right: int) -> int:
        return _order(keys[left], keys[right])

    return [items[position] for position in sorted(range(len(items)), key=cmp_to_key(order))]


def _order(left: Any, right: Any) -> int:
    order = compare(left, right)
    return order if isinstance(order, int) else 0


def _distinct(items: list[Any]) -> list[Any]:
    found: list[Any] = []
    for item in items:
        if not any(equal(item, other) is True for other in found):
            found.append(item)
    return found


def _range(length: int) -> Any:
    if length < 0:
        return Failure(f"lists.range: size must be non-negative, got {length}")
    if length > _MAX_RANGE:
        return Failure(f"lists.range: size {length} exceeds maximum allowed ({_MAX_RANGE})")
    return list(range(length))


def _has_all(items: list[Any], wanted: list[Any]) -> bool:
    return all(contains(items, item) for item in wanted)


def _end(position: int) -> Callable[[list[Any]], Optional]:
    return lambda items: Optional(items[position], has_value=True) if items else NONE


# --- maps that loops build --------------------------------------------------------------------------------------------


def _insert(target: dict[Any, Any], key: Any, value: Any) -> Any:
    """Return a map with one more entry; the map of a loop itself (InsertMapKeyValue)."""
    if find_in_map(target, key) is not MISSING:
        return Failure(f"insert failed: key {shown(key)} already exists")
    grown = target if type(target) is GrowingMap else dict(target)
    grown[map_key(key)] = value
    return grown


def _insert_all(target: dict[Any, Any], entries: dict[Any, Any]) -> Any:
    found: Any = target
    for stored, value in entries.items():
        found = _insert(found, key_value(stored), value)
        if type(found) is Failure:
            return found
    return found


def _unwrap(items: list[Any]) -> Any:
    for item in items:
        if not isinstance(item, Optional):
            return Failure(f"value {shown(item)} is not optional")
    return [item.value for item in items if item.has_value]


_ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"list_{name}_is_sorted_bool": _is_sorted for name in _ORDERED},
    **{f"list_{name}_sum_{name}": _sum(zero) for name, zero in _ZEROS.items()},
    **{f"list_{name}_max_{name}": _extreme("max", -1) for name in _ORDERED},
    **{f"list_{name}_min_{name}": _extreme("min", 1) for name in _ORDERED},
    "list_a_index_of_int": _index_of,
    "list_a_last_index_of_int": _last_index_of,
    "list_includes_dyn_dyn": _includes,
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _distinct,
    "list_reverse": lambda items: items[::-1],
    "list_first": _end(0),
    "list_last": _end(-1),
    "lists_range": _range,
    "list_sets_contains_list": _has_all,
    "list_sets_equivalent_list": lambda left, right: _has_all(left, right) and _has_all(right, left),
    "list_sets_intersects_list": lambda left, right: any(contains(right, item) for item in left),
    "@mapInsert_map_key_value": _insert,
    "@mapInsert_map_map": _insert_all,
    "optional_unwrap": _unwrap,
    "optional_unwrapOpt": _unwrap,
}
