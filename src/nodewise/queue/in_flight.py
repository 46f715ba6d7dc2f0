"""Pods between Pop and Done, and the events they would otherwise miss."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.framework.events import ClusterEvent

POD_POPPED = "PodPopped"
_FEW = 64


@dataclass(frozen=True, slots=True)
class InFlightEvent:
    """An event with its object, as it was and as it is."""

    event: ClusterEvent
    old: Any
    new: Any


class InFlight:
    """What happens while pods are in flight, kept only as long as the pod that is in flight longest.

    Every operation costs O(1), amortised, besides reading what a pod has missed.
    """

    def __init__(self) -> None:
        self._first_missed: OrderedDict[str, int] = OrderedDict()  # number of the first event a pod has missed, by uid
        self._events: list[InFlightEvent] = []
        self._start = 0  # where the events that somebody needs begin in the list
        self._offset = 0  # number of the event that the list begins with

    def enter(self, uid: str) -> bool:
        """Note that a pod is being scheduled; False when it already is."""
        if uid in self._first_missed:
            return False
        self._first_missed[uid] = self._offset + len(self._events)
        return True

    def leave(self, uid: str) -> None:
        """Note that a pod is done, if it is in flight, and let go of events that nobody else needs."""
        if self._first_missed.pop(uid, None) is None:
            return
        if not self._first_missed:
            self._offset += len(self._events)
            self._events.clear()
            self._start = 0
            return
        self._start = next(iter(self._first_missed.values())) - self._offset
        if self._start > len(self._events) // 2 + _FEW:
            del self._events[: self._start]
            self._offset += self._start
            self._start = 0

    def record(self, event: ClusterEvent, old: Any, new: Any) -> None:
        """Keep an event for the pods that are in flight now."""
        if self._first_missed:
            self._events.append(InFlightEvent(event, old, new))

    def missed_by(self, uid: str) -> Sequence[InFlightEvent] | None:
        """Return what happened since a pod was popped, oldest first; None when it is not in flight."""
        number = self._first_missed.get(uid)
        return None if number is None else self._events[number - self._offset :]

    def counts(self) -> Counter[str]:
        """Return how many events are kept, by label, and pods as `PodPopped` (scheduler_inflight_events)."""
        counts = Counter(kept.event.label for kept in self._events[self._start :])
        if self._first_missed:
            counts[POD_POPPED] = len(self._first_missed)
        return counts

    def __contains__(self, uid: str) -> bool:
        return uid in self._first_missed

    def __len__(self) -> int:
        return len(self._first_missed)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._first_missed))
