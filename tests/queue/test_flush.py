import pytest
from hypothesis import given, strategies as st

from nodewise.framework.events import ClusterEventWithHint
from nodewise.queue.settings import QueueSettings
from nodewise.queue.timers import Ticker
from tests.queue.world import CLAIM_ADD, FIT, NODE_ADD, START, Gate, World


def test_a_pod_that_waits_for_longer_than_five_minutes_is_tried_without_an_event() -> None:
    world = World(FIT)
    world.now = START + 1
    world.reject("p", "Fit")
    assert world.queue.next_wakeup(world.now) == START + 330
    world.now = START + 329
    assert world.queue.pop_nowait(world.now) is None
    world.now = START + 330
    queued = world.pop()
    assert queued.was_flushed_from_unschedulable
    assert queued.flush_timestamp == world.now
    assert world.counts.incoming_pods["active", "UnschedulableTimeout"] == 1


def test_an_age_of_exactly_the_limit_is_not_enough() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    assert world.queue.next_wakeup(world.now) == START + 330


def test_the_limit_can_be_set() -> None:
    world = World(FIT, settings=QueueSettings(max_unschedulable_s=20))
    world.reject("p", "Fit")
    assert world.queue.next_wakeup(world.now) == START + 30


def test_a_failed_attempt_forgets_the_flush_before_it() -> None:
    world = World(FIT)
    queued = world.reject("p", "Fit")
    world.now = START + 330
    assert world.pop() is queued
    world.fail(queued, "Fit")
    assert not queued.was_flushed_from_unschedulable
    assert queued.flush_timestamp == 0.0


def test_a_pod_that_an_event_moved_does_not_count_as_flushed() -> None:
    world = World(FIT)
    queued = world.reject("p", "Fit")
    world.now += 20
    world.event(NODE_ADD)
    assert world.pop() is queued
    assert not queued.was_flushed_from_unschedulable


def test_a_gated_pod_is_asked_about_again_and_then_waits_as_long_once_more() -> None:
    door = Gate("Gate", (ClusterEventWithHint(CLAIM_ADD),), {"p"})
    world = World(gates=[door])
    world.add("p")
    world.now = START + 330
    world.queue.run_timers(world.now)
    assert door.asked == ["p", "p"]
    queued = world.queue.find("default/p")
    assert queued is not None
    assert world.place("p") == "gated"
    assert not queued.was_flushed_from_unschedulable
    assert queued.waiting_since == START + 330
    assert world.queue.next_wakeup(world.now) == START + 660


def test_a_flush_opens_the_way_for_a_pod_that_is_gated_no_more() -> None:
    door = Gate("Gate", closed={"p"})
    world = World(gates=[door])
    world.add("p")
    door.closed.clear()
    world.event(CLAIM_ADD)
    assert world.place("p") == "gated"  # the plugin never said that this may help
    world.now = START + 330
    assert world.names_popped() == ["p"]


def test_only_the_pods_that_are_old_enough_are_flushed() -> None:
    world = World(FIT)
    world.reject("old", "Fit")
    world.now = START + 100
    world.reject("young", "Fit")
    world.now = START + 330
    world.queue.run_timers(world.now)
    assert world.places() == {"old": "active", "young": "unschedulable"}
    assert world.queue.next_wakeup(world.now) == world.now
    assert world.names_popped() == ["old"]
    assert world.queue.next_wakeup(world.now) == START + 420


def test_flushes_that_were_slept_through_are_made_up_for_once() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.reject("q")
    world.now = START + 100_000
    assert sorted(world.names_popped()) == ["p", "q"]


def test_an_empty_queue_needs_no_wakeup() -> None:
    assert World().queue.next_wakeup(START) is None


def test_a_queue_with_an_active_pod_wants_to_be_woken_now() -> None:
    world = World()
    world.add("p")
    assert world.queue.next_wakeup(world.now) == world.now


@pytest.mark.parametrize("period", [1.0, 30.0])
@given(start=st.floats(0, 4e9), after=st.floats(0, 1e6), n_steps=st.integers(1, 5), step=st.floats(0.001, 100))
def test_a_ticker_gives_each_tick_once_and_none_early(
    period: float, start: float, after: float, n_steps: int, step: float
) -> None:
    ticker = Ticker(start, period)
    now = start
    for _ in range(n_steps):
        tick = ticker.tick_after(start + after)
        assert tick > start + after
        assert tick >= ticker.next_tick
        next_tick = ticker.next_tick
        taken = ticker.take(now)
        assert (taken is not None) == (now >= next_tick)
        assert taken is None or next_tick <= taken <= now
        assert ticker.next_tick > now
        assert ticker.next_tick <= max(start, now + period * (1 + 1e-9) + 1e-6)
        now += step
