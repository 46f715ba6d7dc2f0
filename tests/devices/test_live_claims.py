"""What the plugin does with a pod's claims where there is a cluster to write to."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

from nodewise.api.devices import (
    AllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from nodewise.api.objects import ObjectMeta, PodResourceClaim, replace
from nodewise.config.feature_gates import DEFAULT_GATES
from nodewise.framework.cycle_state import CycleState
from nodewise.plugins.dynamic_resources import DynamicResources
from nodewise.queue.nominator import Nominations
from nodewise.state.device_listers import PendingAllocation
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_pod, make_snapshot

ALLOCATION = AllocationResult()
OURS = ResourceClaimConsumerReference("", "pods", "web", "pod-uid")


class Handle:
    """A handle whose writer notes what it is asked for."""

    def __init__(self) -> None:
        self.listers = Listers()
        self.snapshot = make_snapshot([])
        self.nominator = Nominations()
        self.feature_gates = DEFAULT_GATES
        self.pod_groups = None
        self.pods: dict[str, PodInfo] = {}
        self.calls: list[str] = []
        self.writer: Any = self

    def now(self) -> datetime:
        return datetime(2026, 6, 1, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait for nothing."""

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> object:
        asyncio.run(coroutine)
        return None

    async def release_claim(self, claim: ResourceClaim, pod_uid: str) -> None:
        self.calls.append(f"release {claim.metadata.name} from {pod_uid}")


def a_pod() -> PodInfo:
    made = make_pod("web", resource_claims=(PodResourceClaim("x", "c"),))
    return PodInfo(replace(made, metadata=replace(made.metadata, uid="pod-uid")))


def a_claim(status: ResourceClaimStatus) -> ResourceClaim:
    return ResourceClaim(ObjectMeta(name="c", namespace="default", uid="u"), status=status)


def unreserved(claim: ResourceClaim, before: ResourceClaim | None) -> tuple[ResourceClaim, list[str]]:
    handle = Handle()
    devices = handle.listers.devices
    if before is not None:
        devices.pending["u"] = PendingAllocation(before, {"pod-uid"})
    devices.put_claim(claim)
    DynamicResources(None, handle).unreserve(CycleState(), a_pod(), "n1")
    assert not devices.pending
    return devices.claims["default", "c"], handle.calls


def test_an_allocation_that_was_not_written_is_forgotten() -> None:
    before = a_claim(ResourceClaimStatus())
    found, calls = unreserved(a_claim(ResourceClaimStatus(ALLOCATION)), before)
    assert (found, calls) == (before, [])


def test_an_allocation_that_was_written_stays_and_the_pod_is_taken_from_it() -> None:
    written = a_claim(ResourceClaimStatus(ALLOCATION, (OURS,)))
    for before in (None, a_claim(ResourceClaimStatus())):
        found, calls = unreserved(written, before)
        assert found.status == ResourceClaimStatus(ALLOCATION)
        assert calls == ["release c from pod-uid"]


def test_the_claim_of_somebody_else_is_left_alone() -> None:
    other = a_claim(ResourceClaimStatus(ALLOCATION, (replace(OURS, uid="other"),)))
    assert unreserved(other, None) == (other, [])
