"""What is written to an API server, and what happens when it does not answer as it should."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from nodewise.api.objects import ObjectMeta, Pod, PodCondition, PodStatus, replace
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.errors import ApiError
from nodewise.cluster.live.event_recorder import EventRecorder
from nodewise.cluster.live.live_cluster import LiveCluster
from nodewise.framework.status import Code
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_pod
from nodewise.testing.clock import FakeClock
from tests.live.listening import Waits
from tests.live.scripted_server import Answer, ScriptedServer, cut, refuse, reply

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
WAITING = PodCondition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")


def pod(**metadata: Any) -> Pod:
    made = make_pod("web")
    return replace(made, metadata=ObjectMeta(name="web", namespace="default", uid="u1", generation=3, **metadata))


def read_back(node: str, uid: str = "u1") -> Answer:
    return reply({"metadata": {"uid": uid}, "spec": {"nodeName": node} if node else {}})


class Writing:
    def __init__(self, server: ScriptedServer, client: ApiClient) -> None:
        self.server = server
        self.waits = Waits(FakeClock())
        recorder = EventRecorder(client, now=lambda: NOW, rng=random.Random(1))
        self.cluster = LiveCluster(client, recorder, now=lambda: NOW, rng=random.Random(1), sleep=self.waits)

    @property
    def asked(self) -> list[str]:
        return [f"{request[':method']} {request[':path']}" for request in self.server.requests]

    @property
    def sent(self) -> Any:
        return json.loads(self.server.bodies[-1])


@asynccontextmanager
async def writing(*answers: Answer, timeout_s: float = 10.0) -> AsyncIterator[Writing]:
    async with ScriptedServer(*answers) as server, ApiClient(server.connection, timeout_s=timeout_s) as client:
        yield Writing(server, client)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(30):
            await scenario

    asyncio.run(limited())


BIND = "POST /api/v1/namespaces/default/pods/web/binding"
READ = "GET /api/v1/namespaces/default/pods/web"


def test_a_binding_names_the_pod_with_its_uid_and_the_node() -> None:
    async def scenario() -> None:
        async with writing(reply(status=201)) as it:
            assert (await it.cluster.bind(PodInfo(pod()), "n1")).is_success
            assert it.asked == [BIND]
            assert it.sent["metadata"] == {"namespace": "default", "name": "web", "uid": "u1"}
            assert it.sent["target"] == {"kind": "Node", "name": "n1"}

    run(scenario())


def test_internal_errors_are_retried_three_times_with_growing_waits() -> None:
    async def scenario() -> None:
        failing = refuse(500, "InternalError", "etcd is away")
        async with writing(*[failing] * 3, reply(status=201)) as it:
            assert (await it.cluster.bind(PodInfo(pod()), "n1")).is_success
            base = [0.01, 0.05, 0.25]
            assert all(low <= wait <= low * 1.1 for low, wait in zip(base, it.waits.seconds, strict=True))

    run(scenario())


def test_a_fourth_error_is_final() -> None:
    async def scenario() -> None:
        async with writing(*[refuse(503, "ServiceUnavailable", "not now")] * 9) as it:
            status = await it.cluster.bind(PodInfo(pod()), "n1")
            assert (status.code, status.message) == (Code.ERROR, "not now")
            assert it.asked == [BIND] * 4

    run(scenario())


@pytest.mark.parametrize("status", [400, 403, 404, 409, 422, 504])
def test_other_refusals_are_final_at_once(status: int) -> None:
    async def scenario() -> None:
        async with writing(refuse(status, "Whatever", "no")) as it:
            assert (await it.cluster.bind(PodInfo(pod()), "n1")).message == "no"
            assert it.asked == [BIND]

    run(scenario())


def test_a_binding_without_an_answer_counts_when_the_pod_has_the_node() -> None:
    async def scenario() -> None:
        async with writing(cut(), read_back("n1")) as it:
            assert (await it.cluster.bind(PodInfo(pod()), "n1")).is_success
            assert it.asked == [BIND, READ]

    run(scenario())


def test_a_binding_that_timed_out_and_did_not_happen_is_tried_again() -> None:
    async def scenario() -> None:
        async def never(request: Any) -> Any:
            await asyncio.Event().wait()

        async with writing(never, read_back(""), reply(status=201), timeout_s=0.1) as it:
            assert (await it.cluster.bind(PodInfo(pod()), "n1")).is_success
            assert it.asked == [BIND, READ, BIND]

    run(scenario())


def test_a_conflict_after_a_binding_without_an_answer_may_be_our_own() -> None:
    async def scenario() -> None:
        conflict = refuse(409, "Conflict", "pod web is already assigned")
        async with writing(cut(), read_back(""), conflict, read_back("n1")) as it:
            assert (await it.cluster.bind(PodInfo(pod()), "n1")).is_success

    run(scenario())


@pytest.mark.parametrize("found", [read_back("n2"), read_back("n1", uid="u2"), refuse(404, "NotFound")])
def test_a_binding_without_an_answer_fails_when_somebody_else_was_first(found: Answer) -> None:
    async def scenario() -> None:
        conflict = refuse(409, "Conflict", "pod web is already assigned")
        async with writing(cut(), found, conflict, found) as it:
            status = await it.cluster.bind(PodInfo(pod()), "n1")
            assert (status.code, status.message) == (Code.ERROR, "pod web is already assigned")

    run(scenario())


def test_reading_back_waits_for_a_server_that_is_away() -> None:
    async def scenario() -> None:
        away = refuse(503, "ServiceUnavailable")
        async with writing(cut(), away, away, read_back("n1")) as it:
            assert (await it.cluster.bind(PodInfo(pod()), "n1")).is_success
            assert it.asked == [BIND, READ, READ, READ]

    run(scenario())


def test_a_first_condition_has_all_its_fields() -> None:
    async def scenario() -> None:
        async with writing(reply()) as it:
            await it.cluster.patch_pod_status(pod(), condition=WAITING, nominated_node_name="n1")
            assert it.asked == ["PATCH /api/v1/namespaces/default/pods/web/status"]
            assert it.server.requests[0][":headers"]["Content-Type"] == "application/strategic-merge-patch+json"
            assert it.sent == {
                "metadata": {"uid": "u1"},
                "status": {
                    "nominatedNodeName": "n1",
                    "conditions": [
                        {
                            "type": "PodScheduled",
                            "status": "False",
                            "reason": "Unschedulable",
                            "message": "0/3 nodes are available",
                            "observedGeneration": 3,
                            "lastProbeTime": None,
                            "lastTransitionTime": "2026-06-01T12:00:00Z",
                        }
                    ],
                },
            }

    run(scenario())


def test_a_condition_keeps_its_transition_time_while_its_status_stays() -> None:
    async def scenario() -> None:
        before = replace(pod(), status=PodStatus(conditions=(WAITING,)))
        async with writing(reply(), reply()) as it:
            worse = PodCondition("PodScheduled", "False", "SchedulerError", "broken")
            await it.cluster.patch_pod_status(before, condition=worse)
            assert "lastTransitionTime" not in it.sent["status"]["conditions"][0]
            await it.cluster.patch_pod_status(before, condition=PodCondition("PodScheduled", "True"))
            flipped = it.sent["status"]["conditions"][0]
            assert flipped["lastTransitionTime"] == "2026-06-01T12:00:00Z"
            # what the old one says is taken away
            assert (flipped["reason"], flipped["message"]) == (None, None)

    run(scenario())


def test_a_nomination_is_cleared_by_null() -> None:
    async def scenario() -> None:
        before = replace(pod(), status=PodStatus(nominated_node_name="n1"))
        async with writing(reply()) as it:
            await it.cluster.patch_pod_status(before, nominated_node_name="")
            assert it.sent["status"] == {"nominatedNodeName": None}

    run(scenario())


def test_what_is_there_already_is_not_sent() -> None:
    async def scenario() -> None:
        before = replace(pod(), status=PodStatus(nominated_node_name="n1", conditions=(WAITING,)))
        async with writing() as it:
            await it.cluster.patch_pod_status(before, condition=WAITING, nominated_node_name="n1")
            assert it.asked == []

    run(scenario())


def test_a_pod_is_deleted_by_its_uid() -> None:
    async def scenario() -> None:
        async with writing(reply()) as it:
            await it.cluster.delete_pod(PodInfo(pod()))
            assert it.asked == ["DELETE /api/v1/namespaces/default/pods/web"]
            assert it.sent["preconditions"] == {"uid": "u1"}

    run(scenario())


@pytest.mark.parametrize("answer", [refuse(404, "NotFound"), refuse(409, "Conflict")])
def test_a_pod_that_is_gone_need_not_be_deleted(answer: Answer) -> None:
    async def scenario() -> None:
        async with writing(answer) as it:
            await it.cluster.delete_pod(PodInfo(pod()))

    run(scenario())


def test_a_refused_write_is_raised() -> None:
    async def scenario() -> None:
        async with writing(refuse(403, "Forbidden", "no"), refuse(403, "Forbidden", "no")) as it:
            with pytest.raises(ApiError):
                await it.cluster.delete_pod(PodInfo(pod()))
            with pytest.raises(ApiError):
                await it.cluster.patch_pod_status(pod(), condition=WAITING)

    run(scenario())
