"""The token bucket: burst, rate, reservations, Go's rounding."""

import math

import pytest
from hypothesis import given, strategies as st

from nodewise.caches import TokenBucket
from nodewise.testing.clock import FakeClock


def test_a_full_bucket_lets_a_burst_pass_and_no_more() -> None:
    bucket = TokenBucket(1, 3, FakeClock())
    assert [bucket.try_accept() for _ in range(5)] == [True, True, True, False, False]


def test_tokens_come_at_the_rate() -> None:
    clock = FakeClock()
    bucket = TokenBucket(4, 1, clock)
    accepted = []
    for _ in range(9):
        accepted.append(bucket.try_accept())
        clock.advance(0.125)
    assert accepted == [True, False] * 4 + [True]


def test_an_idle_bucket_holds_no_more_than_its_burst() -> None:
    clock = FakeClock()
    bucket = TokenBucket(100, 2, clock)
    clock.advance(3_600)
    assert [bucket.try_accept() for _ in range(3)] == [True, True, False]


def test_a_refusal_costs_nothing() -> None:
    clock = FakeClock()
    bucket = TokenBucket(1, 1, clock)
    bucket.try_accept()
    for _ in range(3):
        clock.advance(0.25)
        assert not bucket.try_accept()
    clock.advance(0.25)
    assert bucket.try_accept()


def test_a_reservation_says_how_long_to_wait_and_delays_the_next() -> None:
    clock = FakeClock()
    bucket = TokenBucket(2, 1, clock)
    assert [bucket.reserve() for _ in range(3)] == [0.0, 0.5, 1.0]
    clock.advance(1.0)
    assert not bucket.try_accept()
    clock.advance(0.5)
    assert bucket.try_accept()


def test_without_a_rate_the_burst_is_all_there_ever_is() -> None:
    clock = FakeClock()
    bucket = TokenBucket(0, 1, clock)
    assert bucket.try_accept()
    clock.advance(1e9)
    assert not bucket.try_accept()
    assert bucket.reserve() == math.inf


@pytest.mark.parametrize("burst", [0, -1])
def test_without_a_burst_nothing_is_ever_accepted(burst: int) -> None:
    clock = FakeClock()
    bucket = TokenBucket(10, burst, clock)
    clock.advance(100)
    assert not bucket.try_accept()
    assert bucket.reserve() == math.inf


def test_the_first_token_of_one_in_300_s_comes_at_the_nanosecond_at_which_go_has_it() -> None:
    # 1/300 is a little more than that as a float32; found with client-go 0.37.2
    for waited_ns, is_there in ((299_999_992_734, False), (299_999_992_735, True)):
        clock = FakeClock()
        bucket = TokenBucket(1 / 300, 1, clock)
        bucket.try_accept()
        clock.advance(waited_ns / 1e9)
        assert bucket.try_accept() is is_there


def test_the_rounding_of_a_clock_that_started_long_ago_takes_no_token_away() -> None:
    clock = FakeClock(100.0)
    bucket = TokenBucket(10, 1, clock)
    bucket.try_accept()
    clock.advance(0.1)  # 100.1 - 100.0 is less than 0.1 in floats
    assert bucket.try_accept()


def test_rate_and_burst_can_be_read() -> None:
    bucket = TokenBucket(0.5, 7, FakeClock())
    assert (bucket.qps, bucket.burst) == (0.5, 7)


@given(
    qps=st.integers(1, 50),
    burst=st.integers(1, 10),
    waits_ms=st.lists(st.integers(0, 500), max_size=60),
)
def test_in_any_window_no_more_passes_than_the_burst_and_what_the_rate_brings(
    qps: int, burst: int, waits_ms: list[int]
) -> None:
    clock = FakeClock()
    bucket = TokenBucket(qps, burst, clock)
    accepted_at: list[float] = []
    for wait_ms in waits_ms:
        clock.advance(wait_ms / 1_000)
        if bucket.try_accept():
            accepted_at.append(clock.now())
    for first, start_s in enumerate(accepted_at):
        for last in range(first, len(accepted_at)):
            assert last - first + 1 <= burst + (accepted_at[last] - start_s) * qps + 1e-6
