"""Caches that always have an answer: what is missing is made, or there is one value for every key."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum
from typing import Final, Generic, Protocol, TypeVar

from nodewise.caches.lru import LRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)
V_co = TypeVar("V_co", covariant=True)

DEFAULT_SIZE: Final = 4096


class _Missing(Enum):
    """Stands for a value that is not there, None being a value."""

    MISSING = "missing"


_MISSING: Final = _Missing.MISSING


class Getter(Protocol[K_contra, V_co]):
    """What `GetOrCreateCache` and `SingleCache` have in common: one can stand in for the other."""

    def get(self, key: K_contra) -> V_co:
        """Return the value of the key; there always is one."""
        ...


class SingleCache(Generic[K, V]):
    """One value, whatever the key (singleCache of the EventRateLimit admission plugin).

    Examples
    --------
    >>> cache = SingleCache[str, list[int]]([])
    >>> cache.get("a") is cache.get("b")
    True
    """

    __slots__ = ("_value",)

    def __init__(self, value: V) -> None:
        self._value = value

    def get(self, key: K) -> V:
        """Return the value."""
        return self._value


class GetOrCreateCache(Generic[K, V]):
    """An LRU cache that makes what it lacks (lruCache of the EventRateLimit admission plugin).

    Thread-safe. The factory runs without the lock, so two threads that ask for a new key at once may each make a value;
    both get the one that was stored first. (In Go the one stored last stays, and the first caller's is lost.)
    A key that was pushed out is made anew: what its old value had counted is forgotten.

    Parameters
    ----------
    factory : Callable[[K], V]
        Makes the value of a key.
    max_size : int
        How many values are kept; 0: any number.

    Examples
    --------
    >>> cache = GetOrCreateCache[str, list[int]](lambda key: [], 100)
    >>> cache.get("a").append(1)
    >>> cache.get("a")
    [1]
    """

    __slots__ = ("_factory", "_lru")

    def __init__(
        self,
        factory: Callable[[K], V],
        max_size: int = DEFAULT_SIZE,
        *,
        on_evict: Callable[[K, V], object] | None = None,
    ) -> None:
        self._factory = factory
        self._lru: LRUCache[K, V] = LRUCache(max_size, on_evict=on_evict)

    def get(self, key: K) -> V:
        """Return the value of the key, made if it is new."""
        found = self._lru.get(key, _MISSING)
        if found is _MISSING:
            return self._lru.get_or_add(key, self._factory(key))
        return found

    def __contains__(self, key: object) -> bool:
        return key in self._lru

    def __len__(self) -> int:
        return len(self._lru)
