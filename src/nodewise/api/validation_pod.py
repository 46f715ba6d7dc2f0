"""What an API server refuses in a pod or a pod template: containers, ports, volumes, tolerations and the rest."""

from __future__ import annotations

from nodewise.api.admission import DEFAULT_TOLERATIONS
from nodewise.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from nodewise.api.objects import Container, ContainerPort, Pod, PodResourceClaim, PodSpec, Toleration, Volume
from nodewise.api.validation_affinity import check_affinity, check_topology_spread
from nodewise.api.validation_names import (
    check_labels,
    check_metadata,
    dns_label_problems,
    dns_subdomain_problems,
    invalid_each,
    label_key_problems,
    label_value_problems,
    port_name_problems,
)
from nodewise.api.validation_pod_groups import check_scheduling_group
from nodewise.api.validation_resources import check_container_resources, check_overhead, check_pod_level_resources

PROTOCOLS = ("SCTP", "TCP", "UDP")
TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
RESTART_POLICIES = ("Always", "OnFailure", "Never")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")
_PORT_RANGE = "must be between 1 and 65535, inclusive"
_Volumes = frozenset[str]


def check_pod(pod: Pod) -> list[FieldError]:
    """Return what is wrong with an admitted pod (ValidatePodCreate); one with a uid was stored under older rules."""
    errors = check_metadata(pod.metadata)
    errors += check_pod_spec(pod.spec, "spec", is_stored=bool(pod.metadata.uid), is_template=False)
    if pod.spec.node_name and pod.spec.scheduling_gates:
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return errors


def check_pod_spec(
    spec: PodSpec, field: str, *, is_stored: bool, is_template: bool, extra_volumes: frozenset[str] = frozenset()
) -> list[FieldError]:
    """Return what is wrong with a pod spec; `extra_volumes` are those that a StatefulSet adds."""
    errors = _check_volumes(spec.volumes, f"{field}.volumes") if spec.volumes else []
    claim_names = frozenset(claim.name for claim in spec.resource_claims if claim.name)
    if spec.resource_claims:
        errors += _check_resource_claims(spec.resource_claims, f"{field}.resourceClaims")
    volumes = extra_volumes.union([volume.name for volume in spec.volumes])
    errors += _check_containers(spec, field, volumes, claim_names, is_stored=is_stored)
    if spec.resources is not None:
        errors += check_pod_level_resources(spec, claim_names, f"{field}.resources", is_stored=is_stored)
    if spec.host_network:
        errors += _check_host_network_ports(spec, field, is_template=is_template)
    if not spec.restart_policy:
        errors.append(required(f"{field}.restartPolicy"))
    elif spec.restart_policy not in RESTART_POLICIES:
        errors.append(not_supported(f"{field}.restartPolicy", spec.restart_policy, RESTART_POLICIES))
    if spec.node_selector:
        errors += check_labels(spec.node_selector, f"{field}.nodeSelector")
    if spec.affinity is not None:
        errors += check_affinity(spec.affinity, f"{field}.affinity", is_stored=is_stored)
    if spec.scheduling_gates:
        errors += _check_scheduling_gates(spec, f"{field}.schedulingGates")
    if spec.topology_spread_constraints:
        path = f"{field}.topologySpreadConstraints"
        errors += check_topology_spread(spec.topology_spread_constraints, path, is_stored=is_stored)
    if spec.node_name:
        errors += invalid_each(f"{field}.nodeName", spec.node_name, dns_subdomain_problems(spec.node_name))
    errors += _check_tolerations(spec.tolerations, f"{field}.tolerations")
    if spec.priority_class_name:
        problems = dns_subdomain_problems(spec.priority_class_name)
        errors += invalid_each(f"{field}.priorityClassName", spec.priority_class_name, problems)
    errors += check_preemption_policy(spec.preemption_policy, f"{field}.preemptionPolicy")
    if spec.scheduling_group is not None:
        errors += check_scheduling_group(spec.scheduling_group.pod_group_name, f"{field}.schedulingGroup")
    if spec.overhead:
        errors += check_overhead(spec.overhead, f"{field}.overhead", is_stored=is_stored)
    return errors


def check_preemption_policy(policy: str | None, field: str) -> list[FieldError]:
    """Return what is wrong with a preemption policy, of a pod or of a priority class."""
    if policy == "":
        return [required(field)]
    if policy is not None and policy not in PREEMPTION_POLICIES:
        return [not_supported(field, policy, PREEMPTION_POLICIES)]
    return []


def _check_containers(
    spec: PodSpec, field: str, volumes: _Volumes, claim_names: frozenset[str], *, is_stored: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    if not spec.containers:
        errors.append(required(f"{field}.containers"))
    names: set[str] = set()
    host_ports: set[str] = set()
    for kind, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            path = f"{field}.{kind}[{index}]"
            errors += _check_container(container, path, volumes, claim_names, is_stored=is_stored)
            if container.name in names:
                errors.append(duplicate(f"{path}.name", container.name))
            elif container.name:
                names.add(container.name)
            if container.ports:
                # Init containers run one by one, so each has the host ports for itself.
                taken = host_ports if kind == "containers" else set()
                errors += _check_host_ports(container.ports, f"{path}.ports", taken)
    return errors


def _check_container(
    container: Container, path: str, volumes: _Volumes, claim_names: frozenset[str], *, is_stored: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    if not container.name:
        errors.append(required(f"{path}.name"))
    elif problems := dns_label_problems(container.name):
        errors += invalid_each(f"{path}.name", container.name, problems)
    if not container.image:
        errors.append(required(f"{path}.image"))
    elif not is_stored and container.image != container.image.strip():
        errors.append(invalid(f"{path}.image", container.image, "must not have leading or trailing whitespace"))
    if container.ports:
        errors += _check_ports(container.ports, f"{path}.ports")
    if container.volume_mounts:
        errors += _check_volume_mounts(container, f"{path}.volumeMounts", volumes)
    errors += check_container_resources(container.resources, claim_names, f"{path}.resources", is_stored=is_stored)
    if container.restart_policy and container.restart_policy not in RESTART_POLICIES:
        supported = ("Always", "Never", "OnFailure")
        errors.append(not_supported(f"{path}.restartPolicy", container.restart_policy, supported))
    elif container.restart_policy_rules and not container.restart_policy:
        detail = "must specify restartPolicy when restart rules are used"
        errors.append(required(f"{path}.restartPolicy", detail))
    return errors


def _check_ports(ports: tuple[ContainerPort, ...], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        path = f"{field}[{index}]"
        if port.name:
            if problems := port_name_problems(port.name):
                errors += invalid_each(f"{path}.name", port.name, problems)
            elif port.name in names:
                errors.append(duplicate(f"{path}.name", port.name))
            names.add(port.name)
        if port.container_port == 0:
            errors.append(required(f"{path}.containerPort"))
        elif not 1 <= port.container_port <= 65535:
            errors.append(invalid(f"{path}.containerPort", port.container_port, _PORT_RANGE))
        if port.host_port != 0 and not 1 <= port.host_port <= 65535:
            errors.append(invalid(f"{path}.hostPort", port.host_port, _PORT_RANGE))
        if port.protocol not in PROTOCOLS:
            errors.append(not_supported(f"{path}.protocol", port.protocol, PROTOCOLS))
    return errors


def _check_host_ports(ports: tuple[ContainerPort, ...], field: str, taken: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, port in enumerate(ports):
        if port.host_port:
            key = f"{port.protocol}/{port.host_ip}/{port.host_port}"
            if key in taken:
                errors.append(duplicate(f"{field}[{index}].hostPort", key))
            taken.add(key)
    return errors


def _check_host_network_ports(spec: PodSpec, field: str, *, is_template: bool) -> list[FieldError]:
    return [
        invalid(
            f"{field}.containers[{index}].ports[{position}].hostPort",
            port.host_port,
            "must match `containerPort` when `hostNetwork` is true",
        )
        for index, container in enumerate(spec.containers)
        for position, port in enumerate(container.ports)
        if port.host_port != port.container_port and (port.host_port or not is_template)
    ]


def _check_volume_mounts(container: Container, field: str, volumes: _Volumes) -> list[FieldError]:
    errors: list[FieldError] = []
    paths: set[str] = set()
    for index, mount in enumerate(container.volume_mounts):
        if not mount.name:
            errors.append(required(f"{field}[{index}].name"))
        if mount.name not in volumes:
            errors.append(FieldError(f"{field}[{index}].name", f'Not found: "{mount.name}"'))
        if not mount.mount_path:
            errors.append(required(f"{field}[{index}].mountPath"))
        if mount.mount_path in paths:
            errors.append(invalid(f"{field}[{index}].mountPath", mount.mount_path, "must be unique"))
        paths.add(mount.mount_path)
    return errors


def _check_volumes(volumes: tuple[Volume, ...], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, volume in enumerate(volumes):
        path = f"{field}[{index}]"
        claim = volume.persistent_volume_claim
        if claim is not None and not claim.claim_name:
            errors.append(required(f"{path}.persistentVolumeClaim.claimName"))
        if not volume.name:
            errors.append(required(f"{path}.name"))
        elif problems := dns_label_problems(volume.name):
            errors += invalid_each(f"{path}.name", volume.name, problems)
        if volume.name in names:
            errors.append(duplicate(f"{path}.name", volume.name))
        names.add(volume.name)
    return errors


def _check_resource_claims(claims: tuple[PodResourceClaim, ...], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, claim in enumerate(claims):
        path = f"{field}[{index}]"
        if not claim.name:
            errors.append(required(f"{path}.name"))
        elif claim.name in names:
            errors.append(duplicate(f"{path}.name", claim.name))
        else:
            errors += invalid_each(f"{path}.name", claim.name, dns_label_problems(claim.name))
            names.add(claim.name)
        sources = (claim.resource_claim_name, claim.resource_claim_template_name)
        if sources.count(None) == 0:
            detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(FieldError(path, f"Invalid value: {detail}"))
        elif sources.count(None) == 2:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(FieldError(path, f"Invalid value: {detail}"))
    return errors


def _check_scheduling_gates(spec: PodSpec, field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, gate in enumerate(spec.scheduling_gates):
        errors += invalid_each(f"{field}[{index}]", gate.name, label_key_problems(gate.name))
        if gate.name in seen:
            errors.append(duplicate(f"{field}[{index}]", gate.name))
        seen.add(gate.name)
    return errors


def _check_tolerations(tolerations: tuple[Toleration, ...], field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, toleration in enumerate(tolerations):
        # Nearly every toleration in a cluster is one of the two that admission adds.
        if toleration not in DEFAULT_TOLERATIONS:
            errors += _check_toleration(toleration, f"{field}[{index}]")
    return errors


def _check_toleration(toleration: Toleration, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, value = toleration.operator, toleration.value
    if toleration.key:
        errors += invalid_each(f"{path}.key", toleration.key, label_key_problems(toleration.key))
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.append(invalid(f"{path}.operator", operator, detail))
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        errors.append(invalid(f"{path}.effect", toleration.effect, detail))
    if operator in ("Equal", ""):
        if problems := label_value_problems(value):
            errors.append(invalid(f"{path}.operator", value, ";".join(problems)))
    elif operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'"))
    elif operator not in ("Lt", "Gt"):
        # Lt and Gt are left to whoever has the feature gate TaintTolerationComparisonOperators on. A dump may come from
        # such a cluster; kube-scheduler takes these pods even with its own gate off, and then they tolerate nothing.
        errors.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
    if toleration.effect and toleration.effect not in TAINT_EFFECTS:
        errors.append(not_supported(f"{path}.effect", toleration.effect, TAINT_EFFECTS))
    return errors
