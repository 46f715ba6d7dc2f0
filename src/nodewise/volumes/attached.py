"""How many CSI volumes are attached to each node, and how many can be: kept up to date row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from nodewise.state.columns import BoolArray, IntArray
from nodewise.state.dirty_log import NODE, PODS
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.state.storage_listers import StorageListers
from nodewise.volumes.csi_volumes import CSIVolumes, Problem, VolumeIds

NO_LIMIT = -1


@dataclass(slots=True)
class RowVolumes:
    """The volumes of the pods of one row.

    Attributes
    ----------
    ids : VolumeIds
    counts : Counter[str]
        Attached volumes by driver, those that only a VolumeAttachment tells of included.
    problem : str
        Why they cannot be counted, "" for nothing.
    """

    ids: VolumeIds = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    problem: str = ""


class AttachedVolumes:
    """Columns over nodes about CSI volumes; asked for the first time, it looks at all pods, then at changed rows only.

    Attributes
    ----------
    version : int
        Grows when what is known of storage changes, and all answers with it.
    has_csi_node, has_limits : (capacity,) bool
    failing : set[int]
        Rows whose pods' volumes cannot be counted.
    rows_of : dict[str, set[int]]
        Where pods have a volume.
    """

    def __init__(self, snapshot: Snapshot, storage: StorageListers, volumes: CSIVolumes) -> None:
        self._snapshot = snapshot
        self._storage = storage
        self._volumes = volumes
        self._cursor = -1
        self.version = -1
        self._forget()

    def _forget(self) -> None:
        n = self._snapshot.columns.capacity
        self.has_csi_node: BoolArray = np.zeros(n, np.bool_)
        self.has_limits: BoolArray = np.zeros(n, np.bool_)
        self.failing: set[int] = set()
        self.rows_of: dict[str, set[int]] = {}
        self._rows: dict[int, RowVolumes] = {}
        self._counts: dict[str, IntArray] = {}
        self._limits: dict[str, IntArray] = {}
        self._installed: dict[str, BoolArray] = {}

    # --- reading ------------------------------------------------------------------------------------------------------

    def attached(self, driver: str) -> IntArray:
        """Return how many volumes of a driver each row has, (capacity,) int64."""
        return self._column(self._counts, driver, 0)

    def limit(self, driver: str) -> IntArray:
        """Return how many volumes of a driver each row can have, `NO_LIMIT` where that is not said."""
        return self._column(self._limits, driver, NO_LIMIT)

    def installed(self, driver: str) -> BoolArray:
        """Tell on which rows the CSINode lists a driver, (capacity,) bool."""
        found = self._installed.get(driver)
        if found is None:
            found = self._installed[driver] = np.zeros(len(self.has_limits), np.bool_)
        return found

    def problem(self, row: int) -> str:
        """Return why a row's volumes cannot be counted."""
        return self._rows[row].problem

    def with_pods(self, row: int, pods: Iterable[PodInfo]) -> RowVolumes:
        """Return the volumes of a row if it had these pods."""
        found = RowVolumes()
        has_csi_node = bool(self.has_csi_node[row])
        for pod in pods:
            if pod.pod.spec.volumes:
                ids = self._volumes.of_running_pod(pod.pod, has_csi_node=has_csi_node)
                if isinstance(ids, Problem):
                    found.problem = found.problem or ids.text
                else:
                    found.ids.update(ids)
        found.counts.update(found.ids.values())
        for volume_id, driver in self._attachments(self._snapshot.columns.names[row]).items():
            if volume_id not in found.ids:
                found.counts[driver] += 1
        return found

    def _attachments(self, node_name: str) -> VolumeIds:
        """Return the volumes that VolumeAttachments put on a node (getNodeVolumeAttachmentInfo)."""
        found: VolumeIds = {}
        for attachment in self._storage.attachments.get(node_name, {}).values():
            attacher, name = attachment.spec.attacher, attachment.spec.source.persistent_volume_name
            volume = self._storage.volumes.get(name) if name is not None else None
            if attacher and volume is not None and volume.spec.csi is not None:
                found[f"{attacher}/{volume.spec.csi.volume_handle}"] = attacher
        return found

    # --- keeping up to date -------------------------------------------------------------------------------------------

    def sync(self) -> None:
        """Catch up with the snapshot and with storage."""
        log, columns = self._snapshot.log, self._snapshot.columns
        if self.version != self._storage.version:
            self.version = self._storage.version
            self._forget()
            self._cursor = -1
        if self._cursor == log.end:
            return
        if len(self.has_limits) < columns.n_rows:
            self._grow(columns.capacity)
        changed = log.since(self._cursor, NODE | PODS, max(16, columns.n_rows // 4)) if self._cursor >= 0 else None
        rows = range(columns.n_rows) if changed is None else changed.tolist()
        for row in rows:
            self._write_csi_node(row)
            self._write_volumes(row)
        self._cursor = log.end

    def _write_csi_node(self, row: int) -> None:
        columns = self._snapshot.columns
        csi_node = self._storage.csi_nodes.get(columns.names[row]) if columns.alive[row] else None
        drivers = csi_node.spec.drivers if csi_node is not None else ()
        if csi_node is None and not self.has_csi_node[row]:
            return
        self.has_csi_node[row] = csi_node is not None
        for limits in self._limits.values():
            limits[row] = NO_LIMIT
        for installed in self._installed.values():
            installed[row] = False
        self.has_limits[row] = False
        for driver in drivers:
            self.installed(driver.name)[row] = True
            if driver.allocatable is not None and driver.allocatable.count is not None:
                self.limit(driver.name)[row] = driver.allocatable.count
                self.has_limits[row] = True

    def _write_volumes(self, row: int) -> None:
        known = self._rows.get(row)
        found = self.with_pods(row, self._snapshot.pods_on(row).values())
        if not found.ids and not found.counts and not found.problem and known is None:
            return
        self._rows[row] = found
        old_ids = known.ids if known is not None else {}
        for volume_id in old_ids.keys() - found.ids.keys():
            rows = self.rows_of[volume_id]
            rows.discard(row)
            if not rows:
                del self.rows_of[volume_id]
        for volume_id in found.ids.keys() - old_ids.keys():
            self.rows_of.setdefault(volume_id, set()).add(row)
        for driver in {*found.counts, *(known.counts if known is not None else ())}:
            self.attached(driver)[row] = found.counts[driver]
        if found.problem:
            self.failing.add(row)
        else:
            self.failing.discard(row)

    def _column(self, columns: dict[str, IntArray], driver: str, fill: int) -> IntArray:
        found = columns.get(driver)
        if found is None:
            found = columns[driver] = np.full(len(self.has_limits), fill, np.int64)
        return found

    def _grow(self, capacity: int) -> None:
        self.has_csi_node = _grown(self.has_csi_node, capacity, False)
        self.has_limits = _grown(self.has_limits, capacity, False)
        self._installed = {name: _grown(column, capacity, False) for name, column in self._installed.items()}
        self._counts = {name: _grown(column, capacity, 0) for name, column in self._counts.items()}
        self._limits = {name: _grown(column, capacity, NO_LIMIT) for name, column in self._limits.items()}


def _grown(column: np.ndarray, capacity: int, fill: int) -> np.ndarray:
    grown = np.full(capacity, fill, column.dtype)
    grown[: len(column)] = column
    return grown
