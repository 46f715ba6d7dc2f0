"""The clocks."""

import pytest

from nodewise.clock import Clock, SystemClock
from nodewise.testing.clock import FakeClock


def test_a_fake_clock_goes_on_only_when_told() -> None:
    clock: Clock = FakeClock(10.0)
    assert [clock.now(), clock.now()] == [10.0, 10.0]


def test_a_fake_clock_advances() -> None:
    clock = FakeClock()
    clock.advance(1.5)
    clock.advance(0)
    assert clock.now() == 1.5


def test_a_fake_clock_never_goes_back() -> None:
    with pytest.raises(ValueError, match=r"advanced by -1 s, expected 0 or more"):
        FakeClock().advance(-1)


def test_the_system_clock_never_goes_back() -> None:
    clock: Clock = SystemClock()
    times_s = [clock.now() for _ in range(100)]
    assert times_s == sorted(times_s)
