"""Keeps one kind of objects up to date: lists them, then watches, and lists again when it has lost the thread."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from nodewise.api.objects import AnyObject
from nodewise.clock import Clock
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.errors import ApiError, ConnectionFailedError, RequestError, StreamError
from nodewise.cluster.live.object_store import ObjectStore
from nodewise.cluster.live.pause import Pause, Sleep
from nodewise.cluster.live.resources import Resource
from nodewise.cluster.live.wire import Change, Documents, Lines, Page, WatchEvent, WireReader
from nodewise.cluster.object_documents import place_of

LOGGER = logging.getLogger("nodewise")
PAGE_SIZE = 500
SHORTEST_WATCH_S, LONGEST_WATCH_S = 300.0, 600.0
IDLE_TIMEOUT_S = 150.0
"""A server sends a bookmark about every minute; one that says nothing for longer has forgotten us."""
INTERNAL_ERROR_WINDOW_S = 30.0
NOT_SERVED_PAUSE_S = 60.0
LONGEST_WAIT_FOR_SERVER_S = 3.0
"""How late it may be noticed that a server is back; client-go's reflectors wait for up to a minute."""
VERY_SHORT_S = 1.0
_BATCH = 16
"""Events taken in before others on the loop get their turn: about a millisecond's worth."""

Deliver = Callable[[Any, Any], None]
"""Takes an object as it was and as it is; None where there is none."""


class Reflector:
    """Tells somebody of every change in the objects of a resource, for as long as it runs (client-go's Reflector).

    The list is streamed (`sendInitialEvents`) where the server can, and paged where it cannot. Watches resume at the
    last resource version seen, bookmarks included. After a new list the differences are told: what is missing as
    deleted, first of all; what is new, what has changed. An object that is another one of the same name (its uid
    differs) is told as one deleted and one added; client-go tells an update, which makes kube-scheduler exit when the
    first was bound and the second is not. A kind that the server does not know counts as empty.

    Parameters
    ----------
    client : ApiClient
    resource : Resource
    deliver : Callable[[Any, Any], None]
    rng : random.Random
        Spreads waits and the lengths of watches.
    clock : Clock
    sleep : Callable[[float], Awaitable[None]]
    documents : Documents | None
        Where to keep what objects were read from, by kind and `namespace/name`, for those who need all their fields.

    Attributes
    ----------
    synced : asyncio.Event
        Set once the first list has been told.
    n_lists, n_watches, n_events : int
        How often each happened.
    """

    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        deliver: Deliver,
        *,
        rng: random.Random,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        documents: Documents | None = None,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.n_lists = self.n_watches = self.n_events = 0
        self._client = client
        self._deliver = deliver
        self._rng = rng
        self._clock = clock
        self._sleep = sleep
        self._pause = Pause(rng, clock, sleep)
        self._documents = documents
        self._reader = WireReader(resource, documents)
        self._store = ObjectStore()
        self._resource_version = ""
        self._streams_lists = True
        self._is_paged = False
        self._internal_errors_since_s: float | None = None

    @property
    def n_objects(self) -> int:
        """How many there are."""
        return len(self._store)

    @property
    def resource_version(self) -> str:
        """How far it has come."""
        return self._resource_version

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            try:
                await self._list_and_watch()
            except ApiError as error:
                if error.is_not_found:
                    await self._not_served(error)
                    continue
                LOGGER.warning("%s: %s (%s), listing again", self.resource.plural, error, error.reason)
            except RequestError as error:
                LOGGER.warning("%s: %s, listing again", self.resource.plural, error)
            await self._pause.wait()

    async def _not_served(self, error: ApiError) -> None:
        if not self.synced.is_set():
            LOGGER.warning("%s are not served and taken for none: %s", self.resource.plural, error)
        await self._take_list([], "")
        await self._sleep(NOT_SERVED_PAUSE_S)

    async def _list_and_watch(self) -> None:
        if not (self._streams_lists and await self._stream_list()):
            await self._list()
        while True:
            try:
                await self._watch()
            except RequestError as error:
                await self._wait_to_resume(error)

    # --- lists --------------------------------------------------------------------------------------------------------

    async def _stream_list(self) -> bool:
        """Take a list as the beginning of a watch, and go on with it; false: it must be asked for otherwise."""
        while True:
            n_lists = self.n_lists
            try:
                await self._watch(is_list=True)
            except RequestError as error:
                if self.n_lists > n_lists:
                    await self._wait_to_resume(error)
                    return True
                if not await self._may_stream_again(error):
                    return False
            else:
                if self.n_lists > n_lists:
                    return True
                # it ended before the list was complete: what came is worth nothing
                await self._pause.wait()

    async def _may_stream_again(self, error: RequestError) -> bool:
        if isinstance(error, ConnectionFailedError):
            LOGGER.warning("%s: %s", self.resource.plural, error)
            await self._wait_for_server(error)
            return True
        if isinstance(error, ApiError) and error.is_too_many_requests:
            await self._pause.wait(at_least_s=error.retry_after_s or 0.0)
            return True
        if _needs_newest(error) and self._resource_version:
            self._resource_version = ""
            return True
        if isinstance(error, ApiError) and error.is_invalid:
            self._streams_lists = False
        LOGGER.info("%s: cannot stream the list, asking for pages: %s", self.resource.plural, error)
        return False

    async def _list(self) -> None:
        """Ask for a list in the usual way, not older than what is known; else for the newest."""
        version = self._resource_version or "0"
        try:
            objects, found = await self._pages(version)
        except ApiError as error:
            if not _needs_newest(error):
                raise
            objects, found = await self._pages("")
        await self._take_list(objects, found)

    async def _pages(self, version: str) -> tuple[list[AnyObject], str]:
        query = {"resourceVersion": version}
        if version in ("", "0") or self._is_paged:
            query["limit"] = str(PAGE_SIZE)
        page = await self._page(query)
        objects = [obj async for obj in self._items(page)]
        while page.continuation:
            self._is_paged = True
            try:
                page = await self._page({"limit": str(PAGE_SIZE), "continue": page.continuation})
            except ApiError as error:
                if not error.is_expired:
                    raise
                # the snapshot that the pages are of is gone: all at once, then
                page = await self._page({"resourceVersion": version})
                objects = []
            objects += [obj async for obj in self._items(page)]
        return objects, page.resource_version

    async def _page(self, query: dict[str, str]) -> Page:
        return self._reader.page(await self._client.get(self.resource.path, self._selected(query), is_list=True))

    async def _items(self, page: Page) -> AsyncIterator[AnyObject]:
        for position, item in enumerate(page.items):
            if position % _BATCH == 0:
                await asyncio.sleep(0)
            obj = self._reader.item(item)
            if obj is not None:
                yield obj

    async def _take_list(self, objects: Iterable[AnyObject], version: str) -> None:
        await self._tell_all(self._store.replace(objects))
        self._resource_version = version
        self.n_lists += 1
        self.synced.set()

    async def _tell_all(self, changes: list[tuple[AnyObject | None, AnyObject | None]]) -> None:
        for position, (old, new) in enumerate(changes):
            if position % _BATCH == _BATCH - 1:
                await asyncio.sleep(0)
            self._tell(old, new)

    def _tell(self, old: AnyObject | None, new: AnyObject | None) -> None:
        if self._documents is not None and new is None and old is not None and not self._store.has(old):
            self._documents.pop((self.resource.kind.name, place_of(old)), None)
        self._deliver(old, new)

    # --- watches ------------------------------------------------------------------------------------------------------

    async def _watch(self, *, is_list: bool = False) -> None:
        """Read one watch to its end.

        Raises
        ------
        RequestError
            It did not end well.
        """
        timeout_s = self._rng.uniform(SHORTEST_WATCH_S, LONGEST_WATCH_S)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._resource_version,
            "timeoutSeconds": str(int(timeout_s)),
        }
        if is_list:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        self.n_watches += 1
        began_s, n_before = self._clock.now(), self.n_events
        path = self.resource.path
        async with self._client.stream(path, self._selected(query), idle_timeout_s=IDLE_TIMEOUT_S) as parts:
            await self._follow(parts, [] if is_list else None)
        if self.n_events == n_before and self._clock.now() - began_s < VERY_SHORT_S:
            text = "Unexpected watch close - watch lasted less than a second and no items received"
            raise StreamError(f"WATCH {path}", f"very short watch: {path}: {text}")

    async def _follow(self, parts: AsyncIterator[bytes], initial: list[AnyObject] | None) -> None:
        """Take in the events of a watch; the first ones are those of a list, where it begins with one."""
        lines = Lines()
        async for part in parts:
            for line in lines.feed(part):
                event = self._reader.event(line)
                self.n_events += 1
                if self.n_events % _BATCH == 0:
                    await asyncio.sleep(0)
                if event is None:
                    continue
                if initial is None:
                    self._take_event(event)
                elif event.ends_initial_events:
                    await self._take_list(initial, event.resource_version)
                    initial = None
                elif event.obj is not None and event.change is not Change.DELETED:
                    initial.append(event.obj)

    def _take_event(self, event: WatchEvent) -> None:
        self._internal_errors_since_s = None
        if event.obj is not None:
            is_deleted = event.change is Change.DELETED
            for old, new in self._store.remove(event.obj) if is_deleted else self._store.put(event.obj):
                self._tell(old, new)
        self._resource_version = event.resource_version

    async def _wait_to_resume(self, error: RequestError) -> None:
        """Wait until the watch can be tried again from where it was.

        Raises
        ------
        RequestError
            It cannot: a new list is needed.
        """
        if isinstance(error, ConnectionFailedError):
            LOGGER.info("%s: %s, watching again", self.resource.plural, error)
            await self._wait_for_server(error)
        elif isinstance(error, ApiError) and error.is_too_many_requests:
            await self._pause.wait(at_least_s=error.retry_after_s or 0.0)
        elif isinstance(error, ApiError) and error.is_internal and self._may_ignore_internal_error():
            await self._pause.wait()
        else:
            raise error

    async def _wait_for_server(self, error: ConnectionFailedError) -> None:
        """Wait after a broken connection; not for long where nobody listens: asking there is no burden to anybody."""
        await self._pause.wait(at_most_s=LONGEST_WAIT_FOR_SERVER_S if error.is_refused else math.inf)

    def _may_ignore_internal_error(self) -> bool:
        now_s = self._clock.now()
        if self._internal_errors_since_s is None:
            self._internal_errors_since_s = now_s
        return now_s - self._internal_errors_since_s < INTERNAL_ERROR_WINDOW_S

    def _selected(self, query: dict[str, str]) -> dict[str, str]:
        selector = self.resource.field_selector
        return {**query, "fieldSelector": selector} if selector else query


def _needs_newest(error: RequestError) -> bool:
    """Tell whether the server cannot answer for the version asked for: too old, or not there yet."""
    return isinstance(error, ApiError) and (error.is_expired or error.is_too_large_resource_version)
