"""Holds objects by key and finds them by index (client-go's ThreadSafeStore)."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar, overload

from nodewise.caches.errors import CacheUsageError
from nodewise.caches.store_index import Indexers, IndexFunc, IndexValues, StoreIndex

T = TypeVar("T")
D = TypeVar("D")


class ChangeKind(Enum):
    """What a change of a transaction does; in a store, adding and updating are the same."""

    ADD = "Add"
    UPDATE = "Update"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True)
class StoreChange(Generic[T]):
    """One change of a transaction (ThreadSafeStoreTransaction); what is deleted may be any object of the key."""

    kind: ChangeKind
    key: str
    obj: T


class LateIndexers(Enum):
    """Whether indexers may be added to a store that has items."""

    ALLOWED = "allowed"  # Kubernetes 1.30 and later
    REFUSED = "refused"  # up to Kubernetes 1.29


class ThreadSafeStore(Generic[T]):
    """Objects by key, with indices that follow every change.

    Thread-safe. Lists are copies; the objects in them are shared, must not be changed, and come in the order in which
    their keys came. An index function that fails makes the change fail and leaves the store as it was. (In Go it ends
    the process.)

    Parameters
    ----------
    indexers : Indexers[T]
        Index functions by index name.
    late_indexers : LateIndexers
        Whether `add_indexers` works on a store with items.

    Examples
    --------
    >>> store = ThreadSafeStore[str]({"length": lambda text: [str(len(text))]})
    >>> store.add("a", "one")
    >>> store.add("b", "two")
    >>> store.add("c", "three")
    >>> store.by_index("length", "3")
    ['one', 'two']
    >>> store.update("b", "four")
    >>> store.index_keys("length", "3"), sorted(store.list_index_func_values("length"))
    (['a'], ['3', '4', '5'])
    """

    __slots__ = ("__weakref__", "_index", "_items", "_late_indexers", "_lock", "_resource_version")

    def __init__(
        self, indexers: Indexers[T] | None = None, *, late_indexers: LateIndexers = LateIndexers.ALLOWED
    ) -> None:
        self._items: dict[str, T] = {}
        self._index: StoreIndex[T] = StoreIndex(indexers or {})
        self._late_indexers = late_indexers
        self._resource_version = ""
        self._lock = threading.RLock()

    # --- changes ------------------------------------------------------------------------------------------------------

    def add(self, key: str, obj: T) -> None:
        """Store an object in place of what the key had.

        Raises
        ------
        IndexFunctionError
            When an index function fails on it.
        """
        self.update(key, obj)

    def update(self, key: str, obj: T) -> None:
        """Do what `add` does."""
        with self._lock:
            self._put_locked(key, obj, self._index.values_of(key, obj))
            self._see_locked(obj)

    def delete(self, key: str) -> None:
        """Take the key out if it is there; `last_store_sync_resource_version` stays."""
        with self._lock:
            self._delete_locked(key)

    def delete_with_object(self, key: str, obj: object) -> None:
        """Take the key out if it is there; the deleted object tells the resource version that the store has seen."""
        with self._lock:
            self._delete_locked(key)
            self._see_locked(obj)

    def replace(self, items: Mapping[str, T], resource_version: str = "") -> None:
        """Hold these items instead of all others.

        Raises
        ------
        IndexFunctionError
            When an index function fails on one.
        """
        new_items = dict(items)
        with self._lock:
            self._index = self._index.rebuilt(new_items)
            self._items = new_items
            self._resource_version = resource_version

    def transaction(self, changes: Iterable[StoreChange[T]]) -> None:
        """Make several changes at once: nobody sees some of them without the others.

        Raises
        ------
        IndexFunctionError
            When an index function fails on an object; no change is made.
        """
        changes = list(changes)
        if not changes:
            return
        with self._lock:
            values = [
                None if change.kind is ChangeKind.DELETE else self._index.values_of(change.key, change.obj)
                for change in changes
            ]
            for change, new_values in zip(changes, values, strict=True):
                if new_values is None:
                    self._delete_locked(change.key)
                else:
                    self._put_locked(change.key, change.obj, new_values)
            self._see_locked(changes[-1].obj)

    def resync(self) -> None:
        """Do nothing: a store that only holds objects is always in step with itself."""

    # --- objects ------------------------------------------------------------------------------------------------------

    @overload
    def get(self, key: str) -> T | None: ...
    @overload
    def get(self, key: str, default: D) -> T | D: ...
    def get(self, key: str, default: D | None = None) -> T | D | None:
        """Return the object of the key; the default when there is none."""
        with self._lock:
            return self._items.get(key, default)

    def list(self) -> builtins.list[T]:  # builtins: inside the class, list is this method
        """Return all objects."""
        with self._lock:
            return [*self._items.values()]

    def list_keys(self) -> builtins.list[str]:
        """Return all keys."""
        with self._lock:
            return [*self._items]

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._items

    def __len__(self) -> int:
        return len(self._items)

    # --- indices ------------------------------------------------------------------------------------------------------

    def index(self, index_name: str, obj: T) -> builtins.list[T]:
        """Return the objects that share a value of the index with an object, which need not be stored.

        Raises
        ------
        UnknownIndexError
            When there is no such index.
        """
        with self._lock:
            return [self._items[key] for key in self._index.keys_like(index_name, obj)]

    def index_keys(self, index_name: str, value: str) -> builtins.list[str]:
        """Return the keys of the objects that have a value in the index, sorted.

        Raises
        ------
        UnknownIndexError
            When there is no such index.
        """
        with self._lock:
            return sorted(self._index.keys_with(index_name, value))

    def by_index(self, index_name: str, value: str) -> builtins.list[T]:
        """Return the objects that have a value in the index.

        Raises
        ------
        UnknownIndexError
            When there is no such index.
        """
        with self._lock:
            return [self._items[key] for key in self._index.keys_with(index_name, value)]

    def list_index_func_values(self, index_name: str) -> builtins.list[str]:
        """Return the values that any object has in the index; none when there is no such index."""
        with self._lock:
            return self._index.values(index_name)

    def get_indexers(self) -> dict[str, IndexFunc[T]]:
        """Return the index functions by index name."""
        with self._lock:
            return self._index.indexers

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """Add index functions; objects that are stored already are indexed.

        Raises
        ------
        IndexerConflictError
            When a name is taken; none is added.
        IndexFunctionError
            When a function fails on a stored object; none is added.
        CacheUsageError
            When late indexers are refused and the store has items.
        """
        with self._lock:
            if self._items and self._late_indexers is LateIndexers.REFUSED:
                raise CacheUsageError("cannot add indexers to running index")
            self._index.add_indexers(indexers, self._items)

    def check(self) -> builtins.list[str]:
        """Return what is wrong with the indices, compared with indices made anew; nothing, unless objects changed."""
        with self._lock:
            held, expected = self._index.contents(), self._index.rebuilt(self._items).contents()
        return [
            f"index {name}: value {value!r} has keys {sorted(found)}, expected {sorted(wanted)}"
            for name in expected
            for value in sorted(held[name].keys() | expected[name].keys())
            if (found := held[name].get(value, set())) != (wanted := expected[name].get(value, set()))
        ]

    # --- resource version ---------------------------------------------------------------------------------------------

    def bookmark(self, resource_version: str) -> None:
        """Note a resource version that the store has seen without a change."""
        with self._lock:
            self._resource_version = resource_version

    def last_store_sync_resource_version(self) -> str:
        """Return the resource version that the store has seen last; empty when none."""
        with self._lock:
            return self._resource_version

    def _put_locked(self, key: str, obj: T, new_values: IndexValues) -> None:
        old_values = self._index.values_of(key, self._items[key]) if key in self._items else None
        self._items[key] = obj
        self._index.update(key, old_values, new_values)

    def _delete_locked(self, key: str) -> None:
        if key in self._items:
            self._index.update(key, self._index.values_of(key, self._items[key]), None)
            del self._items[key]

    def _see_locked(self, obj: object) -> None:
        metadata = getattr(obj, "metadata", None)
        if metadata is not None:
            self._resource_version = metadata.resource_version
