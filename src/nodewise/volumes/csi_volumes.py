"""Which CSI volumes a pod needs attached, as NodeVolumeLimits counts them."""

from __future__ import annotations

from dataclasses import dataclass

from nodewise.api.objects import Pod, Volume
from nodewise.api.storage import PersistentVolumeClaim
from nodewise.state.storage_listers import StorageListers
from nodewise.volumes.csi_migration import (
    ALWAYS_MIGRATED,
    CSI_DRIVER,
    CSIVolume,
    TranslationError,
    in_tree_plugin,
    translated_inline,
    translated_volume,
)
from nodewise.volumes.pod_claims import not_found, ownership_problem, used_claim

VolumeIds = dict[str, str]
"""Volumes as `driver/handle`, and the driver of each."""
_UNNAMED = "PersistentVolumeClaim had no name"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a pod's volumes cannot be counted.

    Attributes
    ----------
    text : str
    is_missing_claim : bool
        The pod waits for a claim; anything else is an error.
    """

    text: str
    is_missing_claim: bool = False


class CSIVolumes:
    """Finds the CSI volumes of pods (filterAttachableVolumes).

    Parameters
    ----------
    storage : StorageListers
    """

    def __init__(self, storage: StorageListers) -> None:
        self._storage = storage
        self._known: dict[tuple[str, bool], CSIVolume | None] = {}
        self._version = -1

    def of_new_pod(self, pod: Pod, *, has_csi_node: bool) -> VolumeIds | Problem:
        """Return the volumes that a pending pod needs on a node with, or without, a CSINode."""
        return self._of(pod, has_csi_node=has_csi_node, is_new=True)

    def of_running_pod(self, pod: Pod, *, has_csi_node: bool) -> VolumeIds | Problem:
        """Return the volumes that a pod has on its node; claims that are gone do not count."""
        return self._of(pod, has_csi_node=has_csi_node, is_new=False)

    def _of(self, pod: Pod, *, has_csi_node: bool, is_new: bool) -> VolumeIds | Problem:
        if self._version != self._storage.version:
            self._known.clear()
            self._version = self._storage.version
        found: VolumeIds = {}
        for volume in pod.spec.volumes:
            used = used_claim(pod, volume)
            if used is None:
                problem = self._add_inline(volume, found) if has_csi_node else None
                if problem is not None:
                    return problem
                continue
            name, is_ephemeral = used
            if not name:
                return Problem(_UNNAMED)
            key = f"{pod.metadata.namespace}/{name}"
            claim = self._storage.claims.get(key)
            if claim is None:
                if is_new:
                    return Problem(f"looking up PVC {key}: {not_found(name)}", is_missing_claim=True)
                continue
            if is_ephemeral and (text := ownership_problem(pod, claim)):
                return Problem(text)
            csi = self._of_claim(claim, has_csi_node=has_csi_node)
            if csi is not None:
                found[f"{csi.driver}/{csi.handle}"] = csi.driver
        return found

    def _add_inline(self, volume: Volume, found: VolumeIds) -> Problem | None:
        """Count a volume that names an in-tree disk itself (checkAttachableInlineVolume)."""
        if in_tree_plugin(volume) not in ALWAYS_MIGRATED:
            return None
        try:
            csi = translated_inline(volume)
        except TranslationError as error:
            return Problem(f"converting volume({volume.name}) from inline to csi: {error}")
        found[f"{csi.driver}/{csi.handle}"] = csi.driver
        return None

    def _of_claim(self, claim: PersistentVolumeClaim, *, has_csi_node: bool) -> CSIVolume | None:
        key = (claim.key, has_csi_node)
        if key not in self._known:
            self._known[key] = self._looked_up(claim, has_csi_node=has_csi_node)
        return self._known[key]

    def _looked_up(self, claim: PersistentVolumeClaim, *, has_csi_node: bool) -> CSIVolume | None:
        """Return the volume of a claim as its driver knows it; None: it does not count (getCSIDriverInfo)."""
        volume = self._storage.volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is None:
            return self._to_be_made(claim, has_csi_node=has_csi_node)
        source = volume.spec.csi
        if source is not None:
            csi = CSIVolume(source.driver, source.volume_handle)
        elif has_csi_node and in_tree_plugin(volume.spec) in ALWAYS_MIGRATED:
            try:
                csi = translated_volume(volume)
            except TranslationError:
                return None
        else:
            return None
        return csi if csi.driver and csi.handle else None

    def _to_be_made(self, claim: PersistentVolumeClaim, *, has_csi_node: bool) -> CSIVolume | None:
        """Return a stand-in for a volume that is not there yet, under the driver of its class."""
        storage_class = self._storage.classes.get(claim.class_name)
        if storage_class is None:
            return None
        provisioner = storage_class.provisioner
        if provisioner in CSI_DRIVER:
            if not has_csi_node or provisioner not in ALWAYS_MIGRATED:
                return None
            provisioner = CSI_DRIVER[provisioner]
        # kube-scheduler has a random text here, so that no real handle is the same; no handle holds a line feed
        return CSIVolume(provisioner, f"\n{claim.key}") if provisioner else None
