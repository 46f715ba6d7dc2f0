"""Ctrl-C that keeps what is done: the first one ends the work after the current step, the second one at once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether somebody pressed Ctrl-C."""

    def __init__(self) -> None:
        self.is_made = False

    def make(self, number: int, frame: FrameType | None) -> None:
        """Take note of the signal."""
        if self.is_made:
            raise KeyboardInterrupt
        self.is_made = True
        if sys.stderr.isatty():
            print("stopping after this pod; press Ctrl-C again to stop at once", file=sys.stderr)


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Turn Ctrl-C into a request for as long as the context lasts."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = signal.signal(signal.SIGINT, request.make)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, before)
