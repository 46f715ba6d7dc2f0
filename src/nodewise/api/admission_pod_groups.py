"""What creating a pod group does beyond defaults: priority, preemption policy, fields of features that are off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.objects import PriorityClass, replace
from nodewise.api.pod_groups import PodGroup, PodGroupObject

G = TypeVar("G", bound=PodGroupObject)
PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"
# Fields that are dropped on create while their gate is off, by kind (dropDisabledPodGroupFields).
_GATED_FIELDS = (
    ("TopologyAwareWorkloadScheduling", "scheduling_constraints", None),
    ("DRAWorkloadResourceClaims", "resource_claims", ()),
    ("CompositePodGroup", "parent_composite_pod_group_name", None),
)


def create_pod_group(group: G, classes: Mapping[str, PriorityClass], is_on: Callable[[str], bool]) -> G:
    """Return the (decoded) group as it is stored on create.

    A priority that comes from no class is kept, as it is for pods, though an API server refuses it.

    Parameters
    ----------
    is_on : Callable[[str], bool]
        Tells the value of a feature gate.

    Raises
    ------
    InvalidFieldError
        When it names a priority class that does not exist, or a policy other than that of its class.
    """
    changes = _priority_changes(group, classes, has_policy=is_on("PodGroupPreemptionPolicy"))
    if isinstance(group, PodGroup):
        changes.update((field, empty) for gate, field, empty in _GATED_FIELDS if not is_on(gate))
    return replace(group, spec=replace(group.spec, **changes))


def _priority_changes(
    group: PodGroupObject, classes: Mapping[str, PriorityClass], *, has_policy: bool
) -> dict[str, Any]:
    """Return priority, class name and policy from the group's class, else the lowest global default (admitPodGroup)."""
    spec = group.spec
    found = None
    if spec.priority_class_name:
        found = classes.get(spec.priority_class_name)
        if found is None:
            text = f'no PriorityClass with name "{spec.priority_class_name}" was found'
            raise InvalidFieldError("spec.priorityClassName", text)
    elif spec.priority is None:
        defaults = [c for c in classes.values() if c.global_default]
        found = min(defaults, key=lambda c: c.value, default=None)
    changes: dict[str, Any] = {"preemption_policy": None}
    if spec.priority is None:
        changes["priority"] = found.value if found is not None else 0
    if found is not None:
        changes["priority_class_name"] = found.metadata.name
    if has_policy:
        # QUIRK: the default is there before the class is asked, so a class that says Never needs a group that does.
        policy = spec.preemption_policy or PREEMPT_LOWER_PRIORITY
        wanted = (found.preemption_policy if found is not None else None) or PREEMPT_LOWER_PRIORITY
        if found is not None and policy != wanted:
            text = (
                f"Forbidden: the string value of PreemptionPolicy ({policy}) must not be provided in pod group spec; "
                f"priority admission controller computed {wanted} from the given PriorityClass name"
            )
            raise InvalidFieldError("spec.preemptionPolicy", text)
        changes["preemption_policy"] = policy
    return changes
