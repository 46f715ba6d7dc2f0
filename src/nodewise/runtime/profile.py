"""The plugins of one profile, by extension point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from nodewise.framework.plugin import (
    EXTENSION_POINTS,
    BindPlugin,
    CompilingPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from nodewise.framework.pod_group_plugin import (
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PodGroupPostFilterPlugin,
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
    score_failure : str
        How scoring fails for every pod, "" when it does not: a plugin is there without what prepares it.
    compiling : list[CompilingPlugin]
        All plugins that judge or rate nodes, each once.
    filter_positions, score_positions, pre_filter_positions : list
        Where in `compiling` the plugins of these points stand, in the order they run; scores with their weights.
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    points: Mapping[str, Sequence[tuple[Plugin, int]]]
    score_failure: str = ""
    pre_enqueue: list[PreEnqueuePlugin] = field(init=False)
    queue_sort: QueueSortPlugin = field(init=False)
    pre_filters: list[PreFilterPlugin] = field(init=False)
    filters: list[FilterPlugin] = field(init=False)
    post_filters: list[PostFilterPlugin] = field(init=False)
    scores: list[tuple[ScorePlugin, int]] = field(init=False)
    reserving: list[ReservePlugin] = field(init=False)
    permitting: list[PermitPlugin] = field(init=False)
    pre_binding: list[PreBindPlugin] = field(init=False)
    binding: list[BindPlugin] = field(init=False)
    post_binding: list[PostBindPlugin] = field(init=False)
    placement_generating: list[PlacementGeneratePlugin] = field(init=False)
    placement_scores: list[tuple[PlacementScorePlugin, int]] = field(init=False)
    placement_feasible: list[PlacementFeasiblePlugin] = field(init=False)
    group_post_filters: list[PodGroupPostFilterPlugin] = field(init=False)
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
        self.permitting = cast("list[PermitPlugin]", self._at("permit"))
        self.pre_binding = cast("list[PreBindPlugin]", self._at("preBind"))
        self.binding = cast("list[BindPlugin]", self._at("bind"))
        self.post_binding = cast("list[PostBindPlugin]", self._at("postBind"))
        self.placement_generating = cast("list[PlacementGeneratePlugin]", self._at("placementGenerate"))
        self.placement_scores = [
            (cast(PlacementScorePlugin, plugin), weight) for plugin, weight in self.points.get("placementScore", ())
        ]
        self.group_post_filters = cast("list[PodGroupPostFilterPlugin]", self._at("podGroupPostFilter"))
        # No configuration names this point: kube-scheduler asks its own plugin, wherever the profile has that.
        gang = [plugin for plugin in self.plugins() if plugin.name == "GangScheduling"]
        self.placement_feasible = [plugin for plugin in gang if isinstance(plugin, PlacementFeasiblePlugin)]
        compiling: dict[str, CompilingPlugin] = {}
        for point in ("preFilter", "filter", "preScore", "score"):
            for plugin in self._at(point):
                compiling[plugin.name] = cast(CompilingPlugin, plugin)
        self.compiling = list(compiling.values())
        position_of = {name: position for position, name in enumerate(compiling)}
        self.filter_positions = [position_of[plugin.name] for plugin in self.filters]
        self.score_positions = [(position_of[plugin.name], weight) for plugin, weight in self.scores]
        self.pre_filter_positions = [position_of[plugin.name] for plugin in self.pre_filters]

    def plugins(self) -> list[Plugin]:
        """Return all plugins of the profile, each once, in the order in which extension points name them."""
        return list({plugin.name: plugin for placed in self.points.values() for plugin, _ in placed}.values())

    def _at(self, point: str) -> list[Any]:
        return [plugin for plugin, _ in self.points.get(point, ())]


def implemented_points(plugin: object) -> frozenset[str]:
    """Return the extension points that a plugin's methods fit."""
    return frozenset(point for point, protocol in EXTENSION_POINTS.items() if isinstance(plugin, protocol))
