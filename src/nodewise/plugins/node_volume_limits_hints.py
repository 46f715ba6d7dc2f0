"""Which events may let a pod fit that NodeVolumeLimits rejected."""

from __future__ import annotations

from nodewise.api.objects import Pod
from nodewise.api.storage import CSINode, CSINodeDriver, PersistentVolumeClaim, VolumeAttachment
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.volumes.csi_migration import driver_of_inline, in_tree_plugin
from nodewise.volumes.pod_claims import refers_to


def events_of_limits() -> list[ClusterEventWithHint]:
    """Return what the plugin registers (CSILimits.EventsToRegister)."""
    return [
        register(EventResource.CSI_NODE, ActionType.ADD),
        register(EventResource.CSI_NODE, ActionType.UPDATE, after_csi_node_update),
        register(EventResource.ASSIGNED_POD, ActionType.DELETE, after_pod_deletion),
        register(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_claim_addition),
        register(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, after_detachment),
    ]


def after_csi_node_update(pod: Pod, old: CSINode, new: CSINode) -> QueueingHint:
    """Queue when some driver can attach more volumes; without a count it counts as none."""
    before = {driver.name: _count(driver) for driver in old.spec.drivers}
    return QUEUE if any(_count(driver) > before.get(driver.name, 0) for driver in new.spec.drivers) else SKIP


def after_pod_deletion(pod: Pod, old: Pod, new: None) -> QueueingHint:
    """Queue when the deleted pod may have had a volume of a CSI driver attached."""
    return QUEUE if old.is_assigned_or_nominated and may_use_csi(old) else SKIP


def after_claim_addition(pod: Pod, old: None, new: PersistentVolumeClaim) -> QueueingHint:
    """Queue when the claim is the pod's, one that is made for it included."""
    return QUEUE if refers_to(pod, new, with_ephemeral=True) else SKIP


def after_detachment(pod: Pod, old: VolumeAttachment, new: None) -> QueueingHint:
    """Queue when the pod has a claim, whatever its driver, or a volume of its own of the driver that detached one.

    Claims that are made for the pod do not count, as they do not in kube-scheduler. A volume before the first one that
    counts that has no CSI form raises TranslationError.
    """
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return QUEUE
        if in_tree_plugin(volume) and driver_of_inline(volume) == old.spec.attacher:
            return QUEUE
    return SKIP


def may_use_csi(pod: Pod) -> bool:
    """Tell whether some volume of a pod may be a CSI driver's (CSILimits.PreFilter)."""
    return any(
        volume.persistent_volume_claim is not None or volume.ephemeral is not None or in_tree_plugin(volume)
        for volume in pod.spec.volumes
    )


def _count(driver: CSINodeDriver) -> int:
    return driver.allocatable.count or 0 if driver.allocatable is not None else 0
