"""Takes one pod off its node again, as if it were still to be scheduled."""

from __future__ import annotations

from nodewise.api.devices import EXTENDED_RESOURCE_CLAIM, ResourceClaim
from nodewise.api.objects import Pod, PodStatus, replace
from nodewise.cluster.object_set import ObjectSet


def unplace(objects: ObjectSet, pod: Pod) -> Pod:
    """Let a pod wait again in the cluster that it is part of, and return it as it is then.

    What it takes of its node is free, and so are the devices that nobody else uses; volumes that are bound stay bound,
    as they do when a pod is made anew.
    """
    waiting = replace(
        pod,
        spec=replace(pod.spec, node_name=""),
        status=PodStatus(phase="Pending", resource_claim_statuses=pod.status.resource_claim_statuses),
    )
    objects.pods = [waiting if other is pod else other for other in objects.pods]
    freed = [_without(obj, pod) if isinstance(obj, ResourceClaim) else obj for obj in objects.device_objects]
    objects.device_objects = [obj for obj in freed if obj is not None]
    return waiting


def _without(claim: ResourceClaim, pod: Pod) -> ResourceClaim | None:
    """Return a claim as it is when the pod is gone; None: it was made for the pod while that was scheduled."""
    consumers = claim.status.reserved_for
    others = tuple(consumer for consumer in consumers if consumer.uid != pod.metadata.uid)
    if len(others) == len(consumers):
        return claim
    if claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
        return None
    status = replace(claim.status, reserved_for=others)
    return replace(claim, status=status if others else replace(status, allocation=None, devices=()))
