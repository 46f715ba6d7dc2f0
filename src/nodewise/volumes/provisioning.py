"""Where a new volume can be made for a claim: the topology of its class and the free capacity there."""

from __future__ import annotations

import numpy as np

from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.api.storage import STORAGE, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from nodewise.state.columns import BoolArray, Columns, IntArray, Rows
from nodewise.state.storage_listers import StorageListers
from nodewise.volumes.node_labels import NodesByLabel

NO_CAPACITY = -1
_NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")


class Provisioning:
    """Whether a driver can make a volume for a claim (checkVolumeProvisions, hasEnoughCapacity).

    Attributes
    ----------
    capacities : tuple[int, ...]
        Bytes of capacity of the objects that `capacity` gives the places of.
    """

    def __init__(self, claim: PersistentVolumeClaim, storage_class: StorageClass, storage: StorageListers) -> None:
        self._can_provision = storage_class.provisioner not in _NO_PROVISIONER
        self._topologies = NodesByLabel.of_topologies(storage_class.allowed_topologies)
        self._enough: list[NodesByLabel] | None = None
        self.capacities: tuple[int, ...] = ()
        raw = claim.spec.resources.requests.get(STORAGE)
        driver = storage.csi_drivers.get(storage_class.provisioner)
        if raw is not None and driver is not None and driver.spec.storage_capacity:
            size_bytes = parse_quantity(raw).value()
            enough = [
                capacity
                for capacity in storage.capacities.values()
                if capacity.storage_class_name == storage_class.metadata.name and _suffices(capacity, size_bytes)
            ]
            self._enough = [NodesByLabel.of_labels(capacity.node_topology) for capacity in enough]
            self.capacities = tuple(_bytes(capacity.capacity) for capacity in enough)

    def can_reach(self, columns: Columns, rows: Rows) -> BoolArray:
        """Tell on which rows there is a provisioner that may make the volume, (n,) bool."""
        if not self._can_provision:
            return np.zeros(len(columns.alive[rows]), np.bool_)
        return self._topologies.mask(columns, rows)

    def capacity(self, columns: Columns, rows: Rows) -> tuple[BoolArray, IntArray]:
        """Tell where there is enough capacity, and which object says so.

        Returns
        -------
        (n,) bool, (n,) int64
            The first object with enough capacity for each row, `NO_CAPACITY` where none is looked at or none has.
        """
        n = len(columns.alive[rows])
        found = np.full(n, NO_CAPACITY, np.int64)
        if self._enough is None:
            return np.ones(n, np.bool_), found
        for place in range(len(self._enough) - 1, -1, -1):
            found[self._enough[place].mask(columns, rows)] = place
        return found != NO_CAPACITY, found


def _suffices(capacity: CSIStorageCapacity, size_bytes: int) -> bool:
    limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
    return limit is not None and parse_quantity(limit).value() >= size_bytes


def _bytes(raw: object) -> int:
    return Quantity(0).value() if raw is None else parse_quantity(raw).value()
