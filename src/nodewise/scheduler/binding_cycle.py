"""What follows a decision: waiting for Permit, PreBind, Bind, and taking all back when one of them fails."""

from __future__ import annotations

from dataclasses import dataclass

from nodewise.clock import Clock
from nodewise.cluster.client import ClusterClient, PodEvent
from nodewise.config.durations import format_duration
from nodewise.framework.events import ASSIGNED_POD_DELETE
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.queue.queued_pod import QueuedPod
from nodewise.queue.scheduling_queue import SchedulingQueue
from nodewise.runtime.reservation import Reservation
from nodewise.runtime.waiting_pods import WaitingPod, WaitingPods
from nodewise.scheduler.failure_handler import FailureHandler, failed_decision
from nodewise.scheduler.metrics import NO_SCHEDULER_METRICS, SchedulerMetrics
from nodewise.scheduler.tasks import Tasks
from nodewise.state.cache import SchedulerCache
from nodewise.state.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class Binding:
    """A pod on its way to a node.

    Attributes
    ----------
    queued : QueuedPod
        The pod as the queue gave it.
    assumed : PodInfo
        The pod as the cache counts it.
    reservation : Reservation
    started : float
        When the attempt began, by the clock of the metrics.
    """

    queued: QueuedPod
    assumed: PodInfo
    reservation: Reservation
    started: float


class BindingCycle:
    """Brings decided pods to their nodes, each in a task of its own (bindingCycle)."""

    def __init__(
        self,
        cache: SchedulerCache,
        queue: SchedulingQueue,
        client: ClusterClient,
        failures: FailureHandler,
        waiting_pods: WaitingPods,
        tasks: Tasks,
        clock: Clock,
        metrics: SchedulerMetrics = NO_SCHEDULER_METRICS,
    ) -> None:
        self.cache = cache
        self.queue = queue
        self.client = client
        self.failures = failures
        self.waiting_pods = waiting_pods
        self.tasks = tasks
        self.clock = clock
        self.metrics = metrics
        self.n_bound = 0

    def start(self, binding: Binding) -> None:
        """Let a pod's binding go on by itself; plugins can see at once that it waits for Permit."""
        permission = self._permission(binding)
        self.tasks.spawn(self._run(binding, permission), name=f"bind {binding.assumed.key}")

    def _permission(self, binding: Binding) -> Permission | None:
        waits = binding.reservation.waits
        if not waits:
            return None
        return Permission(binding, self.waiting_pods, self.tasks)

    async def _run(self, binding: Binding, permission: Permission | None) -> None:
        metrics, profile = self.metrics, binding.queued.profile
        status = SUCCESS if permission is None else await self._permitted(permission)
        if status.is_success:
            # From here on failures are errors, so what happens in the cluster need not be remembered for the pod.
            self.queue.done(binding.assumed.uid)
            started = metrics.start()
            status = await binding.reservation.pre_bind()
            metrics.ran("PreBind", status.code, profile, started)
            if status.is_success:
                await self.failures.wait_told(binding.assumed.uid)
                started = metrics.start()
                status = await binding.reservation.bind()
                metrics.ran("Bind", status.code, profile, started)
                if not status.is_success:
                    metrics.bind_failed(status)
        if status.is_success:
            self._finish(binding)
        else:
            self._take_back(binding, status)

    async def _permitted(self, permission: Permission) -> Status:
        started = self.metrics.start()
        status = await permission.decision()
        self.metrics.permit_waited(status.code, started)
        return status

    def _finish(self, binding: Binding) -> None:
        pod, now = binding.assumed, self.clock.now()
        self.cache.finish_binding(pod, now)
        note = f"Successfully assigned {pod.key} to {pod.node_name}"
        self.client.record(PodEvent(pod, "Normal", "Scheduled", "Binding", note, pod.pod.spec.scheduler_name))
        self.n_bound += 1
        self.metrics.scheduled(binding.queued, binding.started, now)
        if binding.reservation.framework.post_binding:
            started = self.metrics.start()
            binding.reservation.post_bind()
            self.metrics.ran("PostBind", Code.SUCCESS, binding.queued.profile, started)

    def _take_back(self, binding: Binding, status: Status) -> None:
        """Undo everything; pods that the room may help hear of it (handleBindingCycleError)."""
        pod, now = binding.assumed, self.clock.now()
        started = self.metrics.start()
        binding.reservation.unreserve()
        self.metrics.ran("Unreserve", Code.SUCCESS, binding.queued.profile, started)
        self.cache.forget_pod(pod)
        if status.code.is_rejection:
            self.failures.handle(binding.queued, failed_decision(status), binding.started)
            self.queue.move_all_to_active_or_backoff(
                ASSIGNED_POD_DELETE,
                pod.pod,
                None,
                now,
                pre_check=lambda other: other.metadata.uid != pod.pod.metadata.uid,
            )
        else:
            self.queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, pod.pod, None, now)
            self.failures.handle(binding.queued, failed_decision(status), binding.started)


class Permission:
    """The wait of one pod for the Permit plugins that want it to wait (WaitOnPermit)."""

    def __init__(self, binding: Binding, waiting_pods: WaitingPods, tasks: Tasks) -> None:
        self._waiting_pods = waiting_pods
        self._tasks = tasks
        self._promise = tasks.promise()
        self._waits = binding.reservation.waits
        self._waiting = WaitingPod(
            binding.assumed, binding.reservation.node_name, self._waits, self._promise.set_result
        )
        waiting_pods.add(self._waiting)

    async def decision(self) -> Status:
        """Return what the plugins came to; a plugin that takes too long rejects the pod."""
        timers = [
            self._tasks.spawn(self._time_out(plugin, seconds), name=f"permit {self._waiting.pod.key} {plugin}")
            for plugin, seconds in sorted(self._waits.items())
        ]
        status: Status = await self._promise
        for timer in timers:
            timer.cancel()
        self._waiting_pods.remove(self._waiting.pod.uid)
        if status.is_success or status.code.is_rejection:
            return status
        return Status(Code.ERROR, (f"waiting on permit for pod: {status.message}",), status.plugin)

    async def _time_out(self, plugin: str, seconds: float) -> None:
        await self._tasks.sleep(seconds)
        text = f"rejected due to timeout after waiting {format_duration(round(seconds * 1e9))} at plugin {plugin}"
        self._waiting.reject(plugin, text)
