"""Writes events about pods: the first of a kind as an object of its own, the second as the beginning of a series."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from nodewise.caches.errors import TooManyRequestsError
from nodewise.caches.event_rate_limit import EventRateLimit, EventRequest
from nodewise.cluster.client import PodEvent
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.errors import ApiError, ConnectionFailedError
from nodewise.cluster.live.pause import Sleep

LOGGER = logging.getLogger("nodewise")
QUEUE_SIZE = 50_000
"""Of kube-scheduler's queue of 1,000 every event becomes a task at once, so there it never bounds what waits."""
MAX_TRIES = 12
RETRY_S = 10.0
REFRESH_S = 30 * 60.0
FINISH_S = 6 * 60.0
EVENTS_PATH = "/apis/events.k8s.io/v1/namespaces/{}/events"

_Key = tuple[str, ...]


@dataclass(slots=True)
class _Known:
    """An event that was written, and what came of it since.

    Attributes
    ----------
    body : dict[str, Any]
        As it was created.
    n : int
        How often it came; from 2 on it is a series.
    last_s : float
        When it came last.
    last_time : str
        The same as text.
    lock : asyncio.Lock
        One write at a time: a series can only begin when the event is there.
    """

    body: dict[str, Any]
    last_s: float
    last_time: str
    n: int = 1
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(slots=True)
class RecorderCounts:
    """What became of events.

    Attributes
    ----------
    written : int
        Created or patched.
    dropped : int
        The queue was full.
    spam : int
        There were too many about one pod.
    failed : int
        The server refused them, or could not be reached.
    """

    written: int = 0
    dropped: int = 0
    spam: int = 0
    failed: int = 0


class EventRecorder:
    """Writes events in a task of its own (client-go's EventBroadcaster for events.k8s.io/v1).

    Events that only differ in their note are one: the second makes a series of the first (count 2), later ones are
    counted and written every half an hour, and when the series ends: when nothing came for six minutes. What
    waits to be written is bounded; what does not fit is dropped.

    Parameters
    ----------
    client : ApiClient
        One of its own, so that events never hold up bindings.
    now : Callable[[], datetime]
    rng : random.Random
        Spreads the waits before what failed is tried again.
    host : str
        The name of this machine.
    limit : EventRateLimit | None
        What refuses too many events about the same pod; None: nothing does, as in kube-scheduler.

    Attributes
    ----------
    counts : RecorderCounts
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        now: Callable[[], datetime],
        rng: random.Random,
        host: str = "",
        limit: EventRateLimit | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._client = client
        self._now = now
        self._rng = rng
        self._host = host or socket.gethostname()
        self._limit = limit
        self._sleep = sleep
        self._queue: asyncio.Queue[PodEvent] = asyncio.Queue(QUEUE_SIZE)
        self._known: dict[_Key, _Known] = {}
        self.counts = RecorderCounts()

    def record(self, event: PodEvent) -> None:
        """Take an event to be written; never waits."""
        if self._limit is not None:
            try:
                self._limit.check(_request(event, self._host))
            except TooManyRequestsError:
                self.counts.spam += 1
                return
        try:
            self._queue.put_nowait(event)
        except asyncio.QueueFull:
            self.counts.dropped += 1

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._every(REFRESH_S, self.refresh_series), name="refresh event series")
            group.create_task(self._every(FINISH_S, self.finish_series), name="finish event series")
            for number in range(_WRITERS):
                group.create_task(self._write_all(), name=f"write events {number}")

    async def flush(self) -> None:
        """Wait until everything that was recorded by now is written, or given up."""
        await self._queue.join()

    async def _every(self, seconds: float, action: Callable[[], Any]) -> None:
        while True:
            await self._sleep(seconds)
            await action()

    async def _write_all(self) -> None:
        while True:
            event = await self._queue.get()
            try:
                await self._write(event)
            finally:
                self._queue.task_done()

    # --- one event ----------------------------------------------------------------------------------------------------

    async def _write(self, event: PodEvent) -> None:
        body = self._body(event)
        key = _key(body)
        now = self._now()
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known(body, now.timestamp(), _micro_time(now))
            async with known.lock:
                is_written = await self._try_to(self._create, body)
            if not is_written and self._known.get(key) is known:
                del self._known[key]
            return
        known.n += 1
        known.last_s, known.last_time = now.timestamp(), _micro_time(now)
        if known.n == 2:
            await self._write_series(known)

    async def _write_series(self, known: _Known) -> None:
        async with known.lock:
            await self._try_to(self._patch, _with_series(known))

    async def _try_to(self, write: Callable[[dict[str, Any]], Any], body: dict[str, Any]) -> bool:
        """Write; what the server refuses stays undone, what did not reach it is tried again."""
        for attempt in range(MAX_TRIES):
            if attempt:
                await self._sleep(RETRY_S * (1 + 0.25 * self._rng.random()))
            try:
                await write(body)
            except ApiError as error:
                LOGGER.debug("event %s: %s", body["metadata"]["name"], error)
                break
            except ConnectionFailedError as error:
                LOGGER.info("event %s: %s", body["metadata"]["name"], error)
                continue
            self.counts.written += 1
            return True
        self.counts.failed += 1
        return False

    async def _create(self, body: dict[str, Any]) -> None:
        await self._client.post(EVENTS_PATH.format(body["metadata"]["namespace"]), body)

    async def _patch(self, body: dict[str, Any]) -> None:
        """Change the series of an event; one that is gone by now is made anew."""
        metadata = body["metadata"]
        path = f"{EVENTS_PATH.format(metadata['namespace'])}/{metadata['name']}"
        try:
            await self._client.patch(path, {"series": body["series"]})
        except ApiError as error:
            if not error.is_not_found:
                raise
            await self._create(body)

    # --- series -------------------------------------------------------------------------------------------------------

    async def refresh_series(self) -> None:
        """Write how far all series have come, so that the server does not let them expire."""
        for known in [known for known in self._known.values() if known.n > 1]:
            await self._write_series(known)

    async def finish_series(self) -> None:
        """Write how far the series have come that nothing was added to for a while, and forget these and old events."""
        before_s = self._now().timestamp() - FINISH_S
        for key, known in [(key, known) for key, known in self._known.items() if known.last_s < before_s]:
            if known.n > 1:
                await self._write_series(known)
            self._known.pop(key, None)

    def _body(self, event: PodEvent) -> dict[str, Any]:
        now = self._now()
        metadata = event.pod.pod.metadata
        namespace = metadata.namespace or "default"
        nanoseconds = round(now.timestamp() * 1e6) * 1000
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata.name}.{nanoseconds:x}", "namespace": namespace},
            "eventTime": _micro_time(now),
            "type": event.type,
            "reason": event.reason,
            "action": event.action,
            "note": event.note,
            # no `related`: kube-scheduler has no valid reference to the pod that another one was evicted for
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": metadata.namespace,
                "name": metadata.name,
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
            },
            "reportingController": event.reporting_controller,
            "reportingInstance": f"{event.reporting_controller}-{self._host}",
        }


_WRITERS = 8
"""Events under way at once; their order is not kept, as in kube-scheduler."""


def _key(body: dict[str, Any]) -> _Key:
    """Return what events of one series have in common; their note is not part of it."""
    names = ("type", "reason", "action", "reportingController", "reportingInstance")
    return (*(body[name] for name in names), *body["regarding"].values())


def _with_series(known: _Known) -> dict[str, Any]:
    return {**known.body, "series": {"count": known.n, "lastObservedTime": known.last_time}}


def _micro_time(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _request(event: PodEvent, host: str) -> EventRequest:
    metadata = event.pod.pod.metadata
    return EventRequest(
        namespace=metadata.namespace,
        user=event.reporting_controller,
        source_component=event.reporting_controller,
        source_host=host,
        object_kind="Pod",
        object_namespace=metadata.namespace,
        object_name=metadata.name,
        object_uid=metadata.uid,
        object_api_version="v1",
    )
