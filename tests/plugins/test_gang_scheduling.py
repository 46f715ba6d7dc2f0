"""GangScheduling: who waits for whom."""

from typing import Any

import pytest

from nodewise.api.objects import Pod
from nodewise.api.pod_groups import CompositePodGroup, PodGroup
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.events import QUEUE, SKIP, ActionType, EventResource, QueueingHint
from nodewise.framework.pod_group_plugin import PlacementProgress, PodGroupInfo
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.plugins.gang_scheduling import PERMIT_TIMEOUT_S, GangScheduling
from nodewise.runtime.waiting_pods import WaitingPod, WaitingPods
from nodewise.state.pod_groups import PodGroupStates, key_of
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import FakeHandle, make_pod
from nodewise.testing.group_builders import make_group, make_group_of_groups, make_member

NO_QUORUM = "waiting for minCount pods from a gang to appear in scheduling queue"
NOT_YET = Status(Code.WAIT, ("waiting for minCount pods from a gang to be scheduled",))


class GroupHandle(FakeHandle):
    """A handle that knows groups, and pods that wait before their binding."""

    def __init__(self, *, has_composites: bool) -> None:
        super().__init__()
        self.groups = self.pod_groups = PodGroupStates(has_composites=has_composites)
        self.waiting_pods = WaitingPods()


def make(
    *groups: PodGroup | CompositePodGroup, pods: tuple[Pod, ...] = (), has_composites: bool = False
) -> tuple[GangScheduling, GroupHandle]:
    handle = GroupHandle(has_composites=has_composites)
    for group in groups:
        handle.groups.put_group(group)
    for pod in pods:
        handle.groups.add_pod(PodInfo(pod))
    return GangScheduling(None, handle), handle


def members(group: str, count: int, node: str = "") -> tuple[Pod, ...]:
    return tuple(make_member(f"{group}-{node}-{i}", group, node=node) for i in range(count))


# --- before the queue -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "n_pods", "says"),
    [
        (None, 3, 'waiting for pods\'s pod group "g" to appear in scheduling queue'),
        (make_group("g", 3), 2, NO_QUORUM),
        (make_group("g", 3), 3, ""),
        (make_group("g", 3), 4, ""),
        (make_group("g"), 1, ""),
    ],
    ids=["no group", "too few", "just enough", "more", "not a gang"],
)
def test_pods_are_tried_when_their_group_and_its_minimum_are_there(
    group: PodGroup | None, n_pods: int, says: str
) -> None:
    pods = members("g", n_pods)
    plugin, _ = make(*([group] if group is not None else []), pods=pods)
    status = plugin.pre_enqueue(pods[0])
    assert status.message == says
    assert status.code is (Code.UNSCHEDULABLE_AND_UNRESOLVABLE if says else Code.SUCCESS)


def test_pods_on_nodes_count_for_the_minimum() -> None:
    plugin, _ = make(make_group("g", 3), pods=(*members("g", 2, "n1"), make_member("p", "g")))
    assert plugin.pre_enqueue(make_member("p", "g")) is SUCCESS


def test_a_pod_without_a_group_is_none_of_its_business() -> None:
    plugin, _ = make()
    assert plugin.pre_enqueue(make_pod("p")) is SUCCESS
    assert plugin.permit(CycleState(), PodInfo(make_pod("p")), "n1") == (SUCCESS, 0.0)


TREE = (make_group_of_groups("t", 2), make_group("g", 1, parent="t"), make_group("h", 2, parent="t"))


@pytest.mark.parametrize(
    ("groups", "n_pods_of_h", "says"),
    [
        (TREE, 2, ""),
        (TREE, 1, 'waiting for composite pod group "t" tree to meet quorum'),
        (TREE[1:], 2, "object not found in state for compositepodgroup/default/t"),
        (TREE[::2], 2, "failed to build hierarchy snapshot: pod group object not found in state for podgroup/"),
    ],
    ids=["complete", "a group too small", "no root", "no group"],
)
def test_pods_of_a_tree_wait_for_enough_of_its_groups(
    groups: tuple[PodGroup | CompositePodGroup, ...], n_pods_of_h: int, says: str
) -> None:
    pods = (*members("g", 1), *members("h", n_pods_of_h))
    plugin, _ = make(*groups, pods=pods, has_composites=True)
    status = plugin.pre_enqueue(pods[0])
    assert says in status.message
    assert status.is_success is not bool(says)


# --- while a group is placed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_scheduled", "n_remaining", "code", "says"),
    [
        (2, 0, Code.SUCCESS, ""),
        (3, 5, Code.SUCCESS, ""),
        (1, 1, Code.WAIT, "minCount (2) is not yet satisfied: 1 scheduled, 1 remaining"),
        (1, 0, Code.UNSCHEDULABLE, "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"),
    ],
)
def test_a_gang_is_feasible_from_its_minimum_on(n_scheduled: int, n_remaining: int, code: Code, says: str) -> None:
    plugin, _ = make()
    group = make_group("g", 2)
    status = plugin.placement_feasible(PodGroupInfo(key_of(group), group), PlacementProgress(n_scheduled, n_remaining))
    assert (status.code, status.message) == (code, says)


# --- before the binding -----------------------------------------------------------------------------------------------


def assume(handle: GroupHandle, *pods: Pod) -> None:
    for pod in pods:
        handle.groups.assume_pod(PodInfo(pod).placed_on("n1"))


def test_pods_wait_before_their_binding_until_the_last_one_has_a_node() -> None:
    pods = members("g", 2)
    plugin, handle = make(make_group("g", 2), pods=pods)
    assume(handle, pods[0])
    assert plugin.permit(CycleState(), PodInfo(pods[0]), "n1") == (NOT_YET, PERMIT_TIMEOUT_S)
    allowed: list[Status] = []
    handle.waiting_pods.add(WaitingPod(PodInfo(pods[0]), "n1", ["GangScheduling"], allowed.append))
    assume(handle, pods[1])
    assert plugin.permit(CycleState(), PodInfo(pods[1]), "n1") == (SUCCESS, 0.0)
    assert allowed == [SUCCESS]


def test_pods_of_a_group_without_a_minimum_do_not_wait() -> None:
    pods = members("g", 2)
    plugin, _ = make(make_group("g"), pods=pods)
    assert plugin.permit(CycleState(), PodInfo(pods[0]), "n1") == (SUCCESS, 0.0)


def test_pods_of_a_tree_wait_for_the_whole_tree() -> None:
    pods = (*members("g", 1), *members("h", 2))
    plugin, handle = make(*TREE, pods=pods, has_composites=True)
    assume(handle, *pods[:2])
    status, timeout = plugin.permit(CycleState(), PodInfo(pods[0]), "n1")
    assert (status.code, timeout) == (Code.WAIT, PERMIT_TIMEOUT_S)
    allowed: list[Status] = []
    handle.waiting_pods.add(WaitingPod(PodInfo(pods[0]), "n1", ["GangScheduling"], allowed.append))
    assume(handle, pods[2])
    assert plugin.permit(CycleState(), PodInfo(pods[2]), "n1") == (SUCCESS, 0.0)
    assert allowed == [SUCCESS]


@pytest.mark.parametrize(
    ("has_composites", "pods", "says"),
    [
        (False, (), "failed to get podGroup default/g: pod group state not found for pod group podgroup/default/g"),
        (False, members("g", 1), "failed to get podGroup default/g: pod group object not found for pod group "),
        (True, (), "failed to build hierarchy snapshot: pod group state not found for podgroup/default/g"),
    ],
)
def test_a_group_that_went_away_is_an_error(*, has_composites: bool, pods: tuple[Pod, ...], says: str) -> None:
    plugin, _ = make(pods=pods, has_composites=has_composites)
    status, _ = plugin.permit(CycleState(), PodInfo(make_member("p", "g")), "n1")
    assert status.code is Code.ERROR
    assert status.message.startswith(says)


# --- what may help ----------------------------------------------------------------------------------------------------


def hints(plugin: GangScheduling, resource: EventResource, action: ActionType, old: Any, new: Any) -> QueueingHint:
    [registered] = [r for r in plugin.events_to_register() if r.event.resource is resource and r.event.actions & action]
    assert registered.hint is not None
    return registered.hint(make_member("p", "g"), old, new)


def test_another_member_may_help_and_another_pod_may_not() -> None:
    plugin, _ = make(make_group("g", 2))
    for resource in (EventResource.UNSCHEDULED_POD, EventResource.ASSIGNED_POD):
        assert hints(plugin, resource, ActionType.ADD, None, make_member("q", "g")) is QUEUE
        assert hints(plugin, resource, ActionType.ADD, None, make_member("q", "h")) is SKIP
        assert hints(plugin, resource, ActionType.ADD, None, make_pod("q")) is SKIP
        assert hints(plugin, resource, ActionType.ADD, None, make_member("q", "g", namespace="other")) is SKIP


def test_the_group_itself_and_a_smaller_minimum_may_help() -> None:
    plugin, _ = make(make_group("g", 3))
    add, update = ActionType.ADD, ActionType.UPDATE
    group = EventResource.POD_GROUP
    assert hints(plugin, group, add, None, make_group("g", 3)) is QUEUE
    assert hints(plugin, group, add, None, make_group("h", 3)) is SKIP
    assert hints(plugin, group, update, make_group("g", 3), make_group("g", 2)) is QUEUE
    assert hints(plugin, group, update, make_group("g", 2), make_group("g", 3)) is SKIP
    assert hints(plugin, group, update, make_group("g"), make_group("g", 2)) is SKIP
    assert hints(plugin, group, update, make_group("h", 3), make_group("h", 2)) is SKIP


def test_groups_of_the_same_tree_help_each_other() -> None:
    plugin, _ = make(*TREE, has_composites=True)
    assert hints(plugin, EventResource.UNSCHEDULED_POD, ActionType.ADD, None, make_member("q", "h")) is QUEUE
    assert hints(plugin, EventResource.COMPOSITE_POD_GROUP, ActionType.ADD, None, TREE[0]) is QUEUE
    other = make_group_of_groups("other")
    assert hints(plugin, EventResource.COMPOSITE_POD_GROUP, ActionType.ADD, None, other) is SKIP
