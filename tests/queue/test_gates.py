import logging

import pytest

from nodewise.framework.events import ClusterEventWithHint
from nodewise.framework.status import Status
from nodewise.queue.settings import QueueSettings
from tests.queue.world import (
    CLAIM_ADD,
    FIT,
    LABELS,
    NODE_ADD,
    NODE_LABEL,
    PROFILE,
    Gate,
    World,
    scheduling_gates,
    with_labels,
    without_gates,
)


def gate(name: str = "Gate", *closed: str) -> Gate:
    return Gate(name, (ClusterEventWithHint(CLAIM_ADD),), set(closed))


def test_a_gated_pod_does_not_become_active() -> None:
    world = World(gates=[scheduling_gates()])
    world.add("p", gates=["a", "b"])
    assert world.place("p") == "gated"
    queued = world.queue.find("default/p")
    assert queued is not None
    assert queued.gating_plugin == "SchedulingGates"
    assert queued.gating_status is not None
    assert queued.gating_status.message == "waiting for scheduling gates: [a b]"
    assert queued.initial_attempt_timestamp is None
    assert queued.attempts == 0


def test_a_pod_whose_last_gate_goes_becomes_active_at_once() -> None:
    world = World(gates=[scheduling_gates()])
    info = world.add("p", gates=["a"])
    world.now += 100
    world.update(info.pod, without_gates)
    queued = world.pop()
    assert queued.initial_attempt_timestamp == world.now  # time spent gated does not count


def test_a_gating_plugin_counts_as_a_rejector_once() -> None:
    world = World(gates=[gate("Gate", "p")])
    world.add("p")
    assert world.counts.unschedulable_pods == {("Gate", PROFILE): 1}
    world.event(CLAIM_ADD)
    assert world.counts.unschedulable_pods == {("Gate", PROFILE): 1}


def test_the_first_plugin_that_objects_ends_the_questions() -> None:
    first, second = gate("First", "p"), gate("Second", "p")
    world = World(gates=[first, second])
    world.add("p")
    assert (first.asked, second.asked) == (["p"], [])


def test_the_plugin_that_gated_a_pod_last_is_asked_first() -> None:
    first, second = gate("First"), gate("Second", "p")
    world = World(gates=[first, second])
    world.add("p")
    first.asked.clear()
    second.asked.clear()
    world.event(CLAIM_ADD)
    assert (first.asked, second.asked) == ([], ["p"])
    second.closed.clear()
    world.event(CLAIM_ADD)
    assert (first.asked, second.asked) == (["p"], ["p", "p"])
    assert world.place("p") == "active"


def test_a_pod_that_one_plugin_lets_go_another_may_hold() -> None:
    first, second = gate("First", "p"), gate("Second", "p")
    world = World(gates=[first, second])
    world.add("p")
    first.closed.clear()
    world.event(CLAIM_ADD)
    queued = world.queue.find("default/p")
    assert queued is not None
    assert queued.gating_plugin == "Second"
    assert queued.unschedulable_plugins == {"First", "Second"}


def test_a_pod_that_another_plugin_gates_while_it_waits_hears_of_that_ones_events_only() -> None:
    first = Gate("First", (ClusterEventWithHint(NODE_LABEL),), {"p"})
    second = Gate("Second", (ClusterEventWithHint(CLAIM_ADD),))
    world = World(gates=[first, second])
    info = world.add("p")
    first.closed.clear()
    second.closed.add("p")
    world.queue.activate([info.pod], world.now)
    second.closed.clear()
    world.event(NODE_LABEL)
    assert world.place("p") == "gated"
    world.event(CLAIM_ADD)
    assert world.place("p") == "active"
    world.event(NODE_LABEL)
    world.event(CLAIM_ADD)
    assert world.counts.incoming_pods.total() == 2  # gated, then active


def test_an_error_gates_too_and_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    failing = Gate("Gate", closed={"p"}, status=Status.error("no answer"))
    world = World(gates=[failing])
    with caplog.at_level(logging.ERROR, "nodewise.queue"):
        world.add("p")
    assert world.place("p") == "gated"
    assert str(caplog.records[0].msg) == (
        '"Unexpected error running PreEnqueue plugin" pod="default/p" plugin="Gate" err="no answer"'
    )


def test_a_gated_pod_hears_only_of_its_gating_plugins_events() -> None:
    door = gate()
    world = World(LABELS, gates=[door])
    world.reject("p", "Labels")
    door.closed.add("p")
    world.event(NODE_LABEL)  # Labels says Queue, and on the way the gate holds the pod
    assert world.place("p") == "gated"
    door.closed.clear()
    world.event(NODE_LABEL)  # not for the gate
    assert world.place("p") == "gated"
    world.event(CLAIM_ADD)
    assert world.place("p") == "backoff"


def test_a_pod_is_gated_on_the_way_into_backoff_and_not_asked_again_on_the_way_out() -> None:
    door = gate()
    world = World(FIT, gates=[door])
    world.reject("p", "Fit")
    world.event(NODE_ADD)
    assert world.place("p") == "backoff"
    door.closed.add("p")
    door.asked.clear()
    world.now += 20
    world.queue.run_timers(world.now)
    assert world.place("p") == "active"
    assert door.asked == []


def test_a_closed_gate_keeps_a_pod_out_of_backoff() -> None:
    door = gate()
    world = World(FIT, gates=[door])
    world.reject("p", "Fit")
    door.closed.add("p")
    world.event(NODE_ADD)
    assert world.place("p") == "gated"


def test_where_nothing_is_taken_out_of_backoff_early_the_gates_are_asked_at_its_end() -> None:
    door = gate()
    world = World(FIT, gates=[door], settings=QueueSettings(pop_from_backoff_queue=False))
    world.reject("p", "Fit")
    door.closed.add("p")
    world.event(NODE_ADD)
    assert world.place("p") == "backoff"
    world.now += 20
    world.queue.run_timers(world.now)
    assert world.place("p") == "gated"


def test_an_update_of_a_pod_in_the_active_queue_does_not_ask_the_gates() -> None:
    door = gate()
    world = World(gates=[door])
    info = world.add("p")
    door.closed.add("p")
    world.update(info.pod, with_labels(a="b"))
    assert world.place("p") == "active"


def test_a_failed_pod_can_be_gated_when_it_comes_back() -> None:
    door = gate()
    world = World(FIT, gates=[door])
    world.add("p")
    queued = world.pop()
    door.closed.add("p")
    world.fail(queued)
    assert world.place("p") == "gated"


def test_a_rejected_pod_that_no_event_can_help_is_not_asked_about_gates() -> None:
    door = gate()
    world = World(FIT, gates=[door])
    world.add("p")
    queued = world.pop()
    door.closed.add("p")
    world.fail(queued, "Fit")
    assert world.place("p") == "unschedulable"


def test_a_pod_of_a_profile_without_gates_is_never_gated() -> None:
    world = World(gates=[gate("Gate", "p")])
    world.add("p", scheduler_name="other")
    assert world.place("p") == "active"


def test_a_gated_pod_keeps_its_nomination() -> None:
    world = World(gates=[gate("Gate", "p")])
    world.add("p", nominated="n1")
    assert world.queue.nominations.node_of("uid-of-p") == "n1"


def test_the_gates_of_a_pod_are_all_asked_when_it_is_added_again() -> None:
    world = World(gates=[scheduling_gates()])
    world.add("p", gates=["a"])
    world.add("p")
    assert world.places() == {"p": "active"}
