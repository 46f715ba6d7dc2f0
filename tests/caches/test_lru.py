"""The LRU cache: recency, eviction and its callback."""

import pytest

from nodewise.caches import CacheUsageError, LRUCache

Left = list[tuple[str, int]]


def filled(max_size: int, keys: str, left: Left | None = None) -> LRUCache[str, int]:
    """Make a cache with a value per letter: a=0, b=1, ..."""
    cache = LRUCache[str, int](
        max_size, on_evict=None if left is None else lambda key, value: left.append((key, value))
    )
    for value, key in enumerate(keys):
        cache.add(key, value)
    return cache


def test_a_full_cache_gives_up_the_least_recently_used_entry() -> None:
    assert filled(2, "abc").keys() == ["b", "c"]


def test_a_size_of_zero_is_no_limit() -> None:
    assert len(filled(0, "abcdefgh")) == 8


def test_a_size_of_one_keeps_the_last_entry() -> None:
    assert filled(1, "abc").items() == [("c", 2)]


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(CacheUsageError, match="max_size is -1, expected 0"):
        LRUCache[str, int](-1)


def test_what_get_finds_becomes_the_most_recently_used() -> None:
    cache = filled(3, "abc")
    assert cache.get("a") == 0
    assert cache.keys() == ["b", "c", "a"]


def test_keys_that_are_not_text_work_alike() -> None:
    cache = LRUCache[tuple[str, int], str](2)
    cache.add(("a", 1), "x")
    cache.add(("b", 1), "y")
    assert cache.get(("a", 1)) == "x"
    assert cache.get(("c", 1)) is None
    cache.add(("c", 1), "z")
    assert cache.keys() == [("a", 1), ("c", 1)]


def test_a_miss_gives_the_default_and_changes_nothing() -> None:
    cache = filled(3, "abc")
    assert cache.get("x") is None
    assert cache.get("x", 7) == 7
    assert cache.keys() == ["a", "b", "c"]


def test_none_is_a_value_that_a_default_tells_from_a_miss() -> None:
    cache = LRUCache[str, None](2)
    cache.add("a", None)
    assert cache.get("a", "missing") is None
    assert cache.get("b", "missing") == "missing"


@pytest.mark.parametrize("key", ["a", "x"])
def test_peek_and_in_leave_the_order_alone(key: str) -> None:
    cache = filled(3, "abc")
    assert cache.peek(key, -1) == (0 if key == "a" else -1)
    assert (key in cache) == (key == "a")
    assert cache.keys() == ["a", "b", "c"]


def test_adding_a_known_key_replaces_its_value_and_makes_it_the_most_recently_used() -> None:
    left: Left = []
    cache = filled(3, "abc", left)
    cache.add("a", 9)
    assert cache.items() == [("b", 1), ("c", 2), ("a", 9)]
    assert left == []  # a replaced value does not leave the cache, its key is still in it


def test_get_or_add_stores_only_what_is_missing() -> None:
    cache = filled(2, "ab")
    assert cache.get_or_add("a", 9) == 0
    assert cache.get_or_add("c", 9) == 9
    assert cache.items() == [("a", 0), ("c", 9)]


def test_the_callback_sees_an_entry_leave_by_overflow() -> None:
    left: Left = []
    filled(2, "abcd", left)
    assert left == [("a", 0), ("b", 1)]


def test_the_callback_sees_an_entry_leave_by_remove() -> None:
    left: Left = []
    cache = filled(3, "abc", left)
    assert cache.remove("b") is True
    assert cache.remove("b") is False
    assert left == [("b", 1)]


def test_the_callback_sees_an_entry_leave_by_remove_oldest() -> None:
    left: Left = []
    cache = filled(3, "ab", left)
    assert cache.remove_oldest() == ("a", 0)
    assert cache.remove_oldest() == ("b", 1)
    assert cache.remove_oldest() is None
    assert left == [("a", 0), ("b", 1)]


def test_the_callback_sees_all_entries_leave_by_clear_oldest_first() -> None:
    left: Left = []
    cache = filled(3, "abc", left)
    cache.clear()
    assert left == [("a", 0), ("b", 1), ("c", 2)]
    assert len(cache) == 0


def test_clear_without_a_callback_empties_the_cache() -> None:
    cache = filled(3, "abc")
    cache.clear()
    assert cache.keys() == []


def test_the_callback_sees_entries_leave_by_predicate() -> None:
    left: Left = []
    cache = filled(0, "abcd", left)
    assert cache.remove_all(lambda key: key in "ac") == 2
    assert left == [("a", 0), ("c", 2)]
    assert cache.keys() == ["b", "d"]


def test_a_predicate_that_raises_removes_nothing() -> None:
    cache = filled(0, "abc")
    with pytest.raises(ZeroDivisionError):
        cache.remove_all(lambda key: key == "a" or bool(1 // 0))
    assert cache.keys() == ["a", "b", "c"]


def test_remove_if_same_removes_only_that_very_object() -> None:
    cache = LRUCache[str, list[int]]()
    first: list[int] = []
    cache.add("a", first)
    assert cache.remove_if_same("a", []) is False
    assert cache.remove_if_same("b", first) is False
    assert cache.remove_if_same("a", first) is True
    assert "a" not in cache


def test_the_entry_has_left_when_the_callback_runs() -> None:
    cache = filled(2, "ab")
    seen: list[list[str]] = []
    cache.set_eviction_func(lambda key, value: seen.append(cache.keys()))
    cache.add("c", 2)
    assert seen == [["b", "c"]]


def test_a_callback_may_use_the_cache() -> None:
    cache = filled(2, "ab")
    cache.set_eviction_func(lambda key, value: cache.remove("b"))
    cache.add("c", 2)
    assert cache.keys() == ["c"]


def test_a_callback_that_removes_others_does_not_make_clear_fail() -> None:
    cache = filled(0, "abcd")
    left: Left = []

    def on_evict(key: str, value: int) -> None:
        left.append((key, value))
        cache.remove("c")

    cache.set_eviction_func(on_evict)
    cache.clear()
    assert sorted(left) == [("a", 0), ("b", 1), ("c", 2), ("d", 3)]


def test_a_callback_that_raises_leaves_a_sound_cache_and_its_lock_free() -> None:
    def refuse(key: str, value: int) -> None:
        raise ArithmeticError(key)

    cache = LRUCache[str, int](1, on_evict=refuse)
    cache.add("a", 1)
    with pytest.raises(ArithmeticError):
        cache.add("b", 2)
    assert cache.items() == [("b", 2)]


def test_the_callback_can_be_set_once() -> None:
    cache = LRUCache[str, int](1)
    left: Left = []
    cache.set_eviction_func(lambda key, value: left.append((key, value)))
    cache.add("a", 1)
    cache.add("b", 2)
    assert left == [("a", 1)]
    with pytest.raises(CacheUsageError, match=r"^lru cache eviction function is already set$"):
        cache.set_eviction_func(print)


def test_a_callback_given_at_construction_cannot_be_replaced() -> None:
    with pytest.raises(CacheUsageError, match=r"^lru cache eviction function is already set$"):
        filled(1, "a", []).set_eviction_func(print)


def test_the_size_can_be_read() -> None:
    assert LRUCache[str, int](5).max_size == 5
