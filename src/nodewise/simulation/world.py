"""A cluster that lives in virtual time: its objects, its scheduler, and the share that others have in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from nodewise.api.defaults import DEFAULT_GRACE_PERIOD_S
from nodewise.api.objects import Pod
from nodewise.cluster.embedded import EmbeddedCluster
from nodewise.cluster.object_set import ObjectSet
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.framework.registry import Registry
from nodewise.scheduler.assembly import SchedulerOptions, assemble_scheduler
from nodewise.scheduler.control_loop import ControlLoop, build_control_loop
from nodewise.simulation.virtual_time import VirtualTime
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo

QUIET_S = 600.0
"""After so long without a change every waiting pod was tried again in vain: it takes a flush to, at most."""


class World:
    """A scheduler at work on a cluster in this process; time passes only in `play`.

    What runs pods elsewhere is played here: a bound pod starts at once, and one that is deleted ends after its grace
    period.

    Attributes
    ----------
    time : VirtualTime
    cluster : EmbeddedCluster
    loop : ControlLoop
    """

    def __init__(
        self, configuration: KubeSchedulerConfiguration, registry: Registry, options: SchedulerOptions, start: datetime
    ) -> None:
        self.time = VirtualTime(start.timestamp())
        self.cluster = EmbeddedCluster(self.now)
        listers = Listers()
        scheduler, handle = assemble_scheduler(listers, configuration, registry, options, self.now)
        self.loop: ControlLoop = build_control_loop(
            scheduler, handle, configuration, client=self.cluster, tasks=self.time, clock=self.time
        )
        self._last_change_s = self.time.now()
        self.cluster.watch(self._on_change)
        self.cluster.watch(self.loop.handlers.on_change)

    def now(self) -> datetime:
        """Return the time of day in this world."""
        return datetime.fromtimestamp(self.time.now(), UTC)

    def add(self, objects: ObjectSet) -> None:
        """Put a cluster's objects into the world: what plugins look up first, then nodes, running and waiting pods."""
        for group in objects.listed():
            self.cluster.put_all(group)
        self.cluster.put_all(objects.nodes)
        running = [pod for pod in objects.pods if pod.spec.node_name]
        waiting = [pod for pod in objects.pods if not pod.spec.node_name]
        self.cluster.put_all(with_uid(pod) for pod in [*running, *waiting])

    def play(self, until: datetime | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass until nothing more happens, or up to a moment.

        Parameters
        ----------
        until : datetime | None
        stop : Callable[[], bool]
            Asked now and then; true ends it where it is.

        Returns
        -------
        bool
            Whether nothing more would happen.
        """
        limit_s = until.timestamp() if until is not None else None
        while not stop():
            self.loop.run_ready()
            next_s = self._next_s()
            if next_s is None:
                self.time.advance_to(limit_s or 0.0)
                return True
            if limit_s is not None and next_s > limit_s:
                self.time.advance_to(limit_s)
                return False
            self.time.advance_to(next_s)
        return False

    def _next_s(self) -> float | None:
        """Return when something happens next; None: nothing ever will."""
        timer_s = self.time.next_at()
        wakeup_s = self.loop.queue.next_wakeup(self.time.now())
        if timer_s is None and wakeup_s is not None and wakeup_s - self._last_change_s > QUIET_S:
            return None
        candidates = [moment for moment in (timer_s, wakeup_s) if moment is not None]
        return min(candidates, default=None)

    def _on_change(self, old: Any | None, new: Any | None) -> None:
        """Note that something changed, and end pods whose deletion has begun after their grace period."""
        self._last_change_s = self.time.now()
        if isinstance(new, Pod) and new.is_terminating and not (isinstance(old, Pod) and old.is_terminating):
            grace_s = new.spec.termination_grace_period_seconds
            if grace_s is None:
                grace_s = DEFAULT_GRACE_PERIOD_S
            uid, key = new.metadata.uid, new.key
            self.time.call_at(self.time.now() + grace_s, lambda: self.end_pod(key, uid))

    def end_pod(self, key: str, uid: str) -> None:
        """Remove a pod that has ended, unless another one has its name by now."""
        found = self.cluster.get(Pod, key)
        if found is not None and found.metadata.uid == uid:
            self.cluster.remove(Pod, key)


def with_uid(pod: Pod) -> Pod:
    """Return a pod with a uid; files may have pods without one."""
    if pod.metadata.uid:
        return pod
    return replace(pod, metadata=replace(pod.metadata, uid=PodInfo(pod).uid))
