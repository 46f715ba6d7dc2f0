"""What an API server refuses in node selectors, affinity and topology spread constraints."""

from __future__ import annotations

from nodewise.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from nodewise.api.objects import (
    Affinity,
    LabelSelector,
    NodeAffinity,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from nodewise.api.validation_names import (
    check_label_selector,
    dns_label_problems,
    dns_subdomain_problems,
    invalid_each,
    label_key_problems,
    label_value_problems,
)

_WEIGHT_RULE = "must be in the range 1-100"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def check_affinity(affinity: Affinity | None, field: str, *, is_stored: bool) -> list[FieldError]:
    """Return what is wrong with a pod's affinity (validateAffinity)."""
    if affinity is None:
        return []
    errors: list[FieldError] = []
    if affinity.node_affinity is not None:
        errors += _check_node_affinity(affinity.node_affinity, f"{field}.nodeAffinity", is_stored=is_stored)
    if affinity.pod_affinity is not None:
        errors += _check_pod_affinity(affinity.pod_affinity, f"{field}.podAffinity", is_stored=is_stored)
    if affinity.pod_anti_affinity is not None:
        errors += _check_pod_affinity(affinity.pod_anti_affinity, f"{field}.podAntiAffinity", is_stored=is_stored)
    return errors


def _check_node_affinity(affinity: NodeAffinity, field: str, *, is_stored: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if affinity.required is not None:
        path = f"{field}.{_REQUIRED}.nodeSelectorTerms"
        if not affinity.required.node_selector_terms:
            errors.append(required(path, "must have at least one node selector term"))
        for index, term in enumerate(affinity.required.node_selector_terms):
            errors += _check_node_selector_term(term, f"{path}[{index}]", any_value=is_stored)
    for index, preferred in enumerate(affinity.preferred or ()):
        path = f"{field}.{_PREFERRED}[{index}]"
        if not 1 <= preferred.weight <= 100:
            errors.append(invalid(f"{path}.weight", preferred.weight, _WEIGHT_RULE))
        errors += _check_node_selector_term(preferred.preference, f"{path}.preference", any_value=True)
    return errors


def _check_node_selector_term(term: NodeSelectorTerm, field: str, *, any_value: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, requirement in enumerate(term.match_expressions):
        errors += _check_node_requirement(requirement, f"{field}.matchExpressions[{index}]", any_value=any_value)
    for index, requirement in enumerate(term.match_fields):
        errors += _check_field_requirement(requirement, f"{field}.matchFields[{index}]")
    return errors


def _check_node_requirement(requirement: NodeSelectorRequirement, field: str, *, any_value: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.operator, requirement.values
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{field}.values", detail))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.append(required(f"{field}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        errors.append(invalid(f"{field}.operator", operator, "not a valid selector operator"))
    errors += invalid_each(f"{field}.key", requirement.key, label_key_problems(requirement.key))
    if not any_value:
        for index, value in enumerate(values):
            errors += invalid_each(f"{field}.values[{index}]", value, label_value_problems(value))
    return errors


def _check_field_requirement(requirement: NodeSelectorRequirement, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if requirement.operator not in ("In", "NotIn"):
        errors.append(invalid(f"{field}.operator", requirement.operator, "not a valid selector operator"))
    elif len(requirement.values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{field}.values", detail))
    if requirement.key != "metadata.name":
        errors.append(invalid(f"{field}.key", requirement.key, "not a valid field selector key"))
        return errors
    for index, value in enumerate(requirement.values):
        errors += invalid_each(f"{field}.values[{index}]", value, dns_subdomain_problems(value))
    return errors


def _check_pod_affinity(affinity: PodAffinity, field: str, *, is_stored: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, term in enumerate(affinity.required):
        errors += _check_pod_affinity_term(term, f"{field}.{_REQUIRED}[{index}]", is_stored=is_stored)
    for index, weighted in enumerate(affinity.preferred):
        path = f"{field}.{_PREFERRED}[{index}]"
        if not 1 <= weighted.weight <= 100:
            errors.append(invalid(f"{path}.weight", weighted.weight, _WEIGHT_RULE))
        errors += _check_pod_affinity_term(weighted.pod_affinity_term, f"{path}.podAffinityTerm", is_stored=is_stored)
    return errors


def _check_pod_affinity_term(term: PodAffinityTerm, field: str, *, is_stored: bool) -> list[FieldError]:
    errors = check_label_selector(term.label_selector, f"{field}.labelSelector", any_value=is_stored)
    errors += check_label_selector(term.namespace_selector, f"{field}.namespaceSelector", any_value=is_stored)
    for name in term.namespaces:
        errors += invalid_each(f"{field}.namespace", name, dns_label_problems(name))
    errors += _check_label_keys(term.match_label_keys, term.mismatch_label_keys, term.label_selector, field)
    if not term.topology_key:
        errors.append(required(f"{field}.topologyKey", "can not be empty"))
    return errors + invalid_each(f"{field}.topologyKey", term.topology_key, label_key_problems(term.topology_key))


def _check_label_keys(
    match: tuple[str, ...], mismatch: tuple[str, ...], selector: LabelSelector | None, field: str
) -> list[FieldError]:
    """Check label keys against a selector that they are merged into already, so one expression a key is theirs."""
    errors: list[FieldError] = []
    if not (match or mismatch):
        return errors
    for keys, name in ((match, "matchLabelKeys"), (mismatch, "mismatchLabelKeys")):
        if keys and selector is None:
            errors.append(forbidden(f"{field}.{name}", "must not be specified when labelSelector is not set"))
            continue
        for index, key in enumerate(keys):
            errors += invalid_each(f"{field}.{name}[{index}]", key, label_key_problems(key))
    if selector is not None:
        index_of = {key: index for index, key in enumerate(match)}
        seen = set(selector.match_labels)
        for expression in selector.match_expressions:
            if expression.key in index_of and expression.key in seen:
                path = f"{field}[{index_of[expression.key]}]"
                errors.append(invalid(path, expression.key, "exists in both matchLabelKeys and labelSelector"))
            seen.add(expression.key)
    for index, key in enumerate(match):
        if key in mismatch:
            path = f"{field}.matchLabelKeys[{index}]"
            errors.append(invalid(path, key, "exists in both matchLabelKeys and mismatchLabelKeys"))
    return errors


def check_topology_spread(
    constraints: tuple[TopologySpreadConstraint, ...], field: str, *, is_stored: bool
) -> list[FieldError]:
    """Return what is wrong with a pod's spread constraints (validateTopologySpreadConstraints)."""
    errors: list[FieldError] = []
    for index, constraint in enumerate(constraints):
        path = f"{field}[{index}]"
        if constraint.max_skew <= 0:
            errors.append(invalid(f"{path}.maxSkew", constraint.max_skew, "must be greater than zero"))
        if not constraint.topology_key:
            errors.append(required(f"{path}.topologyKey", "can not be empty"))
        action = constraint.when_unsatisfiable
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            supported = ("DoNotSchedule", "ScheduleAnyway")
            errors.append(not_supported(f"{path}.whenUnsatisfiable", action, supported))
        if any(
            other.topology_key == constraint.topology_key and other.when_unsatisfiable == action
            for other in constraints[index + 1 :]
        ):
            pair = f"{{{constraint.topology_key}, {action}}}"
            errors.append(duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", pair))
        errors += _check_min_domains(constraint, path)
        for policy, name in (
            (constraint.node_affinity_policy, "nodeAffinityPolicy"),
            (constraint.node_taints_policy, "nodeTaintsPolicy"),
        ):
            if policy not in (None, "Honor", "Ignore"):
                errors.append(not_supported(f"{path}.{name}", policy, ("Honor", "Ignore")))
        errors += _check_label_keys(constraint.match_label_keys, (), constraint.label_selector, path)
        errors += check_label_selector(constraint.label_selector, f"{path}.labelSelector", any_value=is_stored)
    return errors


def _check_min_domains(constraint: TopologySpreadConstraint, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if constraint.min_domains is None:
        return errors
    if constraint.min_domains <= 0:
        errors.append(invalid(f"{path}.minDomains", constraint.min_domains, "must be greater than zero"))
    if constraint.when_unsatisfiable != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {constraint.when_unsatisfiable}"
        errors.append(invalid(f"{path}.minDomains", constraint.min_domains, detail))
    return errors
