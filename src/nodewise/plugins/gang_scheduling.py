"""GangScheduling: pods of a group wait for each other, before they are tried and before they are bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from nodewise.api.objects import Pod
from nodewise.api.pod_groups import PodGroup
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from nodewise.framework.plugin import Handle
from nodewise.framework.pod_group_plugin import PlacementProgress, PodGroupInfo
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.state.pod_groups import GroupKey, HierarchyError, PodGroupState, PodGroupStates, group_key_of, key_of
from nodewise.state.pod_info import PodInfo

PERMIT_TIMEOUT_S = 5 * 60.0
_NO_QUORUM = Status.unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
_WAIT = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))
Counter = Callable[[PodGroupState], int]


def _n_known(state: PodGroupState) -> int:
    return len(state.pods)


def _n_scheduled(state: PodGroupState) -> int:
    return state.n_scheduled


class GangScheduling:
    """Plugin GangScheduling (feature gate GenericWorkload)."""

    name: ClassVar[str] = "GangScheduling"

    def __init__(self, args: object, handle: Handle) -> None:
        self._handle = handle

    @property
    def _groups(self) -> PodGroupStates:
        groups = self._handle.pod_groups
        return groups if groups is not None else PodGroupStates()

    # --- before the queue ---------------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: Pod) -> Status:
        """Keep a pod out of the queue until its group is there, and enough members, or the whole tree above it."""
        key, groups = group_key_of(pod), self._groups
        if key is None:
            return SUCCESS
        if groups.has_composites:
            try:
                groups.check_tree(key)
            except HierarchyError as error:
                return Status.unresolvable(f"failed to build hierarchy snapshot: {error}")
        group = groups.pod_group(key)
        if group is None:
            return Status.unresolvable(f'waiting for pods\'s pod group "{key.name}" to appear in scheduling queue')
        parent = groups.parent_of(group)
        if parent is None:
            return SUCCESS if _is_ready(groups, key, _n_known) else _NO_QUORUM
        return _quorum_of_tree(groups, parent, _n_known)

    # --- while a group is placed --------------------------------------------------------------------------------------

    def placement_feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        """Compare the members placed, and those to be tried, with the minimum (PlacementFeasible)."""
        wanted, scheduled, remaining = group.group.min_count, progress.n_scheduled, progress.n_remaining
        counts = f"{scheduled} scheduled, {remaining} remaining"
        if remaining + scheduled < wanted:
            return Status.unschedulable(f"minCount ({wanted}) cannot be satisfied: {counts}")
        if scheduled < wanted:
            return Status(Code.WAIT, (f"minCount ({wanted}) is not yet satisfied: {counts}",))
        return SUCCESS

    # --- before the binding -------------------------------------------------------------------------------------------

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status, float]:
        """Hold a pod back until enough members have nodes, then let all go that wait for it."""
        key, groups = group_key_of(pod.pod), self._groups
        if key is None:
            return SUCCESS, 0.0
        if groups.has_composites:
            try:
                groups.check_tree(key)
            except HierarchyError as error:
                return Status.error(f"failed to build hierarchy snapshot: {error}"), 0.0
        group = groups.pod_group(key)
        if group is None:
            text = f"pod group object not found for pod group {key}"
            if groups.state(key) is None:
                text = f"pod group state not found for pod group {key}"
            return Status.error(f"failed to get podGroup {key.namespace}/{key.name}: {text}"), 0.0
        parent = groups.parent_of(group)
        if parent is not None:
            status, root = _quorum_of_tree(groups, parent, _n_scheduled), groups.root_of(parent) or parent
            if status.is_success:
                self._allow(root)
                return SUCCESS, 0.0
            return Status(Code.WAIT, status.reasons), PERMIT_TIMEOUT_S
        if group.spec.scheduling_policy.gang is None:
            return SUCCESS, 0.0
        if not _is_ready(groups, key, _n_scheduled):
            return _WAIT, PERMIT_TIMEOUT_S
        self._allow(key)
        return SUCCESS, 0.0

    def _allow(self, key: GroupKey) -> None:
        """Let the assumed pods of a tree go that wait for this plugin."""
        waiting = getattr(self._handle, "waiting_pods", {})
        for state in self._groups.leaf_states(key):
            for uid in list(state.assumed):
                if uid in waiting:
                    waiting[uid].allow(self.name)

    # --- what may help ------------------------------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        """Hear of members, of the group, and of a minimum that gets smaller."""
        add, update = ActionType.ADD, ActionType.UPDATE
        events = [
            (ClusterEvent(EventResource.UNSCHEDULED_POD, add), self._hint_pod),
            (ClusterEvent(EventResource.ASSIGNED_POD, add), self._hint_pod),
            (ClusterEvent(EventResource.POD_GROUP, add), self._hint_group),
            (ClusterEvent(EventResource.POD_GROUP, update), self._hint_smaller_minimum),
        ]
        if self._groups.has_composites:
            events.append((ClusterEvent(EventResource.COMPOSITE_POD_GROUP, add), self._hint_group))
        return [ClusterEventWithHint(event, hint) for event, hint in events]

    def _hint_pod(self, pod: Pod, old: Any, new: Any) -> QueueingHint:
        key, other = group_key_of(pod), group_key_of(new)
        return QUEUE if key is not None and other is not None and self._is_related(key, other) else SKIP

    def _hint_group(self, pod: Pod, old: Any, new: Any) -> QueueingHint:
        key = group_key_of(pod)
        return QUEUE if key is not None and self._is_related(key, key_of(new)) else SKIP

    def _hint_smaller_minimum(self, pod: Pod, old: Any, new: Any) -> QueueingHint:
        if not isinstance(old, PodGroup) or self._hint_group(pod, old, new) is SKIP:
            return SKIP
        before, after = old.spec.scheduling_policy.gang, new.spec.scheduling_policy.gang
        if before is None or after is None or after.min_count >= before.min_count:
            return SKIP
        return QUEUE

    def _is_related(self, key: GroupKey, other: GroupKey) -> bool:
        """Tell whether two groups are the same, or below the same root."""
        groups = self._groups
        if not groups.has_composites:
            return key == other
        try:
            root = groups.root_of(key)
            return root is not None and root == groups.root_of(other)
        except HierarchyError:
            return False


def _is_ready(groups: PodGroupStates, key: GroupKey, count: Counter) -> bool:
    """Tell whether a group, or enough below it, has its minimum (isPGReady, isCPGTreeReady)."""
    group = groups.object(key)
    if group is None:
        return False
    if key.is_composite:
        return sum(_is_ready(groups, child, count) for child in groups.children(key)) >= group.min_count
    if groups.has_composites or (isinstance(group, PodGroup) and group.spec.scheduling_policy.gang is not None):
        state = groups.state(key)
        return state is not None and count(state) >= group.min_count
    return True


def _quorum_of_tree(groups: PodGroupStates, parent: GroupKey, count: Counter) -> Status:
    """Return what keeps the tree that a group is in from being complete enough (checkCPGHierarchyReadiness)."""
    try:
        root = groups.root_of(parent)
    except HierarchyError as error:
        return Status.error(str(error))
    if root is None:
        text = f"composite pod group object not found in state for {parent}"
        return Status.unresolvable(f"failed to build hierarchy snapshot: {text}")
    if not _is_ready(groups, root, count):
        return Status.unresolvable(f'waiting for composite pod group "{root.name}" tree to meet quorum')
    return SUCCESS
