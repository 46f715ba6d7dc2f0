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
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    QueueSortPlugin,
    ReservePlugin,
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
    compiling : list[CompilingPlugin]
        All plugins that judge or rate nodes, each once.
    filter_positions, score_positions, pre_filter_positions : list
        Where in `compiling` the plugins of these points stand, in the order they run; scores with their weights.
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
    reserving: list[ReservePlugin] = field(init=False)
    pre_binding: list[PreBindPlugin] = field(init=False)
    compiling: list[CompilingPlugin] = field(init=False)
    filter_positions: list[int] = field(init=False)
    score_positions: list[tuple[int, int]] = field(init=False)
    pre_filter_positions: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.pre_enqueue = cast("list[PreEnqueuePlugin]", self._at("preEnqueue"))
        self.queue_sort = cast("list[QueueSortPlugin]", self._at("queueSort"))[0]
        self.pre_filters = cast("list[PreFilterPlugin]", self._at("preFilter"))
        self.filters = cast("list[FilterPlugin]", self._at("filter"))
        self.post_filters = cast("list[PostFilterPlugin]", self._at("postFilter"))
        self.scores = [(cast(ScorePlugin, plugin), weight) for plugin, weight in self.points.get("score", ())]
        self.reserving = cast("list[ReservePlugin]", self._at("reserve"))
        self.pre_binding = cast("list[PreBindPlugin]", self._at("preBind"))
        compiling: dict[str, CompilingPlugin] = {}
        for point in ("preFilter", "filter", "preScore", "score"):
            for plugin in self._at(point):
                compiling[plugin.name] = cast(CompilingPlugin, plugin)
        self.compiling = list(compiling.values())
        position_of = {name: position for position, name in enumerate(compiling)}
        self.filter_positions = [position_of[plugin.name] for plugin in self.filters]
        self.score_positions = [(position_of[plugin.name], weight) for plugin, weight in self.scores]
        self.pre_filter_positions = [position_of[plugin.name] for plugin in self.pre_filters]

    def _at(self, point: str) -> list[Any]:
        return [plugin for plugin, _ in self.points.get(point, ())]


def implemented_points(plugin: object) -> frozenset[str]:
    """Return the extension points that a plugin's methods fit."""
    return frozenset(point for point, protocol in EXTENSION_POINTS.items() if isinstance(plugin, protocol))
