"""Sorts as Go's `sort.Slice` does: it is not stable, and where it leaves equal elements decides who is evicted.

Go sorts by pattern-defeating quicksort (Orson Peters): insertion sort up to 12 elements, else quicksort around a
median, with a deterministic shuffle after a bad split and heapsort after many of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_LONGEST_INSERTION = 12
_SHORTEST_SHIFTING = 50
_MAX_SHIFTS = 5
_UINT64 = 2**64 - 1


def sort_as_go(items: Sequence[T], key: Callable[[T], Any]) -> list[T]:
    """Return the items in ascending order of their keys, equal ones where Go would leave them."""
    if len(items) > _LONGEST_INSERTION:
        keys = [key(item) for item in items]
        if len(set(keys)) < len(keys):
            return _Sorter(items, keys).sort()
    # Insertion sort is stable, and without equal keys there is just one order.
    return sorted(items, key=key)


class _Sorter(Generic[T]):
    """Items and keys that change places together; ranges are half-open."""

    def __init__(self, items: Sequence[T], keys: list[Any]) -> None:
        self._items = list(items)
        self._keys = keys

    def sort(self) -> list[T]:
        n = len(self._items)
        self._quicksort(0, n, n.bit_length())
        return self._items

    def _is_less(self, i: int, j: int) -> bool:
        less: bool = self._keys[i] < self._keys[j]
        return less

    def _swap(self, i: int, j: int) -> None:
        items, keys = self._items, self._keys
        items[i], items[j] = items[j], items[i]
        keys[i], keys[j] = keys[j], keys[i]

    def _quicksort(self, start: int, end: int, patience: int) -> None:
        was_balanced = was_partitioned = True
        while (length := end - start) > _LONGEST_INSERTION:
            if patience == 0:
                self._heapsort(start, end)
                return
            if not was_balanced:
                self._shuffle(start, end)
                patience -= 1
            pivot, looks_sorted = self._choose_pivot(start, end)
            if was_balanced and was_partitioned and looks_sorted and self._finish_nearly_sorted(start, end):
                return
            if start > 0 and not self._is_less(start - 1, pivot):
                start = self._split_off_equal(start, end, pivot)
                continue
            middle, was_partitioned = self._partition(start, end, pivot)
            n_left, n_right = middle - start, end - middle
            was_balanced = min(n_left, n_right) >= length // 8
            if n_left < n_right:
                self._quicksort(start, middle, patience)
                start = middle + 1
            else:
                self._quicksort(middle + 1, end, patience)
                end = middle
        for i in range(start + 1, end):
            self._sink_left(i, start)

    def _sink_left(self, i: int, start: int) -> None:
        while i > start and self._is_less(i, i - 1):
            self._swap(i, i - 1)
            i -= 1

    # --- pivot --------------------------------------------------------------------------------------------------------

    def _choose_pivot(self, start: int, end: int) -> tuple[int, bool]:
        """Return the pivot's position and whether the range looks sorted; a range that looks reversed is turned."""
        length = end - start
        quarters = [start + length // 4 * part for part in (1, 2, 3)]
        n_swaps = 0
        if length >= _SHORTEST_SHIFTING:
            for part, at in enumerate(quarters):
                quarters[part], more = self._median(at - 1, at, at + 1)
                n_swaps += more
        pivot, more = self._median(*quarters)
        n_swaps += more
        if n_swaps < 12:
            return pivot, n_swaps == 0
        self._items[start:end] = self._items[start:end][::-1]
        self._keys[start:end] = self._keys[start:end][::-1]
        return end - 1 - (pivot - start), True

    def _median(self, i: int, j: int, k: int) -> tuple[int, int]:
        """Return the position of the median of three, and how many exchanges finding it took."""
        n_swaps = 0
        if self._is_less(j, i):
            i, j, n_swaps = j, i, n_swaps + 1
        if self._is_less(k, j):
            j, k, n_swaps = k, j, n_swaps + 1
        if self._is_less(j, i):
            i, j, n_swaps = j, i, n_swaps + 1
        return j, n_swaps

    def _shuffle(self, start: int, end: int) -> None:
        """Move three elements of the middle to places given by Marsaglia's xorshift, seeded with the length."""
        length = end - start
        state, mask = length, (1 << length.bit_length()) - 1
        middle = start + length // 4 * 2
        for i in range(middle - 1, middle + 2):
            state ^= state << 13 & _UINT64
            state ^= state >> 7
            state ^= state << 17 & _UINT64
            other = state & mask
            self._swap(i, start + (other - length if other >= length else other))

    # --- splitting ----------------------------------------------------------------------------------------------------

    def _partition(self, start: int, end: int, pivot: int) -> tuple[int, bool]:
        """Put smaller elements before the pivot; return its new position and whether that was so already."""
        self._swap(start, pivot)
        i, j = start + 1, end - 1
        n_swaps = 0
        while True:
            while i <= j and self._is_less(i, start):
                i += 1
            while i <= j and not self._is_less(j, start):
                j -= 1
            if i > j:
                break
            self._swap(i, j)
            n_swaps += 1
            i, j = i + 1, j - 1
        self._swap(j, start)
        return j, n_swaps == 0

    def _split_off_equal(self, start: int, end: int, pivot: int) -> int:
        """Put elements equal to the pivot, the smallest there are, first; return where the others begin."""
        self._swap(start, pivot)
        i, j = start + 1, end - 1
        while True:
            while i <= j and not self._is_less(start, i):
                i += 1
            while i <= j and self._is_less(start, j):
                j -= 1
            if i > j:
                return i
            self._swap(i, j)
            i, j = i + 1, j - 1

    def _finish_nearly_sorted(self, start: int, end: int) -> bool:
        """Mend a few misplaced pairs of a range; return whether it is sorted then."""
        i = start + 1
        for _ in range(_MAX_SHIFTS):
            while i < end and not self._is_less(i, i - 1):
                i += 1
            if i == end:
                return True
            if end - start < _SHORTEST_SHIFTING:
                return False
            self._swap(i, i - 1)
            if i - start >= 2:
                self._sink_left(i - 1, 0)  # as far as it goes, even out of the range
            if end - i >= 2:
                j = i + 1
                while j < end and self._is_less(j, j - 1):
                    self._swap(j, j - 1)
                    j += 1
        return False

    def _heapsort(self, start: int, end: int) -> None:
        n = end - start
        for root in range((n - 1) // 2, -1, -1):
            self._sift_down(start, root, n)
        for last in range(n - 1, -1, -1):
            self._swap(start, start + last)
            self._sift_down(start, 0, last)

    def _sift_down(self, start: int, root: int, n: int) -> None:
        while (child := 2 * root + 1) < n:
            if child + 1 < n and self._is_less(start + child, start + child + 1):
                child += 1
            if not self._is_less(start + root, start + child):
                return
            self._swap(start + root, start + child)
            root = child
