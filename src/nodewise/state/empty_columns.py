"""The rows of a snapshot as they would be without any pod."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nodewise.state.columns import BoolArray, Columns, IdArray, ImageColumns, NodeTable
from nodewise.state.pod_info import HostPort


class EmptyNodeColumns(Columns):
    """Columns that know the Node objects only: nothing is requested, no port is taken, no image is there.

    That is what kube-scheduler sees of nodes that an extender sent back: each becomes a new NodeInfo.

    Parameters
    ----------
    columns : NodeTable
        The columns of the snapshot.
    """

    def __init__(self, columns: NodeTable) -> None:
        self._columns = columns
        self.n_rows = columns.n_rows
        self.n_nodes = columns.n_nodes
        self.names = columns.names
        self.alive = columns.alive
        self.unschedulable = columns.unschedulable
        self.taint_set = columns.taint_set
        self.feature_set = columns.feature_set
        self.name_rank = columns.name_rank
        self.non_zero = np.zeros_like(columns.non_zero)
        self.resources = columns.resources
        self.taint_sets = columns.taint_sets
        self.feature_sets = columns.feature_sets
        self._take_amounts()

    def _take_amounts(self) -> None:
        self.allocatable = self.free = self._columns.allocatable
        self.requested = np.zeros_like(self.allocatable)

    def resource_row(self, resource: str) -> int:
        row = self._columns.resource_row(resource)
        if row >= len(self.requested):
            self._take_amounts()
        return row

    def label(self, key: str) -> IdArray:
        return self._columns.label(key)

    def label_values(self, key: str) -> list[str]:
        return self._columns.label_values(key)

    def image(self, name: str) -> ImageColumns:
        return ImageColumns(self.n_rows)

    def has_port_conflict(self, wanted: Iterable[HostPort]) -> BoolArray:
        return np.zeros(self.n_rows, bool)

    def has_port_conflict_on(self, row: int, wanted: Iterable[HostPort]) -> bool:
        return False

    def row_of(self, name: str) -> int | None:
        return self._columns.row_of(name)
