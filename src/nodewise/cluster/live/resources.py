"""Which objects a scheduler listens to, and where the API server has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nodewise.api.kinds import KINDS, Kind

PODS_THAT_RUN = "status.phase!=Succeeded,status.phase!=Failed"
"""The selector of pods that have not ended: one that ends leaves the list, so it is heard of as deleted."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Objects of one kind in one version of the API.

    Attributes
    ----------
    kind : Kind
    api_version : str
        `group/version`, or `v1`.
    plural : str
        Their name in paths.
    field_selector : str
        Which of them; empty: all.
    """

    kind: Kind
    api_version: str
    plural: str
    field_selector: str = ""

    @property
    def path(self) -> str:
        """Where all of them are."""
        return f"{self._root}/{self.plural}"

    def path_of(self, namespace: str, name: str) -> str:
        """Return where one of them is."""
        place = f"namespaces/{namespace}/" if self.kind.is_namespaced else ""
        return f"{self._root}/{place}{self.plural}/{name}"

    def path_in(self, namespace: str) -> str:
        """Return where those of a namespace are."""
        return f"{self._root}/namespaces/{namespace}/{self.plural}"

    @property
    def _root(self) -> str:
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"


_PLURALS = {
    "Pod": "pods",
    "Node": "nodes",
    "Namespace": "namespaces",
    "Service": "services",
    "ReplicationController": "replicationcontrollers",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "PriorityClass": "priorityclasses",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StorageClass": "storageclasses",
    "CSINode": "csinodes",
    "CSIDriver": "csidrivers",
    "CSIStorageCapacity": "csistoragecapacities",
    "VolumeAttachment": "volumeattachments",
    "ResourceClaim": "resourceclaims",
    "ResourceSlice": "resourceslices",
    "DeviceClass": "deviceclasses",
    "DeviceTaintRule": "devicetaintrules",
    "PodGroup": "podgroups",
    "CompositePodGroup": "compositepodgroups",
}
RESOURCES: dict[str, Resource] = {
    name: Resource(KINDS[name], KINDS[name].api_versions[0], plural, PODS_THAT_RUN if name == "Pod" else "")
    for name, plural in _PLURALS.items()
}
"""All that can be listened to, by kind."""

_CLAIMS = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")
_CONTROLLERS = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")
_DEVICES = ("ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule")
_READ_BY: dict[str, tuple[str, ...]] = {
    "InterPodAffinity": ("Namespace",),
    "PodTopologySpread": _CONTROLLERS,
    "DefaultPreemption": ("PodDisruptionBudget",),
    "VolumeRestrictions": ("PersistentVolumeClaim",),
    "VolumeZone": _CLAIMS,
    "NodeVolumeLimits": (*_CLAIMS, "CSINode", "CSIDriver", "VolumeAttachment"),
    "VolumeBinding": (*_CLAIMS, "CSINode", "CSIDriver", "CSIStorageCapacity"),
    "NodeResourcesFit": ("DeviceClass",),
    "NodeResourcesBalancedAllocation": ("DeviceClass",),
    "DynamicResources": _DEVICES,
    "GangScheduling": ("PodGroup",),
    **dict.fromkeys(
        (
            "DefaultBinder",
            "DeferredPodScheduling",
            "ImageLocality",
            "NodeAffinity",
            "NodeDeclaredFeatures",
            "NodeName",
            "NodePorts",
            "NodeUnschedulable",
            "PlacementFullness",
            "PodGroupPodsCount",
            "PrioritySort",
            "SchedulingGates",
            "TaintToleration",
            "TopologyPlacementGenerator",
        ),
        (),
    ),
}
"""What the in-tree plugins look up besides nodes and pods."""
_GROUPS = ("PodGroup", "CompositePodGroup")


def resources_for(
    plugins: Iterable[str], *, has_pod_groups: bool = False, has_composites: bool = False
) -> list[Resource]:
    """Return what has to be known for some plugins to work, in the order in which it is best heard of: pods last.

    Parameters
    ----------
    plugins : Iterable[str]
        Names of all plugins that any profile uses. Plugins that are not in-tree may look up anything.
    has_pod_groups, has_composites : bool
        Whether the feature gates GenericWorkload and CompositePodGroup are on.
    """
    needed = {"Node", "Pod"}
    for name in plugins:
        needed.update(_READ_BY.get(name, _PLURALS.keys() - set(_GROUPS) - {"PriorityClass"}))
    needed.difference_update(_GROUPS)
    if has_pod_groups:
        needed.update(_GROUPS[: 1 + has_composites])
    last = ("Node", "Pod")
    names = [name for name in _PLURALS if name in needed and name not in last]
    return [RESOURCES[name] for name in (*names, *last)]
