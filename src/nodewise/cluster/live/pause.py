"""Decides how long to wait before something that failed is tried again."""

from __future__ import annotations

import math
import random
from collections.abc import Awaitable, Callable

from nodewise.clock import Clock

FIRST_S = 0.8
LONGEST_S = 30.0
QUIET_S = 120.0

Sleep = Callable[[float], Awaitable[None]]


class Pause:
    """Waits 0.8 s at first, then twice as long each time up to 30 s, and up to double that by chance.

    Two minutes without a wait make it start anew. These are client-go's figures for reflectors.

    Parameters
    ----------
    sleep : Callable[[float], Awaitable[None]]
        Waits for so many seconds.
    """

    def __init__(self, rng: random.Random, clock: Clock, sleep: Sleep) -> None:
        self._rng = rng
        self._clock = clock
        self._sleep = sleep
        self._next_s = FIRST_S
        self._last_s = clock.now()

    async def wait(self, *, at_least_s: float = 0.0, at_most_s: float = math.inf) -> None:
        """Wait for as long as it is time to, within bounds."""
        await self._sleep(max(min(self.next_s(), at_most_s), at_least_s))

    def next_s(self) -> float:
        """Return how long the next wait is to be."""
        now_s = self._clock.now()
        if now_s - self._last_s > QUIET_S:
            self._next_s = FIRST_S
        self._last_s = now_s
        base_s = self._next_s
        self._next_s = min(base_s * 2, LONGEST_S)
        return base_s * (1 + self._rng.random())
