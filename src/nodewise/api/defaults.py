"""The defaults that an API server fills in whenever it decodes an object, stored or new."""

from __future__ import annotations

from typing import Any

from nodewise.api.defaults_devices import default_device_object
from nodewise.api.defaults_storage import default_claim_template, default_pod_volumes, default_storage
from nodewise.api.devices import DeviceObject
from nodewise.api.objects import (
    AnyObject,
    Container,
    ContainerStatus,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobSpec,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    ResourceRequirements,
    StatefulSet,
    StorageObject,
    replace,
)
from nodewise.api.rounding import rounded

DEFAULT_GRACE_PERIOD_S = 30
DEFAULT_SCHEDULER_NAME = "default-scheduler"
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
# What a policy/v1beta1 budget with an empty selector is stored with: it matches no pod.
_MATCHES_NO_POD = LabelSelectorRequirement("pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match", "Exists", ())


def default_object(obj: AnyObject, api_version: str = "") -> AnyObject:
    """Return the object with API defaults filled in; itself when there are none to fill in.

    Raises
    ------
    InvalidFieldError
        When an amount is not a quantity.
    """
    if isinstance(obj, Pod):
        return default_pod(obj)
    if isinstance(obj, Node):
        return _default_node(obj)
    if isinstance(obj, Namespace):
        labels = {**obj.metadata.labels, NAMESPACE_NAME_LABEL: obj.metadata.name}
        return Namespace(replace(obj.metadata, labels=labels))
    if isinstance(obj, PriorityClass) and obj.preemption_policy is None:
        return replace(obj, preemption_policy="PreemptLowerPriority")
    if isinstance(obj, PodDisruptionBudget):
        if api_version != "policy/v1beta1" or obj.spec.selector != LabelSelector():
            return obj
        selector = LabelSelector(match_expressions=(_MATCHES_NO_POD,))
        return PodDisruptionBudget(obj.metadata, replace(obj.spec, selector=selector), obj.status)
    if isinstance(obj, ReplicationController):
        return _default_replication_controller(obj)
    if isinstance(obj, (ReplicaSet, StatefulSet, Deployment, DaemonSet)):
        template = _default_template(obj.spec.template, "spec.template")
        replicas = 1 if obj.spec.replicas is None else obj.spec.replicas
        changes: dict[str, Any] = {"replicas": replicas, "template": template}
        if obj.spec.volume_claim_templates:
            changes["volume_claim_templates"] = tuple(
                default_claim_template(claim, f"spec.volumeClaimTemplates[{index}]")
                for index, claim in enumerate(obj.spec.volume_claim_templates)
            )
        return replace(obj, spec=replace(obj.spec, **changes))
    if isinstance(obj, Job):
        return replace(obj, spec=_default_job_spec(obj.spec, "spec"))
    if isinstance(obj, StorageObject):
        return default_storage(obj)
    if isinstance(obj, DeviceObject):
        return default_device_object(obj)
    if isinstance(obj, CronJob):
        job_template = obj.spec.job_template
        job_template = replace(job_template, spec=_default_job_spec(job_template.spec, "spec.jobTemplate.spec"))
        return replace(obj, spec=replace(obj.spec, job_template=job_template))
    return obj


def default_pod(pod: Pod) -> Pod:
    """Fill in a pod: rounded amounts, requests from limits, ports, scheduler name (SetObjectDefaults_Pod)."""
    spec = default_pod_spec(pod.spec, is_template=False)
    status = _default_pod_status(pod.status)
    if spec is pod.spec and status is pod.status:
        return pod
    return Pod(pod.metadata, spec, status)


def default_pod_spec(spec: PodSpec, path: str = "spec", *, is_template: bool) -> PodSpec:
    """Fill in a pod spec; a template's requests and host ports wait until a pod is made of it."""
    changes: dict[str, Any] = {}
    for field, api_field in (("containers", "containers"), ("init_containers", "initContainers")):
        containers = getattr(spec, field)
        defaulted = tuple(
            _default_container(
                container,
                f"{path}.{api_field}[{index}]",
                is_template=is_template,
                host_network=spec.host_network,
            )
            for index, container in enumerate(containers)
        )
        if any(new is not old for new, old in zip(defaulted, containers, strict=True)):
            changes[field] = defaulted
    if spec.overhead and (overhead := rounded(spec.overhead, f"{path}.overhead")) is not spec.overhead:
        changes["overhead"] = overhead
    if spec.resources is not None:
        resources = _rounded_requirements(spec.resources, f"{path}.resources")
        if resources is not spec.resources:
            changes["resources"] = resources
    if spec.volumes and (volumes := default_pod_volumes(spec.volumes, f"{path}.volumes")) is not spec.volumes:
        changes["volumes"] = volumes
    if not spec.scheduler_name:
        changes["scheduler_name"] = DEFAULT_SCHEDULER_NAME
    if not spec.restart_policy:
        changes["restart_policy"] = "Always"
    if spec.termination_grace_period_seconds is None:
        changes["termination_grace_period_seconds"] = DEFAULT_GRACE_PERIOD_S
    return replace(spec, **changes) if changes else spec


def _default_container(container: Container, path: str, *, is_template: bool, host_network: bool) -> Container:
    changes: dict[str, Any] = {}
    requirements = container.resources
    if requirements.requests or requirements.limits:
        requirements = _rounded_requirements(requirements, f"{path}.resources")
        if not is_template and not requirements.limits.keys() <= requirements.requests.keys():
            requests = {**requirements.limits, **requirements.requests}
            requirements = replace(requirements, requests=requests)
        if requirements is not container.resources:
            changes["resources"] = requirements
    uses_host_ports = host_network and not is_template
    if any(not port.protocol or (uses_host_ports and not port.host_port) for port in container.ports):
        changes["ports"] = tuple(
            replace(
                port,
                protocol=port.protocol or "TCP",
                host_port=port.host_port or (port.container_port if uses_host_ports else 0),
            )
            for port in container.ports
        )
    return replace(container, **changes) if changes else container


def _rounded_requirements(requirements: ResourceRequirements, path: str) -> ResourceRequirements:
    requests = rounded(requirements.requests, f"{path}.requests") if requirements.requests else requirements.requests
    limits = rounded(requirements.limits, f"{path}.limits") if requirements.limits else requirements.limits
    if requests is requirements.requests and limits is requirements.limits:
        return requirements
    return replace(requirements, requests=requests, limits=limits)


def _default_pod_status(status: PodStatus) -> PodStatus:
    changes: dict[str, Any] = {}
    for field, api_field in (
        ("container_statuses", "containerStatuses"),
        ("init_container_statuses", "initContainerStatuses"),
    ):
        old = getattr(status, field)
        if any(item.allocated_resources or item.resources for item in old):
            new = tuple(_default_container_status(s, f"status.{api_field}[{i}]") for i, s in enumerate(old))
            if any(a is not b for a, b in zip(new, old, strict=True)):
                changes[field] = new
    if status.resources is not None:
        changes["resources"] = _rounded_requirements(status.resources, "status.resources")
    if status.allocated_resources:
        changes["allocated_resources"] = rounded(status.allocated_resources, "status.allocatedResources")
    return replace(status, **changes) if changes else status


def _default_container_status(status: ContainerStatus, path: str) -> ContainerStatus:
    allocated, resources = status.allocated_resources, status.resources
    if allocated:
        allocated = rounded(allocated, f"{path}.allocatedResources")
    if resources is not None:
        resources = _rounded_requirements(resources, f"{path}.resources")
    if allocated is status.allocated_resources and resources is status.resources:
        return status
    return ContainerStatus(status.name, allocated, resources)


def _default_node(node: Node) -> Node:
    capacity = rounded(node.status.capacity, "status.capacity")
    allocatable = node.status.allocatable
    if allocatable is not None:
        allocatable = rounded(allocatable, "status.allocatable")
    elif capacity:
        allocatable = capacity
    if capacity is node.status.capacity and allocatable is node.status.allocatable:
        return node
    return replace(node, status=replace(node.status, capacity=capacity, allocatable=allocatable))


def _default_replication_controller(controller: ReplicationController) -> ReplicationController:
    spec, metadata = controller.spec, controller.metadata
    template = spec.template
    labels = template.metadata.labels if template is not None else {}
    if labels and not metadata.labels:
        metadata = replace(metadata, labels=labels)
    spec = replace(
        spec,
        replicas=1 if spec.replicas is None else spec.replicas,
        selector=spec.selector or labels or spec.selector,
        template=_default_template(template, "spec.template") if template is not None else None,
    )
    return ReplicationController(metadata, spec)


def _default_job_spec(spec: JobSpec, path: str) -> JobSpec:
    completions, parallelism = spec.completions, spec.parallelism
    if completions is None and parallelism is None:
        completions = 1
    return replace(
        spec,
        completions=completions,
        parallelism=1 if parallelism is None else parallelism,
        completion_mode=spec.completion_mode or "NonIndexed",
        template=_default_template(spec.template, f"{path}.template"),
    )


def _default_template(template: PodTemplateSpec, path: str) -> PodTemplateSpec:
    spec = default_pod_spec(template.spec, f"{path}.spec", is_template=True)
    return template if spec is template.spec else replace(template, spec=spec)
