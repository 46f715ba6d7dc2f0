"""The plugins of one profile, by extension point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from nodewise.framework.plugin import (
    EXTENSION_POINTS,
    CompilingPlugin,
    FilterPlugin,
    Plugin,
    PostFilterPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    QueueSortPlugin,
    ScorePlugin,
)


@dataclass(slots=True)
class Framework:
    """What runs for pods of one scheduler name (frameworkImpl).

    Attributes
    ----------
    scheduler_name : str
    percentage_of_nodes_to_score : int | None
        The profile's own value.
    points : Mapping[str, Sequence[tuple[Plugin, int]]]
        Plugins with their weights by extension point, in the order they run.
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    points: Mapping[str, Sequence[tuple[Plugin, int]]]
    pre_enqueue: list[PreEnqueuePlugin] = field(init=False)
    queue_sort: QueueSortPlugin = field(init=False)
    pre_filters: list[PreFilterPlugin] = field(init=False)
    filters: list[FilterPlugin] = field(init=False)
    post_filters: list[PostFilterPlugin] = field(init=False)
    scores: list[tuple[ScorePlugin, int]] = field(init=False)
    compiling: list[CompilingPlugin] = field(init=False)

    def __post_init__(self) -> None:
        self.pre_enqueue = cast("list[PreEnqueuePlugin]", self._at("preEnqueue"))
        self.queue_sort = cast("list[QueueSortPlugin]", self._at("queueSort"))[0]
        self.pre_filters = cast("list[PreFilterPlugin]", self._at("preFilter"))
        self.filters = cast("list[FilterPlugin]", self._at("filter"))
        self.post_filters = cast("list[PostFilterPlugin]", self._at("postFilter"))
        self.scores = [(cast(ScorePlugin, plugin), weight) for plugin, weight in self.points.get("score", ())]
        compiling: dict[str, CompilingPlugin] = {}
        for point in ("preFilter", "filter", "preScore", "score"):
            for plugin in self._at(point):
                compiling[plugin.name] = cast(CompilingPlugin, plugin)
        self.compiling = list(compiling.values())

    def _at(self, point: str) -> list[Any]:
        return [plugin for plugin, _ in self.points.get(point, ())]


def implemented_points(plugin: object) -> frozenset[str]:
    """Return the extension points that a plugin's methods fit."""
    return frozenset(point for point, protocol in EXTENSION_POINTS.items() if isinstance(plugin, protocol))
