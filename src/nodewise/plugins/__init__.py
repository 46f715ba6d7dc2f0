"""The in-tree plugins, under the names that kube-scheduler gives them."""

from __future__ import annotations

from nodewise.framework.registry import Registry

IN_TREE = {
    "SchedulingGates": "scheduling_gates",
    "PrioritySort": "priority_sort",
    "NodeName": "node_name",
    "NodeUnschedulable": "node_unschedulable",
    "TaintToleration": "taint_toleration",
    "NodeAffinity": "node_affinity",
    "NodePorts": "node_ports",
    "NodeResourcesFit": "node_resources_fit",
    "VolumeRestrictions": "volume_restrictions",
    "NodeVolumeLimits": "node_volume_limits",
    "VolumeBinding": "volume_binding",
    "VolumeZone": "volume_zone",
    "PodTopologySpread": "pod_topology_spread",
    "InterPodAffinity": "inter_pod_affinity",
    "DynamicResources": "dynamic_resources",
    "DefaultPreemption": "default_preemption",
    "NodeResourcesBalancedAllocation": "node_resources_balanced_allocation",
    "ImageLocality": "image_locality",
    "DefaultBinder": "default_binder",
    "NodeDeclaredFeatures": "node_declared_features",
    "GangScheduling": "gang_scheduling",
    "TopologyPlacementGenerator": "topology_placement_generator",
    "PodGroupPodsCount": "pod_group_pods_count",
}
"""Plugin name to the module that holds the class of the same name, in the order of the default profile."""


def in_tree_registry() -> Registry:
    """Return a registry of all in-tree plugins; a plugin's module is imported when the plugin is first made."""
    registry = Registry()
    for name, module in IN_TREE.items():
        registry.register_lazily(name, f"nodewise.plugins.{module}:{name}")
    return registry
