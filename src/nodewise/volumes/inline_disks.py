"""Disks that pods name themselves, and on which rows they are in use: kept up to date row by row."""

from __future__ import annotations

from collections.abc import Iterable

from nodewise.api.objects import Pod
from nodewise.state.dirty_log import PODS
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

DiskUse = tuple[tuple[str, ...], bool]
"""What a disk is called, and whether it is used for reading only."""


def disk_uses(pod: Pod) -> frozenset[DiskUse]:
    """Return the disks of a pod that other pods may be in the way of (isVolumeConflict).

    An RBD image has a name by each of its monitors. Two uses of one disk clash unless both only read; of an EBS volume
    they always clash.
    """
    uses: set[DiskUse] = set()
    for volume in pod.spec.volumes:
        if volume.gce_persistent_disk is not None:
            uses.add((("gce", volume.gce_persistent_disk.pd_name), volume.gce_persistent_disk.read_only))
        if volume.aws_elastic_block_store is not None:
            uses.add((("ebs", volume.aws_elastic_block_store.volume_id), False))
        if volume.iscsi is not None:
            uses.add((("iscsi", volume.iscsi.iqn), volume.iscsi.read_only))
        if volume.rbd is not None:
            rbd = volume.rbd
            uses.update((("rbd", monitor, rbd.pool, rbd.image), rbd.read_only) for monitor in rbd.monitors)
    return frozenset(uses)


def has_inline_disk(pod: Pod) -> bool:
    """Tell whether a pod names such a disk at all, be it one without a monitor (needsRestrictionsCheck)."""
    return any(
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.rbd is not None
        or volume.iscsi is not None
        for volume in pod.spec.volumes
    )


def clash(wanted: Iterable[DiskUse], used: Iterable[DiskUse]) -> bool:
    """Tell whether some wanted disk is in use in a way that forbids it."""
    taken = set(used)
    return any((disk, False) in taken or (not is_reading and (disk, True) in taken) for disk, is_reading in wanted)


class DisksInUse:
    """Where disks are in use; asked for the first time, it looks at all pods, then at changed rows only."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._cursor = -1
        self._rows_of: dict[DiskUse, set[int]] = {}
        self._uses: dict[int, frozenset[DiskUse]] = {}

    def sync(self) -> None:
        """Catch up with the snapshot."""
        log, columns = self._snapshot.log, self._snapshot.columns
        if self._cursor == log.end:
            return
        changed = log.since(self._cursor, PODS, max(16, columns.n_rows // 4)) if self._cursor >= 0 else None
        for row in range(columns.n_rows) if changed is None else changed.tolist():
            self._write(row)
        self._cursor = log.end

    def _write(self, row: int) -> None:
        known = self._uses.get(row, frozenset())
        found = uses_of(self._snapshot.pods_on(row).values())
        for use in known - found:
            self._rows_of[use].discard(row)
        for use in found - known:
            self._rows_of.setdefault(use, set()).add(row)
        if found:
            self._uses[row] = found
        else:
            self._uses.pop(row, None)

    def rows_clashing(self, wanted: Iterable[DiskUse]) -> set[int]:
        """Return the rows where some wanted disk is in use in a way that forbids it."""
        rows: set[int] = set()
        for disk, is_reading in wanted:
            rows |= self._rows_of.get((disk, False), set())
            if not is_reading:
                rows |= self._rows_of.get((disk, True), set())
        return rows


def uses_of(pods: Iterable[PodInfo]) -> frozenset[DiskUse]:
    """Return all disks that some pods use."""
    return frozenset().union(*[disk_uses(pod.pod) for pod in pods if pod.pod.spec.volumes])
