"""Pods of a group are victims together or one by one, and count as their group does."""

from collections.abc import Sequence
from typing import Any

import pytest

from nodewise.api.objects import Pod, PodSchedulingGroup
from nodewise.api.pod_groups import PodGroupObject
from nodewise.framework.status import Status
from nodewise.preemption.group_victims import (
    Victim,
    by_importance,
    find_victims,
    is_group,
    lost_node,
    priority_of,
    select_victims_and_groups,
    split_victims,
)
from nodewise.preemption.pdb import BudgetIndex
from nodewise.preemption.victims import NO_VICTIMS, Victims
from nodewise.state.listers import Listers
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_node, make_pod, make_snapshot
from nodewise.testing.group_builders import make_group, make_group_of_groups
from tests.preemption.clusters import NOW, make_budget, running

APP = {"app": "web"}


def member(name: str, node: str, group: str, priority: int = 0, cpu: str = "1", **more: Any) -> Pod:
    return running(name, node, priority, cpu, scheduling_group=PodSchedulingGroup(group), **more)


def known(*groups: PodGroupObject, pods: Sequence[PodInfo] = (), has_composites: bool = False) -> PodGroupStates:
    states = PodGroupStates(has_composites=has_composites)
    for group in groups:
        states.put_group(group)
    for pod in pods:
        states.add_pod(pod)
    return states


def names(victims: Sequence[Victim]) -> list[list[str]]:
    return [[pod.pod.metadata.name for pod in victim.pods] for victim in victims]


# --- what goes together -----------------------------------------------------------------------------------------------


def test_pods_of_a_group_that_goes_whole_are_one_victim_wherever_they_are() -> None:
    pods = [PodInfo(member(n, node, "g")) for n, node in (("a", "n1"), ("b", "n2"))] + [PodInfo(running("c", "n1"))]
    groups = known(make_group("g", goes_whole=True), pods=pods)
    victims = find_victims([pods[0], pods[2]], groups, NOW)
    assert names(victims) == [["a", "b"], ["c"]]
    assert [is_group(victim) for victim in victims] == [True, False]


def test_pods_of_other_groups_go_one_by_one() -> None:
    pods = [PodInfo(member(n, "n1", "g")) for n in "ab"] + [PodInfo(member("c", "n1", "unknown"))]
    victims = find_victims(pods, known(make_group("g"), pods=pods), NOW)
    assert names(victims) == [["a"], ["b"], ["c"]]
    assert all(is_group(victim) for victim in victims)


def test_the_topmost_group_that_goes_whole_decides() -> None:
    pods = [PodInfo(member("a", "n1", "g")), PodInfo(member("b", "n2", "h"))]
    tree: list[PodGroupObject] = [
        make_group_of_groups("t", goes_whole=True),
        make_group("g", parent="t"),
        make_group("h", parent="t"),
    ]
    victims = find_victims(pods[:1], known(*tree, pods=pods, has_composites=True), NOW)
    assert names(victims) == [["a", "b"]]


# --- what counts more -------------------------------------------------------------------------------------------------


def test_the_priority_of_a_pod_is_that_of_the_topmost_group_that_is_there() -> None:
    pod = PodInfo(member("a", "n1", "g", priority=7))
    assert priority_of(pod, known()) == 7
    assert priority_of(pod, known(make_group("g", priority=3))) == 3
    tree: list[PodGroupObject] = [make_group_of_groups("t", priority=9), make_group("g", priority=3, parent="t")]
    assert priority_of(pod, known(*tree, has_composites=True)) == 9
    assert priority_of(pod, known(tree[1], has_composites=True)) == 3
    assert priority_of(PodInfo(running("p", "n1", 5)), known(*tree)) == 5


def test_victims_count_by_priority_then_kind_then_size_then_age() -> None:
    def of(group: str, *names: str, started_s: float = 0) -> list[PodInfo]:
        return [PodInfo(member(name, "n1", group, started_s=started_s)) for name in names]

    pods = [
        *of("small", "s1"),
        *of("large", "l1", "l2"),
        *of("old", "o1", started_s=99),
        *of("leaf", "t1"),
        PodInfo(running("p", "n1", started_s=500)),
        PodInfo(running("q", "n1", started_s=600)),
        PodInfo(running("vip", "n1", 1)),
    ]
    groups = known(
        *(make_group(name, goes_whole=True) for name in ("small", "large", "old")),
        make_group_of_groups("tree", goes_whole=True),
        make_group("leaf", parent="tree"),
        pods=pods,
        has_composites=True,
    )
    ordered = by_importance(find_victims(pods, groups, NOW))
    assert names(ordered) == [["vip"], ["t1"], ["l1", "l2"], ["o1"], ["s1"], ["q"], ["p"]]


def test_one_protected_pod_makes_its_whole_group_break_a_budget() -> None:
    listers = Listers()
    listers.fill([make_budget(APP, 1)])
    pods = [PodInfo(member(n, "n1", "g", labels=APP)) for n in "abc"] + [PodInfo(running("d", "n1"))]
    victims = find_victims(pods, known(make_group("g", goes_whole=True), pods=pods), NOW)
    violating, others = split_victims(victims, BudgetIndex(listers))
    assert [(names([victim]), count) for victim, count in violating] == [([["a", "b", "c"]], 2)]
    assert names(others) == [["d"]]


def test_a_pod_on_a_node_that_is_gone_is_an_error() -> None:
    snapshot = make_snapshot([make_node("n1")])
    victims = [Victim((PodInfo(member("a", "gone", "g")),), 0, 2, (NOW, 0))]
    found = 'failed to get node info for node "gone" from snapshot: nodeinfo not found for node name "gone"'
    assert lost_node(victims, snapshot) == Status.error(found)


# --- which of them go -------------------------------------------------------------------------------------------------


class Room:
    """A node with so much cpu; pods elsewhere in a list keep the preemptor away as long as they are there."""

    def __init__(self, free: int, apart_from: Sequence[str] = ()) -> None:
        self.free, self.apart_from = free, set(apart_from)

    def failure(self, removed: Sequence[PodInfo], elsewhere: Sequence[tuple[int, PodInfo]] = ()) -> Status | None:
        gone = {pod.pod.metadata.name for _, pod in elsewhere}
        freed = sum(pod.requests.get("cpu", 0) for pod in removed)
        fits = self.free + freed >= 2000 and self.apart_from <= gone
        return None if fits else Status.unschedulable("no room")


def select(room: Room, pods: Sequence[PodInfo], groups: PodGroupStates, priority: int = 10) -> object:
    snapshot = make_snapshot([make_node("n1"), make_node("n2")], [pod.pod for pod in pods])
    row = snapshot.columns.rows["n1"]
    here = [pod for pod in pods if pod.node_name == "n1"]
    victims = find_victims(here, groups, NOW)
    preemptor = PodInfo(make_pod("boss", "2", priority=priority))
    found = select_victims_and_groups(
        preemptor, victims, room, row, budgets=BudgetIndex(snapshot.listers), snapshot=snapshot
    )
    return [pod.pod.metadata.name for pod in found.pods] if isinstance(found, Victims) else found


PODS = [
    PodInfo(member("a", "n1", "g")),
    PodInfo(member("b", "n2", "g")),
    PodInfo(running("c", "n1", started_s=1)),
    PodInfo(running("d", "n1", started_s=2)),
]


def test_groups_are_spared_before_pods() -> None:
    groups = known(make_group("g", goes_whole=True), pods=PODS)
    assert select(Room(0), PODS, groups) == ["d", "c"]


def test_a_group_goes_with_its_pods_elsewhere() -> None:
    groups = known(make_group("g", goes_whole=True), pods=PODS)
    assert select(Room(1000, apart_from=["b"]), PODS, groups) == ["a", "b"]


def test_groups_of_high_priority_are_no_victims() -> None:
    groups = known(make_group("g", priority=10, goes_whole=True), pods=PODS)
    assert select(Room(1000, apart_from=["b"]), PODS, groups) == Status.unschedulable("no room")
    assert select(Room(1000), PODS[:2], groups) is NO_VICTIMS


def test_room_without_any_victim_is_an_error() -> None:
    found = select(Room(2000), PODS, known(pods=PODS))
    assert found == Status.error('expected at least one victim pod on node "n1"')


@pytest.mark.parametrize("goes_whole", [True, False])
def test_without_room_even_then_nobody_goes(*, goes_whole: bool) -> None:
    groups = known(make_group("g", goes_whole=goes_whole), pods=PODS)
    assert select(Room(-5000), PODS, groups) == Status.unschedulable("no room")
