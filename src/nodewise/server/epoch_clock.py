"""The time of day, which never goes back."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class EpochClock:
    """Seconds since the epoch as of the start of the process, and from there on by the monotonic clock.

    >>> clock = EpochClock()
    >>> clock.now() <= clock.now()
    True
    """

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return time.monotonic() + self._offset_s

    def time_of_day(self) -> datetime:
        """Return the same as a date and time."""
        return datetime.fromtimestamp(self.now(), UTC)
