"""Writes which volumes a pod's claims are to get, and waits until the cluster has bound them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nodewise.api.storage import PersistentVolume, PersistentVolumeClaim
from nodewise.errors import NodewiseError
from nodewise.framework.object_writer import WritingHandle
from nodewise.framework.status import SUCCESS, Status
from nodewise.state.columns import Columns
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.state.storage_listers import StorageListers
from nodewise.volumes.csi_migration import (
    ALWAYS_MIGRATED,
    TranslationError,
    in_tree_plugin,
    is_migrated_on,
    translated_affinity,
)
from nodewise.volumes.node_labels import NodesByLabel
from nodewise.volumes.pod_claims import SELECTED_NODE, is_fully_bound

POLL_S = 1.0


class BindingFailedError(NodewiseError):
    """Something happened to a volume or claim that lets the pod be decided on again; the text is kube-scheduler's."""


@dataclass(frozen=True, slots=True)
class VolumesToBind:
    """What a decision needs of the cluster before the pod can be bound.

    Attributes
    ----------
    bindings : Sequence[tuple[PersistentVolume, PersistentVolumeClaim]]
        Volumes as they are to be, each with the claim it is for.
    claims : Sequence[PersistentVolumeClaim]
        Claims as they are to be, so that volumes are made for them on the node.
    """

    bindings: Sequence[tuple[PersistentVolume, PersistentVolumeClaim]]
    claims: Sequence[PersistentVolumeClaim]


class Prebinding:
    """Brings the volumes of one pod about (BindPodVolumes).

    What was written stays so when something fails later: the PV controller goes on from there, and so does the next
    attempt of the pod.

    Parameters
    ----------
    handle : WritingHandle
        With a writer.
    api : StorageListers
        What the API says, whatever is assumed.
    snapshot : Snapshot
        For the labels of nodes.
    timeout_s : float
        How long to wait, from after the writes.
    """

    def __init__(self, handle: WritingHandle, api: StorageListers, snapshot: Snapshot, timeout_s: float) -> None:
        self._handle = handle
        self._api = api
        self._snapshot = snapshot
        self._timeout_s = timeout_s

    async def run(self, wanted: VolumesToBind, pod: PodInfo, node_name: str) -> Status:
        """Write, then look once a second whether all is bound."""
        try:
            written = await self._write(wanted)
        except NodewiseError as error:
            return Status.error(str(error))
        waited_s = 0.0
        while waited_s + POLL_S <= self._timeout_s:
            await self._handle.sleep(POLL_S)
            waited_s += POLL_S
            try:
                if self._is_done(written, pod, node_name):
                    return SUCCESS
            except BindingFailedError as error:
                return Status.error(f"binding volumes: {error}")
        return Status.error("binding volumes: context deadline exceeded")

    async def _write(self, wanted: VolumesToBind) -> VolumesToBind:
        """Return volumes and claims as the cluster has them after the writes (bindAPIUpdate)."""
        writer = self._handle.writer
        assert writer is not None
        bindings = [(await writer.bind_volume(volume, claim), claim) for volume, claim in wanted.bindings]
        return VolumesToBind(bindings, [await writer.annotate_volume_claim(claim) for claim in wanted.claims])

    def _is_done(self, written: VolumesToBind, pod: PodInfo, node_name: str) -> bool:
        """Tell whether all claims are bound.

        Raises
        ------
        BindingFailedError
            They never will be like this (checkBindings).
        """
        columns = self._snapshot.columns
        row = columns.row_of(node_name)
        if row is None:
            raise BindingFailedError(f'failed to get node "{node_name}": node "{node_name}" not found')
        if pod.key not in self._handle.pods:
            raise BindingFailedError(f'pod does not exist any more: pod "{pod.pod.metadata.name}" not found')
        return all(self._is_bound(volume, claim, columns, row) for volume, claim in written.bindings) and all(
            self._is_provisioned(claim, columns, row) for claim in written.claims
        )

    def _is_bound(self, written: PersistentVolume, claim: PersistentVolumeClaim, columns: Columns, row: int) -> bool:
        name = written.metadata.name
        volume = self._api.volumes.get(name)
        if volume is None:
            raise BindingFailedError(f'failed to check binding: could not find v1.PersistentVolume "{name}"')
        found = self._api.claims.get(claim.key)
        if found is None:
            raise BindingFailedError(f'failed to check binding: could not find v1.PersistentVolumeClaim "{claim.key}"')
        if _is_older(volume, written):
            return False
        self._check_node(volume, columns, row)
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            raise BindingFailedError(f'ClaimRef got reset for pv "{name}"')
        return is_fully_bound(found)

    def _is_provisioned(self, written: PersistentVolumeClaim, columns: Columns, row: int) -> bool:
        claim = self._api.claims.get(written.key)
        if claim is None:
            text = f'could not find v1.PersistentVolumeClaim "{written.key}"'
            raise BindingFailedError(f"failed to check provisioning pvc: {text}")
        if _is_older(claim, written):
            return False
        annotations, name = claim.metadata.annotations, claim.metadata.name
        if not annotations:
            raise BindingFailedError(f'selectedNode annotation reset for PVC "{name}"')
        if annotations.get(SELECTED_NODE) != columns.names[row]:
            raise BindingFailedError(f'provisioning failed for PVC "{name}"')
        if claim.spec.volume_name:
            volume = self._api.volumes.get(claim.spec.volume_name)
            if volume is None:
                # it may not have been heard of yet; if it is gone, the claim will lose it
                return False
            self._check_node(volume, columns, row)
        return is_fully_bound(claim)

    def _check_node(self, volume: PersistentVolume, columns: Columns, row: int) -> None:
        """Check that the node can use a volume; its labels or the volume may have changed (CheckNodeAffinity)."""
        node_name = columns.names[row]
        affinity = volume.spec.node_affinity
        required = affinity.required if affinity is not None else None
        plugin = in_tree_plugin(volume.spec)
        if plugin in ALWAYS_MIGRATED and is_migrated_on(plugin, self._api.csi_nodes.get(node_name)):
            try:
                required = translated_affinity(volume)
            except TranslationError as error:
                raise BindingFailedError(f"failed to translate pv to csi: could not translate pv: {error}") from error
        if not NodesByLabel(required).mask(columns, np.array([row], np.intp))[0]:
            text = f'pv "{volume.metadata.name}" node affinity doesn\'t match node "{node_name}"'
            raise BindingFailedError(f"{text}: no matching NodeSelectorTerms")


def _is_older(
    known: PersistentVolume | PersistentVolumeClaim, written: PersistentVolume | PersistentVolumeClaim
) -> bool:
    """Tell whether what is known is from before it was written."""
    return _version(known) < _version(written)


def _version(obj: PersistentVolume | PersistentVolumeClaim) -> int:
    text = obj.metadata.resource_version
    return int(text) if text.isdecimal() else 0
