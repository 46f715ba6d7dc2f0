"""What an API server would refuse in any object read here: the first rule set an input has to pass."""

from __future__ import annotations

from nodewise.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from nodewise.api.objects import (
    AnyObject,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobSpec,
    LabelSelector,
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PodGroupObject,
    PodTemplateSpec,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageObject,
)
from nodewise.api.selectors import Selector
from nodewise.api.validation_names import (
    check_label_selector,
    check_labels,
    check_metadata,
    invalid_each,
    label_key_problems,
    label_value_problems,
)
from nodewise.api.validation_pod import TAINT_EFFECTS, check_pod, check_pod_spec, check_preemption_policy
from nodewise.api.validation_pod_groups import check_pod_group
from nodewise.api.validation_resources import check_node_amounts
from nodewise.api.validation_storage import check_storage
from nodewise.errors import SelectorError

HIGHEST_USER_PRIORITY = 1_000_000_000
_SYSTEM_PREFIX = "system-"
_SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_NOT_NEGATIVE = "must be greater than or equal to 0"
_WORKLOAD_WORDS = {Deployment: "deployment", StatefulSet: "statefulset", DaemonSet: "daemonset"}


def validate_object(obj: AnyObject) -> list[FieldError]:
    """Return everything that is wrong with a defaulted (and, for a pod, admitted) object, by field."""
    if isinstance(obj, Pod):
        return check_pod(obj)
    errors = check_metadata(obj.metadata, is_label_name=isinstance(obj, (Namespace, Service)))
    if isinstance(obj, Node):
        errors += _check_node(obj)
    elif isinstance(obj, PriorityClass):
        errors += _check_priority_class(obj)
    elif isinstance(obj, PodDisruptionBudget):
        errors += check_label_selector(obj.spec.selector, "spec.selector", any_value=bool(obj.metadata.uid))
        if obj.status.disruptions_allowed < 0:
            value = obj.status.disruptions_allowed
            errors.append(invalid("status.disruptionsAllowed", value, _NOT_NEGATIVE))
    elif isinstance(obj, StorageObject):
        errors += check_storage(obj)
    elif isinstance(obj, PodGroupObject):
        errors += check_pod_group(obj)
    elif isinstance(obj, Service):
        errors += check_labels(obj.spec.selector, "spec.selector")
    elif isinstance(obj, ReplicationController):
        errors += _check_replication_controller(obj)
    elif isinstance(obj, (Deployment, ReplicaSet, StatefulSet, DaemonSet)):
        errors += _check_workload(obj)
    elif isinstance(obj, Job):
        errors += _check_job_spec(obj.spec, "spec", is_stored=bool(obj.metadata.uid))
    elif isinstance(obj, CronJob):
        path = "spec.jobTemplate.spec"
        errors += _check_job_spec(obj.spec.job_template.spec, path, is_stored=bool(obj.metadata.uid))
    return errors


def _check_node(node: Node) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(node.spec.taints):
        path = f"spec.taints[{index}]"
        errors += invalid_each(f"{path}.key", taint.key, label_key_problems(taint.key))
        if problems := label_value_problems(taint.value):
            errors.append(invalid(f"{path}.value", taint.value, ";".join(problems)))
        if not taint.effect:
            errors.append(required(f"{path}.effect"))
        elif taint.effect not in TAINT_EFFECTS:
            errors.append(not_supported(f"{path}.effect", taint.effect, TAINT_EFFECTS))
        if (taint.key, taint.effect) in seen:
            shown = f"{taint.key}={taint.value}:{taint.effect}"
            detail = f'Duplicate value: "{shown}": taints must be unique by key and effect pair'
            errors.append(FieldError(path, detail))
        seen.add((taint.key, taint.effect))
    errors += check_node_amounts(node.status.capacity, "status.capacity")
    if node.status.allocatable is not node.status.capacity:
        errors += check_node_amounts(node.status.allocatable, "status.allocatable")
    return errors


def _check_priority_class(priority_class: PriorityClass) -> list[FieldError]:
    errors: list[FieldError] = []
    name, value = priority_class.metadata.name, priority_class.value
    if name.startswith(_SYSTEM_PREFIX):
        problem = ""
        if name not in _SYSTEM_PRIORITIES:
            problem = f"{name} is not a known system priority class"
        elif value != _SYSTEM_PRIORITIES[name]:
            problem = f"value of {name} PriorityClass must be {_SYSTEM_PRIORITIES[name]}"
        elif priority_class.global_default:
            problem = f"globalDefault of {name} PriorityClass must be false"
        if problem:
            detail = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only"
            errors.append(forbidden("metadata.name", f"{detail}. error: {problem}"))
    elif value > HIGHEST_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        errors.append(forbidden("value", detail))
    return errors + check_preemption_policy(priority_class.preemption_policy, "preemptionPolicy")


def _check_replication_controller(controller: ReplicationController) -> list[FieldError]:
    spec = controller.spec
    errors: list[FieldError] = []
    if not spec.selector:
        errors.append(required("spec.selector"))
    if (spec.replicas or 0) < 0:
        errors.append(invalid("spec.replicas", spec.replicas, _NOT_NEGATIVE))
    if spec.template is None:
        errors.append(required("spec.template"))
        return errors
    selector = LabelSelector(match_labels=spec.selector or {})
    return errors + _check_template(
        spec.template, selector, "spec.template", is_stored=bool(controller.metadata.uid), needs_always=True
    )


def _check_workload(workload: Deployment | ReplicaSet | StatefulSet | DaemonSet) -> list[FieldError]:
    spec = workload.spec
    errors: list[FieldError] = []
    is_stored = bool(workload.metadata.uid)
    if (spec.replicas or 0) < 0:
        errors.append(invalid("spec.replicas", spec.replicas, _NOT_NEGATIVE))
    if spec.ordinals is not None and spec.ordinals.start < 0:
        errors.append(invalid("spec.ordinals.start", spec.ordinals.start, _NOT_NEGATIVE))
    if spec.selector is None:
        errors.append(required("spec.selector"))
    elif spec.selector == LabelSelector():
        word = _WORKLOAD_WORDS.get(type(workload), "replicaset")
        errors.append(FieldError("spec.selector", f"Invalid value: {{}}: empty selector is invalid for {word}"))
    else:
        errors += check_label_selector(spec.selector, "spec.selector", any_value=is_stored)
    claims = frozenset(claim.metadata.name for claim in spec.volume_claim_templates)
    return errors + _check_template(
        spec.template, spec.selector, "spec.template", is_stored=is_stored, needs_always=True, extra_volumes=claims
    )


def _check_job_spec(spec: JobSpec, field: str, *, is_stored: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for value, name in ((spec.parallelism, "parallelism"), (spec.completions, "completions")):
        if (value or 0) < 0:
            errors.append(invalid(f"{field}.{name}", value, _NOT_NEGATIVE))
    if spec.completion_mode not in ("NonIndexed", "Indexed"):
        errors.append(not_supported(f"{field}.completionMode", spec.completion_mode, ("Indexed", "NonIndexed")))
    elif spec.completion_mode == "Indexed" and spec.completions is None:
        errors.append(required(f"{field}.completions", "when completion mode is Indexed"))
    policy = spec.template.spec.restart_policy
    if policy not in ("OnFailure", "Never"):
        path = f"{field}.template.spec.restartPolicy"
        errors.append(FieldError(path, f'Required value: valid values: "OnFailure", "Never", found "{policy}"'))
    return errors + _check_template(spec.template, None, f"{field}.template", is_stored=is_stored, needs_always=False)


def _check_template(
    template: PodTemplateSpec,
    selector: LabelSelector | None,
    field: str,
    *,
    is_stored: bool,
    needs_always: bool,
    extra_volumes: frozenset[str] = frozenset(),
) -> list[FieldError]:
    """Check a pod template, and that the controller's selector finds the pods made of it."""
    labels = template.metadata.labels
    errors = check_labels(labels, f"{field}.metadata.labels")
    if selector is not None and not _selects(selector, labels):
        shown = "{" + ", ".join(f'"{key}": "{value}"' for key, value in labels.items()) + "}"
        detail = "`selector` does not match template `labels`"
        errors.append(FieldError(f"{field}.metadata.labels", f"Invalid value: {shown}: {detail}"))
    errors += check_pod_spec(
        template.spec, f"{field}.spec", is_stored=is_stored, is_template=True, extra_volumes=extra_volumes
    )
    policy = template.spec.restart_policy
    if needs_always and policy in ("OnFailure", "Never"):
        errors.append(not_supported(f"{field}.spec.restartPolicy", policy, ("Always",)))
    return errors


def _selects(selector: LabelSelector, labels: dict[str, str]) -> bool:
    try:
        return Selector.from_label_selector(selector).matches(labels)
    except SelectorError:
        return True  # what is wrong with the selector has been said already
