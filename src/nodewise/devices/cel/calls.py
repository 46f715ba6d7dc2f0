"""Which body a call has, and what is done with arguments of the wrong type (cel-go's dispatcher and type guards)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.devices.cel import (
    conversions,
    list_functions,
    name_formats,
    network_functions,
    optional_functions,
    quantity_functions,
    string_functions,
    time_functions,
)
from nodewise.devices.cel.cel_types import CelType
from nodewise.devices.cel.declarations import Overload, declarations
from nodewise.devices.cel.operators import LIST_ONLY, OPERATORS
from nodewise.devices.cel.values import NO_SUCH_OVERLOAD, RECEIVER, TRAITS, Failure, key_value, type_name

BODIES: dict[str, Callable[..., Any]] = {
    **conversions.FUNCTIONS,
    **list_functions.FUNCTIONS,
    **name_formats.FUNCTIONS,
    **network_functions.FUNCTIONS,
    **optional_functions.FUNCTIONS,
    **quantity_functions.FUNCTIONS,
    **string_functions.FUNCTIONS,
    **time_functions.FUNCTIONS,
}
"""By overload id; what only permissions are asked with has none, and is never called with values that fit."""
_UNGUARDED = frozenset({"contains", "startsWith", "endsWith", "flatten"})
"""Functions that look at the types of their arguments themselves."""
_STOPS_EARLY = frozenset({"string_format"})
"""Forms with two arguments of which the second is not evaluated when the first failed."""


@dataclass(frozen=True, slots=True)
class Body:
    """What a call does.

    Attributes
    ----------
    run : Callable[[Sequence[Any]], Any]
        From the arguments, none of which failed, to the value.
    stops_early : bool
        Whether arguments after one that failed are left alone.
    """

    run: Callable[[Sequence[Any]], Any]
    stops_early: bool


def body_of(function: str, overload_id: str, n_args: int) -> Body:
    """Return the body of a call; `overload_id` is "" where several forms are possible."""
    if function in OPERATORS:
        return Body(_operator(function), stops_early=False)
    overloads = declarations()[function]
    if not overload_id and len(overloads) == 1:
        overload_id = overloads[0].overload_id
    if overload_id:
        overload = next(one for one in overloads if one.overload_id == overload_id)
        return Body(_guarded(function, overload), n_args > 2 or overload_id in _STOPS_EARLY)
    return Body(_dispatched(function, overloads), stops_early=True)


def _operator(function: str) -> Callable[[Sequence[Any]], Any]:
    trait, body = OPERATORS[function]
    needs_list = function in LIST_ONLY
    otherwise = Failure(f"no such overload: {function}")

    def run(args: Sequence[Any]) -> Any:
        if trait or needs_list:
            traits = TRAITS.get(type_name(args[0]), 0)
            if not (isinstance(args[0], list) if needs_list else traits & trait):
                return NO_SUCH_OVERLOAD if traits & RECEIVER else otherwise
        return body(*args)

    return run


def _guarded(function: str, overload: Overload) -> Callable[[Sequence[Any]], Any]:
    body = BODIES.get(overload.overload_id)

    def run(args: Sequence[Any]) -> Any:
        if body is None or not (function in _UNGUARDED or fits(overload, args)):
            return no_such_overload(function, args)
        return body(*args)

    return run


def _dispatched(function: str, overloads: Sequence[Overload]) -> Callable[[Sequence[Any]], Any]:
    def run(args: Sequence[Any]) -> Any:
        for overload in overloads:
            body = BODIES.get(overload.overload_id)
            if body is not None and (fits(overload, args) or _is_unguarded(function, overload, args)):
                return body(*args)
        return no_such_overload(function, args)

    return run


def _is_unguarded(function: str, overload: Overload, args: Sequence[Any]) -> bool:
    return function in _UNGUARDED and len(args) == len(overload.params)


def no_such_overload(function: str, args: Sequence[Any]) -> Failure:
    """Return what is said of arguments that no form of a function takes (MaybeNoSuchOverload)."""
    return Failure(f"no such overload: {function}({', '.join(map(type_name, args))})")


def fits(overload: Overload, args: Sequence[Any]) -> bool:
    """Tell whether values are of the types that a form of a function takes."""
    return len(args) == len(overload.params) and all(map(_is_of, overload.params, args))


def _is_of(kind: CelType, value: Any) -> bool:
    """Tell whether a value is of a type; of lists and maps the first element tells (IsAssignableRuntimeType)."""
    if kind.is_param or kind.is_dyn:
        return True
    if kind.name != type_name(value):
        return False
    if kind.name == "list" and value:
        return _is_of(kind.params[0], value[0])
    if kind.name == "map" and value:
        key, item = next(iter(value.items()))
        return _is_of(kind.params[0], key_value(key)) and _is_of(kind.params[1], item)
    return True
