"""What the cycles tell whoever counts and times."""

from __future__ import annotations

from typing import Protocol

from nodewise.framework.events import ClusterEvent
from nodewise.framework.status import Code, Status
from nodewise.queue.queued_pod import QueuedPod
from nodewise.runtime.plugin_timing import PluginTiming


class SchedulerMetrics(Protocol):
    """Hears of what happens to pods, and makes metrics of it.

    `started` is the receiver's own: what `start` returned when that began which is over now.
    """

    def start(self) -> float:
        """Return the time by a clock of the receiver's own."""
        ...

    def decided(self, started: float) -> None:
        """A cycle came to a node or to none (scheduling_algorithm_duration_seconds)."""
        ...

    def failed(self, result: str, profile: str, started: float) -> None:
        """An attempt has failed (schedule_attempts_total, scheduling_attempt_duration_seconds).

        Parameters
        ----------
        result : str
            `unschedulable` or `error`.
        """
        ...

    def scheduled(self, queued: QueuedPod, started: float, now: float) -> None:
        """A pod is bound (what `failed` counts, pod_scheduling_attempts, pod_scheduling_sli_duration_seconds).

        Parameters
        ----------
        now : float
            By the clock of the queue.
        """
        ...

    def ran(self, point: str, code: Code, profile: str, started: float) -> None:
        """All plugins of an extension point ran for a pod (framework_extension_point_duration_seconds)."""
        ...

    def timing(self) -> PluginTiming | None:
        """Return what is to time every plugin of a cycle that begins; None for most (plugin_execution_duration)."""
        ...

    def handled(self, event: ClusterEvent, started: float) -> None:
        """A change in the cluster was taken in (event_handling_duration_seconds)."""
        ...

    def permit_waited(self, code: Code, started: float) -> None:
        """A pod waited for Permit plugins (permit_wait_duration_seconds)."""
        ...

    def preemption_attempted(self) -> None:
        """Room was looked for by preemption (preemption_attempts_total)."""
        ...

    def preempted(self, n_victims: int) -> None:
        """Victims were chosen (preemption_victims)."""
        ...

    def evicted(self, result: str) -> None:
        """The task that evicts them is over: `success` or `error` (preemption_goroutines_execution_total)."""
        ...

    def bind_failed(self, status: Status) -> None:
        """A pod was not bound to the node chosen for it, because of a Bind plugin or the API server."""
        ...


class _NoMetrics:
    def start(self) -> float:
        return 0.0

    def decided(self, started: float) -> None:
        pass

    def failed(self, result: str, profile: str, started: float) -> None:
        pass

    def scheduled(self, queued: QueuedPod, started: float, now: float) -> None:
        pass

    def ran(self, point: str, code: Code, profile: str, started: float) -> None:
        pass

    def timing(self) -> PluginTiming | None:
        return None

    def handled(self, event: ClusterEvent, started: float) -> None:
        pass

    def permit_waited(self, code: Code, started: float) -> None:
        pass

    def preemption_attempted(self) -> None:
        pass

    def preempted(self, n_victims: int) -> None:
        pass

    def evicted(self, result: str) -> None:
        pass

    def bind_failed(self, status: Status) -> None:
        pass


NO_SCHEDULER_METRICS: SchedulerMetrics = _NoMetrics()
