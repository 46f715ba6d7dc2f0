"""Progress bars on a terminal, for what takes longer than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

T = TypeVar("T")
QUIET_S = 0.4
"""So long nothing is shown."""
_CHECK_EVERY = 16


class ProgressBar:
    """A bar on standard error that appears when the work goes on for a while."""

    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._bar: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def report(self, phase: str, done: int, total: int) -> None:
        """Show how far a phase is."""
        if self._bar is None:
            if time.monotonic() - self._started_s < QUIET_S:
                return
            self._bar = _new_bar()
            self._bar.start()
        if phase not in self._tasks:
            self._tasks[phase] = self._bar.add_task(phase, total=total)
        self._bar.update(self._tasks[phase], completed=done, total=total)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def _new_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None] | None]:
    """Give what to call with phase, done and total; None where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = ProgressBar()
    try:
        yield bar.report
    finally:
        bar.close()


def with_progress(items: Iterator[T], total: int, what: str) -> Iterator[T]:
    """Pass items on, with a bar."""
    with progress_bar() as report:
        for done, item in enumerate(items, 1):
            if report is not None and done % _CHECK_EVERY == 0:
                report(what, done, total)
            yield item
