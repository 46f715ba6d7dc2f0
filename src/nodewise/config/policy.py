"""A v1 Policy, how kube-scheduler was configured before 1.23: read, checked in its words, turned into an algorithm."""

from __future__ import annotations

from typing import Any

from nodewise.api.objects import Int32, Int64
from nodewise.config.arguments import ResourceSpec, UtilizationShapePoint
from nodewise.config.documents import Fields, Number
from nodewise.config.durations import parse_duration
from nodewise.config.errors import ConfigError
from nodewise.config.field_messages import invalid
from nodewise.config.go_text import quote
from nodewise.config.legacy_names import (
    DEFAULT_PREDICATES,
    DEFAULT_PRIORITIES,
    LABEL_PREDICATE,
    LABEL_PRIORITY,
    RATIO_PRIORITY,
    SERVICE_PREDICATE,
    SERVICE_PRIORITY,
)
from nodewise.config.legacy_profile import LegacyAlgorithm, known_predicate, known_priority
from nodewise.config.model import ConfigObject, Extender, ExtenderManagedResource, ExtenderTLSConfig
from nodewise.config.strict_decoding import decode_strictly, json_type

API_VERSION, KIND = "v1", "Policy"
_MAX_WEIGHT = (2**63 - 1) // 10
_MAX_HARD_WEIGHT = 100


class ServiceAffinity(ConfigObject, frozen=True):
    """Labels of nodes that a service's pods have in common."""

    labels: tuple[str, ...] = ()


class LabelsPresence(ConfigObject, frozen=True):
    """Labels that a node must have, or must not have."""

    labels: tuple[str, ...] = ()
    presence: bool = False


class PredicateArgument(ConfigObject, frozen=True):
    """One of these makes a predicate of the user's own."""

    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class PredicatePolicy(ConfigObject, frozen=True):
    """A predicate."""

    name: str = ""
    argument: PredicateArgument | None = None


class ServiceAntiAffinity(ConfigObject, frozen=True):
    """A label of nodes over whose values a service's pods are spread."""

    label: str = ""


class LabelPreference(ConfigObject, frozen=True):
    """A label that nodes had better have, or not have."""

    label: str = ""
    presence: bool = False


class RequestedToCapacityRatioArguments(ConfigObject, frozen=True):
    """A score by utilization."""

    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class PriorityArgument(ConfigObject, frozen=True):
    """One of these makes a priority of the user's own."""

    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: RequestedToCapacityRatioArguments | None = None


class PriorityPolicy(ConfigObject, frozen=True):
    """A priority and its weight."""

    name: str = ""
    weight: Int64 = 0
    argument: PriorityArgument | None = None


class LegacyExtender(ConfigObject, frozen=True):
    """An extender; its timeout is a number of nanoseconds."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Any = None
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class Policy(ConfigObject, frozen=True):
    """Everything that a policy says; lists that are missing stand for the defaults."""

    predicates: tuple[PredicatePolicy, ...] | None = None
    priorities: tuple[PriorityPolicy, ...] | None = None
    extenders: tuple[LegacyExtender, ...] = ()
    hard_pod_affinity_symmetric_weight: Int32 = 0
    always_check_all_predicates: bool = False


def read_policy(tree: Fields) -> tuple[Policy, list[str]]:
    """Decode and check a policy; unknown fields, which older versions overlooked, are noted.

    Raises
    ------
    ConfigError
        With the text of kube-scheduler 1.22.
    """
    policy, unknown = decode_strictly(_with_lower_https(tree), Policy, has_type_meta=True)
    errors = _priority_errors(policy.priorities or ())
    weight = policy.hard_pod_affinity_symmetric_weight
    if not 0 <= weight <= _MAX_HARD_WEIGHT:
        errors.append(invalid("hardPodAffinitySymmetricWeight", weight, "not in valid range [0-100]"))
    if errors:
        raise ConfigError(errors)
    return policy, [f"overlooked: {problem}" for problem in unknown]


def _with_lower_https(tree: Fields) -> Fields:
    """Take `enableHTTPS` for the `enableHttps` of a policy: names were read in any case."""

    def renamed(value: Any) -> Any:
        if isinstance(value, Fields):
            return Fields((name.replace("enableHTTPS", "enableHttps"), renamed(item)) for name, item in value)
        return [renamed(item) for item in value] if isinstance(value, list) else value

    result: Fields = renamed(tree)
    return result


def _priority_errors(priorities: tuple[PriorityPolicy, ...]) -> list[str]:
    """Check weights, and priorities that may stand there several times only alike (ValidatePolicy)."""
    errors: list[str] = []
    seen: dict[str, PriorityPolicy] = {}
    for priority in priorities:
        if not 0 < priority.weight < _MAX_WEIGHT:
            text = "should have a positive weight applied to it or it has overflown"
            errors.append(f"priority {priority.name} {text}")
        argument = priority.argument
        if argument is None:
            continue
        kind = (
            "LabelPreference"
            if argument.label_preference is not None
            else "ServiceAntiAffinity"
            if argument.service_anti_affinity is not None
            else "RequestedToCapacityRatio"
            if argument.requested_to_capacity_ratio_arguments is not None
            else ""
        )
        if not kind:
            errors.append(f"no priority arguments set for priority {priority.name}")
            continue
        known = seen.get(kind)
        if known is not None and kind == "RequestedToCapacityRatio":
            name, other = quote(priority.name), quote(known.name)
            errors.append(f"priority {name} redeclares custom priority {quote(kind)}, from: {other}")
        elif known is not None and known.weight != priority.weight:
            name, other = quote(priority.name), quote(known.name)
            errors.append(f"{kind}  priority {name} has a different weight with {other}")
        seen[kind] = priority
    return errors


def algorithm_of_policy(policy: Policy) -> tuple[LegacyAlgorithm, list[str]]:
    """Return what a policy selects, and notes (createFromConfig).

    Raises
    ------
    ConfigError
        When it names something that there never was.
    """
    algorithm, notes = LegacyAlgorithm(), []
    if policy.predicates is None:
        algorithm.predicates = list(DEFAULT_PREDICATES)
    for predicate in policy.predicates or ():
        _add_predicate(algorithm, predicate)
    if policy.priorities is None:
        algorithm.priorities = dict(DEFAULT_PRIORITIES)
    for priority in policy.priorities or ():
        _add_priority(algorithm, priority)
    if policy.hard_pod_affinity_symmetric_weight:
        algorithm.hard_affinity_weight = policy.hard_pod_affinity_symmetric_weight
    if policy.always_check_all_predicates:
        notes.append(
            "alwaysCheckAllPredicates has no successor: the first filter that rejects a node ends its turn "
            "(explain asks them all)"
        )
    return algorithm, notes


def _add_predicate(algorithm: LegacyAlgorithm, predicate: PredicatePolicy) -> None:
    argument = predicate.argument
    if argument is None:
        algorithm.predicates.append(known_predicate(predicate.name))
        return
    n_arguments = (argument.service_affinity is not None) + (argument.labels_presence is not None)
    if n_arguments != 1:
        text = "exactly 1 predicate argument is required"
        raise ConfigError(f"{text}, numArgs: {n_arguments}, predicate {predicate.name}")
    if argument.labels_presence is not None:
        labels = algorithm.present_labels if argument.labels_presence.presence else algorithm.absent_labels
        labels += argument.labels_presence.labels
        algorithm.predicates.append(LABEL_PREDICATE)
    else:
        algorithm.predicates.append(SERVICE_PREDICATE)


def _add_priority(algorithm: LegacyAlgorithm, priority: PriorityPolicy) -> None:
    argument = priority.argument
    if argument is None:
        name = known_priority(priority.name)
        if name in (LABEL_PRIORITY, SERVICE_PRIORITY, RATIO_PRIORITY):
            raise ConfigError(f"priority type not found for {quote(priority.name)}")
        algorithm.priorities[name] = priority.weight
        return
    given = (
        argument.service_anti_affinity,
        argument.label_preference,
        argument.requested_to_capacity_ratio_arguments,
    )
    n_arguments = sum(found is not None for found in given)
    if n_arguments != 1:
        text = "exactly 1 priority argument is required"
        raise ConfigError(f"{text}, numArgs: {n_arguments}, priority {priority.name}")
    if argument.service_anti_affinity is not None:
        algorithm.spread_labels.append(argument.service_anti_affinity.label)
        # Several such priorities count as one that weighs as much as all.
        algorithm.priorities[SERVICE_PRIORITY] = priority.weight * len(algorithm.spread_labels)
    elif argument.label_preference is not None:
        algorithm.preferred_labels.append((argument.label_preference.label, argument.label_preference.presence))
        algorithm.priorities[LABEL_PRIORITY] = priority.weight * len(algorithm.preferred_labels)
    elif argument.requested_to_capacity_ratio_arguments is not None:
        ratio = argument.requested_to_capacity_ratio_arguments
        algorithm.ratio = {
            "shape": [{"utilization": point.utilization, "score": point.score} for point in ratio.shape],
            "resources": [{"name": resource.name, "weight": resource.weight or 1} for resource in ratio.resources],
        }
        algorithm.priorities[RATIO_PRIORITY] = priority.weight


def as_extender(legacy: LegacyExtender) -> Extender:
    """Return an extender as a v1 configuration has it.

    Raises
    ------
    ConfigError
        When its timeout is no number of nanoseconds, nor a text such as `5s`.
    """
    return Extender(
        url_prefix=legacy.url_prefix,
        filter_verb=legacy.filter_verb,
        preempt_verb=legacy.preempt_verb,
        prioritize_verb=legacy.prioritize_verb,
        weight=legacy.weight,
        bind_verb=legacy.bind_verb,
        enable_https=legacy.enable_https,
        tls_config=legacy.tls_config,
        http_timeout_ns=_timeout_ns(legacy.http_timeout),
        node_cache_capable=legacy.node_cache_capable,
        managed_resources=legacy.managed_resources,
        ignorable=legacy.ignorable,
    )


def _timeout_ns(value: Any) -> int:
    if isinstance(value, Number) and value.removeprefix("-").isdecimal():
        return int(value)
    if value is not None and json_type(value) != "string":
        place = "Go struct field Extender.extenders.httpTimeout of type time.Duration"
        raise ConfigError(f"json: cannot unmarshal {json_type(value)} into {place}")
    try:
        return parse_duration(value) if value else 0
    except ValueError as error:
        raise ConfigError(f"extenders.httpTimeout: {error}") from error
