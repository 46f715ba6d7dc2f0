"""What an API server refuses in pod groups and groups of them."""

from __future__ import annotations

from nodewise.api.field_errors import FieldError, invalid, not_supported, required
from nodewise.api.pod_groups import (
    CompositePodGroup,
    DisruptionMode,
    PodGroup,
    PodGroupObject,
    SchedulingConstraints,
    WorkloadReference,
)
from nodewise.api.validation_names import (
    dns_label_problems,
    dns_subdomain_problems,
    invalid_each,
    label_key_problems,
)

MAX_RESOURCE_CLAIMS = 4
HIGHEST_USER_PRIORITY = 1_000_000_000
_POLICIES = ("Never", "PreemptLowerPriority")


def check_pod_group(group: PodGroupObject) -> list[FieldError]:
    """Return what is wrong with an admitted group, its metadata aside."""
    spec = group.spec
    errors = _check_parent(group)
    if spec.workload_ref is not None:
        errors += _check_workload(spec.workload_ref)
    errors += _check_policy(group)
    if spec.scheduling_constraints is not None:
        errors += _check_constraints(spec.scheduling_constraints)
    if spec.disruption_mode is not None:
        errors += _check_disruption_mode(spec.disruption_mode)
    if spec.priority_class_name:
        problems = dns_subdomain_problems(spec.priority_class_name)
        errors += invalid_each("spec.priorityClassName", spec.priority_class_name, problems)
    if spec.priority is not None and spec.priority > HIGHEST_USER_PRIORITY:
        detail = f"must be less than or equal to {HIGHEST_USER_PRIORITY}"
        errors.append(invalid("spec.priority", spec.priority, detail))
    if spec.preemption_policy is not None and spec.preemption_policy not in _POLICIES:
        errors.append(not_supported("spec.preemptionPolicy", spec.preemption_policy, _POLICIES))
    return errors + (_check_claims(group) if isinstance(group, PodGroup) else [])


def _check_parent(group: PodGroupObject) -> list[FieldError]:
    name, errors = group.spec.parent_composite_pod_group_name, []
    if name is not None:
        errors = invalid_each("spec.parentCompositePodGroupName", name, dns_subdomain_problems(name))
    if group.spec.workload_ref is None:
        if isinstance(group, CompositePodGroup):
            errors.append(required("spec.workloadRef"))
        elif name is not None:
            errors.append(required("spec.workloadRef", "must be set when parentCompositePodGroupName is set"))
    return errors


def _check_workload(reference: WorkloadReference) -> list[FieldError]:
    if not reference.workload_name:
        errors = [required("spec.workloadRef.workloadName")]
    else:
        problems = dns_subdomain_problems(reference.workload_name)
        errors = invalid_each("spec.workloadRef.workloadName", reference.workload_name, problems)
    if not reference.template_name:
        return [*errors, required("spec.workloadRef.templateName")]
    problems = dns_label_problems(reference.template_name)
    return errors + invalid_each("spec.workloadRef.templateName", reference.template_name, problems)


def _check_policy(group: PodGroupObject) -> list[FieldError]:
    policy, path = group.spec.scheduling_policy, "spec.schedulingPolicy"
    errors = _check_union(path, {"basic": policy.basic is not None, "gang": policy.gang is not None})
    if policy.gang is not None:
        field = "minCount" if isinstance(group, PodGroup) else "minGroupCount"
        if group.min_count == 0:
            errors.append(required(f"{path}.gang.{field}"))
        elif group.min_count < 0:
            errors.append(invalid(f"{path}.gang.{field}", group.min_count, "must be greater than or equal to 1"))
    return errors


def _check_union(path: str, is_set: dict[str, bool]) -> list[FieldError]:
    """Return an error unless exactly one member is set."""
    found = [name for name, value in is_set.items() if value]
    if len(found) == 1:
        return []
    names = ", ".join(f"`{name}`" for name in is_set)
    if not found:
        return [invalid(path, "", f"must specify one of: {names}")]
    shown = "{" + ", ".join(found) + "}"
    return [invalid(path, shown, f"must specify exactly one of: {names}")]


def _check_constraints(constraints: SchedulingConstraints) -> list[FieldError]:
    path = "spec.schedulingConstraints.topology"
    if len(constraints.topology) > 1:
        return [FieldError(path, f"Too many: {len(constraints.topology)}: must have at most 1 item")]
    errors: list[FieldError] = []
    for index, constraint in enumerate(constraints.topology):
        if not constraint.key:
            errors.append(required(f"{path}[{index}].key"))
        else:
            errors += invalid_each(f"{path}[{index}].key", constraint.key, label_key_problems(constraint.key))
    return errors


def _check_disruption_mode(mode: DisruptionMode) -> list[FieldError]:
    return _check_union("spec.disruptionMode", {"single": mode.single is not None, "all": mode.all is not None})


def _check_claims(group: PodGroup) -> list[FieldError]:
    claims, path = group.spec.resource_claims, "spec.resourceClaims"
    if len(claims) > MAX_RESOURCE_CLAIMS:
        return [FieldError(path, f"Too many: {len(claims)}: must have at most {MAX_RESOURCE_CLAIMS} items")]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at = f"{path}[{index}]"
        if claim.name in seen:
            errors.append(FieldError(at, f'Duplicate value: {{"name":"{claim.name}"}}'))
        seen.add(claim.name)
        if not claim.name:
            errors.append(required(f"{at}.name"))
        else:
            errors += invalid_each(f"{at}.name", claim.name, dns_label_problems(claim.name))
        sources = {
            "resourceClaimName": claim.resource_claim_name is not None,
            "resourceClaimTemplateName": claim.resource_claim_template_name is not None,
        }
        errors += _check_union(at, sources)
    return errors


def check_scheduling_group(name: str | None, field: str) -> list[FieldError]:
    """Return what is wrong with the name of the group that a pod belongs to (validateSchedulingGroup)."""
    if name is None:
        return [invalid(f"{field}.podGroupName", "null", "must specify one of: `podGroupName`")]
    return invalid_each(f"{field}.podGroupName", name, dns_subdomain_problems(name))
