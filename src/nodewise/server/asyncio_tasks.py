"""Tasks of a scheduler on an asyncio loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

LOGGER = logging.getLogger("nodewise")
_OPERATIONS = {"bind": "binding", "preempt": "preemption", "status": "status", "permit": "permit"}


class AsyncioTasks:
    """Runs coroutines on the running loop and keeps them until they end (Tasks).

    An exception in one of them is a bug: it is logged, and everything else goes on.
    """

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._running)

    def operations(self) -> dict[str, int]:
        """Return how many are under way of each kind, by the first word of their names (scheduler_goroutines)."""
        counts = dict.fromkeys(_OPERATIONS.values(), 0)
        for task in self._running:
            word = task.get_name().partition(" ")[0]
            operation = _OPERATIONS.get(word, word)
            counts[operation] = counts.get(operation, 0) + 1
        return counts

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        """Start a coroutine; it begins when the loop comes to it."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def promise(self) -> asyncio.Future[Any]:
        """Return a value to wait for."""
        return asyncio.get_running_loop().create_future()

    async def sleep(self, seconds: float) -> None:
        """Wait for so long."""
        await asyncio.sleep(seconds)

    async def drain(self, timeout_s: float) -> None:
        """Wait for what is under way, then cancel what is left."""
        if self._running:
            await asyncio.wait(set(self._running), timeout=timeout_s)
        for task in set(self._running):
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOGGER.error("task %s failed", task.get_name(), exc_info=error)
