"""Which Kubernetes kinds scheduling reads, in which API versions, and which of them live in a namespace."""

from __future__ import annotations

from typing import NamedTuple

from nodewise.api import devices, objects, pod_groups, storage


class Kind(NamedTuple):
    """One readable kind: its struct, the versions that serve it, and whether it is namespaced."""

    name: str
    struct: type[objects.Object]
    api_versions: tuple[str, ...]
    is_namespaced: bool = True


_APPS = ("apps/v1", "apps/v1beta2", "apps/v1beta1")
_BATCH = ("batch/v1", "batch/v1beta1")
_STORAGE = ("storage.k8s.io/v1", "storage.k8s.io/v1beta1")
_RESOURCE = ("resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1", "resource.k8s.io/v1alpha3")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("Pod", objects.Pod, ("v1",)),
        Kind("Node", objects.Node, ("v1",), is_namespaced=False),
        Kind("Namespace", objects.Namespace, ("v1",), is_namespaced=False),
        Kind("Service", objects.Service, ("v1",)),
        Kind("ReplicationController", objects.ReplicationController, ("v1",)),
        Kind(
            "PriorityClass",
            objects.PriorityClass,
            ("scheduling.k8s.io/v1", "scheduling.k8s.io/v1beta1"),
            is_namespaced=False,
        ),
        Kind("PodDisruptionBudget", objects.PodDisruptionBudget, ("policy/v1", "policy/v1beta1")),
        Kind("PodGroup", pod_groups.PodGroup, ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")),
        Kind("CompositePodGroup", pod_groups.CompositePodGroup, ("scheduling.k8s.io/v1alpha3",)),
        Kind("DeviceClass", devices.DeviceClass, _RESOURCE[:3], is_namespaced=False),
        Kind("ResourceClaim", devices.ResourceClaim, _RESOURCE[:3]),
        Kind("ResourceClaimTemplate", devices.ResourceClaimTemplate, _RESOURCE[:3]),
        Kind("ResourceSlice", devices.ResourceSlice, _RESOURCE[:3], is_namespaced=False),
        Kind("DeviceTaintRule", devices.DeviceTaintRule, _RESOURCE, is_namespaced=False),
        Kind("PersistentVolume", storage.PersistentVolume, ("v1",), is_namespaced=False),
        Kind("PersistentVolumeClaim", storage.PersistentVolumeClaim, ("v1",)),
        Kind("StorageClass", storage.StorageClass, _STORAGE, is_namespaced=False),
        Kind("CSINode", storage.CSINode, _STORAGE, is_namespaced=False),
        Kind("CSIDriver", storage.CSIDriver, _STORAGE, is_namespaced=False),
        Kind("CSIStorageCapacity", storage.CSIStorageCapacity, (*_STORAGE, "storage.k8s.io/v1alpha1")),
        Kind("VolumeAttachment", storage.VolumeAttachment, (*_STORAGE, "storage.k8s.io/v1alpha1"), is_namespaced=False),
        Kind("ReplicaSet", objects.ReplicaSet, ("apps/v1", "apps/v1beta2")),
        Kind("StatefulSet", objects.StatefulSet, _APPS),
        Kind("Deployment", objects.Deployment, _APPS),
        Kind("DaemonSet", objects.DaemonSet, ("apps/v1", "apps/v1beta2")),
        Kind("Job", objects.Job, ("batch/v1",)),
        Kind("CronJob", objects.CronJob, _BATCH),
    )
}

# Kinds that only controllers read: kube-scheduler never sees them, so they take no place in the input order.
CONTROLLER_KINDS = frozenset({"Deployment", "DaemonSet", "Job", "CronJob", "ResourceClaimTemplate"})

_BUILT_IN_GROUPS = frozenset(
    {"", "apps", "batch", "policy", "extensions", "scheduling.k8s.io", "resource.k8s.io", "storage.k8s.io"}
)


def is_built_in_group(api_version: str) -> bool:
    """Tell whether `group/version` names an API group of Kubernetes itself rather than a custom one."""
    group, slash, _ = api_version.partition("/")
    return (group if slash else "") in _BUILT_IN_GROUPS
