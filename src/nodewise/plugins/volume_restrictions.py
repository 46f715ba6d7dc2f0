"""Keeps two pods from one disk, and from one claim that only a single pod may use."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.api.storage import READ_WRITE_ONCE_POD, PersistentVolumeClaim
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.framework.plugin import Handle, PodsChange, PreFilterResult, Rejections
from nodewise.framework.status import Status
from nodewise.state.columns import Columns, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.pod_info import PodInfo, pvc_keys
from nodewise.state.snapshot import Snapshot
from nodewise.state.storage_listers import StorageListers
from nodewise.volumes.inline_disks import DisksInUse, DiskUse, clash, disk_uses, has_inline_disk, uses_of
from nodewise.volumes.pod_claims import not_found, refers_to

DISK_TAKEN, CLAIM_TAKEN = 1, 2
REJECTIONS = {
    DISK_TAKEN: Status.unschedulable("node(s) had no available disk"),
    CLAIM_TAKEN: Status.unschedulable(
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another "
        "pod"
    ),
}


@dataclass(frozen=True, slots=True)
class RestrictionsState:
    """What the plugin prepares for pods of one class.

    Attributes
    ----------
    disks : frozenset[DiskUse]
        Disks that the pod names itself.
    own_claims : frozenset[str]
        Its claims that only one pod may use.
    n_users : int
        How many of these are in use.
    status : Status | None
        A rejection.
    disks_there : frozenset[DiskUse] | None
        In a what-if, the disks in use on its row.
    change : PodsChange | None
        What that what-if changes.
    """

    disks: frozenset[DiskUse] = frozenset()
    own_claims: frozenset[str] = frozenset()
    n_users: int = 0
    status: Status | None = None
    disks_there: frozenset[DiskUse] | None = None
    change: PodsChange | None = None


class VolumeRestrictions:
    """Plugin VolumeRestrictions."""

    name: ClassVar[str] = "VolumeRestrictions"
    reads: ClassVar[Reads] = Reads.PODS

    def __init__(self, args: object, handle: Handle) -> None:
        self._handle = handle
        self._storage: StorageListers = handle.listers.storage
        self._disks = DisksInUse(handle.snapshot)

    def class_key(self, pod: Pod) -> Hashable:
        return self._read(pod) if pod.spec.volumes else None

    def compile(self, pod: Pod, snapshot: Snapshot) -> RestrictionsState | None:
        return self._read(pod) if pod.spec.volumes else None

    def _read(self, pod: Pod) -> RestrictionsState | None:
        """Return what matters of the pod; None: nothing can be in its way, as far as pods on nodes tell."""
        own_claims: set[str] = set()
        n_users = 0
        namespace = pod.metadata.namespace
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            key = f"{namespace}/{name}"
            claim = self._storage.claims.get(key)
            if claim is None:
                return RestrictionsState(status=Status.unresolvable(not_found(name)))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes and name not in own_claims:
                own_claims.add(name)
                n_users += self._handle.snapshot.is_pvc_used(key)
        if n_users == 0 and not has_inline_disk(pod):
            return None
        return RestrictionsState(disk_uses(pod), frozenset(own_claims), n_users)

    def pre_filter(self, state: RestrictionsState) -> PreFilterResult:
        """Reject pods whose claims are missing (VolumeRestrictions.PreFilter)."""
        return PreFilterResult(status=state.status)

    def filter(self, state: RestrictionsState, columns: Columns, rows: Rows) -> Rejections:
        """Reject nodes where a disk is taken, and all nodes when a claim is (VolumeRestrictions.Filter)."""
        otherwise = CLAIM_TAKEN if state.n_users > 0 else 0
        codes = np.full(len(columns.alive[rows]), otherwise, np.int64)
        if state.disks_there is not None:
            if clash(state.disks, state.disks_there):
                codes[:] = DISK_TAKEN
        elif state.disks:
            self._disks.sync()
            clashing = self._disks.rows_clashing(state.disks)
            if clashing:
                codes[np.isin(np.arange(columns.n_rows)[rows], list(clashing))] = DISK_TAKEN
        return codes

    def rejection(self, state: RestrictionsState, code: int) -> Status:
        return REJECTIONS[code]

    def with_pods(self, state: RestrictionsState, columns: Columns, change: PodsChange) -> RestrictionsState:
        gone = [*change.removed, *(pod for _, pod in change.elsewhere)]
        n_users = state.n_users + _n_uses(state.own_claims, change.added) - _n_uses(state.own_claims, gone)
        change = change if state.change is None else state.change.then(change)
        pods = dict(self._handle.snapshot.pods_on(change.row))
        for pod in change.removed:
            pods.pop(pod.uid, None)
        pods.update((pod.uid, pod) for pod in change.added)
        there = uses_of(pods.values()) if state.disks else frozenset()
        return replace(state, n_users=n_users, disks_there=there, change=change)

    def detail(self, pod: Pod, row: int | None) -> str:
        """Name the pod that has the disk, or the claims that are in use."""
        if row is None:
            return ""
        wanted = disk_uses(pod)
        for other in self._handle.snapshot.pods_on(row).values():
            if clash(wanted, disk_uses(other.pod)):
                return f"pod {other.key} uses the disk"
        state = self._read(pod)
        if state is None:
            return ""
        namespace = pod.metadata.namespace
        used = [name for name in state.own_claims if self._handle.snapshot.is_pvc_used(f"{namespace}/{name}")]
        return ", ".join(f"claim {name}" for name in sorted(used))

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [
            register(EventResource.ASSIGNED_POD, ActionType.DELETE, after_pod_deletion),
            register(EventResource.NODE, ActionType.ADD),
            register(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_claim_addition),
        ]


def after_pod_deletion(pod: Pod, old: Pod, new: None) -> QueueingHint:
    """Queue when the deleted pod, of the same namespace, had a disk that this one wants, or a claim of it."""
    if old.metadata.namespace != pod.metadata.namespace:
        return SKIP
    if clash(disk_uses(pod), disk_uses(old)):
        return QUEUE
    return QUEUE if not set(pvc_keys(pod)).isdisjoint(pvc_keys(old)) else SKIP


def after_claim_addition(pod: Pod, old: None, new: PersistentVolumeClaim) -> QueueingHint:
    """Queue when a volume of the pod names the claim; one that is made for the pod does not count."""
    return QUEUE if refers_to(pod, new, with_ephemeral=False) else SKIP


def _n_uses(claim_names: frozenset[str], pods: Iterable[PodInfo]) -> int:
    """Count the volumes of some pods whose claim has one of these names, in whatever namespace (updateWithPod)."""
    return sum(
        volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name in claim_names
        for pod in pods
        for volume in pod.pod.spec.volumes
    )
