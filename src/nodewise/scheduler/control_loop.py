"""A scheduler with its queue, its bindings and its ears: all that goes on for as long as a cluster does."""

from __future__ import annotations

from dataclasses import dataclass

from nodewise.clock import Clock
from nodewise.cluster.client import ClusterClient
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.framework.events import EventResource
from nodewise.framework.object_events import pod_update_events
from nodewise.queue.hints import build_hint_map
from nodewise.queue.metrics import NO_METRICS, QueueMetrics
from nodewise.queue.scheduling_queue import SchedulingQueue
from nodewise.queue.settings import QueueSettings
from nodewise.scheduler.binding_cycle import BindingCycle
from nodewise.scheduler.event_handlers import EventHandlers
from nodewise.scheduler.failure_handler import FailureHandler
from nodewise.scheduler.handle import SchedulerHandle
from nodewise.scheduler.metrics import NO_SCHEDULER_METRICS, SchedulerMetrics
from nodewise.scheduler.preemption_executor import PreemptionExecutor
from nodewise.scheduler.scheduler import Scheduler
from nodewise.scheduler.scheduling_cycle import SchedulingCycle
from nodewise.scheduler.tasks import Tasks


@dataclass(frozen=True, slots=True)
class ControlLoop:
    """What schedules a cluster over time.

    Attributes
    ----------
    scheduler : Scheduler
    queue : SchedulingQueue
    handlers : EventHandlers
        To be told of every change.
    cycle : SchedulingCycle
        To be run whenever the queue has a pod.
    bindings : BindingCycle
    preemption : PreemptionExecutor
    """

    scheduler: Scheduler
    queue: SchedulingQueue
    handlers: EventHandlers
    cycle: SchedulingCycle
    bindings: BindingCycle
    preemption: PreemptionExecutor

    def run_ready(self) -> int:
        """Run the cycles of all pods whose turn has come by now; return how many there were."""
        n_run = 0
        while self.cycle.run_next() is not None:
            n_run += 1
        return n_run


def build_control_loop(
    scheduler: Scheduler,
    handle: SchedulerHandle,
    configuration: KubeSchedulerConfiguration,
    *,
    client: ClusterClient,
    tasks: Tasks,
    clock: Clock,
    metrics: QueueMetrics = NO_METRICS,
    scheduler_metrics: SchedulerMetrics = NO_SCHEDULER_METRICS,
    max_unschedulable_s: float = 300.0,
) -> ControlLoop:
    """Put a queue before a scheduler and a cluster behind it."""
    scheduler.metrics = told = scheduler_metrics
    frameworks = scheduler.frameworks
    queue = SchedulingQueue(
        next(iter(frameworks.values())).queue_sort.sort_key,
        lambda new, old: pod_update_events(new, old, EventResource.TARGET_POD),
        clock.now(),
        pre_enqueue={name: framework.pre_enqueue for name, framework in frameworks.items()},
        hints={
            name: build_hint_map(
                framework.plugins(),
                has_extenders=bool(scheduler.extenders),
                has_pod_groups=handle.pod_groups is not None,
            )
            for name, framework in frameworks.items()
        },
        settings=QueueSettings(
            initial_backoff_s=configuration.pod_initial_backoff_seconds,
            max_backoff_s=configuration.pod_max_backoff_seconds,
            max_unschedulable_s=max_unschedulable_s,
            pop_from_backoff_queue=handle.feature_gates.enabled("SchedulerPopFromBackoffQ"),
        ),
        nominations=scheduler.nominations,
        metrics=metrics,
    )
    scheduler.nominations.find_pod = lambda pod: known.pod if (known := handle.pods.get(pod.key)) else None
    handlers = EventHandlers(
        scheduler.cache, queue, scheduler.snapshot.listers, handle.waiting_pods, frameworks, handle.pods, clock, told
    )
    failures = FailureHandler(queue, client, tasks, clock, handlers.pods.get, told)
    bindings = BindingCycle(scheduler.cache, queue, client, failures, handle.waiting_pods, tasks, clock, told)
    preemption = PreemptionExecutor(queue, client, handle.waiting_pods, handle.preemptions, tasks, clock, told)
    handle.bind = client.bind
    handle.writer = client.objects
    handle.tasks = tasks
    cycle = SchedulingCycle(scheduler, queue, client, bindings, failures, preemption, clock, told)
    return ControlLoop(scheduler, queue, handlers, cycle, bindings, preemption)
