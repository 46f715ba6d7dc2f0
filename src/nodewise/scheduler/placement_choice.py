"""Which of several placements a group gets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nodewise.framework.plugin import MAX_NODE_SCORE
from nodewise.framework.pod_group_plugin import (
    Placement,
    PlacementNormalizePlugin,
    PlacementScorePlugin,
    PodGroupInfo,
    Proposal,
)
from nodewise.framework.status import Status
from nodewise.runtime.profile import Framework
from nodewise.runtime.selection import Selector, TieBreak
from nodewise.scheduler.group_status import GroupStatus
from nodewise.state.columns import IntArray

Candidates = Sequence[tuple[Placement, Sequence[Proposal]]]


def choose_placement(
    group: PodGroupInfo, framework: Framework, selector: Selector, candidates: Candidates
) -> int | GroupStatus:
    """Return the position of the best placement, or an error (findBestPlacement).

    A single one is not scored. kube-scheduler breaks ties at random; here the first by name is taken, unless ties
    between nodes are broken at random.
    """
    if len(candidates) == 1:
        return 0
    totals = np.zeros(len(candidates), np.int64)
    for plugin, weight in framework.placement_scores:
        raw = _raw_scores(plugin, group, candidates)
        scores = _normalized(plugin, group, raw) if not isinstance(raw, GroupStatus) else raw
        if isinstance(scores, GroupStatus):
            return scores
        totals += scores * weight
    if selector.tie_break is not TieBreak.RANDOM:
        return int(totals.argmax())
    positions = np.arange(len(candidates))
    return selector.select(positions, totals, positions)


def _raw_scores(plugin: PlacementScorePlugin, group: PodGroupInfo, candidates: Candidates) -> IntArray | GroupStatus:
    found = np.zeros(len(candidates), np.int64)
    for position, (placement, proposed) in enumerate(candidates):
        score = plugin.score_placement(group, placement, proposed)
        if isinstance(score, Status):
            text = f'plugin "{plugin.name}" failed with: {score.message}'
            return GroupStatus.failed(f"running PlacementScore plugins: {text}")
        found[position] = score
    return found


def _normalized(plugin: PlacementScorePlugin, group: PodGroupInfo, raw: IntArray) -> IntArray | GroupStatus:
    scores = plugin.normalize_placements(group, raw) if isinstance(plugin, PlacementNormalizePlugin) else raw
    if isinstance(scores, Status):
        text = f'plugin "{plugin.name}" failed with: {scores.message}'
        return GroupStatus.failed(f"running NormalizePlacementScore on PlacementScore plugins: {text}")
    for score in scores.tolist():
        if not 0 <= score <= MAX_NODE_SCORE:
            return GroupStatus.failed(
                f'applying score defaultWeights on PlacementScore plugins: plugin "{plugin.name}" returns an invalid '
                f"score {score}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
            )
    return scores
