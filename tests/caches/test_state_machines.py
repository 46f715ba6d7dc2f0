"""Random sequences of all operations against plain models."""

from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nodewise.caches import (
    ChangeKind,
    ExpireOn,
    ExpiringLRUCache,
    IndexerConflictError,
    IndexFunctionError,
    LRUCache,
    StoreChange,
    ThreadSafeStore,
)
from nodewise.testing.clock import FakeClock

# Text, and what is not text, take different ways through `LRUCache.get`.
KEYS = st.sampled_from(["a", "b", "c", "d", "e", ("f", 1), ("g", 2), 7])
Key = str | tuple[str, int] | int
VALUES = st.integers(0, 9)


class LRUMachine(RuleBasedStateMachine):
    """The model is a list of entries, least recently used first, and a list of those that left."""

    @initialize(max_size=st.integers(0, 4))
    def make(self, max_size: int) -> None:
        self.max_size = max_size
        self.left: list[tuple[Key, int]] = []
        self.cache = LRUCache[Key, int](max_size, on_evict=lambda key, value: self.left.append((key, value)))
        self.entries: list[tuple[Key, int]] = []
        self.expected_left: list[tuple[Key, int]] = []

    def take(self, key: Key) -> int | None:
        for idx, (known, value) in enumerate(self.entries):
            if known == key:
                del self.entries[idx]
                return value
        return None

    def put(self, key: Key, value: int) -> None:
        self.take(key)
        self.entries.append((key, value))
        if self.max_size and len(self.entries) > self.max_size:
            self.expected_left.append(self.entries.pop(0))

    @rule(key=KEYS, value=VALUES)
    def add(self, key: Key, value: int) -> None:
        self.cache.add(key, value)
        self.put(key, value)

    @rule(key=KEYS)
    def get(self, key: Key) -> None:
        value = self.take(key)
        if value is not None:
            self.entries.append((key, value))
        assert self.cache.get(key) == value

    @rule(key=KEYS)
    def peek(self, key: Key) -> None:
        assert self.cache.peek(key) == dict(self.entries).get(key)
        assert (key in self.cache) == (key in dict(self.entries))

    @rule(key=KEYS, value=VALUES)
    def get_or_add(self, key: Key, value: int) -> None:
        known = dict(self.entries).get(key, value)
        assert self.cache.get_or_add(key, value) == known
        self.put(key, known)

    @rule(key=KEYS)
    def remove(self, key: Key) -> None:
        value = self.take(key)
        if value is not None:
            self.expected_left.append((key, value))
        assert self.cache.remove(key) == (value is not None)

    @rule(key=KEYS, value=VALUES)
    def remove_if_same(self, key: Key, value: int) -> None:
        is_same = dict(self.entries).get(key) == value
        assert self.cache.remove_if_same(key, value) == is_same
        if is_same:
            self.take(key)
            self.expected_left.append((key, value))

    @rule()
    def remove_oldest(self) -> None:
        oldest = self.entries.pop(0) if self.entries else None
        if oldest is not None:
            self.expected_left.append(oldest)
        assert self.cache.remove_oldest() == oldest

    @rule(doomed=st.sets(KEYS))
    def remove_all(self, doomed: set[Key]) -> None:
        leaving = [entry for entry in self.entries if entry[0] in doomed]
        self.entries = [entry for entry in self.entries if entry[0] not in doomed]
        self.expected_left += leaving
        assert self.cache.remove_all(lambda key: key in doomed) == len(leaving)

    @rule()
    def clear(self) -> None:
        self.expected_left += self.entries
        self.entries = []
        self.cache.clear()

    @invariant()
    def agrees(self) -> None:
        assert self.cache.items() == self.entries
        assert self.cache.keys() == [key for key, _ in self.entries]
        assert len(self.cache) == len(self.entries)
        assert self.left == self.expected_left


class ExpiringLRUMachine(RuleBasedStateMachine):
    """The model is a list of (key, value, expiry), least recently used first; times are whole seconds."""

    @initialize(max_size=st.one_of(st.none(), st.integers(1, 4)), expire_on=st.sampled_from(ExpireOn))
    def make(self, max_size: int | None, expire_on: ExpireOn) -> None:
        self.max_size = max_size
        self.equal_is_over = expire_on is ExpireOn.EQUAL
        self.clock = FakeClock()
        self.left: list[tuple[Key, int]] = []
        self.cache = ExpiringLRUCache[Key, int](
            max_size, clock=self.clock, expire_on=expire_on, on_evict=lambda key, value: self.left.append((key, value))
        )
        self.entries: list[tuple[Key, int, float]] = []
        self.expected_left: list[tuple[Key, int]] = []

    def is_over(self, expiry: float) -> bool:
        return self.clock.now() > expiry or (self.equal_is_over and self.clock.now() == expiry)

    def leave(self, is_leaving: Callable[[tuple[Key, int, float]], bool]) -> int:
        leaving = [entry for entry in self.entries if is_leaving(entry)]
        self.entries = [entry for entry in self.entries if not is_leaving(entry)]
        self.expected_left += [(key, value) for key, value, _ in leaving]
        return len(leaving)

    @rule(seconds=st.integers(0, 3))
    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule(key=KEYS, value=VALUES, ttl_s=st.integers(0, 5))
    def add(self, key: Key, value: int, ttl_s: int) -> None:
        self.cache.add(key, value, ttl_s)
        self.entries = [entry for entry in self.entries if entry[0] != key]
        self.entries.append((key, value, self.clock.now() + ttl_s))
        if self.max_size is not None and len(self.entries) > self.max_size:
            oldest = self.entries[0]
            self.leave(lambda entry: entry is oldest)

    @rule(key=KEYS)
    def get(self, key: Key) -> None:
        self.leave(lambda entry: entry[0] == key and self.is_over(entry[2]))
        found = [entry for entry in self.entries if entry[0] == key]
        self.entries = [entry for entry in self.entries if entry[0] != key] + found
        assert self.cache.get(key, -1) == (found[0][1] if found else -1)

    @rule(key=KEYS)
    def remove(self, key: Key) -> None:
        assert self.cache.remove(key) == bool(self.leave(lambda entry: entry[0] == key))

    @rule(doomed=st.sets(KEYS))
    def remove_all(self, doomed: set[Key]) -> None:
        assert self.cache.remove_all(lambda key: key in doomed) == self.leave(lambda entry: entry[0] in doomed)

    @rule()
    def remove_expired(self) -> None:
        assert self.cache.remove_expired() == self.leave(lambda entry: self.is_over(entry[2]))

    @rule()
    def clear(self) -> None:
        self.cache.clear()
        self.leave(lambda entry: True)

    @invariant()
    def agrees(self) -> None:
        assert self.cache.keys() == [key for key, _, expiry in self.entries if not self.is_over(expiry)]
        assert len(self.cache) == len(self.entries)
        assert self.left == self.expected_left


TEXTS = st.text("abc", max_size=3)
BAD = "bad!"
STORE_KEYS = st.sampled_from(["k1", "k2", "k3", "k4"])


def by_letter(text: str) -> list[str]:
    if text == BAD:
        raise ValueError("boom")
    return list(text)


def by_length(text: str) -> list[str]:
    return [str(len(text))]


def by_start(text: str) -> list[str]:
    return [text[:1]] if text else []


FUNCTIONS: dict[str, Callable[[str], list[str]]] = {"letter": by_letter, "length": by_length, "start": by_start}


class StoreMachine(RuleBasedStateMachine):
    """The model is a dictionary; what an index says is computed from it anew each time."""

    @initialize(names=st.sets(st.sampled_from(sorted(FUNCTIONS))))
    def make(self, names: set[str]) -> None:
        self.names = set(names)
        self.store = ThreadSafeStore[str]({name: FUNCTIONS[name] for name in sorted(names)})
        self.items: dict[str, str] = {}

    @rule(key=STORE_KEYS, text=TEXTS)
    def put(self, key: str, text: str) -> None:
        self.store.add(key, text)
        self.items[key] = text

    @rule(key=STORE_KEYS)
    def put_bad(self, key: str) -> None:
        if "letter" in self.names:
            with pytest.raises(IndexFunctionError):
                self.store.update(key, BAD)

    @rule(key=STORE_KEYS)
    def delete(self, key: str) -> None:
        self.store.delete(key)
        self.items.pop(key, None)

    @rule(items=st.dictionaries(STORE_KEYS, TEXTS))
    def replace(self, items: dict[str, str]) -> None:
        self.store.replace(items, "1")
        self.items = dict(items)

    @rule(changes=st.lists(st.tuples(st.sampled_from(ChangeKind), STORE_KEYS, TEXTS)), ends_badly=st.booleans())
    def transaction(self, changes: list[tuple[ChangeKind, str, str]], *, ends_badly: bool) -> None:
        store_changes = [StoreChange(*change) for change in changes]
        if ends_badly and "letter" in self.names:
            with pytest.raises(IndexFunctionError):
                self.store.transaction([*store_changes, StoreChange(ChangeKind.ADD, "k1", BAD)])
            return
        self.store.transaction(store_changes)
        for kind, key, text in changes:
            if kind is ChangeKind.DELETE:
                self.items.pop(key, None)
            else:
                self.items[key] = text

    @rule(names=st.sets(st.sampled_from(sorted(FUNCTIONS)), min_size=1))
    def add_indexers(self, names: set[str]) -> None:
        added = {name: FUNCTIONS[name] for name in names}
        if names & self.names:
            with pytest.raises(IndexerConflictError):
                self.store.add_indexers(added)
        else:
            self.store.add_indexers(added)
            self.names |= names

    @rule(text=TEXTS)
    def index(self, text: str) -> None:
        for name in self.names:
            wanted = set(FUNCTIONS[name](text))
            expected = [item for item in self.items.values() if wanted & set(FUNCTIONS[name](item))]
            assert sorted(self.store.index(name, text)) == sorted(expected)

    @invariant()
    def agrees(self) -> None:
        assert {key: self.store.get(key) for key in self.store.list_keys()} == self.items
        assert sorted(self.store.list()) == sorted(self.items.values())
        assert self.store.check() == []
        assert set(self.store.get_indexers()) == self.names
        for name in self.names:
            values = {value for item in self.items.values() for value in FUNCTIONS[name](item)}
            assert set(self.store.list_index_func_values(name)) == values
            for value in values:
                expected = sorted(key for key, item in self.items.items() if value in FUNCTIONS[name](item))
                assert self.store.index_keys(name, value) == expected
                assert sorted(self.store.by_index(name, value)) == sorted(self.items[key] for key in expected)


TestLRUCache = LRUMachine.TestCase
TestExpiringLRUCache = ExpiringLRUMachine.TestCase
TestThreadSafeStore = StoreMachine.TestCase
