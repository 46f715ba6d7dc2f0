"""What becomes of a pod whose cycle failed: back to the queue, nominated perhaps, with an event and a condition."""

from __future__ import annotations

import logging
from collections.abc import Callable

from nodewise.api.objects import PodCondition
from nodewise.clock import Clock
from nodewise.cluster.client import ClusterClient, PodEvent
from nodewise.errors import NodewiseError
from nodewise.framework.fit_error import fit_error_message
from nodewise.framework.status import Status
from nodewise.queue.queued_pod import QueuedPod
from nodewise.queue.scheduling_queue import SchedulingQueue
from nodewise.scheduler.metrics import NO_SCHEDULER_METRICS, SchedulerMetrics
from nodewise.scheduler.scheduler import REASON_SCHEDULER_ERROR, REASON_UNSCHEDULABLE, Decision
from nodewise.scheduler.tasks import Promise, Tasks
from nodewise.state.pod_info import PodInfo

LOGGER = logging.getLogger("nodewise")
MAX_NOTE_BYTES = 1024


def failed_decision(status: Status) -> Decision:
    """Return what a pod came to that had a node, and was refused by a plugin or failed by an error after all."""
    if not status.code.is_rejection:
        return Decision(None, reason=REASON_SCHEDULER_ERROR, message=status.message)
    counts = dict.fromkeys(status.reasons, 1)
    message = fit_error_message(1, "", counts, "")
    return Decision(None, reason=REASON_UNSCHEDULABLE, message=message, rejectors=frozenset({status.plugin}))


class FailureHandler:
    """Takes pods back after a failed cycle (handleSchedulingFailure).

    Parameters
    ----------
    pod_named : Callable[[str], PodInfo | None]
        The newest known version of the pod named `namespace/name`.
    """

    def __init__(
        self,
        queue: SchedulingQueue,
        client: ClusterClient,
        tasks: Tasks,
        clock: Clock,
        pod_named: Callable[[str], PodInfo | None],
        metrics: SchedulerMetrics = NO_SCHEDULER_METRICS,
    ) -> None:
        self.queue = queue
        self.client = client
        self.tasks = tasks
        self.clock = clock
        self.pod_named = pod_named
        self.metrics = metrics
        self._under_way: dict[str, Promise] = {}

    def handle(self, queued: QueuedPod, decision: Decision, started: float) -> None:
        """Queue the pod again unless it is gone or bound by now, and tell the cluster why it has no node.

        Parameters
        ----------
        started : float
            When the attempt began, by the clock of the metrics.
        """
        result = "unschedulable" if decision.reason == REASON_UNSCHEDULABLE else "error"
        self.metrics.failed(result, queued.profile, started)
        queued.rejected_by(decision.rejectors, decision.pending)
        pod = queued.info
        newest = self.pod_named(pod.key)
        if newest is not None and newest.uid != pod.uid:
            self.queue.done(pod.uid)
            return
        nominated = self._nominated_node(decision)
        if newest is None or newest.node_name:
            self.queue.done(pod.uid)
        else:
            pod = newest
            queued.update(newest)
            self.queue.add_unschedulable_if_not_present(queued, self.clock.now())
            self.queue.nominations.add_nominated(newest, nominated)
        self._tell(pod, decision, nominated)

    @staticmethod
    def _nominated_node(decision: Decision) -> str | None:
        """Return the node to nominate, "" to clear the nomination, None to leave it."""
        result = decision.post_filter
        if result is None:
            return ""
        return result.nominated_node

    def _tell(self, pod: PodInfo, decision: Decision, nominated: str | None) -> None:
        note = _cut(decision.message)
        name = pod.pod.spec.scheduler_name
        self.client.record(PodEvent(pod, "Warning", "FailedScheduling", "Scheduling", note, name))
        condition = PodCondition("PodScheduled", "False", decision.reason or "", decision.message)
        if nominated == pod.pod.status.nominated_node_name:
            nominated = None
        if nominated is None and condition in pod.pod.status.conditions:
            return
        before = self._under_way.get(pod.uid)
        promise = self._under_way[pod.uid] = self.tasks.promise()
        patch = self._patch(pod, condition, nominated, before, promise)
        self.tasks.spawn(patch, name=f"status of {pod.key}")

    async def _patch(
        self, pod: PodInfo, condition: PodCondition, nominated: str | None, before: Promise | None, promise: Promise
    ) -> None:
        if before is not None:
            await before
        try:
            await self.client.patch_pod_status(pod.pod, condition=condition, nominated_node_name=nominated)
        except NodewiseError as error:
            LOGGER.error("Error updating the status of pod %s: %s", pod.key, error)
        finally:
            if self._under_way.get(pod.uid) is promise:
                del self._under_way[pod.uid]
            promise.set_result(None)

    async def wait_told(self, uid: str) -> None:
        """Wait until the cluster has heard of all failures of a pod: a later binding must not be overtaken."""
        while (promise := self._under_way.get(uid)) is not None:
            await promise


def _cut(message: str) -> str:
    """Return a message as the note of an event can hold it (truncateMessage)."""
    text = message.encode()
    if len(text) <= MAX_NOTE_BYTES:
        return message
    return text[: MAX_NOTE_BYTES - len(" ...")].decode(errors="ignore") + " ..."
