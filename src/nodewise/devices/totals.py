"""How many devices of a class each node has, and how many of them are taken: what scores of resources count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nodewise.api.devices import DeviceClass
from nodewise.devices.cluster import DeviceCluster, device_cluster
from nodewise.devices.inventory import DeviceEntry, DeviceID, PoolID, SliceEntry
from nodewise.devices.selectors import Failure
from nodewise.framework.node_selector import NodeSelectorMatcher
from nodewise.state.columns import ALL_ROWS, BoolArray, Columns, IntArray, NodeTable, Rows
from nodewise.state.device_listers import DeviceListers


class ClassTotals:
    """Devices of one class by row (calculateDRAResourceTotals).

    Pools need not be complete or up to date here, and a slice that names no nodes at all counts everywhere.
    """

    def __init__(self, cluster: DeviceCluster, device_class: DeviceClass) -> None:
        self._cluster = cluster
        self._expressions = [s.cel.expression for s in device_class.spec.selectors if s.cel is not None]
        self._version = (-1, -1, -1)
        self._cursor = 0
        self._capacity: IntArray = np.zeros(0, np.int64)
        self._allocated: IntArray = np.zeros(0, np.int64)
        self._devices: dict[PoolID, list[tuple[DeviceID, BoolArray]]] = {}
        self._taken: set[DeviceID] = set()

    def by_row(self, table: NodeTable) -> tuple[IntArray, IntArray]:
        """Return how many devices there are and how many are taken, each `(n_rows,) int64`, not to be changed."""
        version = self._cluster.refresh(table)
        touched = self._cluster.allocated.touched
        pools: list[PoolID] = list(dict.fromkeys(touched[self._cursor :]))
        if version != self._version:
            self._version = version
            self._count(table)
            pools = list(self._devices)
        self._cursor = len(touched)
        for pool_id in pools:
            for device_id, mask in self._devices.get(pool_id, ()):
                is_taken = self._cluster.allocated.is_allocated(device_id)
                if is_taken is not (device_id in self._taken):
                    self._allocated[mask] += 1 if is_taken else -1
                    (self._taken.add if is_taken else self._taken.discard)(device_id)
        return self._capacity, self._allocated

    def _count(self, table: NodeTable) -> None:
        self._capacity = np.zeros(table.n_rows, np.int64)
        self._allocated = np.zeros(table.n_rows, np.int64)
        self._devices, self._taken = {}, set()
        failing = np.zeros(table.n_rows, np.bool_)
        for entry in self._cluster.inventory.every_slice:
            whole = None if entry.selects_per_device else _slice_mask(entry, table)
            for device in entry.devices:
                mask = whole if whole is not None else _device_mask(device, table)
                answer = self._is_of_class(device)
                if answer is None:
                    failing |= mask
                elif answer:
                    self._capacity[mask] += 1
                    self._devices.setdefault(entry.pool_id, []).append((device.id, mask))
        # where a selector fails nothing is counted at all
        self._capacity[failing] = 0

    def _is_of_class(self, device: DeviceEntry) -> bool | None:
        """Tell whether a device is of the class; None: a selector fails."""
        for expression in self._expressions:
            answer = self._cluster.selectors.matches(expression, device.profile)
            if isinstance(answer, Failure):
                return None
            if not answer:
                return False
        return True


ScoredDevices = tuple[tuple[int, ClassTotals], ...]
"""Positions among scored resources, and the devices that may stand in for them."""


def scored_devices(names: Sequence[str], listers: DeviceListers) -> ScoredDevices:
    """Return which of the scored resources a class stands for (getDRAPreScoredParams)."""
    if not listers.classes:
        return ()
    classes = [(position, listers.class_of_resource(name)) for position, name in enumerate(names)]
    cluster = device_cluster(listers)
    return tuple([(position, ClassTotals(cluster, found)) for position, found in classes if found is not None])


def stand_in(devices: ScoredDevices, columns: Columns, rows: Rows, allocatable: IntArray, requested: IntArray) -> None:
    """Put numbers of devices where a node does not offer the resource itself.

    Parameters
    ----------
    allocatable, requested : (n_resources, n) int64
        Changed in place.
    """
    if not devices or not isinstance(columns, NodeTable):
        return
    for position, totals in devices:
        capacity, allocated = (counts[rows] for counts in totals.by_row(columns))
        where = (allocatable[position] == 0) & (capacity > 0)
        allocatable[position, where] = capacity[where]
        requested[position, where] = allocated[where]


def _slice_mask(entry: SliceEntry, table: NodeTable) -> BoolArray:
    spec = entry.spec_slice.spec
    mask = np.ones(table.n_rows, np.bool_)
    if spec.all_nodes:
        return mask
    if spec.node_selector is not None and not spec.node_name:
        return NodeSelectorMatcher(spec.node_selector).matches(table, ALL_ROWS)
    return _named(spec.node_name, table) if spec.node_name else mask


def _device_mask(device: DeviceEntry, table: NodeTable) -> BoolArray:
    found = device.device
    if found.all_nodes:
        return np.ones(table.n_rows, np.bool_)
    if found.node_name:
        return _named(found.node_name, table)
    if found.node_selector is not None:
        return NodeSelectorMatcher(found.node_selector).matches(table, ALL_ROWS)
    return np.zeros(table.n_rows, np.bool_)


def _named(node_name: str, table: NodeTable) -> BoolArray:
    mask = np.zeros(table.n_rows, np.bool_)
    row = table.row_of(node_name)
    if row is not None:
        mask[row] = True
    return mask
