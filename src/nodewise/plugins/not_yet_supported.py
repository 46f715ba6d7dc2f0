"""Volume and device plugins: exact for pods that need neither; other pods are told what is not supported yet.

The plugins take part where kube-scheduler's do, so that profiles, scores and messages look the same.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import numpy as np

from nodewise.api.objects import Pod, Volume
from nodewise.api.resources import requested
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.normalize import default_normalize
from nodewise.framework.plugin import FilterVerdict, Handle, PostFilterResult, PreFilterResult, Rejections
from nodewise.framework.status import SUCCESS, Status
from nodewise.state.columns import Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

IMPLICIT_DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
VOLUME_SOURCES = {
    "persistent_volume_claim": "persistentVolumeClaim",
    "ephemeral": "ephemeral",
    "gce_persistent_disk": "gcePersistentDisk",
    "aws_elastic_block_store": "awsElasticBlockStore",
    "azure_disk": "azureDisk",
    "azure_file": "azureFile",
    "cinder": "cinder",
    "portworx_volume": "portworxVolume",
    "vsphere_volume": "vsphereVolume",
    "rbd": "rbd",
    "iscsi": "iscsi",
}
"""Volume sources that the volume plugins judge. An inline `csi` volume is none: no filter or score reads it."""


def unsupported_need(pod: Pod, listers: Listers) -> tuple[str, str] | None:
    """Return the field by which a pod needs what is not supported yet, and why; None: it needs nothing such."""
    for index, volume in enumerate(pod.spec.volumes):
        source = _judged_source(volume)
        if source is not None:
            return f"spec.volumes[{index}].{source}", f"not supported yet: volumes of type {source}"
    if pod.spec.resource_claims:
        return "spec.resourceClaims[0]", "not supported yet: dynamic resource allocation"
    if listers.device_classes:
        mapped = {dc.spec.extended_resource_name for dc in listers.device_classes if dc.spec.extended_resource_name}
        mapped |= {IMPLICIT_DEVICE_CLASS_PREFIX + dc.metadata.name for dc in listers.device_classes}
        for name, amount in requested(pod).items():
            if amount and name in mapped:
                return (
                    f"spec.containers[*].resources.requests[{name}]",
                    f"not supported yet: dynamic resource allocation, to which a DeviceClass maps {name}",
                )
    return None


def _judged_source(volume: Volume) -> str | None:
    for attribute, source in VOLUME_SOURCES.items():
        if getattr(volume, attribute) is not None:
            return source
    return None


class _PassingPlugin:
    """A filter that skips every pod."""

    name: ClassVar[str]
    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def class_key(self, pod: Pod) -> Hashable:
        return None

    def compile(self, pod: Pod, snapshot: Snapshot) -> Any | None:
        return None

    def pre_filter(self, state: Any) -> PreFilterResult:
        return PreFilterResult()

    def filter(self, state: Any, columns: Columns, rows: Rows) -> Rejections:
        return np.zeros(len(columns.alive[rows]), np.int64)

    def rejection(self, state: Any, code: int) -> Status:
        raise AssertionError(f"{self.name} rejects nothing, yet was asked about code {code}")


class _ScoringPlugin(_PassingPlugin):
    """A filter that skips every pod and a score that is 0 on every node."""

    def compile(self, pod: Pod, snapshot: Snapshot) -> Any | None:
        return True

    def score(self, state: Any, columns: Columns, rows: Rows) -> IntArray:
        return np.zeros(len(columns.alive[rows]), np.int64)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        pass

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        return SUCCESS


class VolumeRestrictions(_PassingPlugin):
    """Plugin VolumeRestrictions."""

    name: ClassVar[str] = "VolumeRestrictions"


class NodeVolumeLimits(_PassingPlugin):
    """Plugin NodeVolumeLimits."""

    name: ClassVar[str] = "NodeVolumeLimits"


class VolumeZone(_PassingPlugin):
    """Plugin VolumeZone."""

    name: ClassVar[str] = "VolumeZone"


class VolumeBinding(_ScoringPlugin):
    """Plugin VolumeBinding; its capacity score is 0 where there is nothing to bind."""

    name: ClassVar[str] = "VolumeBinding"


class DynamicResources(_ScoringPlugin):
    """Plugin DynamicResources; without claims every node scores 0."""

    name: ClassVar[str] = "DynamicResources"

    def pre_enqueue(self, pod: Pod) -> Status:
        return SUCCESS

    def post_filter(self, verdict: FilterVerdict) -> PostFilterResult:
        """Have nothing to give back; fail when an earlier PreFilter kept this plugin's own from running.

        kube-scheduler's DynamicResources.PostFilter reads what its PreFilter wrote, and its "not found" error ends
        the chain of PostFilter plugins and shows in the pod's message.
        """
        if verdict.stopped_in_pre_filter:
            return PostFilterResult(Status.error("not found"))
        return PostFilterResult(Status.unschedulable())

    def normalize(self, state: Any, scores: IntArray) -> IntArray:
        return default_normalize(scores, reverse=False)
