"""How long a pod backs off after a failed attempt, and the pods that do."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, sqrt

from nodewise.queue.heap import KeyedHeap
from nodewise.queue.queued_pod import QueuedEntity
from nodewise.queue.settings import QueueSettings

_NS = 1_000_000_000
NO_BACKOFF = float("-inf")


def backoff_ns(count: int, initial_ns: int, max_ns: int, n_pods: int = 1) -> int:
    """Return how long to back off after `count` failures, nanoseconds (calculateBackoffDuration).

    The initial duration doubles with each failure up to the maximum, which grows with the root of the number of pods.

    >>> [backoff_ns(count, _NS, 10 * _NS) // _NS for count in range(7)]
    [0, 1, 2, 4, 8, 10, 10]
    """
    if count == 0:
        return 0
    if n_pods > 1:
        max_ns = int(float(max_ns) * sqrt(n_pods))
    shift = count - 1
    return max_ns if initial_ns > max_ns >> shift else initial_ns << shift


class BackoffQueue:
    """Pods that back off, those rejected by plugins and those that failed by errors in heaps of their own.

    With `pop_from_backoff_queue` an expiration is cut to the whole second, and a pod whose expiration is the current
    second still waits.
    """

    def __init__(self, settings: QueueSettings) -> None:
        self._initial_ns = round(settings.initial_backoff_s * _NS)
        self._max_ns = round(settings.max_backoff_s * _NS)
        self._is_aligned = settings.pop_from_backoff_queue
        self._rejected: KeyedHeap[QueuedEntity] = KeyedHeap()
        self._failed: KeyedHeap[QueuedEntity] = KeyedHeap()

    def expiration(self, entity: QueuedEntity) -> float:
        """Return when an entity's backoff ends, seconds since the epoch (getBackoffTime)."""
        count = entity.consecutive_errors_count or entity.unschedulable_count
        if count == 0 or self._max_ns == 0:
            return NO_BACKOFF
        if entity.backoff_expiration is None:
            duration_ns = backoff_ns(count, self._initial_ns, self._max_ns, len(entity.members))
            end = entity.timestamp + duration_ns / _NS
            entity.backoff_expiration = float(floor(end)) if self._is_aligned else end
        return entity.backoff_expiration

    def is_backing_off(self, entity: QueuedEntity, now: float) -> bool:
        """Tell whether an entity has to wait still; with whole seconds, the last one counts to its end."""
        return self.expiration(entity) >= (floor(now) if self._is_aligned else now)

    def put(self, entity: QueuedEntity) -> None:
        """Add an entity, or find its place anew; it is in one of the heaps at most."""
        expiration = self.expiration(entity)
        order = (expiration, entity.order) if self._is_aligned else (expiration, entity.sequence)
        heap, other = (self._failed, self._rejected) if entity.is_error else (self._rejected, self._failed)
        other.remove(entity.key)
        heap.put(entity, order)

    def pop_early(self) -> QueuedEntity | None:
        """Take out the rejected entity that is next in turn, however long it is to wait; never one that failed."""
        return self._rejected.pop()

    def has_early(self) -> bool:
        """Tell whether `pop_early` would find something."""
        return len(self._rejected) > 0

    def pop_completed(self, now: float) -> list[QueuedEntity]:
        """Take out all that have waited long enough (popAllBackoffCompleted)."""
        completed: list[QueuedEntity] = []
        for heap in (self._rejected, self._failed):
            while (entity := heap.peek()) is not None and not self.is_backing_off(entity, now):
                heap.pop()
                completed.append(entity)
        return completed

    def first_expiration(self) -> float | None:
        """Return when the first backoff ends; None when nothing backs off."""
        orders = [heap.first_order() for heap in (self._rejected, self._failed)]
        return min((order[0] for order in orders if order is not None), default=None)

    def remove(self, key: str) -> QueuedEntity | None:
        """Take out the entity with a key; None when there is none."""
        return self._rejected.remove(key) or self._failed.remove(key)

    def get(self, key: str) -> QueuedEntity | None:
        """Return the entity with a key; None when there is none."""
        return self._rejected.get(key) or self._failed.get(key)

    def __contains__(self, key: str) -> bool:
        return key in self._rejected or key in self._failed

    def __len__(self) -> int:
        return len(self._rejected) + len(self._failed)

    def __iter__(self) -> Iterator[QueuedEntity]:
        yield from self._rejected
        yield from self._failed
