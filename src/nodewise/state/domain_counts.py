"""Pods counted by topology domain: the nodes that share a label's value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nodewise.state.columns import Columns, IdArray, IntArray
from nodewise.state.pod_table import Counts


class DomainCounts:
    """Weighted sums of live counts over the rows of each domain.

    Call `rebuild` when nodes changed and `refresh` before reading otherwise; a refresh costs what changed.

    Attributes
    ----------
    key : str
        The node label whose values are the domains.
    table : (n_values + 1,) int64
        By id of the label's value; the last entry, which is also that of id -1 (no such label), stays 0.
    version : int
        Grows with every change of the table.
    """

    __slots__ = ("_n_nonzero", "_n_nonzero_version", "_parts", "_seen", "_slots", "key", "table", "version")

    def __init__(self, key: str, parts: Sequence[tuple[Counts, int]]) -> None:
        self.key = key
        self.table: IntArray = np.zeros(1, np.int64)
        self.version = 0
        self._parts = tuple(parts)
        self._seen = [-1] * len(self._parts)
        self._slots: IdArray = np.zeros(0, np.int32)
        self._n_nonzero = 0
        self._n_nonzero_version = -1

    def rebuild(self, columns: Columns, slots: IdArray | None = None) -> None:
        """Sum up anew.

        Parameters
        ----------
        slots : (n_rows,) int32, optional
            The domain that each row counts for, -1 where it does not count; without it every row with the label counts.
        """
        self._slots = columns.label(self.key) if slots is None else slots
        n_rows, n_values = len(self._slots), len(columns.label_values(self.key))
        self.version += 1
        self.table = np.zeros(n_values + 1, np.int64)
        if not self._parts:
            return
        amounts = sum_by_row(self._parts, n_rows)
        self._seen = [counts.version for counts, _ in self._parts]
        # exact: sums of pods times weights stay far below 2**53
        sums = np.bincount(self._slots + 1, weights=amounts, minlength=n_values + 1)
        self.table[:-1] = sums[1:]

    def refresh(self) -> None:
        """Take over what changed in the counts."""
        seen = self._seen
        for i, (counts, weight) in enumerate(self._parts):
            if counts.version == seen[i]:
                continue
            changes = counts.changes_since(seen[i])
            if changes is None:
                self._resum()
                return
            seen[i] = counts.version
            self.version += 1
            for row, amount in changes:
                slot = self._slots[row]
                if slot >= 0:
                    self.table[slot] += amount * weight

    def _resum(self) -> None:
        sums = np.bincount(
            self._slots + 1, weights=sum_by_row(self._parts, len(self._slots)), minlength=len(self.table)
        )
        self.table[:-1] = sums[1:]
        self._seen = [counts.version for counts, _ in self._parts]
        self.version += 1

    def n_nonzero(self) -> int:
        """Return how many domains have a sum other than 0."""
        if self._n_nonzero_version != self.version:
            self._n_nonzero = int(np.count_nonzero(self.table))
            self._n_nonzero_version = self.version
        return self._n_nonzero

    def has_counts(self) -> bool:
        """Tell whether some row with the label has any count, even if all of them add up to 0."""
        if self.n_nonzero():
            return True
        inside = self._slots >= 0
        return any(bool((counts.by_row(len(inside))[inside] != 0).any()) for counts, _ in self._parts)

    def changed_by(self, deltas: Mapping[int, int]) -> DomainCounts:
        """Return counts that are not live, with other sums for some domains; that of -1 does not matter."""
        other = DomainCounts(self.key, ())
        other.table = self.table.copy()
        for domain, delta in deltas.items():
            if domain >= 0:
                other.table[domain] += delta
        return other

    def as_table(self, changed: int = -1, delta: int = 0) -> DomainTable:
        """Return the sums for reading, one of them changed."""
        return DomainTable(self.key, self.table, changed, delta)


@dataclass(frozen=True, slots=True)
class DomainTable:
    """Sums by domain, as they would be with one of them changed.

    Attributes
    ----------
    amounts : (n_values + 1,) int64
        As in `DomainCounts.table`; unchanged.
    changed : int
        The domain whose sum changes by `delta`; -1: none.
    """

    key: str
    amounts: IntArray
    changed: int = -1
    delta: int = 0

    def of(self, ids: IdArray) -> IntArray:
        """Return the sums of some rows' domains, given the ids of their label values; 0 for -1."""
        sums = self.amounts.take(ids)
        if self.changed >= 0:
            sums += self.delta * (ids == self.changed)
        return sums

    def of_domain(self, domain: int) -> int:
        """Return the sum of one domain."""
        amount = int(self.amounts[domain])
        return amount + self.delta if domain == self.changed and domain >= 0 else amount


def sum_by_row(parts: Sequence[tuple[Counts, int]], n_rows: int) -> IntArray:
    """Return the weighted sum of counts, (n_rows,) int64."""
    total = np.zeros(n_rows, np.int64)
    for counts, weight in parts:
        rows = counts.by_row(n_rows)
        total += rows if weight == 1 else rows * weight
    return total
