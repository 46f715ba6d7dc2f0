"""Leader election and delegated access with a real API server."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp

from nodewise.clock import SystemClock
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.event_recorder import EventRecorder
from nodewise.cluster.live.kubeconfig import load_connection
from nodewise.cluster.live.live_cluster import LiveCluster
from nodewise.server.access import open_access
from nodewise.server.http_server import HttpServer, text_answer
from nodewise.server.leader_election import LeaderElector, LeaseLostError, Timings, new_identity
from nodewise.server.scheduler_metrics import PrometheusMetrics
from nodewise.server.serving_certs import ServingCert, load_cert, server_context
from nodewise.server.state_metrics import build_registry
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_pod
from tests.live.api_server import ApiServer
from tests.server.test_options import options

QUICK = Timings(lease_s=3.0, renew_deadline_s=1.5, retry_s=0.2)


class Candidate:
    def __init__(self, client: ApiClient, name: str, lease: str, timings: Timings = QUICK) -> None:
        self.leads = asyncio.Event()
        self.elector = LeaderElector(
            client,
            new_identity(random.Random(name), name),
            namespace="default",
            name=lease,
            timings=timings,
            clock=SystemClock(),
            now=lambda: datetime.now(UTC),
            generator=random.Random(name),
            event_client=client,
        )
        self.task = asyncio.create_task(self.elector.run(self._lead), name=name)

    async def _lead(self) -> None:
        self.leads.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.leads.clear()

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


@asynccontextmanager
async def client_of(api_server: ApiServer) -> AsyncIterator[ApiClient]:
    async with ApiClient(await load_connection(api_server.kubeconfig)) as client:
        yield client


async def lease_of(client: ApiClient, name: str) -> dict[str, Any]:
    found = json.loads(await client.get(f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{name}"))
    spec: dict[str, Any] = found["spec"]
    return spec


def test_of_two_candidates_one_leads_and_the_other_takes_over_when_it_leaves(api_server: ApiServer) -> None:
    async def story() -> None:
        async with client_of(api_server) as client:
            first, second = Candidate(client, "a", "two"), Candidate(client, "b", "two")
            await asyncio.wait(
                {asyncio.create_task(c.leads.wait()) for c in (first, second)}, return_when="FIRST_COMPLETED"
            )
            leader, standby = (first, second) if first.leads.is_set() else (second, first)
            spec = await lease_of(client, "two")
            assert spec["holderIdentity"] == leader.elector.identity
            assert spec["leaseDurationSeconds"] == 3
            assert not standby.elector.is_leader
            await leader.stop()
            await asyncio.wait_for(standby.leads.wait(), 10)
            spec = await lease_of(client, "two")
            assert spec["holderIdentity"] == standby.elector.identity
            assert spec["leaseTransitions"] == 1
            await standby.stop()
            spec = await lease_of(client, "two")
            assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
            path = "/api/v1/namespaces/default/events"
            events = json.loads(await client.get(path, {"fieldSelector": "reason=LeaderElection"}))["items"]
            messages = [event["message"] for event in events if event["involvedObject"]["name"] == "two"]
            assert f"{leader.elector.identity} became leader" in messages
            assert f"{standby.elector.identity} became leader" in messages

    asyncio.run(story())


def test_a_leader_whose_lease_is_stolen_stops_leading(api_server: ApiServer) -> None:
    async def story() -> None:
        async with client_of(api_server) as client:
            candidate = Candidate(client, "a", "stolen")
            await asyncio.wait_for(candidate.leads.wait(), 10)
            path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/stolen"
            patch = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3600}}
            await client.patch(path, patch, content_type="application/merge-patch+json")
            await asyncio.wait({candidate.task}, timeout=10)
            assert isinstance(candidate.task.exception(), LeaseLostError)
            assert not candidate.leads.is_set()
            assert (await lease_of(client, "stolen"))["holderIdentity"] == "thief"

    asyncio.run(story())


def test_a_pod_that_somebody_else_bound_first_counts_as_a_conflict(api_server: ApiServer) -> None:
    async def story() -> None:
        async with client_of(api_server) as client:
            pods = "/api/v1/namespaces/default/pods"
            spec = {"containers": [{"name": "c", "image": "x"}], "schedulerName": "nobody"}
            await client.post(pods, {"metadata": {"name": "taken"}, "spec": spec})
            binding = {"metadata": {"name": "taken"}, "target": {"kind": "Node", "name": "elsewhere"}}
            await client.post(f"{pods}/taken/binding", binding)
            recorder = EventRecorder(client, now=lambda: datetime.now(UTC), rng=random.Random(0))
            cluster = LiveCluster(client, recorder, now=lambda: datetime.now(UTC), rng=random.Random(0))
            metrics = PrometheusMetrics()
            metrics.bind_failed(await cluster.bind(PodInfo(make_pod("taken")), "here"))
            registry = build_registry(metrics)
            assert registry.get_sample_value("nodewise_bind_failures_total", {"reason": "conflict"}) == 1
            await client.delete(f"{pods}/taken", {"gracePeriodSeconds": 0})

    asyncio.run(story())


def test_the_real_cluster_says_who_may_see_what(api_server: ApiServer) -> None:
    async def story() -> None:
        kubeconfig = api_server.kubeconfig
        words = (f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}")
        access = await open_access(options(*words).access, SystemClock())
        context = server_context()
        load_cert(context, ServingCert())
        await access.refresh(context)
        assert access.authenticator.certs.username_headers == ("x-remote-user",)

        async def metrics(request: Any) -> Any:
            return text_answer("some metrics\n")

        server = HttpServer({"/metrics": metrics}, access.authenticator, access.authorizer)
        await server.start("127.0.0.1", 0, context)
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session:
            expected = {"": 403, "Bearer bad": 401, "Bearer scheduler-token": 403, "Bearer admin-token": 200}
            for token, status in expected.items():
                headers = {"Authorization": token} if token else {}
                async with session.get(f"https://localhost:{server.port}/metrics", headers=headers) as response:
                    assert response.status == status, token
                    if token == "Bearer scheduler-token":
                        text = 'forbidden: User "system:kube-scheduler" cannot get path "/metrics"'
                        assert (await response.json())["message"] == text
        await server.stop()
        await access.close()

    asyncio.run(story())
