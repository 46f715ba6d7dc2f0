import logging
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from nodewise.errors import QueueError
from nodewise.framework.events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, ActionType, ClusterEvent, EventResource
from nodewise.queue.in_flight import InFlight
from tests.queue.world import FIT, NODE_ADD, NODE_LABEL, World, listening, skip, with_labels


def test_an_event_during_a_pods_own_cycle_is_not_missed() -> None:
    world = World(FIT)
    world.add("p")
    queued = world.pop()
    world.event(NODE_ADD)
    world.fail(queued, "Fit")
    assert world.place("p") == "backoff"


def test_an_event_before_a_pods_cycle_does_not_count() -> None:
    world = World(FIT)
    world.add("other")
    world.pop()
    world.event(NODE_ADD)
    world.reject("p", "Fit")
    assert world.place("p") == "unschedulable"


def test_an_event_that_nobody_registered_is_not_kept() -> None:
    world = World(FIT)
    world.add("p")
    queued = world.pop()
    world.event(ASSIGNED_POD_ADD)
    assert world.queue.in_flight_events() == Counter(PodPopped=1)
    world.fail(queued, "Fit")
    assert world.place("p") == "unschedulable"


def test_events_are_kept_only_while_a_pod_is_in_flight() -> None:
    world = World(FIT)
    world.event(NODE_ADD)
    assert world.queue.in_flight_events() == Counter()


def test_a_missed_event_is_judged_by_its_hint_with_its_objects() -> None:
    world = World(listening("A", NODE_LABEL, hint=skip))
    world.add("p")
    queued = world.pop()
    world.event(NODE_LABEL, "before", "after")
    world.fail(queued, "A")
    assert world.place("p") == "unschedulable"


def test_a_missed_event_of_a_pending_plugin_makes_the_pod_active_at_once() -> None:
    world = World(FIT, listening("P", ASSIGNED_POD_DELETE))
    world.add("p")
    queued = world.pop()
    world.event(NODE_ADD)  # after backoff, says Fit; but the next one counts for more
    world.event(ASSIGNED_POD_DELETE)
    world.fail(queued, "Fit", pending=["P"])
    assert world.place("p") == "active"


def test_a_pod_that_failed_by_an_error_backs_off_whatever_happened() -> None:
    world = World(FIT)
    world.add("p")
    world.fail(world.pop())
    assert world.place("p") == "backoff"


def test_a_pod_that_is_not_in_flight_any_more_is_tried_after_backoff(caplog: pytest.LogCaptureFixture) -> None:
    world = World(FIT)
    world.add("p")
    queued = world.pop()
    world.queue.done(queued.uid)
    with caplog.at_level(logging.ERROR, "nodewise.queue"):
        world.fail(queued, "Fit")
    assert world.place("p") == "backoff"
    assert "Error getting cluster events for pod" in str(caplog.records[0].msg)


def test_the_pod_that_an_event_moves_does_not_hear_of_it_again() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.now += 20
    world.event(NODE_ADD)
    world.fail(world.pop(), "Fit")
    assert world.place("p") == "unschedulable"


def test_an_update_of_a_pod_in_flight_is_kept_for_its_return() -> None:
    labels = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL)
    world = World(listening("A", labels))
    info = world.add("p")
    queued = world.pop()
    world.update(info.pod, with_labels(app="web"))
    assert queued.pod.metadata.labels == {}  # the cycle goes on with what it began with
    assert world.queue.in_flight_events() == Counter({"PodPopped": 1, "TargetPodUpdatePodLabel": 1})
    world.fail(queued, "A")
    assert world.place("p") == "backoff"


def test_an_update_of_a_pod_in_flight_is_kept_though_nobody_registered_it() -> None:
    world = World(FIT)
    info = world.add("p")
    world.pop()
    world.update(info.pod, with_labels(app="web"))
    assert world.queue.in_flight_events()["TargetPodUpdatePodLabel"] == 1


def test_a_flush_during_a_cycle_lets_the_pod_be_tried_again() -> None:
    world = World(FIT)
    world.reject("old", "Nobody")
    world.now += 299
    world.add("p")
    queued = world.pop()
    world.now += 31
    world.queue.run_timers(world.now)
    world.fail(queued, "Fit")
    assert world.place("p") == "backoff"


def test_a_pod_that_waits_already_is_not_taken_back() -> None:
    world = World(FIT)
    for place in ("unschedulable", "the active", "the backoff"):
        world.add("p")
        queued = world.pop()
        world.queue.done(queued.uid)
        world.add("p")
        if place != "the active":
            world.fail(world.pop(), *(("Fit",) if place == "unschedulable" else ()))
        with pytest.raises(QueueError, match=f"^Pod default/p is already present in {place} queue$"):
            world.fail(queued, "Fit")
        world.queue.delete(queued.pod, world.now)


def test_a_pod_that_is_not_taken_back_is_done_all_the_same() -> None:
    world = World(FIT)
    world.add("p")
    queued = world.pop()
    world.add("p", uid="another")
    with pytest.raises(QueueError):
        world.fail(queued, "Fit")
    assert not world.queue.is_in_flight(queued.uid)


def test_a_pod_that_is_in_flight_already_is_thrown_away_by_pop(caplog: pytest.LogCaptureFixture) -> None:
    world = World(FIT)
    world.add("p")
    world.pop()
    world.add("p")
    world.add("next", priority=-1)
    with caplog.at_level(logging.ERROR, "nodewise.queue"):
        assert world.pop().pod.metadata.name == "next"
    assert world.places() == {}
    assert "the same pod is tracked in multiple places in the scheduler: default/p" in str(caplog.records[0].msg)


def test_done_may_be_said_more_than_once() -> None:
    world = World()
    world.add("p")
    queued = world.pop()
    world.queue.done(queued.uid)
    world.queue.done(queued.uid)
    world.queue.done("never heard of")
    assert world.queue.in_flight_uids() == []


def test_closing_is_being_done_with_all_pods() -> None:
    world = World(FIT)
    world.add("p")
    world.add("q")
    world.pop()
    world.event(NODE_ADD)
    world.queue.close()
    assert world.queue.is_closed
    assert world.queue.in_flight_events() == Counter()
    assert world.names_popped() == ["q"]


def test_every_pop_counts_as_an_attempt_and_as_a_cycle() -> None:
    world = World(FIT)
    queued = world.reject("p", "Fit")
    world.event(NODE_ADD)
    assert world.pop() is queued
    assert queued.attempts == 2
    assert world.queue.scheduling_cycle == 2


@given(steps=st.lists(st.tuples(st.sampled_from(["enter", "leave", "record"]), st.integers(0, 5)), max_size=60))
def test_each_pod_in_flight_has_missed_what_came_after_it(steps: list[tuple[str, int]]) -> None:
    in_flight, happened = InFlight(), 0
    entered: dict[str, int] = {}
    for step, number in steps:
        uid = str(number)
        if step == "enter":
            assert in_flight.enter(uid) == (uid not in entered)
            entered.setdefault(uid, happened)
        elif step == "leave":
            in_flight.leave(uid)
            entered.pop(uid, None)
        else:
            in_flight.record(NODE_ADD, None, happened)
            happened += 1
        for uid in map(str, range(6)):
            missed = in_flight.missed_by(uid)
            assert (missed is None) == (uid not in entered)
            if missed is not None:
                assert [kept.new for kept in missed] == list(range(entered[uid], happened))
        kept = in_flight.counts()["NodeAdd"]
        assert kept == (happened - min(entered.values()) if entered else 0)


def test_events_that_nobody_needs_any_more_are_let_go_of() -> None:
    in_flight = InFlight()
    in_flight.enter("0")
    for number in range(1, 10_000):
        in_flight.record(NODE_ADD, None, number)
        in_flight.enter(str(number))
        in_flight.leave(str(number - 1))
    assert len(in_flight._events) < 200
