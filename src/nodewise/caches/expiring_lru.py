"""Holds recently used values, each for a time of its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from typing import Generic, TypeVar, overload

from nodewise.caches.errors import CacheUsageError
from nodewise.caches.lru import LRUCache
from nodewise.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
D = TypeVar("D")


class ExpireOn(Enum):
    """Whether an entry is expired at the very moment that its time to live is over."""

    LATER = "later"  # still valid at that moment, as in apimachinery's LRUExpireCache
    EQUAL = "equal"  # expired at that moment, as in apimachinery's Expiring


class ExpiringLRUCache(Generic[K, V]):
    """An LRU cache whose entries also expire (apimachinery's LRUExpireCache).

    Thread-safe. An entry's age is judged when it is read: nothing runs in the background, and an expired entry takes
    its place until it is read, pushed out or swept by `remove_expired`. A full cache gives up the least recently used
    entry, even when another has expired.

    Parameters
    ----------
    max_size : int | None
        How many entries are kept; None: any number, as in apimachinery's Expiring.
    clock : Clock
        Tells the time.
    expire_on : ExpireOn
        Whether equality counts as expired.
    on_evict : Callable[[K, V], object] | None
        Called with every entry that leaves, expiry included, under the rules of `LRUCache`.

    Raises
    ------
    CacheUsageError
        When the size is not positive.

    Examples
    --------
    >>> from nodewise.testing.clock import FakeClock
    >>> clock = FakeClock()
    >>> cache = ExpiringLRUCache[str, int](100, clock=clock)
    >>> cache.add("a", 1, ttl_s=30)
    >>> clock.advance(30)
    >>> cache.get("a")
    1
    >>> clock.advance(0.001)
    >>> cache.get("a", "gone")
    'gone'
    """

    __slots__ = ("_is_equal_expired", "_lru", "_now")

    def __init__(
        self,
        max_size: int | None,
        *,
        clock: Clock,
        expire_on: ExpireOn = ExpireOn.LATER,
        on_evict: Callable[[K, V], object] | None = None,
    ) -> None:
        if max_size is not None and max_size <= 0:
            raise CacheUsageError("maxSize must be > 0")
        self._now = clock.now
        self._is_equal_expired = expire_on is ExpireOn.EQUAL
        self._lru: LRUCache[K, tuple[V, float]] = LRUCache(
            max_size or 0,
            on_evict=None if on_evict is None else lambda key, entry: on_evict(key, entry[0]),
        )

    def add(self, key: K, value: V, ttl_s: float) -> None:
        """Store a value for some seconds from now, most recently used; what the key had is replaced."""
        self._lru.add(key, (value, self._now() + ttl_s))

    @overload
    def get(self, key: K) -> V | None: ...
    @overload
    def get(self, key: K, default: D) -> V | D: ...
    def get(self, key: K, default: D | None = None) -> V | D | None:
        """Return the value of the key, which becomes the most recently used; the default when there is none.

        An expired entry is taken out on the spot and counts as none.
        """
        entry = self._lru.get(key)
        if entry is None:
            return default
        value, expires_s = entry
        now_s = self._now()
        if now_s < expires_s or (now_s == expires_s and not self._is_equal_expired):
            return value
        # unless another thread has stored a new one meanwhile
        self._lru.remove_if_same(key, entry)
        return default

    def remove(self, key: K) -> bool:
        """Take the key out if it is there, expired or not; tell whether it was."""
        return self._lru.remove(key)

    def remove_all(self, predicate: Callable[[K], bool]) -> int:
        """Take out all keys that the predicate is true of; return how many."""
        return self._lru.remove_all(predicate)

    def remove_expired(self) -> int:
        """Take out all expired entries; return how many."""
        now_s = self._now()
        expired = [(key, entry) for key, entry in self._lru.items() if self._is_expired(entry, now_s)]
        return sum(self._lru.remove_if_same(key, entry) for key, entry in expired)

    def clear(self) -> None:
        """Take out everything."""
        self._lru.clear()

    def keys(self) -> list[K]:
        """Return the keys that have not expired, least recently used first; none is used or taken out by that."""
        now_s = self._now()
        return [key for key, entry in self._lru.items() if not self._is_expired(entry, now_s)]

    def __len__(self) -> int:
        """Return the number of entries, with those that have expired and are still held."""
        return len(self._lru)

    def _is_expired(self, entry: tuple[V, float], now_s: float) -> bool:
        return now_s > entry[1] or (now_s == entry[1] and self._is_equal_expired)
