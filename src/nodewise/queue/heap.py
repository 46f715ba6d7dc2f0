"""A heap whose items can be found, changed and taken out by key (backend/heap)."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any, Generic, Protocol, TypeVar

_FEW = 64  # stale entries below this number are not worth a thought


class Keyed(Protocol):
    """What can be kept in a heap."""

    key: str


T = TypeVar("T", bound=Keyed)


class KeyedHeap(Generic[T]):
    """Items by key, smallest order first, equal ones in the order they came.

    An entry that was replaced or taken out stays where it is and is passed over when it surfaces; once most entries are
    such, they are thrown out. So every operation costs O(log n) amortised, and finding one O(1).

    >>> from types import SimpleNamespace
    >>> heap = KeyedHeap()
    >>> for key, order in [("a", 2), ("b", 1), ("a", 0)]:
    ...     heap.put(SimpleNamespace(key=key), order)
    >>> len(heap), heap.pop().key, heap.pop().key, heap.pop()
    (2, 'a', 'b', None)
    """

    __slots__ = ("_heap", "_live", "_n_puts")

    def __init__(self) -> None:
        # (order, place among equals, number of the entry, item); comparisons never get as far as the item.
        self._heap: list[tuple[Any, int, int, T]] = []
        self._live: dict[str, tuple[Any, int, int, T]] = {}
        self._n_puts = 0

    def put(self, item: T, order: Any) -> None:
        """Add an item, or let it take the place of the one with its key, which keeps its turn among equals."""
        number = self._n_puts = self._n_puts + 1
        old = self._live.get(item.key)
        entry = (order, number if old is None else old[1], number, item)
        self._live[item.key] = entry
        heappush(self._heap, entry)
        if len(self._heap) > 2 * len(self._live) + _FEW:
            self._heap = list(self._live.values())
            heapify(self._heap)

    def peek(self) -> T | None:
        """Return the first item, None when there is none."""
        heap, live = self._heap, self._live
        while heap:
            item = heap[0][3]
            if live.get(item.key) is heap[0]:
                return item
            heappop(heap)
        return None

    def first_order(self) -> Any | None:
        """Return the order of the first item, None when there is none."""
        return None if self.peek() is None else self._heap[0][0]

    def pop(self) -> T | None:
        """Take out the first item; None when there is none."""
        heap, live = self._heap, self._live
        while heap:
            entry = heappop(heap)
            item = entry[3]
            if live.get(item.key) is entry:
                del live[item.key]
                return item
        return None

    def remove(self, key: str) -> T | None:
        """Take out the item with a key; None when there is none."""
        entry = self._live.pop(key, None)
        if entry is None:
            return None
        if not self._live:
            self._heap.clear()
        return entry[3]

    def get(self, key: str) -> T | None:
        """Return the item with a key; None when there is none."""
        entry = self._live.get(key)
        return None if entry is None else entry[3]

    def __contains__(self, key: str) -> bool:
        return key in self._live

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[T]:
        """Go over the items in the order they came."""
        return iter([entry[3] for entry in self._live.values()])
