"""What plugins keep for the length of one scheduling cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True)  # without slots: frozen, slotted and generic do not go together before Python 3.12
class StateKey(Generic[T]):
    """A typed key, such as `StateKey[PortSet]("NodePorts/wanted")`."""

    name: str


class CycleState:
    """Values by typed key, for one pod's cycle."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def write(self, key: StateKey[T], value: T) -> None:
        """Keep a value."""
        self._values[key.name] = value

    def read(self, key: StateKey[T]) -> T | None:
        """Return a value, None when nobody wrote it."""
        return cast("T | None", self._values.get(key.name))
