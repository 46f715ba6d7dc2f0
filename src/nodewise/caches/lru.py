"""Holds the most recently used values up to a number of them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, overload

from nodewise.caches.errors import CacheUsageError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
D = TypeVar("D")


class LRUCache(Generic[K, V]):
    """A map that, once full, gives up the entry that was not read or written for longest (k8s.io/utils/lru).

    Thread-safe. What `get` finds and `add` writes becomes the most recently used entry.

    Parameters
    ----------
    max_size : int
        How many entries are kept; 0: any number, and whoever owns the cache calls `remove_oldest`.
    on_evict : Callable[[K, V], object] | None
        Called with every entry that leaves: by overflow, `remove`, `remove_oldest`, `remove_all` and `clear`, but not
        with a value that `add` replaces. The entry has left by then. The caller's lock is held, so that callbacks come
        in the order in which entries leave; it is re-entrant: a callback may use the cache.

    Raises
    ------
    CacheUsageError
        When the size is negative.

    Examples
    --------
    >>> cache = LRUCache[str, int](2, on_evict=lambda key, value: print(f"{key}={value} leaves"))
    >>> cache.add("a", 1)
    >>> cache.add("b", 2)
    >>> cache.get("a")
    1
    >>> cache.add("c", 3)
    b=2 leaves
    >>> cache.keys()
    ['a', 'c']
    """

    __slots__ = ("__weakref__", "_acquire", "_entries", "_lock", "_max_size", "_on_evict", "_release")

    def __init__(self, max_size: int = 0, *, on_evict: Callable[[K, V], object] | None = None) -> None:
        if max_size < 0:
            raise CacheUsageError(f"LRUCache: max_size is {max_size}, expected 0 (no limit) or more")
        self._max_size = max_size
        self._on_evict = on_evict
        self._entries: OrderedDict[K, V] = OrderedDict()  # least recently used first
        self._lock = threading.RLock()
        # for the busiest two methods: calling these costs half of what `with` does
        self._acquire = self._lock.acquire
        self._release = self._lock.release

    @property
    def max_size(self) -> int:
        """How many entries are kept; 0: any number."""
        return self._max_size

    def set_eviction_func(self, on_evict: Callable[[K, V], object]) -> None:
        """Set the eviction callback of a cache that has none.

        Raises
        ------
        CacheUsageError
            When it has one.
        """
        with self._lock:
            if self._on_evict is not None:
                raise CacheUsageError("lru cache eviction function is already set")
            self._on_evict = on_evict

    def add(self, key: K, value: V) -> None:
        """Store a value, most recently used; if that makes one entry too many, the least recently used leaves."""
        self._acquire()
        try:
            entries = self._entries
            n_before = len(entries)
            entries[key] = value
            if len(entries) == n_before:
                entries.move_to_end(key)
            elif 0 < self._max_size <= n_before:
                oldest, oldest_value = entries.popitem(last=False)
                if self._on_evict is not None:
                    self._on_evict(oldest, oldest_value)
        finally:
            self._release()

    def get_or_add(self, key: K, value: V) -> V:
        """Return the value of the key as `get` does; if there is none, store this one and return it."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
            self.add(key, value)
            return value

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: D | None = None) -> V | D | None:
        """Return the value of the key, which becomes the most recently used; the default when there is none."""
        entries = self._entries
        if type(key) is str:
            # Comparing strings runs no Python code, so no other thread gets in while one of these two steps runs; and
            # reading leaves the same entries in the cache, which is all that the methods with the lock rely on.
            try:
                entries.move_to_end(key)
                return entries[key]
            except KeyError:
                return default
        self._acquire()
        try:
            entries.move_to_end(key)
            return entries[key]
        except KeyError:
            return default
        finally:
            self._release()

    @overload
    def peek(self, key: K) -> V | None: ...
    @overload
    def peek(self, key: K, default: D) -> V | D: ...
    def peek(self, key: K, default: D | None = None) -> V | D | None:
        """Return the value of the key without a change to what was used when; the default when there is none."""
        return self._entries.get(key, default)

    def remove(self, key: K) -> bool:
        """Take the key out if it is there; tell whether it was."""
        with self._lock:
            if key not in self._entries:
                return False
            self._leave_locked(key, self._entries.pop(key))
            return True

    def remove_if_same(self, key: K, value: V) -> bool:
        """Take the key out if its value is this very object; tell whether it was."""
        with self._lock:
            if key not in self._entries or self._entries[key] is not value:
                return False
            return self.remove(key)

    def remove_oldest(self) -> tuple[K, V] | None:
        """Take the least recently used entry out and return it; None when there is none."""
        with self._lock:
            if not self._entries:
                return None
            key, value = self._entries.popitem(last=False)
            self._leave_locked(key, value)
            return key, value

    def remove_all(self, predicate: Callable[[K], bool]) -> int:
        """Take out all keys that the predicate is true of, least recently used first; return how many.

        When the predicate raises, nothing is taken out.
        """
        with self._lock:
            # a callback may take out some of them too, so each is looked for again
            return sum(self.remove(key) for key in [key for key in self._entries if predicate(key)])

    def clear(self) -> None:
        """Take out everything, least recently used first."""
        with self._lock:
            if self._on_evict is None:
                self._entries.clear()
                return
            for key in list(self._entries):
                self.remove(key)

    def keys(self) -> list[K]:
        """Return the keys, least recently used first."""
        with self._lock:
            return list(self._entries)

    def items(self) -> list[tuple[K, V]]:
        """Return the keys with their values, least recently used first."""
        with self._lock:
            return list(self._entries.items())

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def _leave_locked(self, key: K, value: V) -> None:
        if self._on_evict is not None:
            self._on_evict(key, value)
