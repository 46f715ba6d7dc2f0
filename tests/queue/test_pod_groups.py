import logging
from math import floor

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nodewise.api.meta import ObjectMeta
from nodewise.api.objects import PodSchedulingGroup
from nodewise.api.pod_groups import CompositePodGroup, CompositePodGroupSpec, PodGroup, PodGroupSpec
from nodewise.errors import QueueError
from nodewise.framework.status import Code
from nodewise.queue.queued_pod import QueuedPod
from nodewise.queue.queued_pod_group import QueuedPodGroup
from nodewise.state.pod_groups import key_of
from nodewise.state.pod_info import PodInfo
from tests.queue.world import FIT, NODE_ADD, PROFILE, Gate, World, pod, with_labels


def pod_group(name: str, priority: int = 0, parent: str | None = None) -> PodGroup:
    metadata = ObjectMeta(name=name, namespace="default")
    return PodGroup(metadata, PodGroupSpec(parent_composite_pod_group_name=parent, priority=priority))


def composite(name: str, priority: int = 0, parent: str | None = None) -> CompositePodGroup:
    metadata = ObjectMeta(name=name, namespace="default")
    return CompositePodGroup(metadata, CompositePodGroupSpec(parent_composite_pod_group_name=parent, priority=priority))


class Groups(World):
    """A world where pods have groups."""

    def add_member(self, name: str, group: str, priority: int = 0) -> PodInfo:
        return self.add(name, priority, scheduling_group=PodSchedulingGroup(group))

    def pop_group(self) -> QueuedPodGroup:
        entity = self.queue.pop_entity_nowait(self.now)
        assert isinstance(entity, QueuedPodGroup)
        return entity

    def finish(self, group: QueuedPodGroup, outcome: Code, *left: QueuedPod) -> None:
        """End an attempt: these pods go back, rejected, and the others are placed."""
        for queued in group.members:
            if queued in left:
                self.fail(queued, "Fit")
            else:
                self.queue.done(queued.uid)
        self.queue.add_attempted_pod_group_if_needed(group, outcome, self.now)

    def waiting(self) -> tuple[list[str], list[str]]:
        """Return the names of pods that wait for their group to come back, and for a group's object."""
        pending, incomplete = self.queue.pending_group_pods(), self.queue.incomplete_group_pods()
        return [i.pod.metadata.name for i in pending], [i.pod.metadata.name for i in incomplete]


def names(group: QueuedPodGroup) -> list[str]:
    return [queued.pod.metadata.name for queued in group.members]


def make_groups(*plugins: object, gates: tuple[Gate, ...] = ()) -> Groups:
    return Groups(*plugins, gates=gates, has_pod_groups=True)


def test_a_member_waits_for_the_object_of_its_group() -> None:
    world = make_groups()
    world.add_member("a", "g")
    assert world.waiting() == ([], ["a"])
    assert world.queue.next_wakeup(world.now) is None
    world.queue.put_group(pod_group("g"), world.now)
    assert world.waiting() == ([], [])
    assert names(world.pop_group()) == ["a"]


def test_without_the_feature_a_member_is_a_pod_like_others() -> None:
    world = World()
    world.add("a", scheduling_group=PodSchedulingGroup("g"))
    assert world.names_popped() == ["a"]


def test_members_are_popped_together_and_count_as_one_cycle() -> None:
    world = make_groups()
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    world.add_member("b", "g")
    group = world.pop_group()
    assert names(group) == ["a", "b"]
    assert [queued.attempts for queued in (group, *group.members)] == [1, 1, 1]
    assert world.queue.in_flight_uids() == ["uid-of-a", "uid-of-b"]
    assert world.queue.scheduling_cycle == 1


def test_members_are_tried_by_priority_then_attempts_then_age_then_name() -> None:
    world = make_groups(FIT)
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("tried", "g")
    group = world.pop_group()
    world.add_member("z", "g")
    world.add_member("y", "g")
    world.now += 1
    world.add_member("late", "g")
    world.add_member("important", "g", priority=1)
    world.finish(group, Code.UNSCHEDULABLE, *group.members)
    world.now += 20
    assert names(world.pop_group()) == ["important", "tried", "y", "z", "late"]


def test_a_group_has_the_priority_of_its_object_not_of_its_pods() -> None:
    world = make_groups()
    world.queue.put_group(pod_group("low", 1), world.now)
    world.queue.put_group(pod_group("high", 2), world.now)
    world.add_member("a", "low", priority=9)
    world.add_member("b", "high")
    world.add("alone", priority=3)
    popped = [world.queue.pop_entity_nowait(world.now) for _ in range(3)]
    assert [entity.key for entity in popped if entity] == [
        "default/alone",
        "podgroup/default/high",
        "podgroup/default/low",
    ]


def test_a_member_that_comes_while_its_group_is_tried_waits_for_it_to_come_back() -> None:
    world = make_groups(FIT)
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    group = world.pop_group()
    world.add_member("b", "g")
    assert world.waiting() == (["b"], [])
    world.finish(group, Code.SUCCESS)
    assert names(world.pop_group()) == ["b"]


def test_a_group_of_which_nothing_is_left_is_not_queued() -> None:
    world = make_groups()
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    world.finish(world.pop_group(), Code.SUCCESS)
    assert world.queue.next_wakeup(world.now) is None
    world.add_member("b", "g")
    assert names(world.pop_group()) == ["b"]


def test_what_a_success_left_over_is_tried_at_once_and_keeps_its_turn() -> None:
    world = make_groups(FIT)
    world.queue.put_group(pod_group("g"), world.now)
    since = world.now
    world.add_member("a", "g")
    world.add_member("b", "g")
    group = world.pop_group()
    world.now += 3
    world.add("alone")
    world.finish(group, Code.SUCCESS, group.members[1])
    again = world.queue.find_group("default", "g")
    assert again is not None
    assert (again.timestamp, again.unschedulable_count, again.consecutive_errors_count) == (since, 0, 0)
    assert world.pop_group() is again


def test_a_success_that_left_over_only_newcomers_gives_them_a_new_turn() -> None:
    world = make_groups(FIT)
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    group = world.pop_group()
    world.now += 3
    world.add_member("b", "g")
    world.add("alone")
    world.now += 1
    world.finish(group, Code.SUCCESS)
    first = world.queue.pop_entity_nowait(world.now)
    assert first is not None
    assert first.key == "default/alone"


@pytest.mark.parametrize(("outcome", "counts"), [(Code.UNSCHEDULABLE, (1, 0)), (Code.ERROR, (0, 1))])
def test_a_group_that_failed_backs_off_and_is_never_taken_early(outcome: Code, counts: tuple[int, int]) -> None:
    world = make_groups(FIT)
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    group = world.pop_group()
    world.finish(group, outcome, *group.members)
    again = world.queue.find_group("default", "g")
    assert again is not None
    assert (again.unschedulable_count, again.consecutive_errors_count) == counts
    assert world.place("a") == "backoff"
    assert world.queue.pop_entity_nowait(world.now) is None
    assert world.queue.next_wakeup(world.now) == floor(world.now + 1) + 1


def test_a_large_group_backs_off_for_longer() -> None:
    world = make_groups(FIT)
    world.queue.put_group(pod_group("g"), world.now)
    for number in range(4):
        world.add_member(str(number), "g")
    waited = 0.0
    for _ in range(6):
        group = world.pop_group()
        world.finish(group, Code.UNSCHEDULABLE, *group.members)
        end = world.queue.next_wakeup(world.now)
        assert end is not None
        waited = end - world.now
        world.now = end
    assert 20 < waited <= 21


@pytest.mark.parametrize("gated", ["a", "b"])
def test_one_gated_member_gates_the_group(gated: str) -> None:
    door = Gate("Gate")
    world = make_groups(gates=(door,))
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    assert world.place("a") == "active"
    door.closed.add(gated)
    world.add_member("b", "g")
    assert world.places() == {"a": "gated", "b": "gated"}
    door.closed.clear()
    world.add_member("c", "g")
    assert world.places() == dict.fromkeys("abc", "gated")  # a pod that comes does not ask again where the group waits
    world.now += 330
    assert sorted(names(world.pop_group())) == ["a", "b", "c"]


def test_a_member_that_is_deleted_leaves_the_group_and_the_last_one_takes_it_along() -> None:
    world = make_groups()
    world.queue.put_group(pod_group("g"), world.now)
    a, b = world.add_member("a", "g"), world.add_member("b", "g")
    world.queue.delete(a.pod, world.now)
    assert world.places() == {"b": "active"}
    world.queue.delete(b.pod, world.now)
    assert world.queue.find_group("default", "g") is None


def test_members_that_wait_outside_the_queue_can_be_deleted_too() -> None:
    world = make_groups(FIT)
    a = world.add_member("a", "g")
    world.queue.delete(a.pod, world.now)
    assert world.waiting() == ([], [])
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("b", "g")
    group = world.pop_group()
    world.fail(group.members[0], "Fit")
    assert world.waiting() == (["b"], [])
    assert world.counts.unschedulable_pods == {("Fit", PROFILE): 1}
    world.queue.delete(group.members[0].pod, world.now)
    assert world.waiting() == ([], [])
    assert world.counts.unschedulable_pods == {}


def test_without_its_object_a_groups_pods_wait_until_it_is_back() -> None:
    world = make_groups()
    group = pod_group("g")
    world.queue.put_group(group, world.now)
    world.add_member("a", "g")
    world.queue.remove_group(group, world.now)
    assert world.waiting() == ([], ["a"])
    world.queue.put_group(group, world.now)
    assert names(world.pop_group()) == ["a"]
    world.add_member("b", "g")
    world.queue.remove_group(group, world.now)
    assert world.waiting() == ([], ["b"])


def test_an_update_reaches_a_member_wherever_it_waits() -> None:
    world = make_groups(FIT)
    info = world.add_member("a", "g")
    new = world.update(info.pod, with_labels(step="incomplete"))
    assert [i.pod for i in world.queue.incomplete_group_pods()] == [new]
    world.queue.put_group(pod_group("g"), world.now)
    new = world.update(new, with_labels(step="queued"))
    group = world.queue.find_group("default", "g")
    assert group is not None
    assert [queued.pod for queued in group.members] == [new]
    popped = world.pop_group()
    world.fail(popped.members[0], "Fit")
    new = world.update(new, with_labels(step="pending"))
    assert [i.pod for i in world.queue.pending_group_pods()] == [new]


def test_an_update_of_an_unknown_member_adds_it_once_its_group_is_there() -> None:
    world = make_groups()
    unknown = pod("a", scheduling_group=PodSchedulingGroup("g"))
    world.update(unknown, with_labels(a="b"))
    assert world.waiting() == ([], [])
    world.queue.put_group(pod_group("g"), world.now)
    world.update(unknown, with_labels(a="b"))
    assert world.place("a") == "active"


def test_activating_a_member_activates_its_group() -> None:
    world = make_groups(FIT)
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    world.add_member("b", "g")
    group = world.pop_group()
    world.finish(group, Code.UNSCHEDULABLE, *group.members)
    assert world.place("a") == "backoff"
    world.queue.activate([group.members[1].pod], world.now)
    assert world.places() == {"a": "active", "b": "active"}


def test_an_event_that_helps_one_pod_moves_its_group() -> None:
    door = Gate("Gate", FIT.events, {"a"})
    world = make_groups(FIT, gates=(door,))
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    world.add_member("b", "g")
    door.closed.clear()
    world.event(NODE_ADD)
    assert world.places() == {"a": "active", "b": "active"}


def test_what_an_event_means_for_a_group_is_the_best_that_it_means_for_a_pod() -> None:
    door = Gate("Gate", FIT.events)
    world = make_groups(FIT, gates=(door,))
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("b", "g")
    group = world.pop_group()
    world.fail(group.members[0], "Nobody")
    door.closed.add("a")
    world.add_member("a", "g", priority=1)
    world.queue.add_attempted_pod_group_if_needed(group, Code.SUCCESS, world.now)
    assert world.places() == {"a": "gated", "b": "gated"}
    door.closed.clear()
    world.event(NODE_ADD)  # for the gate of a, and for nobody that rejected b
    assert world.places() == {"a": "active", "b": "active"}


def test_a_group_that_waits_already_is_not_queued_again() -> None:
    world = make_groups(FIT)
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    group = world.pop_group()
    world.finish(group, Code.SUCCESS)
    world.add_member("b", "g")
    with pytest.raises(QueueError, match=r"^pod group default/g is already present in the active queue$"):
        world.queue.add_attempted_pod_group_if_needed(group, Code.SUCCESS, world.now)


def test_a_member_that_is_in_flight_already_is_left_out_when_its_group_is_popped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = make_groups(FIT)
    world.queue.put_group(pod_group("g"), world.now)
    world.add_member("a", "g")
    world.finish(world.pop_group(), Code.SUCCESS)
    world.add_member("a", "g")
    world.pop_group()
    world.queue.add_attempted_pod_group_if_needed(QueuedPodGroup(key_of(pod_group("g"))), Code.SUCCESS, world.now)
    world.add_member("a", "g")
    world.add_member("b", "g")
    with caplog.at_level(logging.ERROR, "nodewise.queue"):
        assert names(world.pop_group()) == ["b"]
    assert "Discarding the popped pod group member" in str(caplog.records[0].msg)


def test_pods_below_one_root_wait_together_once_the_way_up_is_known() -> None:
    world = Groups(has_pod_groups=True, has_composite_pod_groups=True)
    world.queue.put_group(pod_group("workers", parent="all"), world.now)
    world.queue.put_group(pod_group("leader", parent="all"), world.now)
    world.add_member("w", "workers")
    world.add_member("l", "leader")
    assert world.waiting() == ([], ["w", "l"])
    world.queue.put_group(composite("all", 7), world.now)
    group = world.pop_group()
    assert group.key == "podgroup/default/all"
    assert {str(key): [info.pod.metadata.name for info in infos] for key, infos in group.infos().items()} == {
        "podgroup/default/workers": ["w"],
        "podgroup/default/leader": ["l"],
    }


def test_a_group_that_leaves_a_tree_takes_its_pods_along() -> None:
    world = Groups(has_pod_groups=True, has_composite_pod_groups=True)
    world.queue.put_group(composite("all"), world.now)
    world.queue.put_group(composite("half", parent="all"), world.now)
    world.queue.put_group(pod_group("one", parent="half"), world.now)
    world.queue.put_group(pod_group("two", parent="all"), world.now)
    world.add_member("a", "one")
    world.add_member("b", "two")
    world.queue.remove_group(composite("half", parent="all"), world.now)
    assert world.waiting() == ([], ["a"])
    assert world.places() == {"b": "active"}


def test_groups_in_a_circle_have_no_root() -> None:
    world = Groups(has_pod_groups=True, has_composite_pod_groups=True)
    world.queue.put_group(composite("one", parent="two"), world.now)
    world.queue.put_group(composite("two", parent="one"), world.now)
    world.queue.put_group(pod_group("g", parent="one"), world.now)
    world.add_member("a", "g")
    assert world.waiting() == ([], ["a"])


def test_pending_pods_tell_of_members_outside_the_queue() -> None:
    world = make_groups()
    world.add_member("a", "g")
    pods, summary = world.queue.pending_pods()
    assert [info.pod.metadata.name for info in pods] == ["a"]
    assert summary == (
        "activeQ:0; backoffQ:0; unschedulableEntities:0; pendingPodGroupMemberPods:0; incompletePodGroupPods:1"
    )


class GroupMachine(RuleBasedStateMachine):
    """Members, groups and trees come and go; no pod is lost, and none is in two places."""

    @initialize()
    def make(self) -> None:
        self.world = Groups(FIT, has_pod_groups=True, has_composite_pod_groups=True)
        self.known: dict[str, PodInfo] = {}
        self.popped: QueuedPodGroup | None = None

    @rule(name=st.sampled_from("abcdef"), priority=st.integers(0, 1))
    def add(self, name: str, priority: int) -> None:
        if name not in self.known:
            self.known[name] = self.world.add_member(name, "gh"[ord(name) % 2], priority)

    @rule(name=st.sampled_from("abcdef"))
    def delete(self, name: str) -> None:
        in_flight = self.world.queue.in_flight_uids()
        if name in self.known and self.known[name].uid not in in_flight:
            self.world.queue.delete(self.known.pop(name).pod, self.world.now)

    @rule(
        which=st.sampled_from([pod_group("g"), pod_group("h", parent="root"), composite("root")]),
        is_there=st.booleans(),
    )
    def change_group(self, which: PodGroup | CompositePodGroup, is_there: bool) -> None:
        change = self.world.queue.put_group if is_there else self.world.queue.remove_group
        change(which, self.world.now)

    @precondition(lambda self: self.popped is None)
    @rule()
    def pop(self) -> None:
        entity = self.world.queue.pop_entity_nowait(self.world.now)
        assert entity is None or isinstance(entity, QueuedPodGroup)
        self.popped = entity

    @precondition(lambda self: self.popped is not None)
    @rule(
        outcome=st.sampled_from([Code.SUCCESS, Code.UNSCHEDULABLE, Code.ERROR]), keep=st.sets(st.sampled_from("abcdef"))
    )
    def finish(self, outcome: Code, keep: set[str]) -> None:
        assert self.popped is not None
        left = [queued for queued in self.popped.members if queued.pod.metadata.name in keep]
        for queued in self.popped.members:
            if queued not in left:
                del self.known[queued.pod.metadata.name]
        self.world.finish(self.popped, outcome, *left)
        self.popped = None

    @rule(seconds=st.integers(0, 20))
    def wait(self, seconds: int) -> None:
        self.world.now += seconds

    @invariant()
    def every_pod_is_in_one_place(self) -> None:
        queue = self.world.queue
        infos, _ = queue.pending_pods()
        places = [info.uid for info in infos] + queue.in_flight_uids()
        assert sorted(places) == sorted(info.uid for info in self.known.values())

    @invariant()
    def the_gauge_is_what_a_recount_gives(self) -> None:
        places, groups = self.world.queue._places, self.world.queue._groups
        assert groups is not None
        entities = (*places.active, *places.backoff, *places.unschedulable, *groups.pending, *groups.incomplete)
        recount = sum(bool(queued.rejectors) for entity in entities for queued in entity.members)
        assert self.world.counts.unschedulable_pods[("Fit", PROFILE)] == recount


GroupMachine.TestCase.settings = settings(stateful_step_count=40)
TestGroups = GroupMachine.TestCase
