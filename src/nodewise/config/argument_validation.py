"""Checks of plugin arguments (upstream's validation_pluginargs.go)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nodewise.config.arguments import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    UtilizationShapePoint,
    VolumeBindingArgs,
    has_binding_conditions,
)
from nodewise.config.durations import format_duration
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.field_messages import (
    duplicate,
    forbidden,
    invalid,
    join_path,
    label_name_errors,
    not_supported,
    outside,
    required,
)
from nodewise.config.go_text import json_text, quote
from nodewise.config.node_selector_validation import node_affinity_errors

SCORING_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_SPREAD_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_NS_PER_S = 10**9


def _default_preemption(path: str, args: DefaultPreemptionArgs, gates: FeatureGates) -> list[str]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
    errors = outside(percentage_path, percentage, 0, 100)
    if absolute < 0:
        errors.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
    if percentage == absolute == 0:
        same_time = "cannot be zero at the same time as"
        errors.append(invalid(percentage_path, percentage, f"{same_time} minCandidateNodesAbsolute"))
        errors.append(invalid(absolute_path, absolute, f"{same_time} minCandidateNodesPercentage"))
    return errors


def _inter_pod_affinity(path: str, args: InterPodAffinityArgs, gates: FeatureGates) -> list[str]:
    return outside(f"{path}.hardPodAffinityWeight", args.hard_pod_affinity_weight, 0, 100)


def _node_affinity(path: str, args: NodeAffinityArgs, gates: FeatureGates) -> list[str]:
    return [] if args.added_affinity is None else node_affinity_errors(f"{path}.addedAffinity", args.added_affinity)


def _balanced_allocation(path: str, args: NodeResourcesBalancedAllocationArgs, gates: FeatureGates) -> list[str]:
    errors: list[str] = []
    seen: set[str] = set()
    for index, resource in enumerate(args.resources):
        if resource.name in seen:
            errors.append(duplicate(f"{path}.resources[{index}].name", quote(resource.name)))
        seen.add(resource.name)
        if resource.weight != 1:
            errors.append(invalid(f"{path}.resources[{index}].weight", resource.weight, "must be 1"))
    return errors


def _pod_topology_spread(path: str, args: PodTopologySpreadArgs, gates: FeatureGates) -> list[str]:
    errors: list[str] = []
    kind = args.defaulting_type
    if kind not in ("System", "List"):
        errors.append(not_supported(f"{path}.defaultingType", json_text(kind), ("System", "List")))
    elif kind == "System" and args.default_constraints:
        errors.append(invalid(f"{path}.defaultingType", quote(kind), "when .defaultConstraints are not empty"))
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        at = f"{path}.defaultConstraints[{index}]"
        key, action = constraint.topology_key, constraint.when_unsatisfiable
        if constraint.max_skew <= 0:
            errors.append(invalid(f"{at}.maxSkew", constraint.max_skew, "not in valid range (0, inf)"))
        if key:
            errors += label_name_errors(f"{at}.topologyKey", key)
        else:
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        if not action:
            errors.append(required(f"{at}.whenUnsatisfiable", "can not be empty"))
        elif action not in _SPREAD_ACTIONS:
            errors.append(not_supported(f"{at}.whenUnsatisfiable", json_text(action), _SPREAD_ACTIONS))
        if constraint.label_selector is not None:
            errors.append(
                forbidden(f"{at}.labelSelector", "constraint must not define a selector, as they deduced for each pod")
            )
        if (key, action) in seen:
            errors.append(duplicate(at, quote(f"{{{key}, {action}}}")))
        seen.add((key, action))
    return errors


def _volume_binding(path: str, args: VolumeBindingArgs, gates: FeatureGates) -> list[str]:
    errors: list[str] = []
    if args.bind_timeout_seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(f"{path}.bindTimeoutSeconds", args.bind_timeout_seconds, detail))
    if gates.enabled("StorageCapacityScoring"):
        return errors + _shape_errors(f"{path}.shape", args.shape or ())
    if args.shape is not None:
        shown = json_text([{"Utilization": point.utilization, "Score": point.score} for point in args.shape])
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        errors.append(invalid(f"{path}.shape", shown, detail))
    return errors


def _dynamic_resources(path: str, args: DynamicResourcesArgs, gates: FeatureGates) -> list[str]:
    is_limited, may_wait = gates.enabled("DRASchedulerFilterTimeout"), has_binding_conditions(gates)
    off = "feature gate is disabled"
    without_limit = f"DRASchedulingFilterTimeout {off}"  # the name as upstream writes it
    without_waiting = f"DRADeviceBindingConditions or DRAResourceClaimDeviceStatus {off}"
    errors: list[str] = []
    for name, timeout, lowest, detail, refusal in (
        ("filterTimeout", args.filter_timeout_ns, 0, "must be zero or positive", "" if is_limited else without_limit),
        (
            "bindingTimeout",
            args.binding_timeout_ns,
            _NS_PER_S,
            "must be at least 1 second",
            "" if may_wait else without_waiting,
        ),
    ):
        if timeout is None:
            continue
        if refusal:
            errors.append(forbidden(f"{path}.{name}", refusal))
        elif timeout < lowest:
            errors.append(invalid(f"{path}.{name}", quote(format_duration(timeout)), detail))
    return errors


def validate_fit_args(args: NodeResourcesFitArgs, path: str = "") -> list[str]:
    """Check the arguments of NodeResourcesFit, as its constructor does: the validation of a configuration leaves
    them out, so paths start at the arguments.
    """
    errors: list[str] = []
    for index, name in enumerate(args.ignored_resources):
        errors += label_name_errors(join_path(path, f"ignoredResources[{index}]"), name)
    for index, group in enumerate(args.ignored_resource_groups):
        at = join_path(path, f"ignoredResourceGroups[{index}]")
        if "/" in group:
            errors.append(invalid(at, quote(group), "resource group name can't contain '/'"))
        errors += label_name_errors(at, group)
    strategy_path = join_path(path, "scoringStrategy")
    strategy = args.scoring_strategy
    if strategy is None:
        return [*errors, required(strategy_path, "ScoringStrategy field is required")]
    if strategy.type not in SCORING_STRATEGIES:
        errors.append(not_supported(f"{strategy_path}.type", json_text(strategy.type), SCORING_STRATEGIES))
    for index, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            errors.append(invalid(f"{strategy_path}.resources[{index}].weight", resource.weight, detail))
    ratio, ratio_path = strategy.requested_to_capacity_ratio, f"{strategy_path}.requestedToCapacityRatio"
    if strategy.type != "RequestedToCapacityRatio":
        if ratio is not None:
            errors.append(forbidden(ratio_path, "must be nil when type is not RequestedToCapacityRatio"))
    elif ratio is None:
        errors.append(required(ratio_path, "must be specified when type is RequestedToCapacityRatio"))
    else:
        errors += _shape_errors(f"{ratio_path}.shape", ratio.shape)
    return errors


def _shape_errors(path: str, shape: Sequence[UtilizationShapePoint]) -> list[str]:
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors: list[str] = []
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            detail = "values must be sorted in increasing order"
            errors.append(invalid(f"{path}[{index}].utilization", shape[index].utilization, detail))
            break
    for index, point in enumerate(shape):
        errors += outside(f"{path}[{index}].utilization", point.utilization, 0, 100)
        errors += outside(f"{path}[{index}].score", point.score, 0, 10)
    return errors


# QUIRK: upstream's table has NodeResourcesFit under a name that no plugin has.
_VALIDATORS: dict[type, Callable[[str, Any, FeatureGates], list[str]]] = {
    DefaultPreemptionArgs: _default_preemption,
    DynamicResourcesArgs: _dynamic_resources,
    InterPodAffinityArgs: _inter_pod_affinity,
    NodeAffinityArgs: _node_affinity,
    NodeResourcesBalancedAllocationArgs: _balanced_allocation,
    PodTopologySpreadArgs: _pod_topology_spread,
    VolumeBindingArgs: _volume_binding,
}


def args_errors(path: str, args: object, gates: FeatureGates = DEFAULT_GATES) -> list[str]:
    """Check the arguments of any plugin, as the validation of a configuration does."""
    validator = _VALIDATORS.get(type(args))
    return validator(path, args, gates) if validator is not None else []
