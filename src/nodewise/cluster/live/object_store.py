"""The objects of one kind as they were last heard of, and what makes the difference to what is heard now."""

from __future__ import annotations

from collections.abc import Iterable

from nodewise.api.objects import AnyObject
from nodewise.cluster.object_documents import place_of

Difference = tuple[AnyObject | None, AnyObject | None]
"""An object as it was and as it is; None where there is none."""


class ObjectStore:
    """Objects by `namespace/name`; an object with another uid is another object."""

    def __init__(self) -> None:
        self._objects: dict[str, AnyObject] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def has(self, obj: AnyObject) -> bool:
        """Tell whether there is an object of this name."""
        return place_of(obj) in self._objects

    def put(self, obj: AnyObject) -> list[Difference]:
        """Take in an object that is new or has changed; one that is known as it is makes no difference."""
        place = place_of(obj)
        old = self._objects.get(place)
        differences = _between(old, obj)
        if differences:
            self._objects[place] = obj
        return differences

    def remove(self, obj: AnyObject) -> list[Difference]:
        """Take in that an object is gone; it is told as it was when it went."""
        old = self._objects.pop(place_of(obj), None)
        if old is None:
            return []
        return [(obj if _is_same(old, obj) else old, None)]

    def replace(self, objects: Iterable[AnyObject]) -> list[Difference]:
        """Take in all there are now; what is gone comes first."""
        before, self._objects = self._objects, {place_of(obj): obj for obj in objects}
        differences: list[Difference] = [(old, None) for place, old in before.items() if place not in self._objects]
        for place, obj in self._objects.items():
            old = before.get(place)
            found = _between(old, obj)
            if found:
                differences += found
            elif old is not None:
                # the old one is known to others: no need for two
                self._objects[place] = old
        return differences


def _between(old: AnyObject | None, new: AnyObject) -> list[Difference]:
    if old is None:
        return [(None, new)]
    if not _is_same(old, new):
        return [(old, None), (None, new)]
    if old.metadata.resource_version == new.metadata.resource_version:
        return []
    return [(old, new)]


def _is_same(old: AnyObject, new: AnyObject) -> bool:
    return old.metadata.uid == new.metadata.uid
