"""Chains of selections, such as `device.attributes["x"].y` (cel-go's attributes and qualifiers).

A chain counts one for itself and one for each element that it finds; a step that asks for an optional element and finds
none ends the chain at no cost.
"""

from __future__ import annotations

from typing import Any, Protocol

from nodewise.devices.cel.frame import Frame, Lazy, Step
from nodewise.devices.cel.values import (
    MISSING,
    NO_SUCH_OVERLOAD,
    NONE,
    Failure,
    GrowingList,
    GrowingMap,
    Optional,
    Uint,
    find_in_map,
    go_type,
    shown,
    type_name,
)

_KEY_TYPES = frozenset({str, int, Uint, bool, float})


class KeyTypeError(TypeError):
    """A constant that no element can be found by; the text is cel-go's."""


class Qualifier:
    """One step of a chain: an element to look for.

    Parameters
    ----------
    key
        What to look for, if it is constant.
    key_step
        What computes it otherwise.
    is_optional
        Whether the element may be missing.
    is_test
        Whether only its presence is asked for.
    """

    __slots__ = ("_is_test", "_key", "_key_step", "is_optional")

    def __init__(
        self, key: Any = None, key_step: Step | None = None, *, is_optional: bool = False, is_test: bool = False
    ) -> None:
        if key_step is None and type(key) not in _KEY_TYPES:
            raise KeyTypeError(f"invalid qualifier type: {go_type(key)}")
        self._key = key
        self._key_step = key_step
        self._is_test = is_test
        self.is_optional = is_optional

    def apply(self, frame: Frame, container: Any, *, may_miss: bool) -> Any:
        """Return the element; MISSING when it may be missing and is, a Failure when it must not."""
        key = self._key
        if self._key_step is not None:
            key = self._key_step(frame)
            if type(key) is not Failure and type(key) not in _KEY_TYPES:
                key = Failure(f"invalid qualifier type: {go_type(key)}")
        found = key if type(key) is Failure else _find(container, key)
        if may_miss:
            if found is MISSING or type(found) is Failure:
                return found
            frame.charge(1)
            return None if self._is_test else found
        frame.charge(1)
        if self._is_test:
            return found if type(found) is Failure else found is not MISSING
        return _missing(container, key) if found is MISSING else found


def _find(container: Any, key: Any) -> Any:
    if isinstance(container, dict):
        return find_in_map(container, key)
    if isinstance(container, list):
        position = _position(key)
        if type(position) is Failure:
            return position
        return container[position] if 0 <= position < len(container) else MISSING
    return container if type(container) is Failure else MISSING


def _position(key: Any) -> Any:
    """Return a list's index (types.IndexOrError)."""
    if isinstance(key, float) and key == key and abs(key) < 2.0**63 and key == int(key):
        return int(key)
    if isinstance(key, (bool, str)):
        return Failure(f"unsupported index type '{type_name(key)}' in list")
    if isinstance(key, float) or key >= 2**63:
        return Failure(f"unsupported index value {shown(key)} in list")
    return int(key)


def _missing(container: Any, key: Any) -> Failure:
    return Failure(f"{'index out of bounds' if isinstance(container, list) else 'no such key'}: {shown(key)}")


class Chain(Protocol):
    """Something that selections can be added to."""

    cost: int
    """What it counts when it is evaluated on its own, besides its elements."""

    def add(self, qualifier: Qualifier) -> None:
        """Lengthen the chain."""

    def resolve(self, frame: Frame) -> Any:
        """Return the value at its end, counting the elements found."""


class StepChain:
    """A chain that starts at a computed value."""

    cost = 1

    def __init__(self, start: Step) -> None:
        self._start = start
        self._qualifiers: list[Qualifier] = []

    def add(self, qualifier: Qualifier) -> None:
        self._qualifiers.append(qualifier)

    def resolve(self, frame: Frame) -> Any:
        value = self._start(frame)
        if not self._qualifiers or type(value) is Failure:
            return value
        may_miss = type(value) is Optional
        if may_miss:
            if not value.has_value:
                return value
            value = value.value
        for qualifier in self._qualifiers:
            may_miss = may_miss or qualifier.is_optional
            value = qualifier.apply(frame, value, may_miss=may_miss)
            if type(value) is Failure:
                return value
            if value is MISSING:
                return NONE
        return Optional(value, has_value=True) if may_miss else value


class _UncountedChain(StepChain):
    """A chain whose elements count nothing."""

    def resolve(self, frame: Frame) -> Any:
        cost = frame.cost
        value = super().resolve(frame)
        frame.cost = cost
        return value


def variable_chain(name: str, *, is_hidden: bool) -> StepChain:
    """Return a chain that starts at a variable; from one that another hides, upstream does not count its elements."""

    def look_up(frame: Frame) -> Any:
        value = frame.variables[name]
        return _computed(frame, name, value) if type(value) is Lazy else value

    return _UncountedChain(look_up) if is_hidden else StepChain(look_up)


def _computed(frame: Frame, name: str, lazy: Lazy) -> Any:
    """Compute the initial value of a loop's result; an empty list or map becomes one that grows."""
    inner = frame.variables
    frame.variables = lazy.outer
    try:
        value = lazy.step(frame)
    finally:
        frame.variables = inner
    if isinstance(value, (list, dict)) and not value:
        value = GrowingList() if isinstance(value, list) else GrowingMap()
    inner[name] = value
    return value


class ChoiceChain:
    """`condition ? a : b`, whose selections are made on either."""

    cost = 0

    def __init__(self, condition: Step, if_true: Chain, if_false: Chain) -> None:
        self._condition = condition
        self._if_true = if_true
        self._if_false = if_false

    def add(self, qualifier: Qualifier) -> None:
        self._if_true.add(qualifier)
        self._if_false.add(qualifier)

    def resolve(self, frame: Frame) -> Any:
        chosen = self._condition(frame)
        if chosen is True:
            return self._if_true.resolve(frame)
        if chosen is False:
            return self._if_false.resolve(frame)
        return chosen if type(chosen) is Failure else NO_SUCH_OVERLOAD
