"""When events are created, counted, patched, dropped and forgotten."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from nodewise.api.objects import ObjectMeta, replace
from nodewise.caches.event_rate_limit import EventRateLimit, Limit
from nodewise.cluster.client import PodEvent
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.event_recorder import QUEUE_SIZE, EventRecorder
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_pod
from nodewise.testing.clock import FakeClock
from tests.live.scripted_server import Answer, ScriptedServer, cut, refuse, reply

START_S = datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp()


def an_event(note: str = "no room", *, version: str = "7") -> PodEvent:
    metadata = ObjectMeta(name="web", namespace="shop", uid="u1", resource_version=version)
    pod = PodInfo(replace(make_pod("web"), metadata=metadata))
    return PodEvent(pod, "Warning", "FailedScheduling", "Scheduling", note, "default-scheduler")


class Recording:
    def __init__(self, server: ScriptedServer, client: ApiClient, limit: EventRateLimit | None) -> None:
        self.server = server
        self.clock = FakeClock(START_S)
        self.waits: list[float] = []
        self.recorder = EventRecorder(
            client,
            now=lambda: datetime.fromtimestamp(self.clock.now(), UTC),
            rng=random.Random(1),
            host="host-1",
            limit=limit,
            sleep=self._sleep,
        )

    async def _sleep(self, seconds: float) -> None:
        """Wait for ever for what comes every few minutes, and not at all for anything else."""
        if seconds > 60:
            await asyncio.Event().wait()
        self.waits.append(seconds)

    async def record(self, *events: PodEvent) -> None:
        for event in events:
            self.recorder.record(event)
            await self.recorder.flush()

    @property
    def asked(self) -> list[str]:
        return [request[":method"] for request in self.server.requests]

    def body(self, position: int) -> Any:
        return json.loads(self.server.bodies[position])


@asynccontextmanager
async def recording(*answers: Answer, limit: EventRateLimit | None = None) -> AsyncIterator[Recording]:
    async with ScriptedServer(*answers) as server, ApiClient(server.connection) as client:
        it = Recording(server, client, limit)
        task = asyncio.create_task(it.recorder.run())
        yield it
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(30):
            await scenario

    asyncio.run(limited())


def test_a_first_event_is_created_with_all_that_it_is_about() -> None:
    async def scenario() -> None:
        async with recording(reply(status=201)) as it:
            await it.record(an_event())
            assert it.server.requests[0][":path"] == "/apis/events.k8s.io/v1/namespaces/shop/events"
            assert it.body(0) == {
                "apiVersion": "events.k8s.io/v1",
                "kind": "Event",
                "metadata": {"name": f"web.{round(START_S) * 10**9:x}", "namespace": "shop"},
                "eventTime": "2026-06-01T12:00:00.000000Z",
                "type": "Warning",
                "reason": "FailedScheduling",
                "action": "Scheduling",
                "note": "no room",
                "regarding": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "namespace": "shop",
                    "name": "web",
                    "uid": "u1",
                    "resourceVersion": "7",
                },
                "reportingController": "default-scheduler",
                "reportingInstance": "default-scheduler-host-1",
            }

    run(scenario())


def test_the_second_makes_a_series_whatever_its_note_and_later_ones_are_only_counted() -> None:
    async def scenario() -> None:
        async with recording(reply(status=201), reply()) as it:
            await it.record(an_event("one"), an_event("two"), an_event("three"))
            assert it.asked == ["POST", "PATCH"]
            assert it.body(1) == {"series": {"count": 2, "lastObservedTime": "2026-06-01T12:00:00.000000Z"}}

    run(scenario())


def test_events_about_another_version_of_the_pod_are_another_series() -> None:
    async def scenario() -> None:
        async with recording(reply(status=201), reply(status=201)) as it:
            await it.record(an_event(version="7"), an_event(version="8"))
            assert it.asked == ["POST", "POST"]

    run(scenario())


def test_series_are_written_again_with_their_count_when_refreshed() -> None:
    async def scenario() -> None:
        async with recording(*[reply()] * 3) as it:
            await it.record(*[an_event()] * 5)
            it.clock.advance(1)
            await it.recorder.refresh_series()
            assert it.asked == ["POST", "PATCH", "PATCH"]
            assert it.body(2)["series"]["count"] == 5

    run(scenario())


def test_a_series_that_is_idle_for_six_minutes_is_written_and_forgotten() -> None:
    async def scenario() -> None:
        async with recording(*[reply()] * 4) as it:
            await it.record(*[an_event()] * 3)
            it.clock.advance(359)
            await it.recorder.finish_series()
            assert it.asked == ["POST", "PATCH"]
            it.clock.advance(2)
            await it.recorder.finish_series()
            assert it.body(2)["series"]["count"] == 3
            await it.record(an_event())
            assert it.asked == ["POST", "PATCH", "PATCH", "POST"]

    run(scenario())


def test_an_event_that_the_server_has_forgotten_is_made_anew_with_its_series() -> None:
    async def scenario() -> None:
        async with recording(reply(), refuse(404, "NotFound"), reply()) as it:
            await it.record(an_event(), an_event())
            assert it.asked == ["POST", "PATCH", "POST"]
            assert it.body(2)["series"]["count"] == 2

    run(scenario())


def test_what_the_server_refuses_is_not_tried_again() -> None:
    async def scenario() -> None:
        async with recording(refuse(403, "Forbidden"), reply()) as it:
            await it.record(an_event(), an_event())
            assert it.asked == ["POST", "POST"]
            assert (it.recorder.counts.failed, it.recorder.counts.written) == (1, 1)
            assert it.waits == []

    run(scenario())


def test_what_does_not_reach_the_server_is_tried_again_after_ten_seconds() -> None:
    async def scenario() -> None:
        async with recording(cut(), cut(), reply()) as it:
            await it.record(an_event())
            assert len(it.waits) == 2
            assert all(10 <= wait <= 12.5 for wait in it.waits)
            assert it.recorder.counts.written == 1

    run(scenario())


def test_a_server_that_is_away_is_given_up_after_twelve_tries() -> None:
    async def scenario() -> None:
        async with recording(*[cut()] * 12) as it:
            await it.record(an_event())
            assert it.asked == ["POST"] * 12
            assert it.recorder.counts.failed == 1

    run(scenario())


def test_events_that_the_queue_has_no_room_for_are_dropped() -> None:
    async def scenario() -> None:
        async with ScriptedServer() as server, ApiClient(server.connection) as client:
            recorder = EventRecorder(client, now=lambda: datetime.now(UTC), rng=random.Random(1))
            event = an_event()
            for _ in range(QUEUE_SIZE + 3):
                recorder.record(event)
            assert recorder.counts.dropped == 3

    run(scenario())


def test_too_many_events_about_one_pod_are_held_back_where_a_limit_is_set() -> None:
    async def scenario() -> None:
        limit = EventRateLimit([Limit("SourceAndObject", qps=1, burst=2)], FakeClock())
        async with recording(reply(), reply(), limit=limit) as it:
            await it.record(*[an_event(version=str(n)) for n in range(5)])
            assert it.asked == ["POST", "POST"]
            assert it.recorder.counts.spam == 3

    run(scenario())
