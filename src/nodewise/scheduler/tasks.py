"""What goes on beside the scheduling loop: bindings, evictions, status updates."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any, Protocol, TypeVar

from nodewise.errors import PluginError

T = TypeVar("T")


class Task(Protocol):
    """Something under way."""

    def cancel(self) -> object:
        """Let it end where it waits."""
        ...


class Promise(Protocol):
    """A value that comes later."""

    def set_result(self, value: Any) -> object: ...

    def done(self) -> bool: ...

    def __await__(self) -> Any: ...


class Tasks(Protocol):
    """Runs coroutines: an asyncio loop, or a simulation in its own time."""

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> Task:
        """Start a coroutine; it may have got as far as its first wait, or to its end, on return."""
        ...

    def promise(self) -> Promise:
        """Return a value to wait for."""
        ...

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait for so long by the clock of this run."""
        ...


def run_without_waiting(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that has nothing to wait for, where there is no time to pass.

    Raises
    ------
    PluginError
        It waits after all.
    """
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise PluginError("a plugin waits for something, which takes a cluster whose time goes on")
