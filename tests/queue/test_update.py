import pytest

from nodewise.api.objects import Pod
from nodewise.framework.events import ActionType, ClusterEvent, EventResource, QueueingHint
from nodewise.queue.settings import QueueSettings
from nodewise.state.pod_info import PodInfo
from tests.queue.world import FIT, World, listening, pod, with_labels, with_priority

TARGET_LABELS = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL)
TARGET_SCALE = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN)


def test_a_change_that_may_help_a_rejected_pod_lets_it_be_tried_again() -> None:
    world = World(listening("A", TARGET_LABELS))
    queued = world.reject("p", "A")
    world.update(queued.pod, with_labels(app="web"))
    assert world.place("p") == "backoff"
    assert world.counts.incoming_pods["backoff", "TargetPodUpdatePodLabel"] == 1


def test_a_change_that_cannot_help_leaves_a_rejected_pod_where_it_is_but_is_taken_over() -> None:
    world = World(FIT)
    queued = world.reject("p", "Fit")
    world.update(queued.pod, with_labels(app="web"))
    assert world.place("p") == "unschedulable"
    assert queued.pod.metadata.labels == {"app": "web"}


def test_the_hint_of_a_change_is_asked_with_both_versions() -> None:
    seen = []

    def hint(waiting: Pod, old: Pod, new: Pod) -> QueueingHint:
        seen.append((waiting, old, new))
        return QueueingHint.SKIP

    world = World(listening("A", TARGET_LABELS, hint=hint))
    queued = world.reject("p", "A")
    old = queued.pod
    new = world.update(old, with_labels(app="web"))
    assert seen == [(new, old, new)]


@pytest.mark.parametrize("pops_early", [True, False])
def test_of_several_changes_the_first_that_helps_moves_the_pod(pops_early: bool) -> None:
    world = World(
        listening("A", TARGET_LABELS, TARGET_SCALE), settings=QueueSettings(pop_from_backoff_queue=pops_early)
    )
    world.queue.add(PodInfo(pod("p")), world.now)
    queued = world.fail(world.pop(), "A")
    smaller = pod("p", labels={"app": "web"}, containers=())
    world.queue.update(queued.pod, PodInfo(smaller), world.now)
    assert world.places() == {"p": "backoff"}


def test_a_change_of_a_pod_in_backoff_keeps_it_there() -> None:
    world = World(FIT)
    queued = world.reject("p", "Fit")
    world.event(FIT.events[0].event)
    world.update(queued.pod, with_labels(app="web"))
    assert world.place("p") == "backoff"
    assert queued.pod.metadata.labels == {"app": "web"}


def test_a_change_of_priority_changes_the_place_in_backoff() -> None:
    world = World(FIT)
    first = world.reject("first", "Fit")
    world.reject("second", "Fit")
    world.event(FIT.events[0].event)
    world.update(first.pod, with_priority(-1))
    assert world.names_popped() == ["second", "first"]


def test_a_change_of_an_unknown_pod_adds_it() -> None:
    world = World()
    world.update(pod("p"), with_labels(app="web"))
    assert world.place("p") == "active"
    assert world.counts.incoming_pods == {("active", "UnscheduledPodAdd"): 1}


def test_a_pod_that_was_made_anew_under_its_name_replaces_the_old_one() -> None:
    world = World(FIT)
    queued = world.reject("p", "Fit")
    world.queue.update(queued.pod, PodInfo(pod("p", uid="new")), world.now)
    assert queued.uid == "new"
    assert world.places() == {"p": "unschedulable"}
