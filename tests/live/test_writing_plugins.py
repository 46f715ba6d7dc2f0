"""Pods with volumes and devices, scheduled in a real cluster: what plugins write before the binding."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from nodewise.api.objects import replace
from nodewise.cluster.live.api_client import MERGE_PATCH, ApiClient
from nodewise.cluster.live.errors import ApiError
from nodewise.cluster.live.event_recorder import EventRecorder
from nodewise.cluster.live.kubeconfig import load_connection
from nodewise.cluster.live.live_cluster import LiveCluster
from nodewise.cluster.live.resources import RESOURCES
from nodewise.config.load import default_configuration
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.plugins import in_tree_registry
from nodewise.scheduler.assembly import SchedulerOptions
from nodewise.server.live_scheduler import LiveScheduler
from tests.live.api_server import ApiServer

GPU = "example.com/gpu"


class Cluster:
    """A namespace and a node of its own, with a scheduler at work."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.node = f"node-of-{namespace}"

    async def create(self, kind: str, name: str, **fields: Any) -> None:
        """Create an object; `metadata` has what is beside the name."""
        resource = RESOURCES[kind]
        path = resource.path_in(self.namespace) if resource.kind.is_namespaced else resource.path
        metadata = {"name": name, **fields.pop("metadata", {})}
        try:
            await self.client.post(path, {"metadata": metadata, **fields})
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    async def create_node(self) -> None:
        room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
        labels = {"kubernetes.io/hostname": self.node}
        status = {"allocatable": room, "capacity": room}
        await self.create("Node", self.node, metadata={"labels": labels}, status=status)

    async def create_pod(self, name: str, requests: dict[str, str] | None = None, **spec: Any) -> None:
        resources = {"requests": requests, "limits": requests} if requests else {}
        container = {"name": "c", "image": "example.com/app:1", "resources": resources}
        selector = {"kubernetes.io/hostname": self.node}
        spec = {"containers": [container], "nodeSelector": selector, "schedulerName": self.namespace, **spec}
        await self.create("Pod", name, spec=spec)

    async def patch(self, kind: str, name: str, body: dict[str, Any]) -> None:
        path = RESOURCES[kind].path_of(self.namespace, name)
        await self.client.patch(path, body, content_type=MERGE_PATCH)

    async def wait_for(self, kind: str, name: str, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until an object is as expected, by a watch."""
        resource = RESOURCES[kind]
        path = resource.path_in(self.namespace) if resource.kind.is_namespaced else resource.path
        query = {"watch": "true", "fieldSelector": f"metadata.name={name}"}
        rest = b""
        async with self.client.stream(path, query, idle_timeout_s=20) as parts:
            async for part in parts:
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    found: dict[str, Any] = json.loads(line)["object"]
                    if is_so(found):
                        return found
        raise AssertionError(f"the watch of {kind} {name} ended")

    async def wait_until_bound(self, name: str) -> dict[str, Any]:
        pod = await self.wait_for("Pod", name, lambda found: bool(found["spec"].get("nodeName")))
        assert pod["spec"]["nodeName"] == self.node
        return pod


@asynccontextmanager
async def scheduling(server: ApiServer, namespace: str, *, kubeconfig: str = "") -> AsyncIterator[Cluster]:
    """Let a scheduler work, with the rights of an administrator or of another kubeconfig's user."""
    connection = await load_connection(kubeconfig or server.kubeconfig)
    async with (
        asyncio.timeout(30),
        ApiClient(await load_connection(server.kubeconfig), qps=0) as client,
        ApiClient(connection, qps=0) as own_client,
    ):
        await client.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        cluster = Cluster(client, namespace)
        await cluster.create_node()
        recorder = EventRecorder(own_client, now=lambda: datetime.now(UTC), rng=random.Random(1))
        writes = LiveCluster(own_client, recorder, now=lambda: datetime.now(UTC), rng=random.Random(1))
        scheduler = LiveScheduler(
            own_client, writes, _configuration(namespace), in_tree_registry(), SchedulerOptions(), rng=random.Random(1)
        )
        tasks = [asyncio.create_task(work) for work in (recorder.run(), scheduler.listen(), scheduler.schedule())]
        try:
            yield cluster
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def _configuration(scheduler_name: str) -> KubeSchedulerConfiguration:
    """Return the stock configuration with another scheduler name: other tests may run schedulers, too."""
    configuration = default_configuration()
    profile = replace(configuration.profiles[0], scheduler_name=scheduler_name)
    return replace(configuration, profiles=(profile,))


def a_claim(storage_class: str) -> dict[str, Any]:
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
    }


def test_a_pod_waits_until_its_claim_is_bound_to_the_volume_that_was_chosen(api_server: ApiServer) -> None:
    async def scenario() -> None:
        async with scheduling(api_server, "static") as it:
            waiting = "WaitForFirstConsumer"
            no_provisioner = "kubernetes.io/no-provisioner"
            await it.create("StorageClass", "local", provisioner=no_provisioner, volumeBindingMode=waiting)
            expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [it.node]}
            volume = {
                "capacity": {"storage": "2Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local",
                "local": {"path": "/mnt/disk"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
            }
            await it.create("PersistentVolume", "disk", spec=volume)
            # what the PV controller does with a new volume
            path = f"{RESOURCES['PersistentVolume'].path_of('', 'disk')}/status"
            await it.client.patch(path, {"status": {"phase": "Available"}}, content_type=MERGE_PATCH)
            await it.create("PersistentVolumeClaim", "data", spec=a_claim("local"))
            await it.create_pod("web", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}])
            found = await it.wait_for("PersistentVolume", "disk", lambda found: "claimRef" in found["spec"])
            assert found["spec"]["claimRef"]["name"] == "data"
            assert found["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes"
            # and with one that has been chosen
            annotations = {"pv.kubernetes.io/bind-completed": "yes"}
            bound = {"metadata": {"annotations": annotations}, "spec": {"volumeName": "disk"}}
            await it.patch("PersistentVolumeClaim", "data", bound)
            await it.wait_until_bound("web")

    asyncio.run(scenario())


async def create_devices(it: Cluster) -> None:
    expression = f'device.driver == "{it.namespace}.example.com"'
    config = [{"opaque": {"driver": f"{it.namespace}.example.com", "parameters": {"mode": "fast"}}}]
    spec: dict[str, Any] = {"selectors": [{"cel": {"expression": expression}}], "config": config}
    if it.namespace == "extended-resources":
        spec["extendedResourceName"] = GPU
    await it.create("DeviceClass", it.namespace, spec=spec)
    pool = {"name": it.node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "g0"}, {"name": "g1"}]
    slice_spec = {"driver": f"{it.namespace}.example.com", "nodeName": it.node, "pool": pool, "devices": devices}
    await it.create("ResourceSlice", f"slice-{it.namespace}", spec=slice_spec)


def test_pods_that_share_a_claim_get_its_devices_one_after_the_other(api_server: ApiServer) -> None:
    async def scenario() -> None:
        async with scheduling(api_server, "shared-claim") as it:
            await create_devices(it)
            requests = [{"name": "r", "exactly": {"deviceClassName": it.namespace}}]
            await it.create("ResourceClaim", "c", spec={"devices": {"requests": requests}})
            for name in ("a", "b"):
                await it.create_pod(name, resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
            for name in ("a", "b"):
                await it.wait_until_bound(name)
            claim = await it.wait_for("ResourceClaim", "c", lambda found: True)
            assert {user["name"] for user in claim["status"]["reservedFor"]} == {"a", "b"}
            devices = claim["status"]["allocation"]["devices"]
            assert devices["results"][0]["pool"] == it.node
            assert devices["config"][0]["source"] == "FromClass"
            assert claim["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]

    asyncio.run(scenario())


def test_a_pod_with_extended_resources_gets_a_claim_of_its_own(api_server: ApiServer) -> None:
    async def scenario() -> None:
        async with scheduling(api_server, "extended-resources") as it:
            await create_devices(it)
            await it.create_pod("web", {GPU: "2"})
            pod = await it.wait_until_bound("web")
            status = pod["status"]["extendedResourceClaimStatus"]
            assert status["requestMappings"] == [
                {"containerName": "c", "resourceName": GPU, "requestName": "container-0-request-0"}
            ]
            claim = await it.wait_for("ResourceClaim", status["resourceClaimName"], lambda found: True)
            assert len(claim["status"]["allocation"]["devices"]["results"]) == 2

    asyncio.run(scenario())
