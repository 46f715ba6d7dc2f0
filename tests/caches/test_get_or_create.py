"""Get-or-create and the single-entry cache with the same interface."""

import pytest

from nodewise.caches import GetOrCreateCache, Getter, SingleCache


def test_the_factory_runs_once_for_a_key_and_gets_it() -> None:
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key.upper()

    cache = GetOrCreateCache(make)
    assert [cache.get(key) for key in "abab"] == ["A", "B", "A", "B"]
    assert made == ["a", "b"]


def test_a_value_that_was_pushed_out_is_made_anew() -> None:
    cache = GetOrCreateCache[str, list[str]](lambda key: [], 2)
    first = cache.get("a")
    cache.get("b")
    assert cache.get("a") is first  # used just now
    cache.get("c")
    assert "b" not in cache
    assert cache.get("a") is first
    assert len(cache) == 2


def test_none_is_a_value_and_is_made_once() -> None:
    made: list[str] = []
    cache = GetOrCreateCache[str, None](made.append)
    assert cache.get("a") is None
    assert cache.get("a") is None
    assert made == ["a"]


def test_by_default_4096_values_are_kept() -> None:
    cache = GetOrCreateCache[int, int](abs)
    for key in range(5_000):
        cache.get(key)
    assert len(cache) == 4_096


def test_a_factory_that_fails_stores_nothing() -> None:
    cache = GetOrCreateCache[int, int](lambda key: 1 // key)
    with pytest.raises(ZeroDivisionError):
        cache.get(0)
    assert len(cache) == 0


def test_a_value_stored_while_the_factory_ran_is_the_one_that_both_callers_get() -> None:
    values: list[list[str]] = []

    def make(key: str) -> list[str]:
        if not values:
            values.append([])
            values.append(cache.get(key))  # what another caller does meanwhile
        return [key]

    cache = GetOrCreateCache[str, list[str]](make)
    assert cache.get("a") is values[1]
    assert cache.get("a") is values[1]


def test_the_eviction_callback_reaches_the_lru_cache() -> None:
    left: list[tuple[str, str]] = []
    cache = GetOrCreateCache(str.upper, 1, on_evict=lambda key, value: left.append((key, value)))
    cache.get("a")
    cache.get("b")
    assert left == [("a", "A")]


def test_a_single_cache_stands_in_for_a_get_or_create_cache() -> None:
    value = ["the one"]
    caches: list[Getter[str, list[str]]] = [SingleCache(value), GetOrCreateCache(lambda key: value)]
    for cache in caches:
        assert cache.get("a") is cache.get("") is value
