"""List and map literals, and the sets that `in` looks into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodewise.devices.cel.costs import LIST_COST, MAP_COST
from nodewise.devices.cel.frame import Frame, Step
from nodewise.devices.cel.values import Failure, Optional, Uint, check_hashable, map_key, shown


def list_step(steps: Sequence[Step], optional: frozenset[int]) -> Step:
    """Return the step that makes a list."""

    def run(frame: Frame) -> Any:
        values: list[Any] = []
        for step in steps:
            value = step(frame)
            if type(value) is Failure:
                frame.charge(LIST_COST)
                return value
            if len(values) in optional and type(value) is not Optional:
                frame.charge(LIST_COST)
                return Failure(f"cannot initialize optional list element from non-optional value {shown(value)}")
            values.append(value)
        frame.charge(LIST_COST)
        return list_of(values, optional)

    return run


def list_of(values: Sequence[Any], optional: frozenset[int]) -> list[Any]:
    """Return a list without the optional elements that are not there."""
    if not optional:
        return list(values)
    found: list[Any] = []
    for position, value in enumerate(values):
        if position not in optional:
            found.append(value)
        elif value.has_value:
            found.append(value.value)
    return found


def map_step(steps: Sequence[tuple[Step, Step, bool]]) -> Step:
    """Return the step that makes a map, from (key, value, is_optional)."""

    def run(frame: Frame) -> Any:
        entries: list[tuple[Any, Any, bool]] = []
        for key_step, value_step, is_optional in steps:
            key = key_step(frame)
            value = value_step(frame) if type(key) is not Failure else key
            if type(value) is not Failure and is_optional and type(value) is not Optional:
                value = Failure(
                    f"cannot initialize optional entry '{shown(key)}' from non-optional value {shown(value)}"
                )
            if type(value) is Failure:
                frame.charge(MAP_COST)
                return value
            entries.append((key, value, is_optional))
        found = map_of(entries)
        frame.charge(MAP_COST)
        return found

    return run


def map_of(entries: Sequence[tuple[Any, Any, bool]]) -> dict[Any, Any]:
    """Return a map without the optional entries that are not there; the last of equal keys counts.

    Raises
    ------
    Panic
        A key is of a type that upstream cannot look up.
    """
    found: dict[Any, Any] = {}
    for key, value, is_optional in entries:
        check_hashable(key)
        if is_optional and not value.has_value:
            found.pop(map_key(key), None)
        else:
            found[map_key(key)] = value.value if is_optional else value
    return found


# --- sets -------------------------------------------------------------------------------------------------------------

_SET_KINDS = {str: "s", bool: "b", int: "i", Uint: "u", float: "d"}


def set_lookup(step: Step, items: list[Any]) -> Step | None:
    """Return `x in [literals]` as a look into a set, which costs nothing; None: the literals are not of that kind."""
    if not all(type(item) in _SET_KINDS for item in items):
        return None
    members = {key for item in items for key in _set_keys(item)}

    def run(frame: Frame) -> Any:
        value = step(frame)
        if type(value) is Failure:
            return value
        check_hashable(value)
        kind = _SET_KINDS.get(type(value))
        return kind is not None and value == value and (kind, value) in members

    return run


def _set_keys(item: Any) -> list[tuple[str, Any]]:
    """Return a literal, and what numbers of other types are the same (maybeOptimizeSetMembership)."""
    kind = _SET_KINDS[type(item)]
    if kind not in "iud":
        return [(kind, item)]
    keys = [(kind, item)]
    if kind == "d" and (item != item or abs(item) >= 2.0**64 or item != int(item)):
        return keys
    number = int(item)
    if -(2**63) <= number < 2**63:
        keys.append(("i", number))
    if 0 <= number < 2**64:
        keys.append(("u", number))
    return [*keys, ("d", float(item))]
