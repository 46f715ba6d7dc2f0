"""Small integers for values that repeat."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """Gives every distinct value an id, counting from 0; `values[id]` is the way back."""

    __slots__ = ("ids", "values")

    def __init__(self) -> None:
        self.ids: dict[T, int] = {}
        self.values: list[T] = []

    def intern(self, value: T) -> int:
        """Return the id of a value, a new one if it was never seen."""
        found = self.ids.get(value)
        if found is None:
            found = self.ids[value] = len(self.values)
            self.values.append(value)
        return found

    def __len__(self) -> int:
        return len(self.values)
