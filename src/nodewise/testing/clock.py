"""A clock that stands still until it is told to go on."""

from __future__ import annotations


class FakeClock:
    """A `nodewise.clock.Clock` whose time the test decides.

    >>> clock = FakeClock()
    >>> clock.advance(1.5)
    >>> clock.now()
    1.5
    """

    def __init__(self, now_s: float = 0.0) -> None:
        self._now_s = now_s

    def now(self) -> float:
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Raises
        ------
        ValueError
            When the seconds are negative: a clock never goes back.
        """
        if seconds < 0:
            raise ValueError(f"clock advanced by {seconds} s, expected 0 or more")
        self._now_s += seconds
