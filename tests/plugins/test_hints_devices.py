"""Hints of DynamicResources."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from nodewise.api.devices import (
    AllocatedDeviceStatus,
    AllocationResult,
    PodResourceClaimStatus,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from nodewise.api.objects import ObjectMeta, OwnerReference, Pod, PodResourceClaim, PodStatus, replace
from nodewise.framework.events import QUEUE, SKIP, ActionType, ClusterEvent, EventResource, QueueingHint
from nodewise.testing.builders import FakeHandle, make_pod
from tests.plugins.hints import ask, make_plugin

ADDED, UPDATED, DELETED = (
    ClusterEvent(EventResource.RESOURCE_CLAIM, action)
    for action in (ActionType.ADD, ActionType.UPDATE, ActionType.DELETE)
)
OWN_CLAIM = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)


def claim(name: str, **status: Any) -> ResourceClaim:
    meta = ObjectMeta(name=name, namespace="default", uid=f"uid of {name}")
    return ResourceClaim(meta, status=ResourceClaimStatus(**status))


def needing(*names: str) -> Pod:
    claims = tuple(PodResourceClaim(name, resource_claim_name=name) for name in names)
    return make_pod("needing", resource_claims=claims)


def asked(event: ClusterEvent, pod: Pod, old: Any, new: Any, *others: ResourceClaim) -> QueueingHint:
    """Ask once the cluster has the new claim and others."""
    handle = FakeHandle()
    handle.listers.fill(found for found in (new, *others) if isinstance(found, ResourceClaim))
    return ask(make_plugin("DynamicResources", handle), event, pod, old, new)


FREE, GIVEN = claim("a"), claim("a", allocation=AllocationResult())


def test_a_deleted_claim_counts_when_it_had_devices() -> None:
    assert asked(DELETED, needing("b"), GIVEN, None) is QUEUE
    assert asked(DELETED, needing("a"), FREE, None) is SKIP


def test_devices_that_come_free_bring_back_every_pod_whose_own_claims_are_there() -> None:
    assert asked(UPDATED, needing("b"), GIVEN, FREE, claim("b")) is QUEUE
    assert asked(UPDATED, make_pod("without"), GIVEN, FREE) is QUEUE
    assert asked(UPDATED, needing("b"), GIVEN, FREE) is SKIP


def test_a_new_claim_brings_back_the_pods_that_use_it_and_lack_no_other() -> None:
    assert asked(ADDED, needing("a"), None, FREE) is QUEUE
    assert asked(ADDED, needing("b"), None, FREE, claim("b")) is SKIP
    assert asked(ADDED, needing("a", "b"), None, FREE) is SKIP
    assert asked(ADDED, needing("a", "b"), None, FREE, claim("b")) is QUEUE


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (FREE, GIVEN, QUEUE),
        (FREE, FREE, SKIP),
        (FREE, replace(FREE, metadata=replace(FREE.metadata, annotations={"a": "b"})), SKIP),
        (GIVEN, replace(GIVEN, status=replace(GIVEN.status, reserved_for=(ResourceClaimConsumerReference(),))), QUEUE),
        (
            claim("a", devices=(AllocatedDeviceStatus(data=1),)),
            claim("a", devices=(AllocatedDeviceStatus(data=2),)),
            QUEUE,
        ),
    ],
)
def test_an_update_of_its_claim_counts_when_the_status_changes(
    old: ResourceClaim, new: ResourceClaim, expected: QueueingHint
) -> None:
    assert asked(UPDATED, needing("a"), old, new) is expected
    if new.status.allocation is not None or old.status.allocation is None:
        assert asked(UPDATED, needing("b"), old, new, claim("b")) is SKIP


def test_a_claim_that_is_being_deleted_is_as_good_as_none() -> None:
    meta = replace(FREE.metadata, deletion_timestamp=datetime(2026, 6, 1, tzinfo=UTC))
    assert asked(UPDATED, needing("a"), FREE, replace(GIVEN, metadata=meta)) is SKIP


def from_template(*, made: str | None, is_there: bool = True) -> Pod:
    status = PodStatus(resource_claim_statuses=(PodResourceClaimStatus("gpu", made),) if is_there else ())
    claims = (PodResourceClaim("gpu", resource_claim_template_name="template"),)
    return make_pod("needing", resource_claims=claims, status=status)


def test_a_generated_claim_brings_its_pod_back_once_it_can_be_used() -> None:
    before = from_template(made=None, is_there=False)
    pod = from_template(made="a")
    owner = OwnerReference("v1", "Pod", "needing", pod.metadata.uid, controller=True)
    owned = replace(FREE, metadata=replace(FREE.metadata, owner_references=(owner,)))
    assert asked(OWN_CLAIM, before, before, pod, owned) is QUEUE
    assert asked(OWN_CLAIM, before, before, pod) is SKIP  # it is not there yet
    assert asked(OWN_CLAIM, before, before, pod, FREE) is SKIP  # it is another pod's
    assert asked(OWN_CLAIM, before, before, before, owned) is SKIP
    assert asked(OWN_CLAIM, before, before, from_template(made=None)) is QUEUE  # none is needed
