"""What is written for a pod's device claims, in which order, and what happens when others write too."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nodewise.api.devices import (
    AllocatedDeviceStatus,
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceCondition,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from nodewise.api.objects import Container, ObjectMeta, PodExtendedResourceClaimStatus, ResourceRequirements, replace
from nodewise.devices.extended_resources import created_claim, special_claim
from nodewise.devices.prebinding import ClaimWrites
from nodewise.framework.object_writer import ConflictError
from nodewise.framework.status import Status
from nodewise.state.device_listers import DeviceListers, PendingAllocation
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_pod

NOW = datetime(2026, 6, 1, tzinfo=UTC)
OTHER = ResourceClaimConsumerReference("", "pods", "other", "other-uid")
GPU = "example.com/gpu"


def a_pod(**spec: Any) -> PodInfo:
    made = make_pod("web", **spec)
    return PodInfo(replace(made, metadata=replace(made.metadata, uid="pod-uid")))


POD = a_pod()
OURS = ResourceClaimConsumerReference("", "pods", "web", "pod-uid")


def allocation(*conditions: str, failures: tuple[str, ...] = ()) -> AllocationResult:
    result = DeviceRequestAllocationResult(
        "r", "driver", "pool", "d0", binding_conditions=conditions, binding_failure_conditions=failures
    )
    return AllocationResult(DeviceAllocationResult((result,)))


def claim(version: int = 1, *, uid: str = "u1", status: ResourceClaimStatus | None = None) -> ResourceClaim:
    metadata = ObjectMeta(name="c", namespace="default", uid=uid, resource_version=str(version))
    return ResourceClaim(metadata, status=status or ResourceClaimStatus())


class Cluster:
    """A writer that keeps one claim as an API server would, and a second hand that lets things happen."""

    def __init__(self, stored: ResourceClaim) -> None:
        self.stored = stored
        self.calls: list[str] = []
        self.seconds: list[float] = []
        self.pods: dict[str, PodInfo] = {POD.key: POD}
        self.before_write: list[Callable[[], None]] = []
        self.while_waiting: list[Callable[[], None]] = []
        self.spawned: list[str] = []
        self.extended: PodExtendedResourceClaimStatus | None = None

    @property
    def writer(self) -> Any:
        return self

    def _write(self, call: str, given: ResourceClaim, changed: ResourceClaim) -> ResourceClaim:
        self.calls.append(call)
        if self.before_write:
            self.before_write.pop(0)()
        if given.metadata.resource_version != self.stored.metadata.resource_version:
            raise ConflictError("the object has been modified")
        self.store(changed)
        return self.stored

    def store(self, changed: ResourceClaim) -> None:
        """Keep a claim with the next version."""
        version = str(int(self.stored.metadata.resource_version) + 1)
        self.stored = replace(changed, metadata=replace(changed.metadata, resource_version=version))

    async def get_claim(self, claim: ResourceClaim) -> ResourceClaim:
        self.calls.append("get")
        return self.stored

    async def create_claim(self, claim: ResourceClaim) -> ResourceClaim:
        self.calls.append("create")
        metadata = replace(claim.metadata, name="web-extended-resources-x", uid="made-uid", resource_version="50")
        self.stored = replace(claim, metadata=metadata, status=ResourceClaimStatus())
        return self.stored

    async def protect_claim(self, claim: ResourceClaim) -> ResourceClaim:
        return self._write("protect", claim, self.stored)

    async def write_claim_status(self, claim: ResourceClaim) -> ResourceClaim:
        return self._write("status", claim, claim)

    async def release_claim(self, claim: ResourceClaim, pod_uid: str) -> None:
        self.calls.append(f"release {pod_uid}")

    async def deallocate_claim(self, claim: ResourceClaim) -> None:
        self.calls.append("deallocate")

    async def delete_claim(self, claim: ResourceClaim) -> None:
        self.calls.append("delete")

    async def write_extended_claim(self, pod: PodInfo, status: PodExtendedResourceClaimStatus) -> None:
        self.calls.append("pod status")
        self.extended = status

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if self.while_waiting:
            self.while_waiting.pop(0)()

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> object:
        self.spawned.append(name)
        return asyncio.get_running_loop().create_task(coroutine)


class Scene:
    """A claim that has been decided on, or that is allocated already."""

    def __init__(self, stored: ResourceClaim, decided: AllocationResult | None = None) -> None:
        self.cluster = Cluster(stored)
        self.listers = DeviceListers()
        known = stored
        if decided is not None:
            self.listers.pending[stored.metadata.uid] = PendingAllocation(stored, {POD.uid})
            known = replace(stored, status=replace(stored.status, allocation=decided))
        self.listers.put_claim(known)

    @property
    def known(self) -> ResourceClaim:
        return self.listers.claims["default", "c"]

    def run(self, pod: PodInfo = POD, timeout_s: float = 60) -> Status:
        claims = list(self.listers.claims.values())
        writes = ClaimWrites(self.cluster, self.listers, NOW)
        return asyncio.run(writes.run(claims, pod, timedelta(seconds=timeout_s)))


def test_an_allocation_is_written_after_the_finalizer_and_with_the_pod() -> None:
    scene = Scene(claim(), allocation())
    assert scene.run().is_success
    assert scene.cluster.calls == ["protect", "status"]
    written = scene.cluster.stored.status
    assert written.allocation == replace(allocation(), allocation_timestamp=NOW)
    assert written.reserved_for == (OURS,)
    assert scene.known == scene.cluster.stored
    assert not scene.listers.pending


def test_a_pod_joins_a_claim_that_is_allocated() -> None:
    status = ResourceClaimStatus(replace(allocation(), allocation_timestamp=NOW), (OTHER,))
    scene = Scene(claim(status=status))
    assert scene.run().is_success
    assert scene.cluster.calls == ["status"]
    assert scene.cluster.stored.status.reserved_for == (OTHER, OURS)


def test_a_claim_that_the_pod_has_already_is_left_alone() -> None:
    scene = Scene(claim(status=ResourceClaimStatus(allocation(), (OURS,))))
    assert scene.run().is_success
    assert scene.cluster.calls == []


def test_a_claim_that_changed_meanwhile_is_read_again() -> None:
    scene = Scene(claim(), allocation())
    scene.cluster.before_write = [lambda: scene.cluster.store(scene.cluster.stored)]
    assert scene.run().is_success
    assert scene.cluster.calls == ["protect", "get", "protect", "status"]


def test_a_claim_that_changes_all_the_time_is_given_up() -> None:
    scene = Scene(claim(), allocation())
    scene.cluster.before_write = [lambda: scene.cluster.store(scene.cluster.stored)] * 9
    assert scene.run().message == "the object has been modified"
    assert scene.cluster.calls.count("protect") == 5


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"status": ResourceClaimStatus(allocation())}, "claim default/c got allocated elsewhere in the meantime"),
        (
            {"metadata": replace(claim().metadata, deletion_timestamp=NOW)},
            "claim default/c got deleted in the meantime",
        ),
    ],
)
def test_a_claim_may_become_useless_meanwhile(changes: dict[str, Any], expected: str) -> None:
    scene = Scene(claim(), allocation())
    scene.cluster.before_write = [lambda: scene.cluster.store(replace(scene.cluster.stored, **changes))]
    assert scene.run().message == expected


def test_news_of_a_claim_do_not_undo_what_was_decided_on_since() -> None:
    scene = Scene(claim(5), allocation())
    scene.listers.put(claim(4))
    assert scene.known.status.allocation == allocation()
    scene.listers.put(claim(6))
    assert scene.known.status.allocation == allocation()
    assert scene.known.metadata.resource_version == "6"
    assert scene.listers.pending["u1"].before.metadata.resource_version == "6"
    scene.listers.put(claim(2, uid="u2"))
    assert scene.known.status.allocation is None


# --- devices that must get ready --------------------------------------------------------------------------------------


def with_conditions(stored: ResourceClaim, **conditions: str) -> ResourceClaim:
    told = tuple(DeviceCondition(name, status, "why", "more") for name, status in conditions.items())
    status = replace(stored.status, devices=(AllocatedDeviceStatus("driver", "pool", "d0", conditions=told),))
    version = str(int(stored.metadata.resource_version) + 1)
    return replace(stored, metadata=replace(stored.metadata, resource_version=version), status=status)


def test_the_pod_waits_until_its_devices_are_ready() -> None:
    scene = Scene(claim(), allocation("Attached", "Warm"))
    scene.cluster.while_waiting = [
        lambda: scene.listers.put(with_conditions(scene.known, Attached="True")),
        lambda: scene.listers.put(with_conditions(scene.known, Attached="True", Warm="True")),
    ]
    assert scene.run().is_success
    assert scene.cluster.seconds == [5.0, 5.0]


def test_a_device_that_fails_ends_the_wait() -> None:
    scene = Scene(claim(), allocation("Attached", failures=("Broken",)))
    scene.cluster.while_waiting = [lambda: scene.listers.put(with_conditions(scene.known, Broken="True"))]
    assert scene.run().message == 'device binding failed: claim=c, reason=why, message="more"'


def test_the_wait_has_an_end() -> None:
    scene = Scene(claim(), allocation("Attached"))
    assert scene.run(timeout_s=12).message == "device binding timeout: context deadline exceeded"
    assert scene.cluster.seconds == [5.0, 5.0]


# --- extended resources -----------------------------------------------------------------------------------------------


def test_the_claim_for_extended_resources_is_created_first_and_told_to_the_pod_last() -> None:
    container = Container(name="main", resources=ResourceRequirements(requests={"cpu": "1", GPU: "1"}))
    pod = a_pod(containers=(container,))
    exactly = ExactDeviceRequest("gpu", allocation_mode="ExactCount", count=1)
    made_up = created_claim(special_claim(pod.pod, (DeviceRequest("container-0-request-1", exactly),)))
    scene = Scene(made_up, allocation())
    assert scene.run(pod).is_success
    assert scene.cluster.calls == ["create", "protect", "status", "pod status"]
    assert list(scene.listers.claims) == [("default", "web-extended-resources-x")]
    assert scene.listers.special_claim_of("pod-uid") == scene.cluster.stored
    assert not scene.listers.pending
    assert scene.cluster.extended is not None
    mapping = scene.cluster.extended.request_mappings[0]
    assert (mapping.container_name, mapping.resource_name, mapping.request_name) == (
        "main",
        GPU,
        "container-0-request-1",
    )
    assert scene.cluster.extended.resource_claim_name == "web-extended-resources-x"


def test_what_comes_to_nothing_is_taken_back_in_the_background() -> None:
    async def scenario() -> None:
        scene = Scene(claim())
        writes = ClaimWrites(scene.cluster, scene.listers, NOW)
        writes.take_back(claim(), POD)
        writes.take_back(special_claim(POD.pod, (DeviceRequest("x"),)), POD)
        writes.deallocate(claim())
        writes.delete(claim())
        await asyncio.sleep(0)
        assert scene.cluster.calls == ["release pod-uid", "delete", "deallocate", "delete"]

    asyncio.run(scenario())


def test_a_claim_without_requests_has_no_mappings() -> None:
    made_up = created_claim(special_claim(POD.pod))
    scene = Scene(replace(made_up, spec=ResourceClaimSpec(DeviceClaim())), allocation())
    assert "nil or empty request mappings" in scene.run().message
