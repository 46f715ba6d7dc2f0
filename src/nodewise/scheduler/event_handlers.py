"""What the scheduler does when it hears of a change in the cluster: cache first, then the queue."""

from __future__ import annotations

import logging
from collections.abc import Container
from typing import Any

from nodewise.api.objects import Node, Pod
from nodewise.clock import Clock
from nodewise.errors import CacheError
from nodewise.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_DELETE,
    ActionType,
    ClusterEvent,
    EventResource,
)
from nodewise.framework.object_events import node_update_events, pod_update_events
from nodewise.queue.scheduling_queue import SchedulingQueue
from nodewise.runtime.waiting_pods import WaitingPods
from nodewise.scheduler.event_resources import RESOURCE_OF
from nodewise.scheduler.metrics import NO_SCHEDULER_METRICS, SchedulerMetrics
from nodewise.state.cache import SchedulerCache
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo

LOGGER = logging.getLogger("nodewise")
_UNSCHEDULED_POD_UPDATE = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.UPDATE)


class EventHandlers:
    """Takes in the changes that a watch reports (addAllEventHandlers).

    Parameters
    ----------
    profiles : Container[str]
        The scheduler names that pods are scheduled for.

    Attributes
    ----------
    pods : dict[str, PodInfo]
        The newest version of every pod, by `namespace/name`.
    """

    def __init__(
        self,
        cache: SchedulerCache,
        queue: SchedulingQueue,
        listers: Listers,
        waiting_pods: WaitingPods,
        profiles: Container[str],
        pods: dict[str, PodInfo],
        clock: Clock,
        metrics: SchedulerMetrics = NO_SCHEDULER_METRICS,
    ) -> None:
        self.cache = cache
        self.queue = queue
        self.listers = listers
        self.waiting_pods = waiting_pods
        self.profiles = profiles
        self.clock = clock
        self.pods = pods
        self.metrics = metrics
        self._started = 0.0

    def on_change(self, old: Any | None, new: Any | None) -> None:
        """Take in any change: None for what is not there before or after it."""
        self._started = self.metrics.start()
        if isinstance(new, Pod):
            self.on_pod(new)
        elif isinstance(old, Pod):
            self.on_pod_deleted(old.key)
        elif isinstance(new, Node):
            self.on_node(new, old)
        elif isinstance(old, Node):
            self.on_node_deleted(old)
        elif new is not None:
            self.on_object(new, old)
        else:
            self.on_object_deleted(old)

    # --- pods ---------------------------------------------------------------------------------------------------------

    def on_pod(self, pod: Pod) -> None:
        """Take in a pod that is new or has changed; one with another uid is another pod."""
        new = PodInfo(pod)
        old = self.pods.get(new.key)
        if old is not None and old.uid != new.uid:
            self.on_pod_deleted(new.key)
            old = None
        self.pods[new.key] = new
        if old is None:
            self._add(new)
        elif old.node_name:
            self._update_assigned(old, new)
        elif new.node_name:
            self._bound(new)
        else:
            self._update_unassigned(old, new)

    def _add(self, new: PodInfo) -> None:
        if new.node_name:
            self._add_to_cache(new)
            self._move(ASSIGNED_POD_ADD, None, new.pod)
        elif self._is_ours(new):
            self.queue.add(new, self.clock.now())
            self.metrics.handled(UNSCHEDULED_POD_ADD, self._started)

    def _bound(self, new: PodInfo) -> None:
        """Take in that a pod has a node now: confirmed, when it was assumed there."""
        self._add_to_cache(new)
        self._move(ASSIGNED_POD_ADD, None, new.pod)
        if self._is_ours(new):
            self.queue.delete(new.pod, self.clock.now())

    def _add_to_cache(self, new: PodInfo) -> None:
        try:
            self.cache.add_pod(new)
        except CacheError as error:
            LOGGER.error("Scheduler cache AddPod failed: %s", error)

    def _update_assigned(self, old: PodInfo, new: PodInfo) -> None:
        try:
            self.cache.update_pod(old, new)
        except CacheError as error:
            LOGGER.error("Scheduler cache UpdatePod failed: %s", error)
        for event in pod_update_events(new.pod, old.pod, EventResource.ASSIGNED_POD):
            self._move(event, old.pod, new.pod)

    def _update_unassigned(self, old: PodInfo, new: PodInfo) -> None:
        version = new.pod.metadata.resource_version
        if not self._is_ours(old) or (version and version == old.pod.metadata.resource_version):
            return
        if self.cache.is_assumed_pod(new.uid):
            if new.pod.is_terminating and not old.pod.is_terminating:
                self._assumed_pod_deleted(new)
            return
        self.queue.update(old.pod, new, self.clock.now())
        self.metrics.handled(_UNSCHEDULED_POD_UPDATE, self._started)
        nominated = old.pod.status.nominated_node_name
        if nominated and nominated != new.pod.status.nominated_node_name:
            self._nomination_gone(old)

    def on_pod_deleted(self, key: str) -> None:
        """Take in that a pod is gone, or has ended."""
        old = self.pods.pop(key, None)
        if old is None:
            return
        if old.node_name:
            try:
                self.cache.remove_pod(old)
            except CacheError as error:
                LOGGER.error("Scheduler cache RemovePod failed: %s", error)
            self._move(ASSIGNED_POD_DELETE, old.pod, None)
        elif self._is_ours(old):
            self.queue.delete(old.pod, self.clock.now())
            if self.cache.is_assumed_pod(old.uid):
                self._assumed_pod_deleted(old)
            elif old.pod.status.nominated_node_name:
                self._nomination_gone(old)
            self.metrics.handled(UNSCHEDULED_POD_DELETE, self._started)

    def _assumed_pod_deleted(self, pod: PodInfo) -> None:
        """Stop a pod on its way to a node, or count it out where it cannot be stopped any more."""
        waiting = self.waiting_pods.get(pod.uid)
        if waiting is not None:
            waiting.reject("", "removed")
        else:
            self.cache.remove_assumed_pod(self.cache.get_pod(pod))
        self._move(ASSIGNED_POD_DELETE, pod.pod, None)

    def _nomination_gone(self, old: PodInfo) -> None:
        """Let pods of no higher priority try for the room that was promised to this one."""
        self.queue.move_all_to_active_or_backoff(
            ASSIGNED_POD_DELETE, old.pod, None, self.clock.now(), pre_check=lambda pod: pod.priority <= old.priority
        )

    def _is_ours(self, pod: PodInfo) -> bool:
        return pod.pod.spec.scheduler_name in self.profiles

    # --- nodes --------------------------------------------------------------------------------------------------------

    def on_node(self, new: Node, old: Node | None) -> None:
        """Take in a node that is new or has changed."""
        if old is None:
            self.cache.add_node(new)
            self._move(ClusterEvent(EventResource.NODE, ActionType.ADD), None, new)
            return
        self.cache.update_node(new)
        for event in node_update_events(new, old):
            self._move(event, old, new)

    def on_node_deleted(self, old: Node) -> None:
        """Take in that a node is gone; the queue hears of it first."""
        self._move(ClusterEvent(EventResource.NODE, ActionType.DELETE), old, None)
        try:
            self.cache.remove_node(old)
        except CacheError as error:
            LOGGER.error("Scheduler cache RemoveNode failed: %s", error)

    # --- everything else ----------------------------------------------------------------------------------------------

    def on_object(self, new: Any, old: Any | None) -> None:
        """Take in any other object that is new or has changed."""
        self.listers.put(new)
        self._move_for(new, ActionType.ADD if old is None else ActionType.UPDATE, old, new)

    def on_object_deleted(self, old: Any) -> None:
        """Take in that any other object is gone."""
        self.listers.remove(old)
        self._move_for(old, ActionType.DELETE, old, None)

    def _move_for(self, obj: Any, action: ActionType, old: Any | None, new: Any | None) -> None:
        resource = RESOURCE_OF.get(type(obj))
        if resource is not None:
            self._move(ClusterEvent(resource, action), old, new)

    def _move(self, event: ClusterEvent, old: Any | None, new: Any | None) -> None:
        self.queue.move_all_to_active_or_backoff(event, old, new, self.clock.now())
        self.metrics.handled(event, self._started)
