"""A cluster behind a real API server does what every cluster must."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from nodewise.api.decoding import decode_object
from nodewise.api.encoding import pod_tree
from nodewise.api.kinds import KINDS
from nodewise.api.objects import Pod
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.errors import ApiError
from nodewise.cluster.live.event_recorder import EventRecorder
from nodewise.cluster.live.informers import Informers
from nodewise.cluster.live.kubeconfig import load_connection
from nodewise.cluster.live.live_cluster import LiveCluster
from nodewise.cluster.live.resources import RESOURCES
from nodewise.testing.cluster_conformance import CLUSTER_CHECKS, Changes, Check
from tests.live.api_server import ApiServer
from tests.live.listening import Listener

MARKER = "marker-"
PODS = RESOURCES["Pod"]


class Live:
    """A namespace of its own in a real cluster."""

    def __init__(self, client: ApiClient, recorder: EventRecorder, namespace: str) -> None:
        self.client = LiveCluster(client, recorder, now=lambda: datetime.now(UTC), rng=random.Random(1))
        self.namespace = namespace
        self.listener = Listener()
        self._api = client

    @property
    def changes(self) -> Changes:
        return [change for change in self.listener.changes if self._is_ours(change)]

    def _is_ours(self, change: tuple[Any, Any]) -> bool:
        metadata = (change[1] or change[0]).metadata
        return bool(metadata.namespace == self.namespace) and not metadata.name.startswith(MARKER)

    async def create(self, pod: Pod) -> Pod:
        body = {"apiVersion": "v1", "kind": "Pod", **pod_tree(pod, None)}
        return _decoded(await self._api.post(PODS.path_in(self.namespace), body))

    async def get(self, name: str) -> Pod | None:
        try:
            return _decoded(await self._api.get(PODS.path_of(self.namespace, name)))
        except ApiError as error:
            if error.is_not_found:
                return None
            raise

    async def settle(self) -> None:
        """Wait until a pod has been heard of that is created last of all."""
        path = PODS.path_in(self.namespace)
        name = f"{MARKER}{len(self.listener.heard)}"
        spec = {"containers": [{"name": "c", "image": "example.com/app:1"}], "schedulerName": "nobody"}
        await self._api.post(path, {"metadata": {"name": name}, "spec": spec})
        await self.listener.wait_until(lambda: any(text.startswith(f"+{name}@") for text in self.listener.heard))

    async def listen_anew(self) -> Changes:
        listener = Listener()
        async with _listening(self._api, listener):
            return [change for change in listener.changes if self._is_ours(change)]


def _decoded(body: bytes) -> Pod:
    found = decode_object(body, KINDS["Pod"])
    assert isinstance(found, Pod)
    return found


@asynccontextmanager
async def _listening(client: ApiClient, listener: Listener) -> AsyncIterator[None]:
    informers = Informers(client, [PODS], listener, rng=random.Random(1))
    task = asyncio.create_task(informers.run())
    try:
        await informers.wait_synced()
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _check(check: Check, server: ApiServer) -> None:
    connection = await load_connection(server.kubeconfig)
    async with ApiClient(connection, qps=0) as client:
        namespace = check.__name__.replace("_", "-")
        await client.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
        recorder = EventRecorder(client, now=lambda: datetime.now(UTC), rng=random.Random(1))
        writing = asyncio.create_task(recorder.run())
        cluster = Live(client, recorder, namespace)
        async with _listening(client, cluster.listener):
            await check(cluster)  # type: ignore[arg-type]
        await recorder.flush()
        assert recorder.counts.failed == 0
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing


@pytest.mark.parametrize("check", CLUSTER_CHECKS, ids=lambda check: check.__name__)
def test_the_live_cluster(check: Check, api_server: ApiServer) -> None:
    asyncio.run(_check(check, api_server))
