"""Keeps pods in the zones of their volumes, where volumes tell these by labels."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.api.storage import WAIT_FOR_FIRST_CONSUMER, PersistentVolume, PersistentVolumeClaim, StorageClass
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.framework.plugin import Handle, PreFilterResult, Rejections
from nodewise.framework.status import Status
from nodewise.state.columns import BoolArray, Columns, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot
from nodewise.state.storage_listers import StorageListers
from nodewise.volumes.pod_claims import not_found, refers_to

NO_ZONE = Status.unresolvable("node(s) had no available volume zone")
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
TOPOLOGY_LABELS = (_BETA_ZONE, _BETA_REGION, _ZONE, _REGION)
_GA_LABEL = {_BETA_ZONE: _ZONE, _BETA_REGION: _REGION}
_DELIMITER = "__"

Topologies = tuple[tuple[str, frozenset[str]], ...]
"""Labels of volumes and the values that nodes may have."""


@dataclass(frozen=True, slots=True)
class ZoneState:
    """A rejection, or what the labels of the volumes ask of nodes."""

    status: Status | None
    topologies: Topologies


class VolumeZone:
    """Plugin VolumeZone."""

    name: ClassVar[str] = "VolumeZone"
    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        self._handle = handle
        self._storage: StorageListers = handle.listers.storage

    def class_key(self, pod: Pod) -> Hashable:
        return self._read(pod) if pod.spec.volumes else None

    def compile(self, pod: Pod, snapshot: Snapshot) -> ZoneState | None:
        found = self._read(pod)
        if found is None:
            return None
        return ZoneState(found, ()) if isinstance(found, Status) else ZoneState(None, found)

    def pre_filter(self, state: ZoneState) -> PreFilterResult:
        """Reject pods with claims that are missing, or have no volume yet (VolumeZone.PreFilter)."""
        return PreFilterResult(status=state.status)

    def filter(self, state: ZoneState, columns: Columns, rows: Rows) -> Rejections:
        """Reject nodes outside a volume's zones and regions; nodes without any such label pass (VolumeZone.Filter)."""
        wrong = np.zeros(len(columns.alive[rows]), np.bool_)
        for key, values in state.topologies:
            wrong |= ~_is_within(key, values, columns, rows)
        if wrong.any():
            is_labelled = np.zeros(len(wrong), np.bool_)
            for key in TOPOLOGY_LABELS:
                is_labelled |= columns.label(key)[rows] >= 0
            wrong &= is_labelled
        return wrong.astype(np.int64)

    def rejection(self, state: ZoneState, code: int) -> Status:
        return NO_ZONE

    def detail(self, pod: Pod, row: int | None) -> str:
        """Name the label that the node is wrong in."""
        found = self._read(pod)
        if row is None or found is None or isinstance(found, Status):
            return ""
        columns = self._handle.snapshot.columns
        rows = np.array([row], np.intp)
        for key, values in found:
            if not _is_within(key, values, columns, rows)[0]:
                own = "none"
                for name in (_GA_LABEL.get(key, key), key):
                    value_id = int(columns.label(name)[row])
                    if value_id >= 0:
                        own = f"{name}={columns.label_values(name)[value_id]}"
                return f"volume needs {key} in {'__'.join(sorted(values))}, the node has {own}"
        return ""

    def _read(self, pod: Pod) -> Topologies | Status | None:
        """Return the topology of a pod's volumes, or a rejection; None: there is no topology."""
        found: list[tuple[str, frozenset[str]]] = []
        for volume in pod.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            if not name:
                return Status.unresolvable("PersistentVolumeClaim had no name")
            claim = self._storage.claims.get(f"{pod.metadata.namespace}/{name}")
            if claim is None:
                return Status.unresolvable(not_found(name))
            volume_name = claim.spec.volume_name
            if not volume_name:
                problem = self._without_volume(claim)
                if problem:
                    return Status.unresolvable(problem)
                continue
            bound = self._storage.volumes.get(volume_name)
            if bound is None:
                return Status.unresolvable(f'persistentvolume "{volume_name}" not found')
            if bound.metadata.labels:
                found += _topologies(bound)
        return tuple(found) or None

    def _without_volume(self, claim: PersistentVolumeClaim) -> str:
        """Say why a claim without a volume keeps its pod from any node, "" when it may wait for one."""
        class_name = claim.class_name
        if not class_name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self._storage.classes.get(class_name)
        if storage_class is None:
            return f'storageclass.storage.k8s.io "{class_name}" not found'
        if storage_class.volume_binding_mode is None:
            return f'VolumeBindingMode not set for StorageClass "{class_name}"'
        return "" if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else "PersistentVolume had no name"

    def events_to_register(self) -> list[ClusterEventWithHint]:
        add_or_update = ActionType.ADD | ActionType.UPDATE
        return [
            register(EventResource.STORAGE_CLASS, ActionType.ADD, after_class_addition),
            register(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            register(EventResource.PERSISTENT_VOLUME_CLAIM, add_or_update, after_claim_change),
            register(EventResource.PERSISTENT_VOLUME, add_or_update, after_volume_change),
        ]


def after_class_addition(pod: Pod, old: None, new: StorageClass) -> QueueingHint:
    """Queue when claims of the class may wait for a pod."""
    return QUEUE if new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else SKIP


def after_claim_change(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> QueueingHint:
    """Queue when a volume of the pod names the claim; one that is made for the pod does not count."""
    return QUEUE if refers_to(pod, new, with_ephemeral=False) else SKIP


def after_volume_change(pod: Pod, old: PersistentVolume | None, new: PersistentVolume) -> QueueingHint:
    """Queue when a volume is new, or says something else about its zones and regions."""
    return QUEUE if old is None or _topologies(old) != _topologies(new) else SKIP


def _topologies(volume: PersistentVolume) -> list[tuple[str, frozenset[str]]]:
    """Read a volume's labels; one with an empty value in its list is left out (LabelZonesToSet)."""
    found: list[tuple[str, frozenset[str]]] = []
    for key in TOPOLOGY_LABELS:
        text = volume.metadata.labels.get(key)
        if text is not None:
            values = frozenset(value.strip() for value in text.split(_DELIMITER))
            if "" not in values:
                found.append((key, values))
    return found


def _is_within(key: str, values: frozenset[str], columns: Columns, rows: Rows) -> BoolArray:
    """Tell where the node's value of a label, or of the one that took its place, is one of some values."""
    within = _has_value(key, values, columns, rows)
    newer = _GA_LABEL.get(key)
    if newer is not None:
        is_absent = columns.label(key)[rows] < 0
        within |= is_absent & _has_value(newer, values, columns, rows)
    return within


def _has_value(key: str, values: frozenset[str], columns: Columns, rows: Rows) -> BoolArray:
    table = np.array([*(value in values for value in columns.label_values(key)), False], np.bool_)
    return table[columns.label(key)[rows]]
