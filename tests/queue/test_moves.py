from hypothesis import given, strategies as st

from nodewise.api.objects import Pod
from nodewise.framework.events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE
from nodewise.queue.settings import QueueSettings
from tests.queue.world import FIT, LABELS, NODE_ADD, NODE_LABEL, PROFILE, World


def test_a_rejected_pod_waits_for_an_event() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    assert world.place("p") == "unschedulable"
    assert world.queue.pop_nowait(world.now) is None


def test_an_event_moves_a_pod_into_backoff_while_that_lasts() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.event(NODE_ADD)
    assert world.place("p") == "backoff"


def test_an_event_makes_a_pod_active_when_its_backoff_ended_while_it_waited() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.now += 2
    world.event(NODE_ADD)
    assert world.place("p") == "active"


def test_a_pod_in_the_last_second_of_its_backoff_still_backs_off() -> None:
    world = World(FIT)
    world.now = 1_000_000_010.0
    world.reject("p", "Fit")
    world.now = 1_000_000_011.9
    world.event(NODE_ADD)
    assert world.place("p") == "backoff"


def test_pods_that_the_pre_check_leaves_out_stay() -> None:
    world = World(FIT)
    world.reject("low", "Fit", priority=1)
    world.reject("high", "Fit", priority=10)

    def is_low(pod: Pod) -> bool:
        return pod.priority <= 5

    world.event(ASSIGNED_POD_DELETE, pre_check=is_low)
    assert world.places() == {"low": "backoff", "high": "unschedulable"}


def test_an_event_that_nobody_registered_asks_nobody() -> None:
    world = World(FIT)
    world.reject("p", "Fit")

    def never(pod: Pod) -> bool:
        raise AssertionError("asked")

    world.event(ASSIGNED_POD_ADD, pre_check=never)


def test_an_event_moves_all_pods_that_it_may_help_and_no_others() -> None:
    world = World(FIT, LABELS)
    for name, plugins in {"a": ["Fit"], "b": ["Labels"], "c": ["Fit", "Labels"], "d": ["Fit"]}.items():
        world.reject(name, *plugins)
    world.event(NODE_LABEL)
    assert world.places() == {"a": "unschedulable", "b": "backoff", "c": "backoff", "d": "unschedulable"}


def test_moves_are_counted_by_queue_and_event() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.event(NODE_ADD)
    world.now += 20
    world.queue.run_timers(world.now)
    assert world.counts.incoming_pods == {
        ("active", "UnscheduledPodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "NodeAdd"): 1,
        ("active", "BackoffComplete"): 1,
    }


def test_an_entity_is_counted_only_where_its_event_did_not_mean_to_lead() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.event(NODE_ADD)  # meant for after backoff, and there it is
    assert world.counts.incoming_entities == {("active", "UnscheduledPodAdd", "pod"): 1}
    world.reject("q", "Fit")
    world.now += 20
    world.event(NODE_ADD)
    assert world.counts.incoming_entities["active", "NodeAdd", "pod"] == 1


def test_the_gauge_of_rejected_pods_follows_pods_wherever_they_are() -> None:
    world = World(FIT, LABELS)
    gauge = world.counts.unschedulable_pods
    world.reject("p", "Fit", "Labels")
    assert gauge == {("Fit", PROFILE): 1, ("Labels", PROFILE): 1}
    world.event(NODE_ADD)
    assert gauge == {("Fit", PROFILE): 1, ("Labels", PROFILE): 1}
    queued = world.pop()
    assert gauge == {}
    world.fail(queued, "Fit", pending=["Labels"])
    assert gauge == {("Fit", PROFILE): 1, ("Labels", PROFILE): 1}
    world.queue.delete(queued.pod, world.now)
    assert gauge == {}


def test_a_pod_that_is_deleted_is_gone_from_wherever_it_was() -> None:
    world = World(FIT)
    active = world.add("active")
    world.queue.delete(active.pod, world.now)
    unschedulable = world.reject("unschedulable", "Fit")
    backoff = world.reject("backoff")
    world.queue.delete(unschedulable.pod, world.now)
    world.queue.delete(backoff.pod, world.now)
    world.queue.delete(backoff.pod, world.now)
    assert world.places() == {}
    assert world.queue.next_wakeup(world.now) is None


def test_a_pod_that_is_added_twice_is_here_once() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.add("p")
    assert world.places() == {"p": "active"}
    assert world.counts.unschedulable_pods == {}


def test_pending_pods_are_summed_up_as_kube_scheduler_does() -> None:
    world = World(FIT)
    world.add("a")
    world.reject("u", "Fit", priority=9)
    world.reject("b", priority=9)
    pods, summary = world.queue.pending_pods()
    assert summary == "activeQ:1; backoffQ:1; unschedulableEntities:1"
    assert {info.pod.metadata.name for info in pods} == {"a", "b", "u"}
    sizes = world.queue.sizes()
    assert (sizes.active, sizes.backoff, sizes.unschedulable, sizes.gated, sizes.in_flight) == (1, 1, 1, 0, 0)


@given(names=st.lists(st.sampled_from("abcde"), unique=True), pops_early=st.booleans())
def test_backoff_ends_for_all_pods_of_a_second_at_once(names: list[str], pops_early: bool) -> None:
    world = World(FIT, settings=QueueSettings(pop_from_backoff_queue=pops_early))
    for name in names:
        world.reject(name)
        world.now += 0.01
    world.now += 2
    world.queue.run_timers(world.now)
    assert world.places() == dict.fromkeys(names, "active")
