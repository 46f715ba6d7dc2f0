"""Which cluster events the update of a pod or a node stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodewise.api.objects import Node, Pod
from nodewise.api.quantity import Quantity
from nodewise.api.resources import allocatable_quantities, pod_amounts, request_quantities
from nodewise.framework.events import ActionType, ClusterEvent, EventResource


def pod_resource(pod: Pod, *, is_target: bool) -> EventResource:
    """Return what an updated pod is to a waiting pod: itself (`is_target`), or one that runs or waits elsewhere."""
    if pod.spec.node_name:
        return EventResource.ASSIGNED_POD
    return EventResource.TARGET_POD if is_target else EventResource.UNSCHEDULED_POD


def pod_update_events(new: Pod, old: Pod, resource: EventResource) -> list[ClusterEvent]:
    """Return what changed in a pod that matters to scheduling (PodSchedulingPropertiesChange).

    Parameters
    ----------
    resource : EventResource
        What the pod is to those that hear of it, see `pod_resource`.

    Returns
    -------
    list[ClusterEvent]
        One event for each kind of change, in kube-scheduler's order; a plain update when there is none.

    Raises
    ------
    QuantityError
        When an amount in a pod is not a quantity.
    """
    actions = list(_pod_changes(new, old)) or [ActionType.UPDATE]
    return [ClusterEvent(resource, action) for action in actions]


def node_update_events(new: Node, old: Node) -> list[ClusterEvent]:
    """Return what changed in a node that matters to scheduling (NodeSchedulingPropertiesChange).

    A node that is uncordoned counts as one whose taints changed; if they did, too, the event comes twice. When a taint
    was added is not kept of it, so that another `timeAdded` alone is no change here.

    Returns
    -------
    list[ClusterEvent]
        One event for each kind of change, in kube-scheduler's order; none when nothing matters.

    Raises
    ------
    QuantityError
        When an allocatable amount is not a quantity.
    """
    return [ClusterEvent(EventResource.NODE, action) for action in _node_changes(new, old)]


def _pod_changes(new: Pod, old: Pod) -> Iterator[ActionType]:
    if new.metadata.labels != old.metadata.labels:
        yield ActionType.UPDATE_POD_LABEL
    # amounts are shared by pods that ask for the same
    if pod_amounts(new) is not pod_amounts(old):
        now, before = request_quantities(new), request_quantities(old)
        if _is_any_less(now, than=before):
            yield ActionType.UPDATE_POD_SCALE_DOWN
        if _is_any_less(before, than=now):
            yield ActionType.UPDATE_POD_SCALE_UP
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        yield ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    # only their number counts: the API lets tolerations be added, not changed or removed
    if len(new.spec.tolerations) != len(old.spec.tolerations):
        yield ActionType.UPDATE_POD_TOLERATION
    if (
        new.status.resource_claim_statuses != old.status.resource_claim_statuses
        or new.status.extended_resource_claim_status != old.status.extended_resource_claim_status
    ):
        yield ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM


def _is_any_less(amounts: Mapping[str, Quantity], *, than: Mapping[str, Quantity]) -> bool:
    """Tell whether some resource is gone or less, compared in thousandths."""
    return any(
        name not in amounts or amounts[name].milli_value() < amount.milli_value() for name, amount in than.items()
    )


def _node_changes(new: Node, old: Node) -> Iterator[ActionType]:
    if old.spec.unschedulable and not new.spec.unschedulable:
        yield ActionType.UPDATE_NODE_TAINT
    if _is_allocatable_changed(new, old):
        yield ActionType.UPDATE_NODE_ALLOCATABLE
    if new.metadata.labels != old.metadata.labels:
        yield ActionType.UPDATE_NODE_LABEL
    if new.spec.taints != old.spec.taints:
        yield ActionType.UPDATE_NODE_TAINT
    if _condition_statuses(new) != _condition_statuses(old):
        yield ActionType.UPDATE_NODE_CONDITION
    if new.metadata.annotations != old.metadata.annotations:
        yield ActionType.UPDATE_NODE_ANNOTATION
    if new.spec.pod_preemption_policy != old.spec.pod_preemption_policy:
        yield ActionType.UPDATE_NODE_PREEMPTION_POLICY
    if new.status.declared_features != old.status.declared_features:
        yield ActionType.UPDATE_NODE_DECLARED_FEATURE


def _is_allocatable_changed(new: Node, old: Node) -> bool:
    if new.status.allocatable == old.status.allocatable and new.status.capacity == old.status.capacity:
        return False
    return allocatable_quantities(new) != allocatable_quantities(old)


def _condition_statuses(node: Node) -> dict[str, str]:
    """Return the statuses by type: when and why they changed does not matter."""
    return {condition.type: condition.status for condition in node.status.conditions}
