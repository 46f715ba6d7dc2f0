"""The arguments of the in-tree plugins (kubescheduler.config.k8s.io/v1 `<plugin>Args`), with upstream's defaults.

A struct made without arguments is what upstream's defaulting makes of an absent `pluginConfig` entry.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from nodewise.api.objects import Int32, Int64, NodeAffinity, TopologySpreadConstraint
from nodewise.config.go_types import GoType

_OptionalDurationNs = Annotated[Int64, GoType("v1.Duration", is_pointer=True)]


class Arguments(Struct, frozen=True, rename="camel", gc=False, forbid_unknown_fields=True):
    """Base of every struct here: frozen, camelCase on the wire, unknown fields refused."""


class ResourceSpec(Arguments, frozen=True):
    """A resource and its weight in a score."""

    name: str = ""
    weight: Int64 = 0


class UtilizationShapePoint(Arguments, frozen=True):
    """One point of a piecewise linear function from utilization (0..100) to score (0..10)."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(Arguments, frozen=True):
    """The shape of a RequestedToCapacityRatio score."""

    shape: tuple[UtilizationShapePoint, ...] = ()


DEFAULT_RESOURCES = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))
DEFAULT_VOLUME_BINDING_SHAPE = (UtilizationShapePoint(0, 10), UtilizationShapePoint(100, 0))


class ScoringStrategy(Arguments, frozen=True):
    """`type` is LeastAllocated, MostAllocated or RequestedToCapacityRatio; there is no default once this is written."""

    type: Annotated[str, GoType("v1.ScoringStrategyType")] = ""
    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


DEFAULT_SCORING_STRATEGY = ScoringStrategy("LeastAllocated", DEFAULT_RESOURCES)


class DefaultPreemptionArgs(Arguments, frozen=True):
    """How many candidate nodes a dry run of preemption looks at, at least."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class InterPodAffinityArgs(Arguments, frozen=True):
    """What existing pods' terms add to a score."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(Arguments, frozen=True):
    """Node affinity that every pod of the profile has besides its own."""

    added_affinity: NodeAffinity | None = None


class NodeResourcesFitArgs(Arguments, frozen=True):
    """Which extended resources Fit leaves to others, and how nodes are scored."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = DEFAULT_SCORING_STRATEGY


class NodeResourcesBalancedAllocationArgs(Arguments, frozen=True):
    """Which resources are to be used evenly."""

    resources: tuple[ResourceSpec, ...] = DEFAULT_RESOURCES


class PodTopologySpreadArgs(Arguments, frozen=True):
    """`defaulting_type` is System (two built-in soft constraints) or List (`default_constraints`)."""

    defaulting_type: Annotated[str, GoType("v1.PodTopologySpreadConstraintsDefaulting")] = "System"
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()


class VolumeBindingArgs(Arguments, frozen=True):
    """How long binding may take, and how used capacity is scored."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] = DEFAULT_VOLUME_BINDING_SHAPE


class DynamicResourcesArgs(Arguments, frozen=True):
    """Timeouts in nanoseconds, as Go keeps durations; a filter timeout of 0 is none."""

    filter_timeout_ns: _OptionalDurationNs = field(default=10_000_000_000, name="filterTimeout")
    binding_timeout_ns: _OptionalDurationNs = field(default=600_000_000_000, name="bindingTimeout")


PluginArgs = (
    DefaultPreemptionArgs
    | DynamicResourcesArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
)

ARGS_OF: dict[str, type[PluginArgs]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}


def default_args(name: str) -> PluginArgs | None:
    """Return the default arguments of the plugin `name`; None for a plugin that takes none."""
    args_type = ARGS_OF.get(name)
    return args_type() if args_type is not None else None
