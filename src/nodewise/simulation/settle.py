"""Lets time pass until nothing more happens to the pending pods, and tells what became of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from nodewise.api.objects import Pod
from nodewise.simulation.history import History
from nodewise.simulation.placement import Placement, not_tried
from nodewise.simulation.world import World
from nodewise.state.pod_info import PodInfo

REASON_PREEMPTED = "Preempted"
REASON_DELETED = "Deleted"


class Settling:
    """One play of the pods that wait in a world.

    Attributes
    ----------
    pending : list[PodInfo]
        The pods that wait at the beginning and that a profile is responsible for, in the order of the input.
    notes : list[str]
        What was left out.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.history = History(world.time.now, 3600.0)
        world.cluster.watch(self.history.on_change)
        self.pending: list[PodInfo] = []
        self.notes: list[str] = []
        for pod in world.cluster.list(Pod):
            if pod.spec.node_name:
                continue
            if pod.spec.scheduler_name not in world.loop.scheduler.frameworks:
                name = pod.spec.scheduler_name
                self.notes.append(f"Pod {pod.key}: left out, no profile for scheduler name {name!r}")
                continue
            self.pending.append(PodInfo(pod))

    def run(self, until: datetime | None = None, stop: Callable[[], bool] = lambda: False) -> bool:
        """Play until nothing more happens, or up to a moment; tell whether nothing more would happen."""
        return self.world.play(until, stop)

    def placements(self) -> list[Placement]:
        """Return what became of every pending pod, in the order of the input."""
        victims: dict[str, list[str]] = {}
        for event in self.world.cluster.events:
            if event.reason == "Preempted" and event.related is not None:
                victims.setdefault(event.related.uid, []).append(event.pod.key)
        return [self._placement(pod, tuple(victims.get(pod.uid, ()))) for pod in self.pending]

    def _placement(self, pod: PodInfo, victims: tuple[str, ...]) -> Placement:
        past = self.history.pods[pod.uid]
        now = self.world.cluster.get(Pod, pod.key)
        if now is None:
            reason = REASON_PREEMPTED if past.is_evicted else REASON_DELETED
            where = f"ran on {past.node} before" if past.node else ""
            return Placement(pod.key, None, victims=victims, reason=reason, detail=where)
        if now.spec.node_name:
            return Placement(pod.key, now.spec.node_name, victims=victims, waited_s=past.waited_s)
        for condition in now.status.conditions:
            if condition.type == "PodScheduled" and condition.status == "False" and condition.message:
                return Placement(pod.key, None, victims=victims, reason=condition.reason, message=condition.message)
        return not_tried(pod, self.world.loop.scheduler.pre_enqueue(PodInfo(now)))
