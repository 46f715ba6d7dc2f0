"""The plugins that a profile has when it says nothing (getDefaultPlugins)."""

from __future__ import annotations

from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.model import PluginRef

_BASE = tuple(
    PluginRef(name, weight)
    for name, weight in (
        ("SchedulingGates", 0),
        ("PrioritySort", 0),
        ("NodeName", 0),
        ("NodeUnschedulable", 0),
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodePorts", 0),
        ("NodeResourcesFit", 1),
        ("VolumeRestrictions", 0),
        ("NodeVolumeLimits", 0),
        ("VolumeBinding", 0),
        ("VolumeZone", 0),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DefaultPreemption", 0),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("DefaultBinder", 0),
    )
)
# Gate, what it adds, and the plugin before which that comes ("" is the end); in the order in which they are applied.
_ADDED: tuple[tuple[str, tuple[PluginRef, ...], str], ...] = (
    ("NodeDeclaredFeatures", (PluginRef("NodeDeclaredFeatures"),), ""),
    ("InPlacePodVerticalScalingSchedulerPreemption", (PluginRef("DeferredPodScheduling"),), "NodeResourcesFit"),
    ("DynamicResourceAllocation", (PluginRef("DynamicResources", 2),), "DefaultPreemption"),
    ("GenericWorkload", (PluginRef("GangScheduling"),), ""),
    (
        "TopologyAwareWorkloadScheduling",
        (PluginRef("TopologyPlacementGenerator"), PluginRef("PodGroupPodsCount", 1)),
        "",
    ),
)


def default_multi_point(gates: FeatureGates = DEFAULT_GATES) -> tuple[PluginRef, ...]:
    """Return the default plugins, all under multiPoint, in their order and with their weights (applyFeatureGates)."""
    plugins = list(_BASE)
    for gate, added, before in _ADDED:
        if gates.enabled(gate):
            position = next((index for index, ref in enumerate(plugins) if ref.name == before), len(plugins))
            plugins[position:position] = added
    return tuple(plugins)


DEFAULT_MULTI_POINT = default_multi_point()
"""The default plugins with default gates."""
