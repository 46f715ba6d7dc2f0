"""Volumes, claims and what the cluster says about storage, as typed structs with only the fields scheduling reads."""

from __future__ import annotations

from typing import Any

from msgspec import field

from nodewise.api.meta import Int32, LabelSelector, NodeSelector, Object, ObjectMeta, ResourceList

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"
STORAGE = "storage"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


# --- where the data is ------------------------------------------------------------------------------------------------


class GCEPersistentDisk(Object, frozen=True):
    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Object, frozen=True):
    volume_id: str = field(default="", name="volumeID")


class ISCSI(Object, frozen=True):
    iqn: str = ""
    read_only: bool = False


class RBD(Object, frozen=True):
    monitors: tuple[str, ...] = ()
    pool: str = ""
    image: str = ""
    read_only: bool = False


class AzureDisk(Object, frozen=True):
    disk_uri: str = field(default="", name="diskURI")
    kind: str | None = None


class Cinder(Object, frozen=True):
    volume_id: str = field(default="", name="volumeID")


class PortworxVolume(Object, frozen=True):
    volume_id: str = field(default="", name="volumeID")


class OtherSource(Object, frozen=True):
    """A source of which only its presence counts."""


class InlineCSIVolume(Object, frozen=True):
    """A volume that a CSI driver makes for one pod."""

    driver: str = ""


class CSISource(Object, frozen=True):
    driver: str = ""
    volume_handle: str = ""


# --- claims -----------------------------------------------------------------------------------------------------------


class VolumeResources(Object, frozen=True):
    requests: ResourceList = {}
    limits: ResourceList = {}


class PersistentVolumeClaimSpec(Object, frozen=True):
    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResources = VolumeResources()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimStatus(Object, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def class_name(self) -> str:
        """Its storage class, by annotation or field, "" for none (GetPersistentVolumeClaimClass)."""
        annotated = self.metadata.annotations.get(_CLASS_ANNOTATION)
        return annotated if annotated is not None else self.spec.storage_class_name or ""


class PersistentVolumeClaimTemplate(Object, frozen=True):
    """What claims are made of: by a pod's ephemeral volume, and by a StatefulSet."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Object, frozen=True):
    volume_claim_template: PersistentVolumeClaimTemplate | None = None


# --- volumes ----------------------------------------------------------------------------------------------------------


class ClaimReference(Object, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""


class VolumeNodeAffinity(Object, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(Object, frozen=True):
    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSISource | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: AzureDisk | None = None
    azure_file: OtherSource | None = None
    cinder: Cinder | None = None
    portworx_volume: PortworxVolume | None = None
    vsphere_volume: OtherSource | None = None


class PersistentVolumeStatus(Object, frozen=True):
    phase: str = ""


class PersistentVolume(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()

    @property
    def class_name(self) -> str:
        """Its storage class, by annotation or field, "" for none (GetPersistentVolumeClass)."""
        annotated = self.metadata.annotations.get(_CLASS_ANNOTATION)
        return annotated if annotated is not None else self.spec.storage_class_name


# --- what the cluster offers ------------------------------------------------------------------------------------------


class TopologySelectorLabelRequirement(Object, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Object, frozen=True):
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Object, frozen=True):
    count: Int32 | None = None


class CSINodeDriver(Object, frozen=True):
    name: str = ""
    node_id: str = field(default="", name="nodeID")
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Object, frozen=True):
    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Object, frozen=True):
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: Any = None
    maximum_volume_size: Any = None


class VolumeAttachmentSource(Object, frozen=True):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Object, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()


StorageObject = (
    PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)
