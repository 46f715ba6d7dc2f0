"""Volumes and claims written to a real API server."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from nodewise.api.decoding import decode_object
from nodewise.api.devices import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaim,
    DeviceRequest,
    DeviceRequestAllocationResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
)
from nodewise.api.objects import (
    ContainerExtendedResourceRequest,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodExtendedResourceClaimStatus,
    replace,
)
from nodewise.api.storage import ClaimReference, PersistentVolume, PersistentVolumeClaim
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.errors import ApiError
from nodewise.cluster.live.kubeconfig import load_connection
from nodewise.cluster.live.object_writer import LiveObjectWriter
from nodewise.cluster.live.resources import RESOURCES
from nodewise.framework.object_writer import ConflictError
from nodewise.state.pod_info import PodInfo
from tests.live.api_server import ApiServer

CLAIMS, PODS = RESOURCES["ResourceClaim"], RESOURCES["Pod"]
VOLUMES, VOLUME_CLAIMS = RESOURCES["PersistentVolume"], RESOURCES["PersistentVolumeClaim"]
RESULT = DeviceRequestAllocationResult("r", "driver.example.com", "pool", "d0")
ON_N1 = NodeSelector((NodeSelectorTerm(match_fields=(NodeSelectorRequirement("metadata.name", "In", ("n1",)),)),))
CONFIG = [{"source": "FromClass", "opaque": {"driver": "driver.example.com", "parameters": {"a": 1}}}]


class Server:
    """A namespace of its own in the real cluster."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.writer = LiveObjectWriter(client)

    async def create(self, kind: str, body: dict[str, Any]) -> Any:
        resource = RESOURCES[kind]
        path = resource.path_in(self.namespace) if resource.kind.is_namespaced else resource.path
        return decode_object(await self.client.post(path, body), resource.kind)

    async def document(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(await self.client.get(RESOURCES[kind].path_of(self.namespace, name)))
        return found

    async def a_claim(self) -> ResourceClaim:
        requests = [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
        body = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}
        made: ResourceClaim = await self.create("ResourceClaim", body)
        return made

    async def an_allocated_claim(self) -> ResourceClaim:
        claim = await self.writer.protect_claim(await self.a_claim())
        reserved = tuple([ResourceClaimConsumerReference("", "pods", name, f"uid-{name}") for name in ("a", "b")])
        given = AllocationResult(DeviceAllocationResult((RESULT,), CONFIG), ON_N1, datetime(2026, 6, 1, tzinfo=UTC))
        status = replace(claim.status, allocation=given, reserved_for=reserved)
        return await self.writer.write_claim_status(replace(claim, status=status))


def run(server: ApiServer, namespace: str, scenario: Callable[[Server], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(30), ApiClient(await load_connection(server.kubeconfig), qps=0) as client:
            await client.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
            await scenario(Server(client, namespace))

    asyncio.run(limited())


def a_volume(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "annotations": {"team": "x"}},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": "/tmp/x"},
        },
    }


def a_volume_claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "x"}
    return {"metadata": {"name": name}, "spec": spec}


def test_a_volume_gets_its_claim_and_keeps_what_is_not_read(api_server: ApiServer) -> None:
    async def scenario(server: Server) -> None:
        volume: PersistentVolume = await server.create("PersistentVolume", a_volume("bound-volume"))
        claim: PersistentVolumeClaim = await server.create("PersistentVolumeClaim", a_volume_claim("data"))
        metadata = replace(volume.metadata, annotations={**volume.metadata.annotations, "bound-by": "yes"})
        written = await server.writer.bind_volume(replace(volume, metadata=metadata), claim)
        assert written.spec.claim_ref == ClaimReference(server.namespace, "data", claim.metadata.uid)
        document = await server.document("PersistentVolume", "bound-volume")
        assert document["metadata"]["annotations"] == {"team": "x", "bound-by": "yes"}
        assert document["spec"]["hostPath"]["path"] == "/tmp/x"
        assert document["spec"]["claimRef"]["kind"] == "PersistentVolumeClaim"
        with pytest.raises(ConflictError):
            await server.writer.bind_volume(volume, claim)

    run(api_server, "volumes", scenario)


def test_a_claim_for_a_volume_gets_its_node(api_server: ApiServer) -> None:
    async def scenario(server: Server) -> None:
        claim: PersistentVolumeClaim = await server.create("PersistentVolumeClaim", a_volume_claim("data"))
        chosen = replace(claim, metadata=replace(claim.metadata, annotations={"node": "n1"}))
        written = await server.writer.annotate_volume_claim(chosen)
        assert written.metadata.annotations == {"node": "n1"}
        assert written.metadata.resource_version != claim.metadata.resource_version
        with pytest.raises(ConflictError):
            await server.writer.annotate_volume_claim(chosen)

    run(api_server, "volume-claims", scenario)


def test_a_device_claim_gets_finalizer_allocation_and_pods(api_server: ApiServer) -> None:
    async def scenario(server: Server) -> None:
        written = await server.an_allocated_claim()
        document = await server.document("ResourceClaim", "c")
        assert document["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
        devices = document["status"]["allocation"]["devices"]
        assert devices["results"][0]["device"] == "d0"
        assert devices["config"] == CONFIG
        assert document["status"]["allocation"]["allocationTimestamp"] == "2026-06-01T00:00:00Z"
        assert [user["name"] for user in document["status"]["reservedFor"]] == ["a", "b"]
        assert await server.writer.get_claim(written) == written
        assert written.status.allocation is not None
        assert written.status.allocation.node_selector == ON_N1

    run(api_server, "device-claims", scenario)


def test_a_device_claim_that_changed_is_a_conflict(api_server: ApiServer) -> None:
    async def scenario(server: Server) -> None:
        claim = await server.a_claim()
        await server.writer.protect_claim(claim)
        for write in (server.writer.protect_claim, server.writer.write_claim_status):
            with pytest.raises(ConflictError):
                await write(replace(claim, spec=claim.spec))

    run(api_server, "conflicts", scenario)


def test_one_pod_is_taken_from_a_device_claim_by_its_uid(api_server: ApiServer) -> None:
    async def scenario(server: Server) -> None:
        claim = await server.an_allocated_claim()
        old = replace(claim, metadata=replace(claim.metadata, resource_version="1"))
        await server.writer.release_claim(old, "uid-a")
        found = await server.writer.get_claim(claim)
        assert [user.name for user in found.status.reserved_for] == ["b"]
        assert found.status.allocation == claim.status.allocation

    run(api_server, "releases", scenario)


def test_a_device_claim_gives_back_its_devices(api_server: ApiServer) -> None:
    async def scenario(server: Server) -> None:
        claim = await server.an_allocated_claim()
        await server.writer.deallocate_claim(claim)
        found = await server.writer.get_claim(claim)
        assert (found.status.allocation, found.status.reserved_for) == (None, ())

    run(api_server, "deallocations", scenario)


def test_a_claim_for_extended_resources_is_made_told_to_its_pod_and_deleted(api_server: ApiServer) -> None:
    async def scenario(server: Server) -> None:
        gpus = {"example.com/gpu": "2"}
        container = {"name": "c", "image": "example.com/app:1", "resources": {"requests": gpus, "limits": gpus}}
        spec = {"containers": [container], "schedulerName": "nobody"}
        pod: Pod = await server.create("Pod", {"metadata": {"name": "web"}, "spec": spec})
        owner = OwnerReference("v1", "Pod", "web", pod.metadata.uid, controller=True)
        metadata = ObjectMeta(
            generate_name="web-extended-resources-",
            namespace=server.namespace,
            annotations={"resource.kubernetes.io/extended-resource-claim": "true"},
            owner_references=(owner,),
        )
        exactly = ExactDeviceRequest("gpu", allocation_mode="ExactCount", count=2)
        claim_spec = ResourceClaimSpec(DeviceClaim((DeviceRequest("container-0-request-0", exactly),)))
        made = await server.writer.create_claim(ResourceClaim(metadata, claim_spec))
        assert made.metadata.name.startswith("web-extended-resources-")
        assert made.metadata.owner_references == (owner,)
        assert made.spec == claim_spec
        mapping = ContainerExtendedResourceRequest("c", "example.com/gpu", "container-0-request-0")
        status = PodExtendedResourceClaimStatus((mapping,), made.metadata.name)
        await server.writer.write_extended_claim(PodInfo(pod), status)
        found = decode_object(await server.client.get(PODS.path_of(server.namespace, "web")), PODS.kind)
        assert isinstance(found, Pod)
        assert found.status.extended_resource_claim_status == status
        await server.writer.delete_claim(await server.writer.protect_claim(made))
        with pytest.raises(ApiError, match="not found"):
            await server.writer.get_claim(made)
        await server.writer.delete_claim(made)

    run(api_server, "extended", scenario)
