"""The expiring LRU cache: time to live, both flavours of equality, order, removal."""

import math

import pytest

from nodewise.caches import CacheUsageError, ExpireOn, ExpiringLRUCache
from nodewise.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_000.0)


def filled(
    clock: FakeClock, ttl_by_key: dict[str, float], max_size: int | None = 10, expire_on: ExpireOn = ExpireOn.LATER
) -> ExpiringLRUCache[str, str]:
    """Make a cache with these keys; a value is the upper-case key."""
    cache = ExpiringLRUCache[str, str](max_size, clock=clock, expire_on=expire_on)
    for key, ttl_s in ttl_by_key.items():
        cache.add(key, key.upper(), ttl_s)
    return cache


@pytest.mark.parametrize("max_size", [0, -1])
def test_a_size_that_is_not_positive_is_refused(clock: FakeClock, max_size: int) -> None:
    with pytest.raises(CacheUsageError, match=r"^maxSize must be > 0$"):
        ExpiringLRUCache[str, str](max_size, clock=clock)


def test_no_size_is_no_limit(clock: FakeClock) -> None:
    assert len(filled(clock, dict.fromkeys(map(str, range(5_000)), 1.0), max_size=None)) == 5_000


@pytest.mark.parametrize(
    ("waited_s", "expire_on", "is_there"),
    [
        (4.5, ExpireOn.LATER, True),
        (5.0, ExpireOn.LATER, True),
        (5.5, ExpireOn.LATER, False),
        (4.5, ExpireOn.EQUAL, True),
        (5.0, ExpireOn.EQUAL, False),
        (5.5, ExpireOn.EQUAL, False),
    ],
)
def test_equality_counts_as_expire_on_says(
    clock: FakeClock, waited_s: float, expire_on: ExpireOn, is_there: bool
) -> None:
    cache = filled(clock, {"a": 5.0}, expire_on=expire_on)
    clock.advance(waited_s)
    assert cache.keys() == (["a"] if is_there else [])
    assert cache.get("a") == ("A" if is_there else None)


def test_a_time_to_live_of_nothing_is_over_at_once_only_where_equality_counts(clock: FakeClock) -> None:
    assert filled(clock, {"a": 0.0}).get("a") == "A"
    assert filled(clock, {"a": 0.0}, expire_on=ExpireOn.EQUAL).get("a") is None


def test_an_infinite_time_to_live_never_ends(clock: FakeClock) -> None:
    cache = filled(clock, {"a": math.inf})
    clock.advance(1e12)
    assert cache.get("a") == "A"


def test_a_read_takes_an_expired_entry_out_and_counts_as_a_miss(clock: FakeClock) -> None:
    cache = filled(clock, {"a": 1.0})
    clock.advance(2)
    assert len(cache) == 1  # nothing sweeps in the background
    assert cache.get("a", "gone") == "gone"
    assert len(cache) == 0


def test_a_read_does_not_lengthen_the_time_to_live(clock: FakeClock) -> None:
    cache = filled(clock, {"a": 2.0})
    clock.advance(1.5)
    assert cache.get("a") == "A"
    clock.advance(1.0)
    assert cache.get("a") is None


def test_adding_a_known_key_gives_it_a_new_value_a_new_time_and_recency(clock: FakeClock) -> None:
    cache = filled(clock, {"a": 1.0, "b": 9.0})
    cache.add("a", "new", 5.0)
    clock.advance(3)
    assert cache.keys() == ["b", "a"]
    assert cache.get("a") == "new"


def test_adding_a_known_key_can_shorten_its_time(clock: FakeClock) -> None:
    cache = filled(clock, {"a": 9.0})
    cache.add("a", "new", 1.0)
    clock.advance(2)
    assert cache.get("a") is None


def test_a_full_cache_gives_up_the_least_recently_used_even_when_another_has_expired(clock: FakeClock) -> None:
    cache = filled(clock, {"old": 100.0, "expired": 1.0}, max_size=2)
    clock.advance(2)
    cache.add("new", "NEW", 100.0)
    assert cache.get("old") is None
    assert cache.keys() == ["new"]
    assert len(cache) == 2  # the expired one still takes its place


def test_keys_come_least_recently_used_first_without_expired_ones_and_change_nothing(clock: FakeClock) -> None:
    cache = filled(clock, {"a": 9.0, "b": 1.0, "c": 9.0})
    cache.get("a")
    clock.advance(2)
    assert cache.keys() == ["c", "a"]
    assert cache.keys() == ["c", "a"]
    assert len(cache) == 3


def test_remove_takes_out_one_key_expired_or_not(clock: FakeClock) -> None:
    cache = filled(clock, {"a": 9.0, "b": 1.0})
    clock.advance(2)
    assert cache.remove("a") is True
    assert cache.remove("b") is True
    assert cache.remove("b") is False
    assert len(cache) == 0


def test_remove_all_asks_about_every_key(clock: FakeClock) -> None:
    cache = filled(clock, {"shop/a": 9.0, "shop/b": 1.0, "blog/a": 9.0})
    clock.advance(2)
    assert cache.remove_all(lambda key: key.startswith("shop/")) == 2
    assert cache.keys() == ["blog/a"]


def test_remove_expired_sweeps(clock: FakeClock) -> None:
    cache = filled(clock, {"a": 1.0, "b": 9.0, "c": 2.0})
    clock.advance(2)
    assert cache.remove_expired() == 1
    clock.advance(1)
    assert cache.remove_expired() == 1
    assert cache.keys() == ["b"]
    assert len(cache) == 1


def test_the_callback_sees_every_way_out(clock: FakeClock) -> None:
    left: list[tuple[str, int]] = []
    cache = ExpiringLRUCache[str, int](3, clock=clock, on_evict=lambda key, value: left.append((key, value)))
    for value, key in enumerate(["overflow", "removed", "predicate"]):
        cache.add(key, value, 9.0)
    cache.add("read", 3, 1.0)
    cache.remove("removed")
    cache.remove_all(lambda key: key == "predicate")
    cache.add("swept", 4, 1.0)
    cache.add("cleared", 5, 9.0)
    clock.advance(2)
    cache.get("read")
    cache.remove_expired()
    cache.clear()
    assert left == [("overflow", 0), ("removed", 1), ("predicate", 2), ("read", 3), ("swept", 4), ("cleared", 5)]
