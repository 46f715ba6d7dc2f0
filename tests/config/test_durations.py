"""Durations in Go's notation."""

import pytest
from hypothesis import given, strategies as st

from nodewise.config.durations import format_duration, parse_duration

SHOWN = {
    0: "0s",
    1: "1ns",
    1_500: "1.5\u00b5s",
    10_000_000: "10ms",
    -1_000_000_000: "-1s",
    90_000_000_000: "1m30s",
    3_600_000_000_000: "1h0m0s",
    -(2**63): "-2562047h47m16.854775808s",
}


@pytest.mark.parametrize(("duration_ns", "text"), SHOWN.items())
def test_a_duration_is_written_as_go_writes_it(duration_ns: int, text: str) -> None:
    assert format_duration(duration_ns) == text


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_what_is_written_can_be_read_back(duration_ns: int) -> None:
    assert parse_duration(format_duration(duration_ns)) == duration_ns
