"""Holds, for every index of a store, which keys each value has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from nodewise.caches.errors import IndexerConflictError, IndexFunctionError, UnknownIndexError

T = TypeVar("T")

# From an object to the values it is found under: none, one or several.
IndexFunc = Callable[[T], Iterable[str]]
Indexers = Mapping[str, IndexFunc[T]]
# Index name to values, for one object.
IndexValues = dict[str, tuple[str, ...]]

# Keys by value. A dict without values is a set that keeps its order, so that runs repeat.
_Index = dict[str, dict[str, None]]


class StoreIndex(Generic[T]):
    """The indices of a store; the store holds the lock.

    Functions run before anything changes (`values_of`), so one that fails leaves everything as it was.
    """

    __slots__ = ("_indexers", "_indices")

    def __init__(self, indexers: Indexers[T]) -> None:
        self._indexers: dict[str, IndexFunc[T]] = dict(indexers)
        self._indices: dict[str, _Index] = {name: {} for name in indexers}

    @property
    def indexers(self) -> dict[str, IndexFunc[T]]:
        """A copy of the functions by index name."""
        return dict(self._indexers)

    def values_of(self, key: str, obj: T) -> IndexValues:
        """Return what every index function says of an object.

        Raises
        ------
        IndexFunctionError
            When one fails.
        """
        values: IndexValues = {}
        for name, function in self._indexers.items():
            values[name] = _values(name, function, key, obj)
        return values

    def update(self, key: str, old: IndexValues | None, new: IndexValues | None) -> None:
        """Move a key from its old values to its new ones; None: there is no old or no new object."""
        for name, index in self._indices.items():
            old_values = old[name] if old is not None else ()
            new_values = new[name] if new is not None else ()
            if old_values == new_values:
                continue
            for value in old_values:
                _discard(index, value, key)
            for value in new_values:
                index.setdefault(value, {})[key] = None

    def add_indexers(self, indexers: Indexers[T], items: Mapping[str, T]) -> None:
        """Add index functions and index what the store holds.

        Raises
        ------
        IndexerConflictError
            When a name is taken; nothing is added.
        IndexFunctionError
            When one fails on an item; nothing is added.
        """
        taken = sorted(self._indexers.keys() & indexers.keys())
        if taken:
            raise IndexerConflictError(taken)
        added: dict[str, _Index] = {}
        for name, function in indexers.items():
            index = added[name] = {}
            for key, obj in items.items():
                for value in _values(name, function, key, obj):
                    index.setdefault(value, {})[key] = None
        self._indexers.update(indexers)
        self._indices.update(added)

    def rebuilt(self, items: Mapping[str, T]) -> StoreIndex[T]:
        """Return the same indices over other items.

        Raises
        ------
        IndexFunctionError
            When a function fails on one.
        """
        empty: StoreIndex[T] = StoreIndex({})
        empty.add_indexers(self._indexers, items)
        return empty

    def keys_like(self, index_name: str, obj: T) -> Iterable[str]:
        """Return the keys that share a value with an object, each once."""
        index = self._index(index_name)
        values = tuple(self._indexers[index_name](obj))
        if len(values) == 1:
            return index.get(values[0], ())
        return dict.fromkeys(key for value in values for key in index.get(value, ()))

    def keys_with(self, index_name: str, value: str) -> Iterable[str]:
        """Return the keys that have a value."""
        return self._index(index_name).get(value, ())

    def values(self, index_name: str) -> list[str]:
        """Return the values that any key has; none for an index that does not exist."""
        return list(self._indices.get(index_name, ()))

    def contents(self) -> dict[str, dict[str, set[str]]]:
        """Return a copy of all indices, for comparison."""
        return {name: {value: set(keys) for value, keys in index.items()} for name, index in self._indices.items()}

    def _index(self, index_name: str) -> _Index:
        index = self._indices.get(index_name)
        if index is None:
            raise UnknownIndexError(index_name)
        return index


def _values(name: str, function: IndexFunc[T], key: str, obj: T) -> tuple[str, ...]:
    try:
        return tuple(function(obj))
    except Exception as error:  # whatever somebody else's function raises
        raise IndexFunctionError(key, name, error) from error


def _discard(index: _Index, value: str, key: str) -> None:
    keys = index.get(value)
    if keys is None:
        return
    keys.pop(key, None)
    if not keys:
        del index[value]  # values of short-lived objects must not pile up
