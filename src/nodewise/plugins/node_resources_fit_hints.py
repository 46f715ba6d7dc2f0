"""Which events may let a pod fit that NodeResourcesFit rejected."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.api.devices import IMPLICIT_CLASS_PREFIX, DeviceClass
from nodewise.api.objects import Node, Pod
from nodewise.api.resources import PODS, fit_request, is_resize_deferred, node_allocatable, requested
from nodewise.config.feature_gates import FeatureGates
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    always_queue,
    register,
)
from nodewise.state.device_listers import DeviceListers


class FitHints:
    """Queueing hints of NodeResourcesFit.

    Resources that the arguments tell the plugin to ignore are not ignored here, as they are not in kube-scheduler.
    """

    def __init__(self, devices: DeviceListers, gates: FeatureGates) -> None:
        self._devices = devices
        self._gates = gates
        self._has_deferred_pods = gates.enabled("InPlacePodVerticalScalingSchedulerPreemption")
        self._last_nodes: tuple[tuple[Node, Mapping[str, int]], ...] = ()

    def events_to_register(self) -> list[ClusterEventWithHint]:
        """Return what the plugin registers with these feature gates (Fit.EventsToRegister)."""
        pod, own_pod = EventResource.ASSIGNED_POD, EventResource.TARGET_POD
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE
        events = [
            register(pod, ActionType.DELETE, self.after_pod_deletion),
            register(EventResource.NODE, node_changes, self.after_node_change),
        ]
        if self._gates.enabled("DRAExtendedResource"):
            class_changes = ActionType.ADD | ActionType.UPDATE
            events.append(register(EventResource.DEVICE_CLASS, class_changes, self.after_class_change))
        if self._gates.enabled("InPlacePodVerticalScaling"):
            events.append(register(pod, ActionType.UPDATE_POD_SCALE_DOWN, self.after_scale_down))
            events.append(register(own_pod, ActionType.UPDATE_POD_SCALE_DOWN, always_queue))
        if self._has_deferred_pods:
            events.append(register(pod, ActionType.UPDATE_POD_SCALE_UP, self.after_scale_up))
            events.append(register(own_pod, ActionType.UPDATE_POD_SCALE_UP, self.after_own_scale_up))
        return events

    def after_pod_deletion(self, pod: Pod, old: Pod, new: None) -> QueueingHint:
        """Queue when the deleted pod took up, or was to take up, room on a node."""
        if not old.is_assigned_or_nominated or self._is_bound_elsewhere(pod, old.spec.node_name):
            return SKIP
        return QUEUE

    def after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        """Queue when the pod fits on the node without other pods, and more of what it needs is there than before."""
        if self._is_bound_elsewhere(pod, new.name):
            return SKIP
        request, now = fit_request(pod), self._allocatable(new)
        if now.get(PODS, 0) < 1:
            return SKIP
        wanted = {name: amount for name, amount in request.items() if amount > 0}
        for_devices = {name for name in wanted if self._is_for_devices(name, now)}
        if any(amount > now.get(name, 0) for name, amount in wanted.items() if name not in for_devices):
            return SKIP
        if old is None or for_devices:
            return QUEUE
        before = self._allocatable(old)
        return QUEUE if any(now.get(name, 0) > before.get(name, 0) for name in (PODS, *wanted)) else SKIP

    def after_class_change(self, pod: Pod, old: DeviceClass | None, new: DeviceClass) -> QueueingHint:
        """Queue when the class stands for a resource that the pod asks for, and did not before."""
        request = fit_request(pod)
        name = new.spec.extended_resource_name
        if old is None:
            if IMPLICIT_CLASS_PREFIX + new.metadata.name in request:
                return QUEUE
        elif (old.spec.extended_resource_name or "") == (name or ""):
            return SKIP
        return QUEUE if name is not None and name in request else SKIP

    def after_scale_down(self, pod: Pod, old: Pod, new: Pod) -> QueueingHint:
        """Queue when another pod on a node asks for less of something that the pod asks for."""
        if not new.spec.node_name or self._is_bound_elsewhere(pod, new.spec.node_name):
            return SKIP
        before, now = requested(old), requested(new)
        for name, amount in requested(pod).items():
            if amount and name != PODS and max(0, before.get(name, 0)) > max(0, now.get(name, 0)):
                return QUEUE
        return SKIP

    def after_scale_up(self, pod: Pod, old: Pod, new: Pod) -> QueueingHint:
        """Queue a pod that waits for its resize when another one on its node asks for more."""
        return QUEUE if is_resize_deferred(pod) and new.spec.node_name == pod.spec.node_name else SKIP

    def after_own_scale_up(self, pod: Pod, old: Pod, new: Pod) -> QueueingHint:
        """Queue a pod that waits for its resize."""
        return QUEUE if is_resize_deferred(pod) else SKIP

    def _allocatable(self, node: Node) -> Mapping[str, int]:
        """Return what a node offers, kept for the two nodes of an update: all waiting pods are asked about them."""
        for known, amounts in self._last_nodes:
            if known is node:
                return amounts
        amounts = node_allocatable(node)
        self._last_nodes = (*self._last_nodes[-1:], (node, amounts))
        return amounts

    def _is_bound_elsewhere(self, pod: Pod, node_name: str) -> bool:
        """Tell whether the pod waits for a resize, so that only its own node matters, and this is another one."""
        return self._has_deferred_pods and is_resize_deferred(pod) and node_name != pod.spec.node_name

    def _is_for_devices(self, name: str, allocatable: Mapping[str, int]) -> bool:
        """Tell whether DynamicResources is to judge a resource on a node (shouldDelegateResourceToDRA)."""
        return allocatable.get(name, 0) <= 0 and self._devices.class_of_resource(name) is not None
