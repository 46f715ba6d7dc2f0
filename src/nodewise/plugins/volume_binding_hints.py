"""Which events may let a pod fit that VolumeBinding rejected."""

from __future__ import annotations

from nodewise.api.objects import Pod
from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.api.storage import CSIDriver, CSINode, CSIStorageCapacity, PersistentVolumeClaim, StorageClass
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.volumes.csi_migration import MIGRATED_PLUGINS
from nodewise.volumes.pod_claims import refers_to

_ADD_OR_UPDATE = ActionType.ADD | ActionType.UPDATE


def events_of_binding() -> list[ClusterEventWithHint]:
    """Return what the plugin registers (VolumeBinding.EventsToRegister)."""
    return [
        register(EventResource.STORAGE_CLASS, _ADD_OR_UPDATE, after_class_change),
        register(EventResource.PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE, after_claim_change),
        register(EventResource.PERSISTENT_VOLUME, _ADD_OR_UPDATE),
        register(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
        register(EventResource.CSI_NODE, _ADD_OR_UPDATE, after_csi_node_change),
        register(EventResource.CSI_DRIVER, ActionType.UPDATE, after_driver_change),
        register(EventResource.CSI_STORAGE_CAPACITY, _ADD_OR_UPDATE, after_capacity_change),
    ]


def after_class_change(pod: Pod, old: StorageClass | None, new: StorageClass) -> QueueingHint:
    """Queue when the class is new, or allows other topologies."""
    return SKIP if old is not None and old.allowed_topologies == new.allowed_topologies else QUEUE


def after_claim_change(pod: Pod, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim) -> QueueingHint:
    """Queue when the claim is the pod's, one that is made for it included."""
    return QUEUE if refers_to(pod, new, with_ephemeral=True) else SKIP


def after_csi_node_change(pod: Pod, old: CSINode | None, new: CSINode) -> QueueingHint:
    """Queue when the CSINode is new, or has moved other plugins to CSI."""
    if old is None:
        return QUEUE
    before, now = old.metadata.annotations, new.metadata.annotations
    return QUEUE if before.get(MIGRATED_PLUGINS, "") != now.get(MIGRATED_PLUGINS, "") else SKIP


def after_driver_change(pod: Pod, old: CSIDriver, new: CSIDriver) -> QueueingHint:
    """Queue when a driver stopped to tell how much room it has, and the pod has a volume of that driver inline.

    Claims of the driver do not count, as they do not in kube-scheduler.
    """
    if not old.spec.storage_capacity or new.spec.storage_capacity:
        return SKIP
    is_used = any(volume.csi is not None and volume.csi.driver == new.metadata.name for volume in pod.spec.volumes)
    return QUEUE if is_used else SKIP


def after_capacity_change(pod: Pod, old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> QueueingHint:
    """Queue when the capacity is new, or allows for larger volumes."""
    if old is None:
        return QUEUE
    before, now = _limit(old), _limit(new)
    return QUEUE if now is not None and (before is None or now.value() > before.value()) else SKIP


def _limit(capacity: CSIStorageCapacity) -> Quantity | None:
    """Return how large a volume can be (volumeLimit)."""
    found = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if found is None else parse_quantity(found)
