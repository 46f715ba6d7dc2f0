"""Time that jumps from one thing that happens to the next, and tasks that wait in it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any


@dataclass(order=True, slots=True)
class Timer:
    """Something to be done at a time; equal times go by the order they were asked for."""

    at_s: float
    number: int
    action: Callable[[], object] | None = field(compare=False)

    def cancel(self) -> None:
        """Let it not happen."""
        self.action = None


class Moment:
    """A value that comes later (Promise)."""

    __slots__ = ("_callbacks", "_is_done", "_value")

    def __init__(self) -> None:
        self._value: Any = None
        self._is_done = False
        self._callbacks: list[Callable[[], object]] = []

    def set_result(self, value: Any) -> None:
        """Let the tasks that wait go on, in the order in which they came to wait."""
        self._value, self._is_done = value, True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def done(self) -> bool:
        """Tell whether the value is there."""
        return self._is_done

    def wait(self, callback: Callable[[], object]) -> None:
        """Have something called when the value is there."""
        self._callbacks.append(callback)

    def __await__(self) -> Generator[Moment, None, Any]:
        if not self._is_done:
            yield self
        return self._value


class VirtualTask:
    """A coroutine that runs as far as it can, then waits."""

    __slots__ = ("_coroutine", "name")

    def __init__(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self._coroutine: Coroutine[Any, Any, None] | None = coroutine
        self.name = name

    def step(self) -> None:
        """Run to the next wait, or to the end."""
        if self._coroutine is None:
            return
        try:
            moment: Moment = self._coroutine.send(None)
        except StopIteration:
            self._coroutine = None
            return
        moment.wait(self.step)

    def cancel(self) -> None:
        """End where it waits; one that runs right now is at its end anyway."""
        if self._coroutine is not None and not self._coroutine.cr_running:  # type: ignore[attr-defined]
            self._coroutine.close()
            self._coroutine = None


class VirtualTime:
    """A clock and the tasks that go by it (Clock, Tasks).

    >>> time = VirtualTime(100.0)
    >>> timer = time.call_at(105.0, lambda: print("five seconds later"))
    >>> time.advance_to(105.0)
    five seconds later
    >>> time.now()
    105.0
    """

    def __init__(self, start_s: float) -> None:
        self._now_s = start_s
        self._timers: list[Timer] = []
        self._n_timers = 0

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return self._now_s

    def next_at(self) -> float | None:
        """Return when the next timer fires; None: none does."""
        while self._timers and self._timers[0].action is None:
            heapq.heappop(self._timers)
        return self._timers[0].at_s if self._timers else None

    def advance_to(self, at_s: float) -> None:
        """Go to a time, and do what is due by then, in order."""
        while (next_at := self.next_at()) is not None and next_at <= at_s:
            timer = heapq.heappop(self._timers)
            self._now_s = max(self._now_s, timer.at_s)
            if timer.action is not None:
                timer.action()
        self._now_s = max(self._now_s, at_s)

    def call_at(self, at_s: float, action: Callable[[], object]) -> Timer:
        """Have something done at a time."""
        self._n_timers += 1
        timer = Timer(at_s, self._n_timers, action)
        heapq.heappush(self._timers, timer)
        return timer

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> VirtualTask:
        """Start a coroutine; it gets as far as its first wait."""
        task = VirtualTask(coroutine, name)
        task.step()
        return task

    def promise(self) -> Moment:
        """Return a value to wait for."""
        return Moment()

    def sleep(self, seconds: float) -> Moment:
        """Return what is there after so many seconds."""
        moment = Moment()
        self.call_at(self._now_s + seconds, lambda: moment.set_result(None))
        return moment
