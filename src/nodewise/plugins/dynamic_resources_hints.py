"""Which events may let a pod fit that DynamicResources rejected or keeps out of the queue."""

from __future__ import annotations

from nodewise.api.devices import ResourceClaim
from nodewise.api.objects import Pod
from nodewise.devices.claims import ClaimError, claims_of
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.state.device_listers import DeviceListers


class DeviceHints:
    """Queueing hints of DynamicResources; the listers have the objects as they are after the event."""

    def __init__(self, listers: DeviceListers) -> None:
        self._listers = listers

    def events_to_register(self) -> list[ClusterEventWithHint]:
        """Return what the plugin registers (DynamicResources.EventsToRegister)."""
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        add_or_update = ActionType.ADD | ActionType.UPDATE
        return [
            register(EventResource.NODE, node_changes),
            register(EventResource.RESOURCE_CLAIM, add_or_update | ActionType.DELETE, self.after_claim_change),
            register(EventResource.TARGET_POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, self.after_own_change),
            register(EventResource.DEVICE_CLASS, add_or_update),
            register(EventResource.RESOURCE_SLICE, add_or_update),
        ]

    def after_claim_change(self, pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None) -> QueueingHint:
        """Queue when devices came free, or when a claim of the pod came or changed its status.

        Neither counts as long as some claim of the pod cannot be used; a deleted claim counts if it had devices.
        """
        if new is None:
            assert old is not None
            return QUEUE if old.status.allocation is not None else SKIP
        try:
            claims = claims_of(pod, self._listers)
        except ClaimError:
            return SKIP
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return QUEUE
        if all(claim.metadata.uid != new.metadata.uid for claim in claims):
            return SKIP
        return SKIP if old is not None and old.status == new.status else QUEUE

    def after_own_change(self, pod: Pod, old: Pod | None, new: Pod) -> QueueingHint:
        """Queue when all claims of the pod can be used."""
        try:
            claims_of(new, self._listers)
        except ClaimError:
            return SKIP
        return QUEUE
