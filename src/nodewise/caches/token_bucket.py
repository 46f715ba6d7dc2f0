"""Decides whether something may happen now, by a rate and a burst."""

from __future__ import annotations

import math
import struct
import threading
from typing import Final

from nodewise.clock import Clock

_NS: Final = 1_000_000_000


class TokenBucket:
    """A bucket of tokens, full at first, that fills at a steady rate (flowcontrol's token bucket rate limiter).

    Thread-safe. As in Go, times are whole nanoseconds and the rate is a float32: tokens come at the same nanosecond.

    Parameters
    ----------
    qps : float
        Tokens that come a second; at 0 or less none ever comes.
    burst : int
        Tokens the bucket holds; at 0 or less nothing is ever accepted.
    clock : Clock
        Tells the time.

    Examples
    --------
    >>> from nodewise.testing.clock import FakeClock
    >>> clock = FakeClock()
    >>> bucket = TokenBucket(qps=2, burst=1, clock=clock)
    >>> bucket.try_accept(), bucket.try_accept()
    (True, False)
    >>> clock.advance(0.5)
    >>> bucket.try_accept()
    True
    """

    __slots__ = ("_burst", "_clock", "_last_s", "_lock", "_qps", "_tokens")

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        self._qps: float = struct.unpack("f", struct.pack("f", qps))[0]
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._last_s = clock.now()
        self._lock = threading.Lock()

    @property
    def qps(self) -> float:
        """Tokens that come a second, as a float32 holds it."""
        return self._qps

    @property
    def burst(self) -> int:
        """Tokens the bucket holds."""
        return self._burst

    def try_accept(self) -> bool:
        """Take a token if there is one; tell whether there was."""
        return self._take(max_wait_s=0.0) is not None

    def reserve(self) -> float:
        """Take a token, on credit if need be; return the seconds to wait before acting on it.

        Returns
        -------
        float
            0.0 when there was a token, infinity when none will come; then none is taken.
        """
        wait_s = self._take(max_wait_s=math.inf)
        return math.inf if wait_s is None else wait_s

    def _take(self, max_wait_s: float) -> float | None:
        """Take a token unless it is too far off; return how far, in seconds (rate.Limiter.reserveN)."""
        with self._lock:
            now_s = self._clock.now()
            tokens = self._tokens_at_locked(now_s) - 1.0
            wait_s = self._wait_s(tokens)
            if self._burst < 1 or wait_s > max_wait_s or wait_s == math.inf:
                return None
            self._last_s = now_s
            self._tokens = tokens
            return wait_s

    def _tokens_at_locked(self, now_s: float) -> float:
        if self._qps <= 0:
            return self._tokens
        # floats of a clock are a little off; the nearest nanosecond is what Go's clock would have said
        seconds, nanoseconds = divmod(max(0, round((now_s - self._last_s) * _NS)), _NS)
        return min(self._tokens + (seconds + nanoseconds / _NS) * self._qps, float(self._burst))

    def _wait_s(self, tokens: float) -> float:
        if tokens >= 0:
            return 0.0
        if self._qps <= 0:
            return math.inf
        return int(-tokens / self._qps * _NS) / _NS
