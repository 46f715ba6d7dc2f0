"""Takes in what queue, cycles and elector tell, for /metrics."""

from __future__ import annotations

import time
from collections.abc import Callable

from nodewise.framework.events import ClusterEvent
from nodewise.framework.status import Code, Status
from nodewise.queue.queued_pod import QueuedPod
from nodewise.runtime.plugin_timing import PluginTiming
from nodewise.server import metric_catalog as catalog
from nodewise.server.metric_values import Distribution, Families, Labels

MOST_ATTEMPTS_TOLD_APART = 15
TIMED_EVERY = 10
"""Plugins are timed in one of so many cycles (pluginMetricsSamplePercent)."""
SETTLED_EVERY = 1024
Note = Callable[[float], None]
_CONFLICT = "Operation cannot be fulfilled"


class PrometheusMetrics:
    """The receiver of all metrics: `QueueMetrics`, `SchedulerMetrics` and `ElectionMetrics`.

    Not thread-safe: everything happens on one loop.

    Parameters
    ----------
    now : Callable[[], float]
        What durations are measured by.

    Attributes
    ----------
    families : Families
        To be registered with prometheus_client.
    timed_every : int
        Plugins are timed in one of so many cycles.
    """

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.families = families = Families()
        # The clock itself, not methods around it: a call costs no Python frame.
        self.start = self.hint_started = self._now = now
        self._attempt_duration = families.histogram(catalog.SCHEDULING_ATTEMPT_DURATION)
        families.count_of(catalog.SCHEDULE_ATTEMPTS, self._attempt_duration)
        self._algorithm_duration = families.histogram(catalog.SCHEDULING_ALGORITHM_DURATION).at(())
        self._pod_attempts = families.histogram(catalog.POD_SCHEDULING_ATTEMPTS).at(())
        self._sli_duration = families.histogram(catalog.POD_SCHEDULING_SLI_DURATION)
        self._after_flush = families.numbers(catalog.POD_SCHEDULED_AFTER_FLUSH)
        self._incoming_pods = families.numbers(catalog.QUEUE_INCOMING_PODS)
        self._incoming_entities = families.numbers(catalog.QUEUE_INCOMING_ENTITIES)
        self._unschedulable = families.numbers(catalog.UNSCHEDULABLE_PODS)
        self._hint_duration = families.histogram(catalog.QUEUEING_HINT_DURATION)
        self._preemption_attempts = families.numbers(catalog.PREEMPTION_ATTEMPTS)
        self._victims = families.histogram(catalog.PREEMPTION_VICTIMS).at(())
        self._preemption_tasks = families.numbers(catalog.PREEMPTION_TASKS)
        self._point_duration = families.histogram(catalog.EXTENSION_POINT_DURATION)
        self._plugin_duration = families.histogram(catalog.PLUGIN_DURATION)
        self._permit_wait = families.histogram(catalog.PERMIT_WAIT_DURATION)
        self._event_duration = families.histogram(catalog.EVENT_HANDLING_DURATION)
        self._leader = families.numbers(catalog.LEADER)
        self._leader_slow_path = families.numbers(catalog.LEADER_SLOW_PATH)
        self._bind_failures = families.numbers(catalog.BIND_FAILURES)
        self._points: dict[tuple[str, int, str], Note] = {}  # by id of the code: its hash is slow
        self._plugins: dict[tuple[str, str, int], Distribution] = {}
        self._events: dict[tuple[int, int], Distribution] = {}  # by ids, too
        self.timed_every = TIMED_EVERY
        self._n_cycles = 0

    def reset(self) -> None:
        """Forget everything that was counted (DELETE /metrics)."""
        self.families.clear()
        self._points.clear()
        self._plugins.clear()
        self._events.clear()

    # --- cycles -------------------------------------------------------------------------------------------------------

    def decided(self, started: float) -> None:
        self._algorithm_duration.note(self._now() - started)

    def failed(self, result: str, profile: str, started: float) -> None:
        self._attempt_duration.at((result, profile)).observe(self._now() - started)

    def scheduled(self, queued: QueuedPod, started: float, now: float) -> None:
        self._attempt_duration.at(("scheduled", queued.profile)).note(self._now() - started)
        self._pod_attempts.note(queued.attempts)
        if queued.initial_attempt_timestamp is not None:
            self._sli_duration.at(_attempts_label(queued.attempts)).note(now - queued.initial_attempt_timestamp)
        if queued.was_flushed_from_unschedulable:
            self._after_flush.add(())

    def ran(self, point: str, code: Code, profile: str, started: float) -> None:
        seconds = self._now() - started
        key = (point, id(code), profile)
        note = self._points.get(key)
        if note is None:
            note = self._points[key] = self._point_duration.at((point, code.value, profile)).note
        note(seconds)

    def timing(self) -> PluginTiming | None:
        self._n_cycles += 1
        if self._n_cycles % SETTLED_EVERY == 0:
            self.families.settle()
        return PluginTiming(self._now, self._plugin_ran) if self._n_cycles % self.timed_every == 0 else None

    def _plugin_ran(self, plugin: str, point: str, code: Code, seconds: float) -> None:
        key = (plugin, point, id(code))
        found = self._plugins.get(key)
        if found is None:
            found = self._plugins[key] = self._plugin_duration.at((plugin, point, code.value))
        found.observe(seconds)

    def handled(self, event: ClusterEvent, started: float) -> None:
        key = (id(event.resource), id(event.actions))
        found = self._events.get(key)
        if found is None:
            found = self._events[key] = self._event_duration.at((event.label,))
        found.observe(self._now() - started)

    def permit_waited(self, code: Code, started: float) -> None:
        self._permit_wait.at((code.value,)).observe(self._now() - started)

    def preemption_attempted(self) -> None:
        self._preemption_attempts.add(())

    def preempted(self, n_victims: int) -> None:
        self._victims.observe(n_victims)

    def evicted(self, result: str) -> None:
        self._preemption_tasks.add((result,))

    def bind_failed(self, status: Status) -> None:
        # The words of every 409 of the API server that is about a version, a uid, or a pod that has its node.
        is_conflict = _CONFLICT in status.message
        self._bind_failures.add(("conflict" if is_conflict else "error",))

    # --- the queue ----------------------------------------------------------------------------------------------------

    def incoming(self, queue: str, event: str, kind: str, n_pods: int, *, is_new: bool) -> None:
        self._incoming_pods.add((queue, event), n_pods)
        if is_new:
            self._incoming_entities.add((queue, event, kind))

    def unschedulable(self, plugin: str, profile: str, change: int) -> None:
        self._unschedulable.add((plugin, profile), change)

    def hint_finished(self, plugin: str, event: str, result: str, started: float) -> None:
        self._hint_duration.at((plugin, event, result)).observe(self._now() - started)

    # --- the lease ----------------------------------------------------------------------------------------------------

    def leading(self, name: str, *, is_leader: bool) -> None:
        self._leader.set((name,), int(is_leader))

    def slow_path(self, name: str) -> None:
        self._leader_slow_path.add((name,))


_ATTEMPTS_LABELS: list[Labels] = [(str(number),) for number in range(MOST_ATTEMPTS_TOLD_APART)]


def _attempts_label(attempts: int) -> Labels:
    if attempts >= MOST_ATTEMPTS_TOLD_APART:
        return (f"{MOST_ATTEMPTS_TOLD_APART}+",)
    return _ATTEMPTS_LABELS[attempts]
