"""Times every plugin of one pod's cycle, for the few cycles that are looked at so closely."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from nodewise.framework.status import Code
from nodewise.runtime.views import PluginView

Observe = Callable[[str, str, Code, float], None]
"""Takes plugin, extension point, what it said, and how many seconds it took."""


class PluginTiming:
    """A stopwatch that goes from plugin to plugin.

    A plugin that judges or rates all nodes at once is timed once for all nodes of a cycle, if it has anything to do:
    what it found out in earlier cycles, it need not find out again.

    Parameters
    ----------
    now : Callable[[], float]
        A clock, in seconds.
    observe : Callable[[str, str, Code, float], None]
    """

    __slots__ = ("_now", "_observe", "_since")

    def __init__(self, now: Callable[[], float], observe: Observe) -> None:
        self._now = now
        self._observe = observe
        self._since = now()

    def begin(self) -> None:
        """Let the next lap begin now."""
        self._since = self._now()

    def lap(self, point: str, plugin: str, code: Code = Code.SUCCESS) -> None:
        """Note that a plugin is done, and let the next lap begin."""
        now = self._now()
        self._observe(plugin, point, code, now - self._since)
        self._since = now

    def filters(self, views: Iterable[PluginView]) -> None:
        """Bring the filters' verdicts up to date one by one; whoever wants them next finds them so."""
        self.begin()
        for view in views:
            done = view.filter_cursor
            view.refresh_filter()
            if view.filter_cursor != done:
                self.lap("Filter", view.plugin.name)

    def scores(self, views: Iterable[tuple[PluginView, int]]) -> None:
        """Do the same for scores that depend on nothing but the node."""
        self.begin()
        for view, _ in views:
            done = view.score_cursor
            view.refresh_score()
            if view.score_cursor != done:
                self.lap("Score", view.plugin.name)

    def each_score(self, views: Iterable[tuple[PluginView, int]]) -> Iterator[tuple[PluginView, int]]:
        """Give the views one after another, and time what is done with each until the next is asked for."""
        self.begin()
        for view, weight in views:
            yield view, weight
            self.lap("Score", view.plugin.name)
