"""Entities that wait for an event: rejected in an attempt, or gated before one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from nodewise.queue.heap import KeyedHeap
from nodewise.queue.queued_pod import QueuedEntity


class UnschedulableEntities:
    """Entities by key, by age, and by what they were rejected by (unschedulableEntities).

    An event says nothing to most plugins, so entities that share their `rejection` are kept together: one look rules
    all of them out.
    """

    def __init__(self) -> None:
        self._by_age: KeyedHeap[QueuedEntity] = KeyedHeap()
        self._groups: dict[Hashable, dict[str, QueuedEntity]] = {}
        self._rejection_of: dict[str, Hashable] = {}

    def put(self, entity: QueuedEntity) -> bool:
        """Add an entity, or find its place anew; tell whether it is new here."""
        key, rejection = entity.key, entity.rejection
        known = self._rejection_of.get(key)
        if known != rejection:
            if known is not None:
                self._leave_group(key, known)
            self._rejection_of[key] = rejection
        self._groups.setdefault(rejection, {})[key] = entity
        self._by_age.put(entity, entity.waiting_since)
        return known is None

    def remove(self, key: str) -> QueuedEntity | None:
        """Take out the entity with a key; None when there is none."""
        if key not in self._rejection_of:
            return None
        self._leave_group(key, self._rejection_of.pop(key))
        return self._by_age.remove(key)

    def get(self, key: str) -> QueuedEntity | None:
        """Return the entity with a key; None when there is none."""
        return self._by_age.get(key)

    def where(self, holds: Callable[[QueuedEntity], bool]) -> list[QueuedEntity]:
        """Return the entities for which something holds; `rejection` decides it, so it is asked once for each."""
        found: list[QueuedEntity] = []
        for group in self._groups.values():
            if holds(next(iter(group.values()))):
                found.extend(group.values())
        return found

    def older_than(self, age_s: float, now: float) -> list[QueuedEntity]:
        """Return, and leave where they are, the entities that have waited longer, the oldest first."""
        old: list[QueuedEntity] = []
        while (entity := self._by_age.peek()) is not None and now - entity.waiting_since > age_s:
            self._by_age.pop()
            old.append(entity)
        for entity in old:
            self._by_age.put(entity, entity.waiting_since)
        return old

    def oldest(self) -> float | None:
        """Return since when the oldest waits; None when there is none."""
        entity = self._by_age.peek()
        return None if entity is None else entity.waiting_since

    def __contains__(self, key: str) -> bool:
        return key in self._by_age

    def __len__(self) -> int:
        return len(self._by_age)

    def __iter__(self) -> Iterator[QueuedEntity]:
        return iter(self._by_age)

    def _leave_group(self, key: str, rejection: Hashable) -> None:
        group = self._groups[rejection]
        del group[key]
        if not group:
            del self._groups[rejection]
