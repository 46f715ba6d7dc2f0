"""Evicts the victims of a preemption, beside the scheduling loop."""

from __future__ import annotations

import logging

from nodewise.api.objects import PodCondition
from nodewise.clock import Clock
from nodewise.cluster.client import ClusterClient, PodEvent
from nodewise.errors import NodewiseError
from nodewise.framework.plugin import PostFilterResult
from nodewise.preemption.ongoing import OngoingPreemptions
from nodewise.queue.scheduling_queue import SchedulingQueue
from nodewise.runtime.waiting_pods import WaitingPods
from nodewise.scheduler.metrics import NO_SCHEDULER_METRICS, SchedulerMetrics
from nodewise.scheduler.tasks import Tasks
from nodewise.state.pod_info import PodInfo

LOGGER = logging.getLogger("nodewise")
PLUGIN = "DefaultPreemption"


class PreemptionExecutor:
    """Makes room for nominated pods (preemption.Executor, asynchronous).

    The preemptor is kept from the active queue until its last victim is on its way out.
    """

    def __init__(
        self,
        queue: SchedulingQueue,
        client: ClusterClient,
        waiting_pods: WaitingPods,
        ongoing: OngoingPreemptions,
        tasks: Tasks,
        clock: Clock,
        metrics: SchedulerMetrics = NO_SCHEDULER_METRICS,
    ) -> None:
        self.queue = queue
        self.client = client
        self.waiting_pods = waiting_pods
        self.ongoing = ongoing
        self.tasks = tasks
        self.clock = clock
        self.metrics = metrics
        self.n_victims = 0

    def prepare(self, preemptor: PodInfo, result: PostFilterResult) -> None:
        """Note the preemption before the preemptor goes back to the queue."""
        if result.victims:
            self.metrics.preempted(len(result.victims))
        if _to_evict(result):
            self.ongoing.start(preemptor.uid)

    def start(self, preemptor: PodInfo, result: PostFilterResult) -> None:
        """Evict in a task of its own; where all victims are going already there is nothing to do."""
        victims = _to_evict(result)
        if victims:
            self.tasks.spawn(self._evict(preemptor, result, victims), name=f"preempt for {preemptor.key}")

    async def _evict(self, preemptor: PodInfo, result: PostFilterResult, victims: list[PodInfo]) -> None:
        must_wake, outcome = False, "error"
        try:
            must_wake = await self._clear_nominations(result)
            for victim in victims[:-1]:
                await self._preempt(preemptor, victim, result.nominated_node or "")
            self.ongoing.wait_for(preemptor.uid, victims[-1])
            in_memory = await self._preempt(preemptor, victims[-1], result.nominated_node or "")
            outcome = "error" if must_wake else "success"
            must_wake = must_wake or in_memory
        except NodewiseError as error:
            LOGGER.error("Error occurred during async preemption of %s: %s", preemptor.key, error)
            must_wake = True
        finally:
            self.metrics.evicted(outcome)
            self.ongoing.finish(preemptor.uid)
            if must_wake:
                self.queue.activate([preemptor.pod], self.clock.now())

    async def _clear_nominations(self, result: PostFilterResult) -> bool:
        """Take the node from pods of lower priority that it was promised to; tell whether that failed somewhere."""
        failed = False
        for pod in result.yielding:
            try:
                await self.client.patch_pod_status(pod.pod, nominated_node_name="")
            except NodewiseError as error:
                LOGGER.error("Cannot clear nominatedNodeName of %s: %s", pod.key, error)
                failed = True
        return failed

    async def _preempt(self, preemptor: PodInfo, victim: PodInfo, node_name: str) -> bool:
        """Evict one pod; true when it was on its way to the node only, and goes back to the queue."""
        waiting = self.waiting_pods.get(victim.uid)
        in_memory = waiting is not None and waiting.preempt(PLUGIN, "preempted")
        note = f"Preempted by pod {preemptor.uid} on node {node_name}"
        scheduler_name = preemptor.pod.spec.scheduler_name
        if in_memory:
            note += " (in kube-scheduler memory)."
        else:
            text = f"{scheduler_name}: preempting to accommodate a higher priority pod"
            condition = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler", text)
            await self.client.patch_pod_status(victim.pod, condition=condition)
            await self.client.delete_pod(victim)
            self.n_victims += 1
        self.client.record(PodEvent(victim, "Normal", "Preempted", "Preempting", note, scheduler_name, preemptor))
        return in_memory


def _to_evict(result: PostFilterResult) -> list[PodInfo]:
    return [victim for victim in result.victims if not victim.pod.is_terminating]
