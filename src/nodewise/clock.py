"""Says what time it is; passed in wherever time matters, so that tests and simulations have their own."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A clock that never goes back."""

    def now(self) -> float:
        """Return the seconds since some fixed moment; only differences mean anything."""
        ...


class SystemClock:
    """The monotonic clock of the machine.

    >>> clock = SystemClock()
    >>> clock.now() <= clock.now()
    True
    """

    __slots__ = ()

    # The builtin itself, not a method around it: a call of now() costs no Python frame.
    now = staticmethod(time.monotonic)
