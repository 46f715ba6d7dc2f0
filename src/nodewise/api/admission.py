"""What creating an object does beyond defaults: priority, tolerations, merged label keys, identity.

This is what a pod that never went through an API server (one without a uid) lacks for scheduling.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.objects import (
    Container,
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodCondition,
    PodSpec,
    PodStatus,
    PriorityClass,
    Toleration,
    replace,
)
from nodewise.api.pod_level_resources import default_pod_level_resources

FIRST_CREATION = datetime(2026, 1, 1, tzinfo=UTC)
SYSTEM_PRIORITY_CLASSES: Mapping[str, PriorityClass] = {
    name: PriorityClass(ObjectMeta(name=name), value, preemption_policy="PreemptLowerPriority")
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}
# The namespace that the oracle makes uids in, so that both tell objects apart by the same ones.
_UID_SPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "nodewise.oracle")
_DEFAULT_TOLERATION_S = 300
DEFAULT_TOLERATIONS = tuple(
    Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=_DEFAULT_TOLERATION_S)
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)
_GATED = PodCondition(
    "PodScheduled", "False", "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates"
)


def create_pod(pod: Pod, classes: Mapping[str, PriorityClass]) -> Pod:
    """Return the (defaulted) pod as it is stored on create.

    Raises
    ------
    InvalidFieldError
        When it names a priority class that does not exist.
    """
    return Pod(pod.metadata, create_pod_spec(pod.spec, pod.metadata.labels, classes), _created_status(pod))


def create_pod_spec(spec: PodSpec, labels: Mapping[str, str], classes: Mapping[str, PriorityClass]) -> PodSpec:
    """Return the (defaulted) spec of a pod with these labels as it is stored on create."""
    changes = _priority_changes(spec, classes)
    missing = tuple(t for t in DEFAULT_TOLERATIONS if not _is_tolerated(t.key, spec.tolerations))
    if missing:
        changes["tolerations"] = spec.tolerations + missing
    if spec.affinity is not None and (spec.affinity.pod_affinity or spec.affinity.pod_anti_affinity):
        changes["affinity"] = replace(
            spec.affinity,
            pod_affinity=_merged_affinity(spec.affinity.pod_affinity, labels),
            pod_anti_affinity=_merged_affinity(spec.affinity.pod_anti_affinity, labels),
        )
    if any(constraint.match_label_keys for constraint in spec.topology_spread_constraints):
        changes["topology_spread_constraints"] = tuple(
            replace(c, label_selector=_merged(c.label_selector, labels, c.match_label_keys, ()))
            for c in spec.topology_spread_constraints
        )
    # A feature off in 1.37: VolumeBindMountOptions.
    for field in ("containers", "init_containers"):
        containers: tuple[Container, ...] = getattr(spec, field)
        if any(mount.bind_mount_options is not None for c in containers for mount in c.volume_mounts):
            changes[field] = tuple(_without_bind_mount_options(container) for container in containers)
    return default_pod_level_resources(replace(spec, **changes))


def identified(metadata: ObjectMeta, kind: str, position: int) -> ObjectMeta:
    """Return metadata with uid, resource version and creation time, made from name and position where missing."""
    if metadata.uid and metadata.resource_version and metadata.creation_timestamp is not None:
        return metadata
    created = metadata.creation_timestamp
    return replace(
        metadata,
        uid=metadata.uid or made_up_uid(kind, metadata.namespace, metadata.name),
        resource_version=metadata.resource_version or str(position + 1),
        creation_timestamp=FIRST_CREATION + timedelta(seconds=position) if created is None else created,
    )


def made_up_uid(kind: str, namespace: str, name: str) -> str:
    """Return the uid of an object that has none, always the same for the same name."""
    return str(uuid.uuid5(_UID_SPACE, f"{kind}/{namespace}/{name}"))


def _priority_changes(spec: PodSpec, classes: Mapping[str, PriorityClass]) -> dict[str, Any]:
    """Return priority, policy and class name from the pod's class, else the lowest global default (setPriority)."""
    priority_class = None
    if spec.priority_class_name:
        priority_class = classes.get(spec.priority_class_name)
        if priority_class is None:
            raise InvalidFieldError(
                "spec.priorityClassName", f'no PriorityClass with name "{spec.priority_class_name}" was found'
            )
    elif spec.priority is None:
        defaults = [c for c in classes.values() if c.global_default]
        priority_class = min(defaults, key=lambda c: c.value, default=None)
    priority, policy = 0, None
    changes: dict[str, Any] = {}
    if priority_class is not None:
        priority, policy = priority_class.value, priority_class.preemption_policy
        changes["priority_class_name"] = priority_class.metadata.name
    if spec.priority is None:
        changes["priority"] = priority
    if spec.preemption_policy is None:
        changes["preemption_policy"] = policy or "PreemptLowerPriority"
    return changes


def _is_tolerated(taint_key: str, tolerations: tuple[Toleration, ...]) -> bool:
    return any(t.key in (taint_key, "") and t.effect in ("NoExecute", "") for t in tolerations)


def _merged_affinity(affinity: PodAffinity | None, labels: Mapping[str, str]) -> PodAffinity | None:
    if affinity is None:
        return None
    return PodAffinity(
        tuple(_merged_term(term, labels) for term in affinity.required),
        tuple(
            replace(weighted, pod_affinity_term=_merged_term(weighted.pod_affinity_term, labels))
            for weighted in affinity.preferred
        ),
    )


def _merged_term(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    if not (term.match_label_keys or term.mismatch_label_keys):
        return term
    selector = _merged(term.label_selector, labels, term.match_label_keys, term.mismatch_label_keys)
    return replace(term, label_selector=selector)


def _merged(
    selector: LabelSelector | None, labels: Mapping[str, str], match: tuple[str, ...], mismatch: tuple[str, ...]
) -> LabelSelector | None:
    """Add the pod's own values of these label keys to the selector; no selector stays one that matches nothing."""
    if selector is None:
        return None
    added = tuple(LabelSelectorRequirement(key, "In", (labels[key],)) for key in match if key in labels)
    added += tuple(LabelSelectorRequirement(key, "NotIn", (labels[key],)) for key in mismatch if key in labels)
    return LabelSelector(selector.match_labels, selector.match_expressions + added) if added else selector


def _without_bind_mount_options(container: Container) -> Container:
    mounts = tuple(replace(mount, bind_mount_options=None) for mount in container.volume_mounts)
    return replace(container, volume_mounts=mounts)


def _created_status(pod: Pod) -> PodStatus:
    """Keep a status that says a phase (a pod that runs already), else start anew with only the nominated node."""
    if pod.status.phase:
        return pod.status
    conditions = (_GATED,) if pod.spec.scheduling_gates else ()
    return PodStatus(
        phase="Pending",
        nominated_node_name=pod.status.nominated_node_name,
        conditions=conditions,
        resource_claim_statuses=pod.status.resource_claim_statuses,
    )
