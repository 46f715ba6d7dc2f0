"""Operators and the functions that have one body for all types, by function name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from nodewise.devices.cel import regular_expressions
from nodewise.devices.cel.go_text import trunc_div
from nodewise.devices.cel.list_functions import sort_by_keys
from nodewise.devices.cel.regular_expressions import PatternError
from nodewise.devices.cel.times import MAX_UNIX_S, MIN_UNIX_S, NANOS, Duration, Timestamp
from nodewise.devices.cel.values import (
    ADDER,
    COMPARER,
    DIVIDER,
    INT64_MAX,
    INT64_MIN,
    MATCHER,
    MISSING,
    MODDER,
    MULTIPLIER,
    NEGATOR,
    NO_SUCH_OVERLOAD,
    SIZER,
    SUBTRACTOR,
    DefaultMap,
    Failure,
    GrowingList,
    StringMap,
    TypeValue,
    Uint,
    check_hashable,
    checked_int,
    checked_uint,
    compare,
    contains,
    find_in_map,
    type_name,
)


def _arithmetic(
    ints: Callable[[int, int], Any], doubles: Callable[[float, float], float] | None
) -> Callable[[Any, Any], Any]:
    """Make an operator on two numbers of one type; `ints` may return a failure."""

    def run(left: Any, right: Any) -> Any:
        kind = type(left)
        if type(right) is not kind:
            return NO_SUCH_OVERLOAD
        if kind is float:
            return NO_SUCH_OVERLOAD if doubles is None else doubles(left, right)
        found = ints(int(left), int(right))
        if type(found) is Failure:
            return found
        return checked_uint(found) if kind is Uint else checked_int(found)

    return run


def _divide(left: int, right: int) -> int | Failure:
    return trunc_div(left, right) if right else Failure("division by zero")


def _modulo(left: int, right: int) -> int | Failure:
    if right == 0:
        return Failure("modulus by zero")
    if left == INT64_MIN and right == -1:
        return Failure("integer overflow")
    return left - right * trunc_div(left, right)


def _divide_doubles(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or left != left else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


_add_numbers = _arithmetic(lambda a, b: a + b, lambda a, b: a + b)
_subtract_numbers = _arithmetic(lambda a, b: a - b, lambda a, b: a - b)


def add(left: Any, right: Any) -> Any:
    """Return `left + right`."""
    if isinstance(left, (str, bytes)):
        return left + right if type(right) is type(left) else NO_SUCH_OVERLOAD  # type: ignore[operator]
    if isinstance(left, list):
        if not isinstance(right, list):
            return NO_SUCH_OVERLOAD
        if type(left) is GrowingList:
            left.extend(right)
            return left
        return [*left, *right]
    if isinstance(left, Duration):
        if isinstance(right, Timestamp):
            return _shifted(right, left.nanos)
        return _duration(left.nanos + right.nanos) if isinstance(right, Duration) else NO_SUCH_OVERLOAD
    if isinstance(left, Timestamp):
        return _shifted(left, right.nanos) if isinstance(right, Duration) else NO_SUCH_OVERLOAD
    return _add_numbers(left, right)


def _subtract(left: Any, right: Any) -> Any:
    if isinstance(left, Duration):
        return _duration(left.nanos - right.nanos) if isinstance(right, Duration) else NO_SUCH_OVERLOAD
    if isinstance(left, Timestamp):
        if isinstance(right, Timestamp):
            return _distance(left, right)
        if isinstance(right, Duration):
            # the least duration has no opposite
            overflows = right.nanos == INT64_MIN
            return Failure("integer overflow") if overflows else _shifted(left, -right.nanos)
        return NO_SUCH_OVERLOAD
    return _subtract_numbers(left, right)


def _duration(nanos: int) -> Duration | Failure:
    return Duration(nanos) if INT64_MIN <= nanos <= INT64_MAX else Failure("integer overflow")


def _shifted(timestamp: Timestamp, nanos: int) -> Timestamp | Failure:
    seconds, rest = divmod(timestamp.nanos + nanos, NANOS)
    unix_s = timestamp.unix_s + seconds
    if not MIN_UNIX_S <= unix_s <= MAX_UNIX_S:
        return Failure("timestamp overflow")
    return Timestamp(unix_s, rest, timestamp.offset_s)


def _distance(left: Timestamp, right: Timestamp) -> Duration | Failure:
    seconds = (left.unix_s - right.unix_s) * NANOS
    nanos = seconds + left.nanos - right.nanos
    fits = INT64_MIN <= seconds <= INT64_MAX and INT64_MIN <= nanos <= INT64_MAX
    return Duration(nanos) if fits else Failure("integer overflow")


def _negate(value: Any) -> Any:
    if isinstance(value, bool):
        return NO_SUCH_OVERLOAD
    if isinstance(value, Duration):
        return _duration(-value.nanos)
    return -value if isinstance(value, float) else checked_int(-value)


def _not(value: Any) -> Any:
    return not value if isinstance(value, bool) else NO_SUCH_OVERLOAD


def _ordered(holds: Callable[[int], bool]) -> Callable[[Any, Any], Any]:
    def run(left: Any, right: Any) -> Any:
        order = compare(left, right)
        return order if type(order) is Failure else holds(order)  # type: ignore[arg-type]

    return run


def is_in(item: Any, container: Any) -> Any:
    """Return `item in container`."""
    if isinstance(container, list):
        return contains(container, item)
    if isinstance(container, dict):
        if container and type(container) not in (StringMap, DefaultMap):
            check_hashable(item)
        return find_in_map(StringMap(container) if type(container) is DefaultMap else container, item) is not MISSING
    return NO_SUCH_OVERLOAD


def _matches(text: Any, pattern: Any) -> Any:
    if not isinstance(pattern, str):
        return NO_SUCH_OVERLOAD
    try:
        return regular_expressions.is_match(pattern, text)
    except PatternError as error:
        return Failure(str(error))


OPERATORS: dict[str, tuple[int, Callable[..., Any]]] = {
    "_+_": (ADDER, add),
    "_-_": (SUBTRACTOR, _subtract),
    "_*_": (MULTIPLIER, _arithmetic(lambda a, b: a * b, lambda a, b: a * b)),
    "_/_": (DIVIDER, _arithmetic(_divide, _divide_doubles)),
    "_%_": (MODDER, _arithmetic(_modulo, None)),
    "-_": (NEGATOR, _negate),
    "!_": (0, _not),
    "_<_": (COMPARER, _ordered(lambda order: order < 0)),
    "_<=_": (COMPARER, _ordered(lambda order: order <= 0)),
    "_>_": (COMPARER, _ordered(lambda order: order > 0)),
    "_>=_": (COMPARER, _ordered(lambda order: order >= 0)),
    "@in": (0, is_in),
    "size": (SIZER, len),
    "matches": (MATCHER, _matches),
    "type": (0, lambda value: TypeValue(type_name(value))),
    "sort": (0, lambda items: sort_by_keys(items, items)),
    "@sortByAssociatedKeys": (0, sort_by_keys),
}
"""Function name to the trait that the first argument must have, 0 for none, and the body."""
LIST_ONLY = frozenset({"sort", "@sortByAssociatedKeys"})
"""Those whose first argument must be a list."""
