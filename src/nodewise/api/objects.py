"""The Kubernetes objects that scheduling reads, as typed structs with only the fields that it reads.

Every field has the API's name and the API's zero value, so an absent field and its Go zero value are the same thing.
Lists are tuples and structs are frozen: a part of a spec can be a dictionary key. Amounts keep their text until
`nodewise.api.quantity` reads them exactly.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import field

from nodewise.api.devices import DeviceObject, PodResourceClaimStatus
from nodewise.api.meta import (
    Int32 as Int32,
    Int64 as Int64,
    LabelSelector as LabelSelector,
    LabelSelectorRequirement as LabelSelectorRequirement,
    NodeSelector as NodeSelector,
    NodeSelectorRequirement as NodeSelectorRequirement,
    NodeSelectorTerm as NodeSelectorTerm,
    Object as Object,
    ObjectMeta as ObjectMeta,
    OwnerReference as OwnerReference,
    ResourceList as ResourceList,
    Time as Time,
)
from nodewise.api.pod_groups import PodGroupObject as PodGroupObject
from nodewise.api.storage import (
    ISCSI,
    RBD,
    AWSElasticBlockStore,
    AzureDisk,
    Cinder,
    EphemeralVolumeSource,
    GCEPersistentDisk,
    InlineCSIVolume,
    OtherSource,
    PersistentVolumeClaimTemplate,
    PortworxVolume,
    StorageObject as StorageObject,
)

# --- affinity, tolerations, spreading ---------------------------------------------------------------------------------


class PreferredSchedulingTerm(Object, frozen=True):
    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Object, frozen=True):
    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Object, frozen=True):
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Object, frozen=True):
    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Object, frozen=True):
    """The shape of both podAffinity and podAntiAffinity."""

    required: tuple[PodAffinityTerm, ...] = field(default=(), name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


T = TypeVar("T", bound=msgspec.Struct)


class Affinity(Object, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Object, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class TopologySpreadConstraint(Object, frozen=True):
    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


# --- pod --------------------------------------------------------------------------------------------------------------


class ContainerPort(Object, frozen=True):
    name: str = ""
    container_port: Int32 = 0
    host_port: Int32 = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class ResourceClaimUse(Object, frozen=True):
    name: str = ""
    request: str = ""


class ResourceRequirements(Object, frozen=True):
    requests: ResourceList = {}
    limits: ResourceList = {}
    claims: tuple[ResourceClaimUse, ...] = ()


class ContainerRestartRule(Object, frozen=True):
    action: str = ""


class VolumeMount(Object, frozen=True):
    name: str = ""
    mount_path: str = ""
    bind_mount_options: Any = None


class Container(Object, frozen=True):
    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class PersistentVolumeClaimVolumeSource(Object, frozen=True):
    claim_name: str = ""
    read_only: bool = False


class ImageVolumeSource(Object, frozen=True):
    reference: str = ""


class Volume(Object, frozen=True):
    """A pod volume; sources that no scheduler rule reads are not kept."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: OtherSource | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: OtherSource | None = None
    rbd: RBD | None = None
    iscsi: ISCSI | None = None
    csi: InlineCSIVolume | None = None


class PodSchedulingGate(Object, frozen=True):
    name: str = ""


class PodResourceClaim(Object, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Object, frozen=True):
    pod_group_name: str | None = None


class PodSpec(Object, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduler_name: str = ""
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    overhead: ResourceList = {}
    resources: ResourceRequirements | None = None
    host_network: bool = False
    host_users: bool | None = None
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None

    @property
    def pod_group_name(self) -> str | None:
        """The name of the pod group that the pod belongs to."""
        return self.scheduling_group.pod_group_name if self.scheduling_group is not None else None


class PodCondition(Object, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class ContainerStatus(Object, frozen=True):
    name: str = ""
    allocated_resources: ResourceList | None = None
    resources: ResourceRequirements | None = None


class ContainerExtendedResourceRequest(Object, frozen=True):
    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Object, frozen=True):
    """Which claim was made for the extended resources of a pod that devices stand for."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class PodStatus(Object, frozen=True):
    phase: str = ""
    nominated_node_name: str = ""
    start_time: Time | None = None
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: ResourceList | None = None
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None


class Pod(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def priority(self) -> int:
        """spec.priority, 0 when unset (corev1helpers.PodPriority)."""
        return self.spec.priority or 0

    @property
    def is_terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def is_assigned_or_nominated(self) -> bool:
        """Whether room on some node is taken, or kept, for it."""
        return bool(self.spec.node_name or self.status.nominated_node_name)


# --- node -------------------------------------------------------------------------------------------------------------


class Taint(Object, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodePodPreemptionPolicy(Object, frozen=True):
    disable_resize_preemption: tuple[str, ...] = ()


class NodeSpec(Object, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    pod_preemption_policy: NodePodPreemptionPolicy | None = None


class ContainerImage(Object, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeCondition(Object, frozen=True):
    type: str = ""
    status: str = ""


class NodeStatus(Object, frozen=True):
    capacity: ResourceList = {}
    allocatable: ResourceList | None = None
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        return self.metadata.name


# --- what else decides where pods go ----------------------------------------------------------------------------------


class Namespace(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class PriorityClass(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None


class PodDisruptionBudgetSpec(Object, frozen=True):
    selector: LabelSelector | None = None


class PodDisruptionBudgetStatus(Object, frozen=True):
    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, Any] = {}


class PodDisruptionBudget(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class ServiceSpec(Object, frozen=True):
    selector: dict[str, str] | None = None


class Service(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


# --- workloads --------------------------------------------------------------------------------------------------------


class PodTemplateSpec(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class ReplicationControllerSpec(Object, frozen=True):
    replicas: Int32 | None = None
    selector: dict[str, str] | None = None
    template: PodTemplateSpec | None = None


class ReplicationController(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class StatefulSetOrdinals(Object, frozen=True):
    start: Int32 = 0


class WorkloadSpec(Object, frozen=True):
    """The shared shape of Deployment, ReplicaSet, StatefulSet and DaemonSet specs."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    paused: bool = False
    ordinals: StatefulSetOrdinals | None = None
    volume_claim_templates: tuple[PersistentVolumeClaimTemplate, ...] = ()


class Deployment(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class ReplicaSet(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class StatefulSet(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class DaemonSet(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class JobSpec(Object, frozen=True):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str = ""
    suspend: bool = False
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class JobStatus(Object, frozen=True):
    succeeded: Int32 = 0
    completed_indexes: str = ""
    conditions: tuple[PodCondition, ...] = ()


class Job(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplateSpec(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(Object, frozen=True):
    suspend: bool = False
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJob(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()


AnyObject = (
    Pod
    | Node
    | Namespace
    | PriorityClass
    | PodDisruptionBudget
    | Service
    | DeviceObject
    | PodGroupObject
    | ReplicationController
    | ReplicaSet
    | StatefulSet
    | Deployment
    | DaemonSet
    | Job
    | CronJob
    | StorageObject
)


def replace(obj: T, **changes: Any) -> T:
    """Return a copy of a frozen struct with some fields changed."""
    return msgspec.structs.replace(obj, **changes)
