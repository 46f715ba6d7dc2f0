"""One pod's scheduling cycle: from the queue to an assumed pod whose binding goes on by itself."""

from __future__ import annotations

from nodewise.clock import Clock
from nodewise.cluster.client import ClusterClient, PodEvent
from nodewise.framework.status import Code, Status
from nodewise.queue.queued_pod import QueuedPod
from nodewise.queue.scheduling_queue import SchedulingQueue
from nodewise.runtime.reservation import Reservation
from nodewise.scheduler.binding_cycle import Binding, BindingCycle
from nodewise.scheduler.failure_handler import FailureHandler, failed_decision
from nodewise.scheduler.metrics import NO_SCHEDULER_METRICS, SchedulerMetrics
from nodewise.scheduler.preemption_executor import PreemptionExecutor
from nodewise.scheduler.scheduler import Decision, Scheduler
from nodewise.state.pod_info import PodInfo


class SchedulingCycle:
    """Takes pods from the queue one at a time and decides on them (ScheduleOne).

    Parameters
    ----------
    scheduler : Scheduler
        Decides.
    queue : SchedulingQueue
    client : ClusterClient
    bindings : BindingCycle
        Goes on with pods that have a node.
    failures : FailureHandler
        Takes those that have none.
    preemption : PreemptionExecutor
        Evicts for them.
    clock : Clock
        Seconds since the epoch.
    metrics : SchedulerMetrics
    """

    def __init__(
        self,
        scheduler: Scheduler,
        queue: SchedulingQueue,
        client: ClusterClient,
        bindings: BindingCycle,
        failures: FailureHandler,
        preemption: PreemptionExecutor,
        clock: Clock,
        metrics: SchedulerMetrics = NO_SCHEDULER_METRICS,
    ) -> None:
        self.scheduler = scheduler
        self.queue = queue
        self.client = client
        self.bindings = bindings
        self.failures = failures
        self.preemption = preemption
        self.clock = clock
        self.metrics = metrics
        self.n_attempts = 0

    def run_next(self) -> PodInfo | None:
        """Run the cycle of the pod whose turn it is, and return it; None: no pod's turn has come."""
        queued = self.queue.pop_nowait(self.clock.now())
        if queued is None:
            return None
        if self._is_skipped(queued.info):
            self.queue.done(queued.info.uid)
            return queued.info
        self.n_attempts += 1
        started = self.metrics.start()
        decision = self.scheduler.schedule(queued.info)
        self.metrics.decided(started)
        if decision.node_name is None:
            self._fail(queued, decision, started)
        else:
            self._assume(queued, decision.node_name, started)
        return queued.info

    def _is_skipped(self, pod: PodInfo) -> bool:
        """Tell whether there is nothing to decide: the pod goes, or has its node already (skipPodSchedule)."""
        if pod.pod.is_terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            name = pod.pod.spec.scheduler_name
            self.client.record(PodEvent(pod, "Warning", "FailedScheduling", "Scheduling", note, name))
            return True
        return self.scheduler.cache.is_assumed_pod(pod.uid)

    def _assume(self, queued: QueuedPod, node_name: str, started: float) -> None:
        """Count the pod on its node and ask what plugins think of it (assume, Reserve, Permit)."""
        assumed = queued.info.placed_on(node_name)
        self.scheduler.cache.assume_pod(assumed)
        self.scheduler.nominations.remove(assumed.uid)
        reservation = self.scheduler.reservation(queued.info, node_name)
        status = self._reserve(reservation, assumed.pod.spec.scheduler_name)
        if status.is_success or status.code is Code.WAIT:
            self.bindings.start(Binding(queued, assumed, reservation, started))
        else:
            self.scheduler.cache.forget_pod(assumed)
            self.failures.handle(queued, failed_decision(status), started)

    def _reserve(self, reservation: Reservation, profile: str) -> Status:
        """Ask the Reserve and the Permit plugins."""
        metrics = self.metrics
        step_started = metrics.start()
        status = reservation.reserve()
        metrics.ran("Reserve", status.code, profile, step_started)
        if not status.is_success or not reservation.framework.permitting:
            return status
        step_started = metrics.start()
        status = reservation.permit()
        metrics.ran("Permit", status.code, profile, step_started)
        if not status.is_success and status.code is not Code.WAIT:
            reservation.unreserve()
        return status

    def _fail(self, queued: QueuedPod, decision: Decision, started: float) -> None:
        """Put the pod back, and evict what makes room for it (FailureHandler, PostFilter)."""
        result = decision.post_filter
        if result is not None:
            for effect in result.effects:
                effect()
        evicting = result is not None and bool(result.nominated_node)
        if evicting and result is not None:
            self.preemption.prepare(queued.info, result)
        self.failures.handle(queued, decision, started)
        if evicting and result is not None:
            self.preemption.start(queued.info, result)
