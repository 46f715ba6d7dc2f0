from nodewise.framework.events import ClusterEventWithHint
from tests.queue.world import CLAIM_ADD, FIT, NODE_ADD, Gate, World, pod


def test_a_pod_that_waits_for_an_event_is_tried_at_once_in_spite_of_backoff() -> None:
    world = World(FIT)
    queued = world.reject("p", "Fit")
    world.queue.activate([queued.pod], world.now)
    assert world.place("p") == "active"
    assert world.counts.incoming_pods["active", "ForceActivate"] == 1


def test_a_pod_that_backs_off_is_tried_at_once_without_asking_the_gates_again() -> None:
    door = Gate("Gate")
    world = World(FIT, gates=[door])
    queued = world.reject("p", "Fit")
    world.event(NODE_ADD)
    door.asked.clear()
    world.queue.activate([queued.pod], world.now)
    assert world.place("p") == "active"
    assert door.asked == []


def test_a_gated_pod_stays_gated() -> None:
    door = Gate("Gate", (ClusterEventWithHint(CLAIM_ADD),), {"p"})
    world = World(gates=[door])
    info = world.add("p")
    world.queue.activate([info.pod], world.now)
    assert world.place("p") == "gated"
    assert door.asked == ["p", "p"]


def test_a_pod_in_flight_is_tried_again_when_it_comes_back_and_no_other_is() -> None:
    world = World(FIT)
    world.add("p")
    world.add("q")
    p, q = world.pop(), world.pop()
    world.queue.activate([p.pod], world.now)
    world.fail(p, "Fit")
    world.fail(q, "Fit")
    assert world.places() == {"p": "backoff", "q": "unschedulable"}


def test_an_unknown_or_an_active_pod_is_left_alone() -> None:
    world = World(FIT)
    info = world.add("p")
    world.queue.activate([info.pod, pod("unknown")], world.now)
    assert world.places() == {"p": "active"}
    assert world.counts.incoming_pods == {("active", "UnscheduledPodAdd"): 1}
