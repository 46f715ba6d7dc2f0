"""Functions on lists and sets in device expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cmp_to_key, reduce
from itertools import pairwise
from typing import Any

from nodewise.devices.cel.values import (
    NO_SUCH_OVERLOAD,
    NONE,
    CelError,
    Optional,
    Uint,
    checked_int,
    checked_uint,
    compare,
    equal,
)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise CelError(NO_SUCH_OVERLOAD)
    return list(value)


def _is_sorted(value: Any) -> bool:
    items = _list(value)
    return all(compare(left, right) <= 0 for left, right in pairwise(items))


def _sum(value: Any) -> Any:
    return reduce(_plus, _list(value)) if value else 0


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, Uint):
        return checked_uint(int(left) + int(right))
    return left + right if isinstance(left, float) else checked_int(left + right)


def _extreme(name: str, sign: int) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        items = _list(value)
        if not items:
            raise CelError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            if compare(item, best) * sign > 0:
                best = item
        return best

    return run


def index_of(items: Any, wanted: Any) -> int:
    """Return the first position of an element, -1 when there is none."""
    return next((position for position, item in enumerate(_list(items)) if equal(item, wanted)), -1)


def last_index_of(items: Any, wanted: Any) -> int:
    """Return the last position of an element, -1 when there is none."""
    found = [position for position, item in enumerate(_list(items)) if equal(item, wanted)]
    return found[-1] if found else -1


def _includes(items: Any, wanted: Any) -> bool:
    return any(equal(item, wanted) for item in items) if isinstance(items, (list, tuple)) else equal(items, wanted)


def _slice(items: Any, start: int, end: int) -> list[Any]:
    length = len(_list(items))
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > length:
        raise CelError(f"cannot slice({start}, {end}), list is length {length}")
    return _list(items)[start:end]


def _flatten(items: Any, depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    found: list[Any] = []
    for item in _list(items):
        found += _flatten(item, depth - 1) if isinstance(item, (list, tuple)) and depth > 0 else [item]
    return found


def _sort(items: Any) -> list[Any]:
    return sorted(_list(items), key=cmp_to_key(compare))


def _distinct(items: Any) -> list[Any]:
    found: list[Any] = []
    for item in _list(items):
        if not any(equal(item, other) for other in found):
            found.append(item)
    return found


def _range(length: int) -> list[int]:
    return list(range(length))


def _has_all(items: Iterable[Any], wanted: Iterable[Any]) -> bool:
    there = list(items)
    return all(any(equal(item, other) for other in there) for item in wanted)


def _end(position: int) -> Callable[[Any], Optional]:
    def run(items: Any) -> Optional:
        found = _list(items)
        return Optional(found[position], has_value=True) if found else NONE

    return run


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "isSorted": _is_sorted,
    "sum": _sum,
    "max": _extreme("max", 1),
    "min": _extreme("min", -1),
    "includes": _includes,
    "slice": _slice,
    "flatten": _flatten,
    "sort": _sort,
    "distinct": _distinct,
    "reverse": lambda items: _list(items)[::-1],
    "first": _end(0),
    "last": _end(-1),
    "lists.range": _range,
    "sets.contains": lambda items, wanted: _has_all(_list(items), _list(wanted)),
    "sets.equivalent": lambda left, right: _has_all(_list(left), _list(right)) and _has_all(_list(right), _list(left)),
    "sets.intersects": lambda left, right: any(_has_all(_list(left), [item]) for item in _list(right)),
}
