"""Holds objects that know their own key: what informers fill and listers read (client-go's Indexer)."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from nodewise.caches.errors import ObjectKeyError, TransactionError
from nodewise.caches.object_keys import KeyFunc, meta_namespace_key
from nodewise.caches.store_index import Indexers, IndexFunc
from nodewise.caches.thread_safe_store import ChangeKind, LateIndexers, StoreChange, ThreadSafeStore

T = TypeVar("T")


class Indexer(Generic[T]):
    """A thread-safe store whose keys come from its objects.

    Parameters
    ----------
    key_func : KeyFunc[T]
        Makes a key from an object.
    indexers : Indexers[T]
        Index functions by index name.
    transformer : Callable[[T], T] | None
        Applied to what `add`, `update` and `replace` store, after the key is made; `transaction` stores as given.
    late_indexers : LateIndexers
        Whether `add_indexers` works on an indexer with items.

    Examples
    --------
    >>> from nodewise.api.objects import ObjectMeta, Pod
    >>> from nodewise.caches import NAMESPACE_INDEX, meta_namespace_index, meta_namespace_key
    >>> indexer = Indexer[Pod](meta_namespace_key, {NAMESPACE_INDEX: meta_namespace_index})
    >>> indexer.add(Pod(metadata=ObjectMeta(name="web", namespace="shop")))
    >>> indexer.add(Pod(metadata=ObjectMeta(name="db", namespace="shop")))
    >>> indexer.index_keys("namespace", "shop")
    ['shop/db', 'shop/web']
    """

    __slots__ = ("_key_func", "_store", "_transformer")

    def __init__(
        self,
        key_func: KeyFunc[T] = meta_namespace_key,
        indexers: Indexers[T] | None = None,
        *,
        transformer: Callable[[T], T] | None = None,
        late_indexers: LateIndexers = LateIndexers.ALLOWED,
    ) -> None:
        self._key_func = key_func
        self._transformer = transformer
        self._store: ThreadSafeStore[T] = ThreadSafeStore(indexers, late_indexers=late_indexers)

    # --- changes ------------------------------------------------------------------------------------------------------

    def add(self, obj: T) -> None:
        """Store an object in place of what its key had.

        Raises
        ------
        ObjectKeyError
            When it has no key.
        IndexFunctionError
            When an index function fails on it.
        """
        self.update(obj)

    def update(self, obj: T) -> None:
        """Do what `add` does."""
        key = self._key_of(obj)
        self._store.update(key, self._transformed(obj))

    def delete(self, obj: T) -> None:
        """Take the object of the same key out, if there is one.

        Raises
        ------
        ObjectKeyError
            When the object has no key.
        """
        self._store.delete_with_object(self._key_of(obj), obj)

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:
        """Hold these objects instead of all others.

        Raises
        ------
        ObjectKeyError
            When one has no key; the others are not stored either.
        IndexFunctionError
            When an index function fails on one.
        """
        self._store.replace({self._key_of(obj): self._transformed(obj) for obj in objects}, resource_version)

    def transaction(self, changes: Iterable[tuple[ChangeKind, T]]) -> None:
        """Make several changes at once.

        Raises
        ------
        TransactionError
            When some objects have no key; all other changes are made.
        IndexFunctionError
            When an index function fails on an object; no change is made.
        """
        changes = list(changes)
        keyed: list[StoreChange[T]] = []
        successful_idx: list[int] = []
        errors: list[ObjectKeyError] = []
        for idx, (kind, obj) in enumerate(changes):
            try:
                key = self._key_of(obj)
            except ObjectKeyError as error:
                errors.append(error)
                continue
            successful_idx.append(idx)
            keyed.append(StoreChange(kind, key, obj))
        self._store.transaction(keyed)
        if errors:
            raise TransactionError(successful_idx, len(changes), errors)

    def resync(self) -> None:
        """Do nothing, as the store does."""

    # --- objects ------------------------------------------------------------------------------------------------------

    def get(self, obj: T) -> T | None:
        """Return the stored object that has this one's key.

        Raises
        ------
        ObjectKeyError
            When the object has no key.
        """
        return self._store.get(self._key_of(obj))

    def get_by_key(self, key: str) -> T | None:
        """Return the object of the key."""
        return self._store.get(key)

    def list(self) -> builtins.list[T]:  # builtins: inside the class, list is this method
        """Return all objects."""
        return self._store.list()

    def list_keys(self) -> builtins.list[str]:
        """Return all keys."""
        return self._store.list_keys()

    def __len__(self) -> int:
        return len(self._store)

    # --- indices: see ThreadSafeStore ---------------------------------------------------------------------------------

    def index(self, index_name: str, obj: T) -> builtins.list[T]:
        return self._store.index(index_name, obj)

    def index_keys(self, index_name: str, value: str) -> builtins.list[str]:
        return self._store.index_keys(index_name, value)

    def by_index(self, index_name: str, value: str) -> builtins.list[T]:
        return self._store.by_index(index_name, value)

    def list_index_func_values(self, index_name: str) -> builtins.list[str]:
        return self._store.list_index_func_values(index_name)

    def get_indexers(self) -> dict[str, IndexFunc[T]]:
        return self._store.get_indexers()

    def add_indexers(self, indexers: Indexers[T]) -> None:
        self._store.add_indexers(indexers)

    def check(self) -> builtins.list[str]:
        return self._store.check()

    # --- resource version: see ThreadSafeStore ------------------------------------------------------------------------

    def bookmark(self, resource_version: str) -> None:
        self._store.bookmark(resource_version)

    def last_store_sync_resource_version(self) -> str:
        return self._store.last_store_sync_resource_version()

    def _key_of(self, obj: T) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:  # whatever somebody else's function raises
            raise ObjectKeyError(obj, error) from error

    def _transformed(self, obj: T) -> T:
        return obj if self._transformer is None else self._transformer(obj)
