"""The arguments of the in-tree plugins (kubescheduler.config.k8s.io/v1 `<plugin>Args`), with upstream's defaults.

`default_args` gives what upstream's defaulting makes of an absent `pluginConfig` entry; a struct made without arguments
only lacks what depends on feature gates.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from nodewise.api.objects import Int32, Int64, NodeAffinity, TopologySpreadConstraint
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
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
DEFAULT_FILTER_TIMEOUT_NS, DEFAULT_BINDING_TIMEOUT_NS = 10 * 10**9, 600 * 10**9
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
    """How long binding may take, and how used capacity is scored; a shape of None is none, as with the gate off."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


class DynamicResourcesArgs(Arguments, frozen=True):
    """Timeouts in nanoseconds, as Go keeps durations; a filter timeout of 0 is none, None is without the feature."""

    filter_timeout_ns: _OptionalDurationNs | None = field(default=None, name="filterTimeout")
    binding_timeout_ns: _OptionalDurationNs | None = field(default=None, name="bindingTimeout")


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

_Args = TypeVar("_Args", bound=Arguments)

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


def default_args(name: str, gates: FeatureGates = DEFAULT_GATES) -> PluginArgs | None:
    """Return the default arguments of the plugin `name`; None for a plugin that takes none."""
    args_type = ARGS_OF.get(name)
    return with_defaults(args_type(), gates) if args_type is not None else None


def with_defaults(args: _Args, gates: FeatureGates = DEFAULT_GATES) -> _Args:
    """Return arguments with defaults for what is empty (SetDefaults_*Args); absent fields have most of theirs already.

    Parameters
    ----------
    gates
        They decide about VolumeBinding's shape and DynamicResources' timeouts.
    """
    match args:
        case NodeResourcesFitArgs(scoring_strategy=ScoringStrategy() as strategy):
            return replace(args, scoring_strategy=replace(strategy, resources=_with_weights(strategy.resources)))
        case NodeResourcesBalancedAllocationArgs():
            return replace(args, resources=_with_weights(args.resources))
        case PodTopologySpreadArgs(defaulting_type=""):
            return replace(args, defaulting_type="System")
        case VolumeBindingArgs() if not args.shape and gates.enabled("StorageCapacityScoring"):
            return replace(args, shape=DEFAULT_VOLUME_BINDING_SHAPE)
        case DynamicResourcesArgs():
            return replace(args, **_timeouts(args, gates))
    return args


def has_binding_conditions(gates: FeatureGates) -> bool:
    """Return whether binding may wait for devices."""
    return gates.enabled("DRADeviceBindingConditions") and gates.enabled("DRAResourceClaimDeviceStatus")


def _timeouts(args: DynamicResourcesArgs, gates: FeatureGates) -> dict[str, int | None]:
    filter_timeout, binding_timeout = args.filter_timeout_ns, args.binding_timeout_ns
    if filter_timeout is None and gates.enabled("DRASchedulerFilterTimeout"):
        filter_timeout = DEFAULT_FILTER_TIMEOUT_NS
    if binding_timeout is None and has_binding_conditions(gates):
        binding_timeout = DEFAULT_BINDING_TIMEOUT_NS
    return {"filter_timeout_ns": filter_timeout, "binding_timeout_ns": binding_timeout}


def _with_weights(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    if not resources:
        return DEFAULT_RESOURCES
    return tuple(ResourceSpec(resource.name, resource.weight or 1) for resource in resources)
