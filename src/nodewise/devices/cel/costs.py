"""What a call costs at run time, in cel-go's units (CostTracker.costCall and Kubernetes' CostEstimator).

Sizes are turned into costs in floating point, as upstream does: a tenth of 30, rounded up, is 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from nodewise.api.quantity import Quantity
from nodewise.devices.cel.network import Address, Network
from nodewise.devices.cel.semantic_versions import Semver
from nodewise.devices.cel.urls import Url
from nodewise.devices.cel.values import ADDER, TRAITS, NamedFormat, Optional, Panic, go_type, size_of, type_name

LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40
_MAX_UINT64 = 2**64 - 1
_PER_CHARACTER = 0.1
_PER_PATTERN_CHARACTER = 0.25

CostFunction = Callable[[Sequence[Any], Any], int]
"""From arguments and result."""


def _characters(size: float) -> int:
    return math.ceil(size * _PER_CHARACTER)


def _size(value: Any) -> int:
    """Return a size as cel-go's own tracker sees it: through optional values (interpreter.actualSize)."""
    while isinstance(value, Optional) and value.has_value:
        value = value.value
    return size_of(value)


# --- by function, Kubernetes' own -------------------------------------------------------------------------------------


def _one(args: Sequence[Any], result: Any) -> int:
    return 1


def _traversal(value: Any) -> int:
    if isinstance(value, (str, bytes)):
        n_bytes = len(value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value)
        return int(n_bytes * _PER_CHARACTER)
    if isinstance(value, list):
        return sum(map(_traversal, value))
    if isinstance(value, dict):
        return sum([_traversal(key) + _traversal(item) for key, item in value.items()])
    return 1


def _first_argument(factor: int) -> CostFunction:
    return lambda args, result: _characters(size_of(args[0]) * factor)


def _pattern(args: Sequence[Any], result: Any) -> int:
    # a regular expression's states are guessed from its length
    return _characters(1.0 + size_of(args[0])) * math.ceil(size_of(args[1]) * _PER_PATTERN_CHARACTER)


def _selector(args: Sequence[Any], result: Any) -> int:
    size = size_of(args[1])
    return LIST_COST + _characters(size) + math.ceil(size * 0.5) * (LIST_COST + STRUCT_COST)


def _validation(args: Sequence[Any], result: Any) -> int:
    if not isinstance(args[0], NamedFormat):
        return 1
    return _characters(1.0 + size_of(args[1])) * math.ceil(args[0].max_regex_size * _PER_PATTERN_CHARACTER)


BY_FUNCTION: dict[str, CostFunction] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"),
        lambda args, result: _traversal(args[0]),
    ),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _first_argument(1)),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "ip"), _first_argument(1)),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _first_argument(1)),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _first_argument(2)),
    "join": lambda args, result: _characters(size_of(result) * 2),
    "find": _pattern,
    "findAll": _pattern,
    "validate": _validation,
    "check": lambda args, result: 350_000,
    "fieldSelector": _selector,
    "labelSelector": _selector,
    "containsIP": lambda args, result: _characters(2 * size_of(args[0])),
    "containsCIDR": lambda args, result: _characters(2 * size_of(args[0])) + _characters(size_of(args[0])) + 1,
}
"""Costs that go by the name of a function."""


def _contained_text(args: Sequence[Any], result: Any) -> int:
    return _characters(2 * size_of(args[0])) + _characters(size_of(args[1]))


def _contained_network_text(args: Sequence[Any], result: Any) -> int:
    return BY_FUNCTION["containsCIDR"](args, result) + _characters(size_of(args[1]))


# --- by form: cel-go's own, and its extensions for lists and sets -----------------------------------------------------


def _allocation(factor: float, size: int) -> int:
    return min(int(size * (1.0 if factor < 0 else factor)) + 1 + LIST_COST, _MAX_UINT64)


def _output(args: Sequence[Any], result: Any) -> int:
    return _allocation(1, size_of(result))


def _flattening(args: Sequence[Any], result: Any) -> int:
    if len(args) == 2 and type(args[1]) is not int:
        raise Panic(f"interface conversion: ref.Val is {go_type(args[1])}, not types.Int")
    return _allocation(float(args[1]) if len(args) == 2 else 1.0, size_of(args[0]))


def _self_comparison(position: int) -> CostFunction:
    def run(args: Sequence[Any], result: Any) -> int:
        items = args[position]
        if not isinstance(items, list):
            missing = "Contains" if TRAITS.get(type_name(items), 0) & ADDER else "Add"
            raise Panic(f"interface conversion: {go_type(items)} is not traits.Lister: missing method {missing}")
        factor = 2.1 if items and isinstance(items[0], (str, bytes)) else 2.0
        return _allocation(factor, len(items) ** 2)

    return run


def _product(factor: int) -> CostFunction:
    return lambda args, result: 1 + size_of(args[0]) * size_of(args[1]) * factor


def _shorter(args: Sequence[Any], result: Any) -> int:
    return _characters(min(_size(args[0]), _size(args[1])))


def _equality(args: Sequence[Any], result: Any) -> int:
    return 1 if isinstance(args[0], _CHEAP_TO_COMPARE) else _shorter(args, result)


_CHEAP_TO_COMPARE = (Quantity, Semver, Url, Address, Network, NamedFormat)
_ORDERED = (
    *("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes"),
)

BY_OVERLOAD: dict[str, CostFunction] = {
    "list_slice": _output,
    "lists_range": _output,
    "list_reverse": _output,
    "list_flatten": _flattening,
    "list_flatten_int": _flattening,
    "list_distinct": _self_comparison(0),
    **{f"list_{name}_sort": _self_comparison(0) for name in _ORDERED},
    **{f"list_{name}_sortByAssociatedKeys": _self_comparison(1) for name in _ORDERED},
    "list_sets_contains_list": _product(1),
    "list_sets_intersects_list": _product(1),
    "list_sets_equivalent_list": _product(2),
    "cidr_ip": _one,
    "cidr_contains_ip_string": _contained_text,
    "cidr_contains_cidr_string": _contained_network_text,
    **dict.fromkeys(("starts_with_string", "ends_with_string"), lambda args, result: _characters(_size(args[1]))),
    **dict.fromkeys(
        ("string_to_bytes", "bytes_to_string", "strings_quote", "string_format"),
        lambda args, result: _characters(_size(args[0])),
    ),
    "in_list": lambda args, result: _size(args[1]),
    **{
        f"{relation}_{name}": _shorter
        for relation in ("less", "less_equals", "greater", "greater_equals")
        for name in ("string", "bytes")
    },
    "equals": _equality,
    "not_equals": _shorter,
    "add_string": lambda args, result: _characters(_size(args[0]) + _size(args[1])),
    "add_bytes": lambda args, result: _characters(_size(args[0]) + _size(args[1])),
    "matches": lambda args, result: _matching(args),
    "matches_string": lambda args, result: _matching(args),
    "contains_string": lambda args, result: _characters(_size(args[0])) * _characters(_size(args[1])),
}
"""Costs that go by the form of a function, if the checker knows which one it is."""


def _matching(args: Sequence[Any]) -> int:
    return _characters(1.0 + _size(args[0])) * math.ceil(_size(args[1]) * _PER_PATTERN_CHARACTER)


def cost_function(function: str, overload_id: str) -> CostFunction:
    """Return how to count the cost of a call; `overload_id` is "" where several forms are possible."""
    return BY_OVERLOAD.get(overload_id) or BY_FUNCTION.get(function) or _one
