"""What the queue tells whoever counts."""

from __future__ import annotations

from collections import Counter
from typing import Protocol


class QueueMetrics(Protocol):
    """Hears of what happens in the queue, and makes metrics of it."""

    def incoming(self, queue: str, event: str, kind: str, n_pods: int, *, is_new: bool) -> None:
        """Pods came into a queue (queue_incoming_pods_total; queue_incoming_entities_total where `is_new`).

        Parameters
        ----------
        queue : str
            `active`, `backoff` or `unschedulable`.
        event : str
            The label of the event that brought them.
        kind : str
            `pod` or `podgroup`.
        is_new : bool
            Whether they were in no queue before, or in another one than the event asked for.
        """
        ...

    def unschedulable(self, plugin: str, profile: str, change: int) -> None:
        """There is one pod more or less that a plugin rejected (unschedulable_pods)."""
        ...

    def hint_started(self) -> float:
        """Return the time by a clock of the receiver's own; it comes back in `hint_finished`."""
        ...

    def hint_finished(self, plugin: str, event: str, result: str, started: float) -> None:
        """A queueing hint said `Queue`, `QueueSkip`, or failed: `Error` (queueing_hint_execution_duration_seconds)."""
        ...


class _NoMetrics:
    def incoming(self, queue: str, event: str, kind: str, n_pods: int, *, is_new: bool) -> None:
        pass

    def unschedulable(self, plugin: str, profile: str, change: int) -> None:
        pass

    def hint_started(self) -> float:
        return 0.0

    def hint_finished(self, plugin: str, event: str, result: str, started: float) -> None:
        pass


NO_METRICS: QueueMetrics = _NoMetrics()


class QueueCounts:
    """Counts what happens, without a clock.

    Attributes
    ----------
    incoming_pods : Counter[tuple[str, str]]
        By queue and event.
    incoming_entities : Counter[tuple[str, str, str]]
        By queue, event and kind.
    unschedulable_pods : Counter[tuple[str, str]]
        By plugin and profile; those at zero are left out.
    hints : Counter[tuple[str, str, str]]
        By plugin, event and result.
    """

    def __init__(self) -> None:
        self.incoming_pods: Counter[tuple[str, str]] = Counter()
        self.incoming_entities: Counter[tuple[str, str, str]] = Counter()
        self.unschedulable_pods: Counter[tuple[str, str]] = Counter()
        self.hints: Counter[tuple[str, str, str]] = Counter()

    def incoming(self, queue: str, event: str, kind: str, n_pods: int, *, is_new: bool) -> None:
        self.incoming_pods[queue, event] += n_pods
        if is_new:
            self.incoming_entities[queue, event, kind] += 1

    def unschedulable(self, plugin: str, profile: str, change: int) -> None:
        self.unschedulable_pods[plugin, profile] += change
        if self.unschedulable_pods[plugin, profile] == 0:
            del self.unschedulable_pods[plugin, profile]

    def hint_started(self) -> float:
        return 0.0

    def hint_finished(self, plugin: str, event: str, result: str, started: float) -> None:
        self.hints[plugin, event, result] += 1
