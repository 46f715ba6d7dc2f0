"""What a scheduler listens to, and where that is."""

from nodewise.cluster.live.resources import RESOURCES, resources_for
from nodewise.config.plugins import IN_TREE_POINTS


def kinds(*plugins: str, **gates: bool) -> list[str]:
    return [resource.kind.name for resource in resources_for(plugins, **gates)]


def test_nodes_and_pods_are_always_listened_to_and_come_last() -> None:
    assert kinds() == ["Node", "Pod"]
    assert kinds("NodeName", "NodePorts", "TaintToleration") == ["Node", "Pod"]


def test_only_what_the_plugins_look_up_is_listened_to() -> None:
    assert kinds("InterPodAffinity", "DefaultPreemption") == ["Namespace", "PodDisruptionBudget", "Node", "Pod"]
    assert set(kinds("VolumeZone")) == {"PersistentVolume", "PersistentVolumeClaim", "StorageClass", "Node", "Pod"}


def test_all_in_tree_plugins_together_listen_to_what_kube_scheduler_does() -> None:
    assert set(kinds(*IN_TREE_POINTS)) == {
        *("Namespace", "Service", "ReplicationController", "ReplicaSet", "StatefulSet", "PodDisruptionBudget"),
        *("PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity"),
        *("VolumeAttachment", "ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule", "Node", "Pod"),
    }


def test_a_plugin_of_somebody_else_may_look_up_anything() -> None:
    assert set(kinds("Theirs")) == set(kinds(*IN_TREE_POINTS))


def test_every_in_tree_plugin_is_known() -> None:
    everything = len(kinds("Theirs"))
    assert all(len(kinds(name)) < everything for name in IN_TREE_POINTS)


def test_pod_groups_are_listened_to_where_they_are_on() -> None:
    assert "PodGroup" not in kinds("GangScheduling")
    assert kinds(has_pod_groups=True) == ["PodGroup", "Node", "Pod"]
    assert kinds(has_pod_groups=True, has_composites=True) == ["PodGroup", "CompositePodGroup", "Node", "Pod"]


def test_paths_are_those_of_the_api() -> None:
    assert RESOURCES["Pod"].path == "/api/v1/pods"
    assert RESOURCES["Pod"].path_of("shop", "web") == "/api/v1/namespaces/shop/pods/web"
    assert RESOURCES["Node"].path_of("", "n1") == "/api/v1/nodes/n1"
    assert RESOURCES["ResourceClaim"].path_in("shop") == "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaims"
