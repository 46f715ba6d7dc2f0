"""What the cache knows of pod groups: members by state, objects, trees."""

from dataclasses import dataclass

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nodewise.state.cache import SchedulerCache
from nodewise.state.pod_groups import GroupKey, HierarchyError, PodGroupStates, key_of
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_node, make_pod
from nodewise.testing.group_builders import make_group, make_group_of_groups, make_member

NAMES = [f"p{i}" for i in range(5)]
GROUPS = ["g", "h"]
NODES = ["n0", "n1"]
WAITS, ASSUMED, ASSIGNED = "waits", "assumed", "assigned"


@dataclass
class Member:
    """What a pod of a group is, as the simplest model has it."""

    group: str
    phase: str
    node: str = ""


class Machine(RuleBasedStateMachine):
    """Drives the groups through the cache, as a scheduler does, beside a model that is a list of pods."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = SchedulerCache()
        self.groups = self.cache.pod_groups = PodGroupStates()
        for name in NODES:
            self.cache.add_node(make_node(name))
        self.members: dict[str, Member] = {}
        self.objects: set[str] = set()

    def info(self, name: str) -> PodInfo:
        member = self.members[name]
        return PodInfo(make_member(name, member.group, node=member.node))

    @rule(name=st.sampled_from(NAMES), group=st.sampled_from(GROUPS))
    def appear(self, name: str, group: str) -> None:
        if name not in self.members:
            self.members[name] = Member(group, WAITS)
            self.groups.add_pod(self.info(name))

    @rule(name=st.sampled_from(NAMES), group=st.sampled_from(GROUPS), node=st.sampled_from(NODES))
    def appear_on_a_node(self, name: str, group: str, node: str) -> None:
        if name not in self.members:
            self.members[name] = Member(group, ASSIGNED, node)
            self.cache.add_pod(self.info(name))

    @rule(name=st.sampled_from(NAMES), node=st.sampled_from(NODES))
    def assume(self, name: str, node: str) -> None:
        member = self.members.get(name)
        if member is not None and member.phase == WAITS:
            member.phase, member.node = ASSUMED, node
            self.cache.assume_pod(self.info(name))

    @rule(name=st.sampled_from(NAMES))
    def forget(self, name: str) -> None:
        member = self.members.get(name)
        if member is not None and member.phase == ASSUMED:
            self.cache.forget_pod(self.info(name))
            member.phase, member.node = WAITS, ""

    @rule(name=st.sampled_from(NAMES), node=st.sampled_from(NODES))
    def confirm(self, name: str, node: str) -> None:
        member = self.members.get(name)
        if member is not None and member.phase == ASSUMED:
            member.phase, member.node = ASSIGNED, node
            self.cache.add_pod(self.info(name))

    @rule(name=st.sampled_from(NAMES))
    def disappear(self, name: str) -> None:
        member = self.members.get(name)
        if member is None:
            return
        if member.phase == WAITS:
            self.groups.remove_pod(self.info(name))
        else:
            self.cache.remove_pod(self.info(name))
        del self.members[name]

    @rule(group=st.sampled_from(GROUPS))
    def put_object(self, group: str) -> None:
        self.groups.put_group(make_group(group))
        self.objects.add(group)

    @rule(group=st.sampled_from(GROUPS))
    def remove_object(self, group: str) -> None:
        self.groups.remove_group(make_group(group))
        self.objects.discard(group)

    @invariant()
    def every_member_is_in_the_state_that_it_is_in(self) -> None:
        for group in GROUPS:
            state = self.groups.state(key_of(make_group(group)))
            own = {name: member for name, member in self.members.items() if member.group == group}
            if state is None:
                assert not own
                assert group not in self.objects
                continue
            uid = {name: f"default/{name}" for name in own}
            assert (state.pod_group is not None) == (group in self.objects)
            assert not state.is_empty
            assert set(state.pods) == set(uid.values())
            for phase, found in ((WAITS, state.unscheduled), (ASSUMED, state.assumed), (ASSIGNED, state.assigned)):
                assert set(found) == {uid[name] for name, member in own.items() if member.phase == phase}
            scheduled = {pod.uid: pod.node_name for pod in state.scheduled_pods()}
            assert scheduled == {uid[name]: member.node for name, member in own.items() if member.node}
            assert state.n_scheduled == len(scheduled)


TestGroupsInTheCache = Machine.TestCase
TestGroupsInTheCache.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


# --- trees ------------------------------------------------------------------------------------------------------------


def tree() -> PodGroupStates:
    """Make a tree: root over (g, middle over h)."""
    groups = PodGroupStates(has_composites=True)
    for group in (make_group_of_groups("root"), make_group_of_groups("middle", parent="root")):
        groups.put_group(group)
    groups.put_group(make_group("g", parent="root"))
    groups.put_group(make_group("h", parent="middle"))
    return groups


def key(name: str, kind: str = "podgroup") -> GroupKey:
    return GroupKey(kind, "default", name)


ROOT, MIDDLE = key("root", "compositepodgroup"), key("middle", "compositepodgroup")


def test_a_key_shows_as_kind_namespace_and_name() -> None:
    assert str(ROOT) == "compositepodgroup/default/root"


def test_every_group_of_a_tree_has_its_root() -> None:
    groups = tree()
    assert {groups.root_of(k) for k in (key("g"), key("h"), MIDDLE, ROOT)} == {ROOT}
    assert groups.children(ROOT) == (MIDDLE, key("g"))
    assert [key_of(group) for group in groups.ancestry(key("h"))] == [key("h"), MIDDLE, ROOT]
    assert len(list(groups.leaf_states(ROOT))) == 2


def test_a_tree_with_a_gap_has_no_root() -> None:
    groups = tree()
    groups.remove_group(make_group_of_groups("middle", parent="root"))
    assert groups.root_of(key("h")) is None
    assert groups.root_of(key("g")) == ROOT
    assert [key_of(group) for group in groups.ancestry(key("h"))] == [key("h")]
    with pytest.raises(HierarchyError, match="object not found in state for compositepodgroup/default/middle"):
        groups.check_tree(key("h"))


def test_a_group_alone_is_its_own_root_and_parents_do_not_count_without_composite_groups() -> None:
    groups = PodGroupStates()
    groups.put_group(make_group("g", parent="root"))
    assert groups.root_of(key("g")) == key("g")
    groups.check_tree(key("g"))


def test_groups_in_a_circle_are_an_error() -> None:
    groups = PodGroupStates(has_composites=True)
    groups.put_group(make_group_of_groups("a", parent="b"))
    groups.put_group(make_group_of_groups("b", parent="a"))
    with pytest.raises(HierarchyError, match="cycle detected in the hierarchy: compositepodgroup/default/a, comp"):
        groups.root_of(key("a", "compositepodgroup"))


def test_a_tree_too_deep_for_kube_scheduler_has_no_leaves() -> None:
    groups = PodGroupStates(has_composites=True)
    names = [f"c{i}" for i in range(4)]
    for name, parent in zip(names, [None, *names], strict=False):
        groups.put_group(make_group_of_groups(name, parent=parent))
    groups.put_group(make_group("g", parent="c3"))
    with pytest.raises(HierarchyError, match="exceeded maximum hierarchy depth"):
        list(groups.leaf_states(key("c0", "compositepodgroup")))
    assert [group.metadata.name for group in groups.ancestry(key("g"))] == ["g", "c3", "c2", "c1"]


def test_a_parent_is_known_by_name_until_its_last_child_is_gone() -> None:
    groups = PodGroupStates(has_composites=True)
    child = make_group("g", parent="root")
    groups.put_group(child)
    assert groups.children(ROOT) == (key("g"),)
    assert groups.object(ROOT) is None
    groups.remove_group(child)
    assert groups.children(ROOT) == ()


def test_each_try_of_a_group_has_a_number_of_its_own() -> None:
    groups = PodGroupStates()
    with groups.in_cycle():
        first = groups.cycle
    assert groups.cycle == 0
    with groups.in_cycle():
        assert groups.cycle not in (0, first)


def test_a_pod_without_a_group_is_nobodys_member() -> None:
    groups = PodGroupStates()
    for pod in (PodInfo(make_pod("q")), PodInfo(make_pod("r", node="n0"))):
        groups.add_pod(pod)
        groups.assume_pod(pod)
        groups.forget_pod(pod)
        groups.remove_pod(pod)
    assert groups.state(key("g")) is None
