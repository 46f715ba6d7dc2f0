"""What the process does when it is told to stop, or to show what it knows."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from nodewise.api.objects import Node
from nodewise.scheduler.control_loop import ControlLoop
from nodewise.state.debugger import CacheDebugger
from nodewise.state.log_message import LogMessage

LOGGER = logging.getLogger("nodewise")
_STOP = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """The first signal asks for an orderly end, the second ends the process at once with exit code 1.

    Parameters
    ----------
    stop : Callable[[], object]
        Called once, on the loop.
    exit_now : Callable[[int], object]
        Ends the process; the real one does not return.
    """

    def __init__(self, stop: Callable[[], object], exit_now: Callable[[int], object] = os._exit) -> None:
        self._stop = stop
        self._exit_now = exit_now
        self.is_stopping = False

    def receive(self, number: int) -> None:
        """Take in a signal."""
        name = signal.Signals(number).name
        if self.is_stopping:
            LOGGER.error(LogMessage("Second signal received, exiting at once", signal=name))
            self._exit_now(1)
            return
        self.is_stopping = True
        LOGGER.info(LogMessage("Signal received, shutting down", signal=name))
        self._stop()


@contextmanager
def handled_signals(stop: Callable[[], object], dump: Callable[[], object]) -> Iterator[StopSignals]:
    """Handle SIGTERM, SIGINT and SIGUSR2 on the running loop for as long as the context lasts."""
    loop = asyncio.get_running_loop()
    signals = StopSignals(stop)
    for number in _STOP:
        loop.add_signal_handler(number, signals.receive, number)
    loop.add_signal_handler(signal.SIGUSR2, _reported, dump)
    try:
        yield signals
    finally:
        for number in (*_STOP, signal.SIGUSR2):
            loop.remove_signal_handler(number)


def debugger_of(loop: ControlLoop, list_nodes: Callable[[], Iterable[Node]]) -> CacheDebugger:
    """Return what compares and dumps on SIGUSR2: `handled_signals(..., dump=debugger_of(...).run)`."""
    pods = loop.handlers.pods
    return CacheDebugger(
        loop.scheduler.cache, loop.queue, list_nodes, lambda: [info.pod for info in list(pods.values())]
    )


def _reported(dump: Callable[[], object]) -> None:
    try:
        dump()
    except Exception as error:  # a dump is for looking at a scheduler in trouble; it must not add to it
        LOGGER.error(LogMessage("The dump failed", err=str(error)), exc_info=error)
