"""Which events may let a pod fit that PodTopologySpread rejected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nodewise.api.objects import Node, Pod
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.plugins.spread_constraints import SpreadConstraint

Constraints = Sequence[SpreadConstraint]


class SpreadHints:
    """Queueing hints of PodTopologySpread.

    Parameters
    ----------
    hard_constraints_of : Callable[[Pod], Sequence[SpreadConstraint]]
        Gives what a pod is filtered by, defaults included; what it raises comes out of the hints.
    """

    def __init__(self, hard_constraints_of: Callable[[Pod], Constraints]) -> None:
        self._constraints_of = hard_constraints_of

    def events_to_register(self) -> list[ClusterEventWithHint]:
        """Return what the plugin registers (PodTopologySpread.EventsToRegister)."""
        pod_changes = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        own_changes = ActionType.UPDATE_POD_TOLERATION | ActionType.UPDATE_POD_LABEL
        node_changes = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        return [
            register(EventResource.ASSIGNED_POD, pod_changes, self.after_pod_change),
            register(EventResource.TARGET_POD, own_changes, self.after_own_change),
            register(EventResource.NODE, node_changes, self.after_node_change),
        ]

    def after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
        """Queue when a pod that some constraint counts came or went, or began or ceased to count."""
        if not all(_may_count(other, pod) for other in (old, new) if other is not None):
            return SKIP
        constraints = self._constraints_of(pod)
        if old is not None and new is not None:
            return _after_label_change(old, new, constraints)
        other = new if new is not None else old
        assert other is not None
        return QUEUE if any(c.selector.matches(other.metadata.labels) for c in constraints) else SKIP

    def after_own_change(self, pod: Pod, old: Pod, new: Pod) -> QueueingHint:
        """Queue when tolerations changed that decide which nodes count, or when the pod's own counting changed."""
        constraints = self._constraints_of(pod)
        if new.spec.tolerations != old.spec.tolerations and any(c.honors_taints for c in constraints):
            return QUEUE
        return _after_label_change(old, new, constraints)

    def after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> QueueingHint:
        """Queue when a node with all topology keys came or went, got or lost them, or changed domain or taints."""
        constraints = self._constraints_of(pod)
        had_all = old is not None and _has_all_keys(old.metadata.labels, constraints)
        has_all = new is not None and _has_all_keys(new.metadata.labels, constraints)
        if had_all != has_all:
            return QUEUE
        if not has_all or old is None or new is None:
            return SKIP
        before, now = old.metadata.labels, new.metadata.labels
        has_moved = any(before.get(c.topology_key) != now.get(c.topology_key) for c in constraints)
        return QUEUE if has_moved or old.spec.taints != new.spec.taints else SKIP


def _may_count(other: Pod, pod: Pod) -> bool:
    """Tell whether a pod is one that constraints of another one look at (involvedInTopologySpreading)."""
    return other.is_assigned_or_nominated and other.metadata.namespace == pod.metadata.namespace


def _after_label_change(old: Pod, new: Pod, constraints: Constraints) -> QueueingHint:
    """Queue when new labels make a pod count for some constraint, or no longer."""
    before, now = old.metadata.labels, new.metadata.labels
    if before == now:
        return SKIP
    return QUEUE if any(c.selector.matches(before) != c.selector.matches(now) for c in constraints) else SKIP


def _has_all_keys(labels: Mapping[str, str], constraints: Constraints) -> bool:
    return all(c.topology_key in labels for c in constraints)
