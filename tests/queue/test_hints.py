import logging
from typing import Any

import pytest

from nodewise.api.objects import Pod
from nodewise.errors import PluginError
from nodewise.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    FORCE_ACTIVATE,
    TARGET_POD_UPDATE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from nodewise.framework.guard import guarded
from nodewise.queue.hints import HintMap, build_hint_map
from tests.queue.world import (
    FIT,
    LABELS,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    NODE_UPDATE,
    PROFILE,
    Rejecter,
    World,
    listening,
    pod,
    skip,
)

ALL_OF = {resource: ClusterEvent(resource, ActionType.ALL) for resource in EventResource}
LEFT_OUT = {
    EventResource.POD,  # unrolled
    EventResource.VOLUME_ATTACHMENT,
    EventResource.RESOURCE_SLICE,
    EventResource.POD_GROUP,
    EventResource.COMPOSITE_POD_GROUP,
    EventResource.WILDCARD,
}


class Silent:
    """Rejects pods and does not say what may help."""

    name = "Silent"

    def pre_enqueue(self, pod: Pod) -> Any:
        raise NotImplementedError


class OnlySorts:
    name = "OnlySorts"

    def sort_key(self, pod: Pod) -> int:
        return 0


def names(hints: HintMap, event: ClusterEvent) -> list[str]:
    return [hint.plugin for hint in hints.matching(event)]


def test_a_plugin_hears_of_what_it_registered_and_of_nothing_else() -> None:
    hints = build_hint_map([FIT, LABELS])
    assert names(hints, NODE_ADD) == ["Fit", "Labels"]
    assert names(hints, NODE_LABEL) == ["Labels"]
    assert names(hints, NODE_TAINT) == []


def test_a_general_registration_matches_a_special_event_and_not_the_other_way_round() -> None:
    hints = build_hint_map([listening("Any", NODE_UPDATE), LABELS])
    assert names(hints, NODE_LABEL) == ["Any", "Labels"]
    assert names(hints, NODE_UPDATE) == ["Any"]


def test_a_registration_for_pods_is_one_for_each_kind_of_pod() -> None:
    hints = build_hint_map([listening("Pods", ClusterEvent(EventResource.POD, ActionType.ADD | ActionType.UPDATE))])
    assert {event.resource for event in hints.events_of("Pods")} == {
        EventResource.ASSIGNED_POD,
        EventResource.UNSCHEDULED_POD,
        EventResource.TARGET_POD,
    }
    for event in (ASSIGNED_POD_ADD, UNSCHEDULED_POD_ADD, TARGET_POD_UPDATE):
        assert names(hints, event) == ["Pods"]
    assert names(hints, ASSIGNED_POD_DELETE) == []


@pytest.mark.parametrize("resource", EventResource)
def test_a_plugin_that_does_not_say_hears_of_what_kube_scheduler_lists(resource: EventResource) -> None:
    hints = build_hint_map([Silent()])
    assert (ALL_OF[resource] in hints.events_of("Silent")) == (resource not in LEFT_OUT)


def test_with_pod_groups_a_plugin_that_does_not_say_hears_of_them() -> None:
    hints = build_hint_map([Silent()], has_pod_groups=True)
    assert ALL_OF[EventResource.POD_GROUP] in hints.events_of("Silent")


def test_a_plugin_that_registers_nothing_hears_of_nothing() -> None:
    hints = build_hint_map([Rejecter("Deaf")])
    assert hints.events_of("Deaf") == ()


def test_a_plugin_that_cannot_reject_pods_is_passed_over() -> None:
    assert build_hint_map([OnlySorts()]).events_of("OnlySorts") == ()


def test_extenders_hear_of_everything_under_a_name_of_their_own() -> None:
    assert names(build_hint_map([FIT], has_extenders=True), NODE_TAINT) == ["Extender"]
    assert names(build_hint_map([FIT]), NODE_TAINT) == []


def test_a_plugin_that_fails_to_say_what_it_wants_to_hear_of_is_named() -> None:
    class Failing(Silent):
        def events_to_register(self) -> list[ClusterEventWithHint]:
            raise KeyError("no such thing")

    with pytest.raises(PluginError, match='asking plugin "Silent" for its events_to_register: KeyError'):
        build_hint_map([guarded(Failing())])


def test_only_hints_of_rejectors_count() -> None:
    world = World(FIT, LABELS)
    world.reject("p", "Fit")
    world.now += 20
    world.event(NODE_LABEL)
    assert world.place("p") == "unschedulable"
    world.event(NODE_ADD)
    assert world.place("p") == "active"


def test_a_hint_is_asked_with_the_pod_and_both_objects() -> None:
    asked = []

    def hint(waiting: Pod, old: Any, new: Any) -> QueueingHint:
        asked.append((waiting.metadata.name, old, new))
        return QueueingHint.SKIP

    world = World(listening("A", NODE_LABEL, hint=hint))
    world.reject("p", "A")
    world.event(NODE_LABEL, "before", "after")
    assert asked == [("p", "before", "after")]
    assert world.place("p") == "unschedulable"
    assert world.counts.hints == {("A", "NodeUpdateNodeLabel", "QueueSkip"): 1}


def test_a_plugin_without_a_hint_always_says_queue() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.event(NODE_ADD)
    assert world.counts.hints == {("Fit", "NodeAdd", "Queue"): 1}


def test_a_hint_that_fails_counts_as_queue_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def hint(waiting: Pod, old: Any, new: Any) -> QueueingHint:
        raise ValueError("cannot tell")

    world = World(listening("A", NODE_LABEL, hint=hint))
    world.reject("p", "A")
    with caplog.at_level(logging.ERROR, "nodewise.queue"):
        world.event(NODE_LABEL)
    assert world.place("p") == "backoff"
    assert world.counts.hints == {("A", "NodeUpdateNodeLabel", "Error"): 1}
    assert "cannot tell" in str(caplog.records[0].msg)


def test_one_plugin_that_says_queue_is_enough() -> None:
    world = World(listening("A", NODE_ADD, hint=skip), listening("B", NODE_ADD))
    world.reject("p", "A", "B")
    world.event(NODE_ADD)
    assert world.place("p") == "backoff"


def test_a_pending_plugin_that_says_queue_makes_the_pod_active_in_spite_of_backoff() -> None:
    world = World(FIT, listening("P", NODE_ADD))
    queued = world.reject("p", "Fit", pending=["P"])
    assert queued.unschedulable_plugins == {"Fit", "P"}
    world.event(NODE_ADD)
    assert world.place("p") == "active"


def test_a_plugin_beside_a_pending_one_only_ends_the_wait_after_backoff() -> None:
    world = World(FIT, listening("P", NODE_ADD, hint=skip))
    world.reject("p", "Fit", pending=["P"])
    world.event(NODE_ADD)
    assert world.place("p") == "backoff"


def test_a_wildcard_event_moves_everybody() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.reject("q", "Nobody")
    world.event(UNSCHEDULABLE_TIMEOUT)
    assert world.places() == {"p": "backoff", "q": "backoff"}


def test_a_wildcard_event_about_one_pod_moves_only_that() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.reject("q", "Fit")
    world.event(FORCE_ACTIVATE, None, pod("p"))
    assert world.places() == {"p": "backoff", "q": "unschedulable"}


def test_a_pod_of_a_profile_without_hints_is_tried_after_backoff(caplog: pytest.LogCaptureFixture) -> None:
    world = World(FIT)
    world.add("p", scheduler_name="unknown")
    world.fail(world.pop(), "Fit")
    with caplog.at_level(logging.ERROR, "nodewise.queue"):
        world.event(NODE_ADD)
    assert world.place("p") == "backoff"
    assert "No QueueingHintMap is registered for this profile" in str(caplog.records[0].msg)


def test_profiles_do_not_hear_of_each_others_events() -> None:
    world = World(hints={PROFILE: build_hint_map([FIT]), "other": build_hint_map([LABELS])})
    world.add("mine")
    world.add("theirs", scheduler_name="other")
    for queued in (world.pop(), world.pop()):
        world.fail(queued, "Fit", "Labels")
    world.event(NODE_LABEL)
    assert world.places() == {"mine": "unschedulable", "theirs": "backoff"}
