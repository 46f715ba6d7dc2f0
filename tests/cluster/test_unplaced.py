"""A pod that has a node waits again, and what it took is free."""

from dataclasses import dataclass
from typing import Any

from nodewise.api.devices import (
    EXTENDED_RESOURCE_CLAIM,
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from nodewise.api.objects import ObjectMeta, Pod, replace
from nodewise.cluster.object_set import ObjectSet
from nodewise.cluster.unplaced import unplace
from nodewise.testing.builders import make_pod


@dataclass
class Taken:
    """A cluster whose pod `web` is on a node, after that was taken back."""

    objects: ObjectSet
    pod: Pod

    @property
    def claims(self) -> list[Any]:
        return self.objects.device_objects


def taken_back(*claims: ResourceClaim) -> Taken:
    pod = make_pod("web", node="n1")
    pod = replace(pod, metadata=replace(pod.metadata, uid="u-web"))
    objects = ObjectSet(pods=[make_pod("other", node="n1"), pod], device_objects=list(claims))
    return Taken(objects, unplace(objects, pod))


def claim(*uids: str, annotations: dict[str, str] | None = None) -> ResourceClaim:
    consumers = tuple(ResourceClaimConsumerReference(resource="pods", name=uid, uid=uid) for uid in uids)
    metadata = ObjectMeta(name="gpu", namespace="default", annotations=annotations or {})
    return ResourceClaim(metadata, status=ResourceClaimStatus(AllocationResult(), consumers))


def test_the_pod_has_no_node_any_more_and_others_keep_theirs() -> None:
    taken = taken_back()
    assert [pod.spec.node_name for pod in taken.objects.pods] == ["n1", ""]
    assert taken.objects.pods[1] is taken.pod
    assert taken.pod.status.phase == "Pending"


def test_devices_that_only_the_pod_uses_are_free() -> None:
    (freed,) = taken_back(claim("u-web")).claims
    assert (freed.status.allocation, freed.status.reserved_for) == (None, ())


def test_devices_that_others_use_too_stay_given() -> None:
    (shared,) = taken_back(claim("u-web", "u-other")).claims
    assert shared.status.allocation is not None
    assert [consumer.uid for consumer in shared.status.reserved_for] == ["u-other"]


def test_the_claim_that_was_made_for_the_pods_extended_resources_is_gone() -> None:
    assert taken_back(claim("u-web", annotations={EXTENDED_RESOURCE_CLAIM: "true"})).claims == []


def test_claims_of_others_stay_as_they_are() -> None:
    theirs = claim("u-other")
    assert taken_back(theirs).claims == [theirs]
