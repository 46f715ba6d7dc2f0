"""What a call costs at run time, in cel-go's units (CostTracker.costCall and Kubernetes' CostEstimator)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodewise.api.quantity import Quantity
from nodewise.devices.cel.values import Semver, size_of

_TRAVERSALS = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"})
_STRING_TENTHS = {
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), 1),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), 1),
    **dict.fromkeys(("strings.quote", "format"), 1),
    **dict.fromkeys(("replace", "split"), 2),
}
"""Tenths of a unit for each character of the first argument."""
_COMPARISONS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})


def cost_of_call(function: str, args: Sequence[Any], result: Any) -> int:
    """Return the cost of one call."""
    if function in ("_==_", "_!=_"):
        if function == "_==_" and isinstance(args[0], (Quantity, Semver)):
            return 1
        return _tenths(min(size_of(args[0]), size_of(args[1])))
    if function in _TRAVERSALS:
        return _traversal(args[0])
    if function in _STRING_TENTHS:
        return _tenths(size_of(args[0]) * _STRING_TENTHS[function])
    if function == "join":
        return _tenths(size_of(result) * 2)
    if function in ("matches", "find", "findAll"):
        # a regular expression's states are guessed from its length
        return _tenths(1 + size_of(args[0])) * -(-size_of(args[1]) // 4)
    if function in _COMPARISONS and isinstance(args[0], (str, bytes)):
        return _tenths(min(size_of(args[0]), size_of(args[1])))
    if function in ("startsWith", "endsWith"):
        return _tenths(size_of(args[1]))
    if function == "contains":
        return _tenths(size_of(args[0])) * _tenths(size_of(args[1]))
    if function == "_+_" and isinstance(args[0], (str, bytes)):
        return _tenths(size_of(args[0]) + size_of(args[1]))
    if function in ("sort", "distinct"):
        return 11 + 2 * size_of(args[0]) ** 2
    if function in ("flatten", "lists.range", "slice", "reverse"):
        return 11 + size_of(result)
    if function.startswith("sets."):
        return 1 + size_of(args[0]) * size_of(args[1])
    if function == "@in" and isinstance(args[1], (list, tuple)):
        return size_of(args[1])
    return 1


def _tenths(size: int) -> int:
    """Return a tenth, rounded up: what walking over so many characters costs."""
    return -(-size // 10)


def _traversal(value: Any) -> int:
    if isinstance(value, (str, bytes)):
        return len(value) // 10
    if isinstance(value, (list, tuple)):
        return sum(_traversal(item) for item in value)
    return 1
