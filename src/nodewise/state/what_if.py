"""One row of a snapshot as it would be with some pods less and some more."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

import numpy as np

from nodewise.api.resources import PODS
from nodewise.state.columns import (
    PODS_ROW,
    BoolArray,
    Columns,
    IdArray,
    ImageColumns,
    IntArray,
    NodeTable,
    ports_conflict,
    wrapped,
)
from nodewise.state.pod_info import HostPort, PodInfo


class WhatIfColumns(Columns):
    """Columns of a single row, with changed pods; everything about the Node object is read from the real columns.

    Parameters
    ----------
    columns : NodeTable
        The columns of the snapshot.
    row : int
        The row that is looked at; here it is row 0 of 1.
    """

    def __init__(self, columns: NodeTable, row: int) -> None:
        self._columns = columns
        self._row = row
        self._here = slice(row, row + 1)
        here = self._here
        self.n_rows = 1
        self.n_nodes = columns.n_nodes
        self.names = columns.names[here]
        self.alive = columns.alive[here]
        self.unschedulable = columns.unschedulable[here]
        self.taint_set = columns.taint_set[here]
        self.feature_set = columns.feature_set[here]
        self.name_rank = columns.name_rank[here]
        self.allocatable = columns.allocatable[:, here]
        self.requested = columns.requested[:, here].copy()
        self.free = columns.free[:, here].copy()
        self.non_zero = columns.non_zero[:, here].copy()
        self.resources = columns.resources
        self.taint_sets = columns.taint_sets
        self.feature_sets = columns.feature_sets
        self.ports: set[HostPort] = set(columns.row_ports.get(row, ()))

    def resource_row(self, resource: str) -> int:
        row = self._columns.resource_row(resource)
        if row >= len(self.requested):
            missing = row + 1 - len(self.requested)
            self.requested = np.concatenate([self.requested, np.zeros((missing, 1), np.int64)])
            self.free = np.concatenate([self.free, np.zeros((missing, 1), np.int64)])
            self.allocatable = self._columns.allocatable[:, self._here]
        return row

    def label(self, key: str) -> IdArray:
        return self._columns.label(key)[self._here]

    def label_values(self, key: str) -> list[str]:
        return self._columns.label_values(key)

    def image(self, name: str) -> ImageColumns:
        whole = self._columns.image(name)
        part = ImageColumns(0)
        part.size_bytes = whole.size_bytes[self._here]
        part.n_nodes = whole.n_nodes[self._here]
        return part

    def has_port_conflict(self, wanted: Iterable[HostPort]) -> BoolArray:
        return np.array([ports_conflict(wanted, self.ports)])

    def has_port_conflict_on(self, row: int, wanted: Iterable[HostPort]) -> bool:
        return ports_conflict(wanted, self.ports)

    def row_of(self, name: str) -> int | None:
        return 0 if self._columns.row_of(name) == self._row else None

    def copy(self) -> WhatIfColumns:
        """Return another what-if of the same row that starts from this one."""
        other = copy(self)
        other.requested, other.free, other.non_zero = self.requested.copy(), self.free.copy(), self.non_zero.copy()
        other.ports = set(self.ports)
        return other

    def add(self, pod: PodInfo) -> None:
        """Count a pod in."""
        self._change(pod, 1)
        self.ports.update(pod.host_ports)

    def remove(self, pod: PodInfo) -> None:
        """Count a pod out."""
        self._change(pod, -1)
        self.ports.difference_update(pod.host_ports)

    def _change(self, pod: PodInfo, sign: int) -> None:
        for name, amount in pod.requests.items():
            if name != PODS:
                row = self.resource_row(name)
                _bump(self.requested, row, sign * amount)
                _bump(self.free, row, -sign * amount)
        _bump(self.requested, PODS_ROW, sign)
        _bump(self.free, PODS_ROW, -sign)
        _bump(self.non_zero, 0, sign * pod.non_zero[0])
        _bump(self.non_zero, 1, sign * pod.non_zero[1])


def _bump(table: IntArray, row: int, amount: int) -> None:
    table[row, 0] = wrapped(table.item(row, 0) + amount)
