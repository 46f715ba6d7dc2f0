"""How long a reflector waits before it tries again."""

import random

from hypothesis import given, strategies as st

from nodewise.cluster.live.pause import LONGEST_S, Pause
from nodewise.testing.clock import FakeClock
from tests.live.listening import Waits


def make(seed: int = 1) -> tuple[Pause, FakeClock]:
    clock = FakeClock()
    return Pause(random.Random(seed), clock, Waits(clock)), clock


def test_waits_double_up_to_half_a_minute() -> None:
    pause, _ = make()
    base = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    assert all(low <= pause.next_s() <= 2 * low for low in base)


def test_two_quiet_minutes_make_it_start_anew() -> None:
    pause, clock = make()
    for _ in range(5):
        pause.next_s()
    clock.advance(120)
    assert pause.next_s() > 1.6
    clock.advance(120.1)
    assert pause.next_s() <= 1.6


@given(st.integers(), st.lists(st.floats(0, 300), max_size=20))
def test_no_wait_is_shorter_than_the_first_or_longer_than_twice_the_longest(seed: int, gaps: list[float]) -> None:
    pause, clock = make(seed)
    for gap in gaps:
        clock.advance(gap)
        assert 0.8 <= pause.next_s() <= 2 * LONGEST_S
