"""Ticks of a periodic timer, worked out instead of waited for."""

from __future__ import annotations

from math import floor


class Ticker:
    """A timer that ticks at `first`, and every `period` after it.

    Parameters
    ----------
    first : float
        Seconds since the epoch.
    period : float
        Seconds.

    Attributes
    ----------
    next_tick : float
        The first tick that was not taken yet.

    >>> ticker = Ticker(10.0, 30.0)
    >>> ticker.take(9.0), ticker.take(75.0), ticker.take(99.0), ticker.next_tick
    (None, 70.0, None, 100.0)
    """

    __slots__ = ("_first", "_n_taken", "_period", "next_tick")

    def __init__(self, first: float, period: float) -> None:
        self._first = first
        self._period = period
        self._n_taken = 0
        self.next_tick = first

    def take(self, now: float) -> float | None:
        """Return the latest tick by now, and take all up to it; None when there was none since the last one taken."""
        if now < self.next_tick:
            return None
        self._n_taken = self._number_after(now)
        self.next_tick = self._tick(self._n_taken)
        return self._tick(self._n_taken - 1)

    def tick_after(self, moment: float) -> float:
        """Return the first tick not taken yet that is later than a moment."""
        return self._tick(self._number_after(moment))

    def _tick(self, number: int) -> float:
        return self._first + number * self._period

    def _number_after(self, moment: float) -> int:
        number = max(self._n_taken, floor((moment - self._first) / self._period))
        while self._tick(number) <= moment:  # the division may have been rounded
            number += 1
        return number
