"""Runs scheduling cycles between the input and output of one asyncio loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from nodewise.clock import Clock
from nodewise.scheduler.control_loop import ControlLoop
from nodewise.server.asyncio_tasks import AsyncioTasks

SLICE_S = 0.001
"""How long cycles run before input and output get their turn."""
LONGEST_WAIT_S = 30.0
MAX_TASKS = 2_000
"""So many bindings and other writes may be under way; no pod is decided on before there are less."""
BUSY_WAIT_S = 0.01


class SchedulingLoop:
    """Takes pods from the queue whenever there is one, in slices, for as long as it is not cancelled.

    Parameters
    ----------
    loop : ControlLoop
    clock : Clock
        The one that the queue goes by: seconds since the epoch.
    tasks : AsyncioTasks
        Where bindings go on.
    may_run : Callable[[], bool]
        Asked before every slice.
    """

    def __init__(
        self, loop: ControlLoop, clock: Clock, tasks: AsyncioTasks, may_run: Callable[[], bool] = lambda: True
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._tasks = tasks
        self._may_run = may_run
        self._awake = asyncio.Event()

    def wake(self) -> None:
        """Look at the queue again: something changed."""
        self._awake.set()

    async def run(self) -> None:
        """Schedule until cancelled."""
        while True:
            self._awake.clear()
            if len(self._tasks) >= MAX_TASKS or not self._may_run():
                await asyncio.sleep(BUSY_WAIT_S)
                continue
            if self._run_slice():
                await asyncio.sleep(0)
                continue
            await self._wait()

    def _run_slice(self) -> bool:
        """Run cycles for about a millisecond; false when no pod's turn had come by its end."""
        end_s = time.perf_counter() + SLICE_S
        while self._loop.cycle.run_next() is not None:
            if time.perf_counter() >= end_s:
                return True
        return False

    async def _wait(self) -> None:
        now = self._clock.now()
        wakeup = self._loop.queue.next_wakeup(now)
        timeout_s = LONGEST_WAIT_S if wakeup is None else min(max(wakeup - now, 0.0), LONGEST_WAIT_S)
        try:
            async with asyncio.timeout(timeout_s):
                await self._awake.wait()
        except TimeoutError:
            pass
