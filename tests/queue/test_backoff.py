from math import floor

import pytest
from hypothesis import given, strategies as st

from nodewise.queue.backoff import backoff_ns
from nodewise.queue.settings import QueueSettings
from tests.queue.world import FIT, START, World

S = 1_000_000_000


@pytest.mark.parametrize(
    ("count", "seconds"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (64, 10), (10_000, 10)]
)
def test_backoff_doubles_up_to_the_maximum(count: int, seconds: int) -> None:
    assert backoff_ns(count, 1 * S, 10 * S) == seconds * S


def test_a_group_may_back_off_for_longer_by_the_root_of_its_size() -> None:
    assert backoff_ns(10, 1 * S, 10 * S, n_pods=4) == 20 * S
    assert backoff_ns(10, 1 * S, 10 * S, n_pods=1) == 10 * S


def test_the_first_backoff_is_the_maximum_where_that_is_less() -> None:
    assert backoff_ns(1, 30 * S, 10 * S) == 10 * S


@given(count=st.integers(1, 80), initial=st.integers(1, 100), maximum=st.integers(1, 1000))
def test_backoff_never_shrinks_and_never_exceeds_the_maximum(count: int, initial: int, maximum: int) -> None:
    now, later = (backoff_ns(n, initial * S, maximum * S) for n in (count, count + 1))
    assert now <= later <= maximum * S


@pytest.mark.parametrize("fraction", [0.0, 0.25, 0.999])
@pytest.mark.parametrize("n_failures", [1, 2, 3, 4, 5, 6])
def test_a_failed_pod_is_active_in_the_second_after_its_backoff_ends(n_failures: int, fraction: float) -> None:
    world = World(FIT)
    world.add("p")
    for _ in range(n_failures - 1):
        world.fail(world.pop())
        world.now += 20
    world.now = floor(world.now) + fraction
    world.fail(world.pop())
    duration = min(2 ** (n_failures - 1), 10)
    end = floor(floor(world.now) + fraction + duration) + 1
    assert world.queue.next_wakeup(world.now) == end
    world.now = end - 0.001
    assert world.queue.pop_nowait(world.now) is None
    world.now = end
    assert world.names_popped() == ["p"]


def test_a_pod_that_fails_early_in_a_second_waits_almost_two() -> None:
    world = World()
    world.now = 1_000_000_100.0
    world.add("p")
    world.fail(world.pop())
    assert world.queue.next_wakeup(world.now) == 1_000_000_102.0


def test_without_whole_seconds_a_backoff_lasts_to_the_first_flush_after_its_end() -> None:
    world = World(settings=QueueSettings(pop_from_backoff_queue=False))
    world.now = START + 0.5
    world.add("p")
    queued = world.fail(world.pop())
    assert queued.backoff_expiration == START + 1.5
    assert world.queue.next_wakeup(world.now) == START + 2  # flushes are each second from the start
    world.now = START + 2
    assert world.names_popped() == ["p"]


def test_without_whole_seconds_an_expiration_at_a_flush_still_waits() -> None:
    world = World(settings=QueueSettings(pop_from_backoff_queue=False))
    world.add("p")
    world.fail(world.pop())
    assert world.queue.next_wakeup(world.now) == START + 2


def test_a_maximum_of_zero_turns_backoff_off() -> None:
    world = World(settings=QueueSettings(max_backoff_s=0))
    world.add("p")
    for _ in range(3):
        world.fail(world.pop())
        assert world.place("p") == "active"


def test_an_idle_scheduler_takes_a_rejected_pod_out_of_backoff() -> None:
    world = World(FIT)
    world.reject("p", "Fit")
    world.event(FIT.events[0].event)
    assert world.place("p") == "backoff"
    assert world.queue.next_wakeup(world.now) == world.now
    assert world.names_popped() == ["p"]
    assert world.counts.incoming_pods["active", "PopFromBackoffQ"] == 1


def test_an_idle_scheduler_does_not_take_a_failed_pod_out_of_backoff() -> None:
    world = World(FIT)
    world.reject("p")
    assert world.place("p") == "backoff"
    assert world.queue.pop_nowait(world.now) is None


def test_without_the_gate_nothing_is_taken_out_of_backoff() -> None:
    world = World(FIT, settings=QueueSettings(pop_from_backoff_queue=False))
    world.reject("p", "Fit")
    world.event(FIT.events[0].event)
    assert world.place("p") == "backoff"
    assert world.queue.pop_nowait(world.now) is None


def test_pods_are_taken_out_of_backoff_by_window_then_by_priority() -> None:
    world = World(FIT)
    for name, priority in (("low", 1), ("high", 2)):
        world.reject(name, "Fit", priority=priority)
        world.now += 0.25
    world.now += 1
    world.reject("highest-but-later", "Fit", priority=3)
    world.event(FIT.events[0].event)
    assert world.names_popped() == ["high", "low", "highest-but-later"]


def test_an_active_pod_goes_before_one_in_backoff_whatever_their_priorities() -> None:
    world = World(FIT)
    world.reject("important", "Fit", priority=100)
    world.event(FIT.events[0].event)
    world.add("unimportant")
    assert world.names_popped() == ["unimportant", "important"]


def test_errors_are_counted_apart_from_rejections_and_set_the_backoff_while_there_are_any() -> None:
    world = World(FIT)
    queued = world.reject("p", "Fit")
    world.event(FIT.events[0].event)
    for n_errors in (1, 2, 3):
        assert world.pop() is queued
        world.fail(queued)
        assert (queued.unschedulable_count, queued.consecutive_errors_count) == (1, n_errors)
        assert queued.backoff_expiration == floor(queued.timestamp + 2 ** (n_errors - 1))
        world.now += 20
    world.fail(world.pop(), "Fit")
    assert (queued.unschedulable_count, queued.consecutive_errors_count) == (2, 0)
    assert queued.attempts == 5
