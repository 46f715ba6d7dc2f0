"""The EventRateLimit plugin: the natural client of both caches and the token bucket."""

import pytest

from nodewise.caches import EventRateLimit, EventRequest, Limit, LimitType, TooManyRequestsError, validate_limits
from nodewise.testing.clock import FakeClock

EVENT = EventRequest("shop", "ann", "kubelet", "node-1", "Pod", "shop", "web", "u1", "v1")


def refusals(limits: EventRateLimit, *events: EventRequest) -> list[str]:
    """Check events; return what was said of each, "" for one that passed."""
    said = []
    for event in events:
        try:
            limits.check(event)
        except TooManyRequestsError as error:
            said.append(str(error))
        else:
            said.append("")
    return said


@pytest.mark.parametrize(
    ("limit_type", "key", "other"),
    [
        ("Namespace", "shop", EventRequest(namespace="blog")),
        ("User", "ann", EventRequest(user="bob")),
        ("SourceAndObject", "kubeletnode-1Podshopwebu1v1", EventRequest(object_name="web")),
    ],
)
def test_each_key_has_its_own_bucket(limit_type: str, key: str, other: EventRequest) -> None:
    limits = EventRateLimit([Limit(limit_type, 1, 1)], FakeClock())
    refused = f"Too many requests: limit reached on type {limit_type} for key {key}"
    assert refusals(limits, EVENT, EVENT, other) == ["", refused, ""]


def test_a_server_limit_is_one_bucket_for_all() -> None:
    limits = EventRateLimit([Limit("Server", 1, 1)], FakeClock())
    refused = "Too many requests: limit reached on type Server for key "
    assert refusals(limits, EVENT, EventRequest(namespace="blog")) == ["", refused]


def test_every_limit_counts_an_event_that_another_refuses() -> None:
    limits = EventRateLimit([Limit("Namespace", 1, 1), Limit("User", 1, 2)], FakeClock())
    said = refusals(limits, EVENT, EVENT, EVENT)
    both = "[limit reached on type Namespace for key shop, limit reached on type User for key ann]"
    assert said[1:] == ["Too many requests: limit reached on type Namespace for key shop", f"Too many requests: {both}"]


def test_a_reason_given_twice_is_told_once() -> None:
    limits = EventRateLimit([Limit("Server", 1, 1), Limit("Server", 1, 1)], FakeClock())
    assert refusals(limits, EVENT, EVENT)[1] == "Too many requests: limit reached on type Server for key "


def test_time_fills_the_buckets() -> None:
    clock = FakeClock()
    limits = EventRateLimit([Limit("User", 2, 1)], clock)
    assert refusals(limits, EVENT, EVENT)[1]
    clock.advance(0.5)
    assert refusals(limits, EVENT) == [""]


def test_a_key_that_was_pushed_out_starts_with_a_full_bucket() -> None:
    limits = EventRateLimit([Limit("User", 1, 1, cache_size=1)], FakeClock())
    assert refusals(limits, EVENT, EventRequest(user="bob"), EVENT) == ["", "", ""]


def test_sound_limits_have_no_errors() -> None:
    assert validate_limits([Limit(limit_type, 1, 1) for limit_type in LimitType]) == []


def test_errors_have_the_texts_of_the_real_plugin() -> None:
    assert [str(error) for error in validate_limits([])] == ["limits: Invalid value: null: must not be empty"]
    errors = validate_limits([Limit("Foo", 0, 0, cache_size=-1), Limit("Server", -1, 2, cache_size=-1)])
    assert [str(error) for error in errors] == [
        'limits[0].type: Unsupported value: "Foo": supported values: "Server", "Namespace", "User", "SourceAndObject"',
        "limits[0].burst: Invalid value: 0: must be positive",
        "limits[0].qps: Invalid value: 0: must be positive",
        "limits[0].cacheSize: Invalid value: -1: must not be negative",
        "limits[1].qps: Invalid value: -1: must be positive",
    ]
