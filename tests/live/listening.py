"""A listener for tests that can wait for what it is to hear, and reflectors that do not wait for real."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.reflector import Reflector
from nodewise.cluster.live.resources import RESOURCES
from nodewise.testing.clock import FakeClock
from tests.live.scripted_server import Answer, ScriptedServer


class Listener:
    """Keeps what it is told as words: `+web@5` added at version 5, `~web@6` changed, `-web@7` deleted."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.changes: list[tuple[Any, Any]] = []
        self._told = asyncio.Event()

    def __call__(self, old: Any, new: Any) -> None:
        obj = new if new is not None else old
        sign = "-" if new is None else "+" if old is None else "~"
        self.changes.append((old, new))
        self.heard.append(f"{sign}{obj.metadata.name}@{obj.metadata.resource_version}")
        self._told.set()

    async def wait_until(self, is_done: Callable[[], bool]) -> None:
        """Wait until something is so, asking after everything that is told."""
        async with asyncio.timeout(20):
            while not is_done():
                self._told.clear()
                await self._told.wait()

    async def wait_for(self, n: int) -> list[str]:
        """Wait until so much has been told, and return it."""
        await self.wait_until(lambda: len(self.heard) >= n)
        return self.heard


class Waits:
    """Waits that are over at once and noted; time goes on by them."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._waited = asyncio.Condition()
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        async with self._waited:
            self.seconds.append(seconds)
            self._waited.notify_all()
        self._clock.advance(seconds)
        await asyncio.sleep(0)

    async def wait_for(self, n: int) -> None:
        """Wait until there have been so many."""
        async with self._waited:
            await self._waited.wait_for(lambda: len(self.seconds) >= n)


class Reflection:
    """A reflector of pods at work on a scripted server."""

    def __init__(self, server: ScriptedServer) -> None:
        self.server = server
        self.clock = FakeClock()
        self.listener = Listener()
        self.waits = Waits(self.clock)
        self.client = ApiClient(server.connection, qps=0)
        self.reflector = Reflector(
            self.client,
            RESOURCES["Pod"],
            self.listener,
            rng=random.Random(1),
            clock=self.clock,
            sleep=self.waits,
        )


@asynccontextmanager
async def reflecting(*answers: Answer) -> AsyncIterator[Reflection]:
    """Let a reflector of pods listen to a server with these answers."""
    async with ScriptedServer(*answers) as server:
        reflection = Reflection(server)
        task = asyncio.create_task(reflection.reflector.run())
        try:
            yield reflection
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            await reflection.client.close()
