"""What kube-scheduler's plugins say when they run without the extension point that prepares them.

A profile may name a plugin at Filter but not at PreFilter, or at Score but not at PreScore. Plugins that expect to find
what they prepared there then fail every pod that gets that far.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple


class MissingState(NamedTuple):
    """A plugin's failure without its preparation.

    Attributes
    ----------
    prepared_at : str
        The extension point that it needs.
    text : str
        What it says.
    """

    prepared_at: str
    text: str


_NOT_FOUND = "not found"
FILTERS: Mapping[str, MissingState] = {
    name: MissingState("preFilter", text)
    for name, text in {
        "NodeResourcesFit": 'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
        "NodePorts": 'reading "PreFilterNodePorts" from cycleState: not found',
        "VolumeRestrictions": 'cannot read "PreFilterVolumeRestrictions" from cycleState',
        "VolumeBinding": _NOT_FOUND,
        "PodTopologySpread": 'reading "PreFilterPodTopologySpread" from cycleState: not found',
        "InterPodAffinity": 'error reading "PreFilterInterPodAffinity" from cycleState: not found',
        "DynamicResources": _NOT_FOUND,
        "NodeDeclaredFeatures": 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found',
    }.items()
}
"""Failures in Filter; a plugin that is not here looks for itself."""

_SCORES: Mapping[str, MissingState] = {
    "TaintToleration": MissingState("preScore", 'failed to read "PreScoreTaintToleration" from cycleState: not found'),
    "VolumeBinding": MissingState("preFilter", _NOT_FOUND),
    "PodTopologySpread": MissingState(
        "preScore", 'error reading "PreScorePodTopologySpread" from cycleState: not found'
    ),
    "InterPodAffinity": MissingState(
        "preScore", 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
    ),
    "DynamicResources": MissingState("preFilter", _NOT_FOUND),
}
_PRE_SCORES: Mapping[str, MissingState] = {"VolumeBinding": MissingState("preFilter", _NOT_FOUND)}


def filter_failures(points: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return what filters say that lack their PreFilter, by name.

    Parameters
    ----------
    points
        Names of plugins by extension point.
    """
    return dict(_failures("filter", FILTERS, points))


def score_failure(points: Mapping[str, Collection[str]], without_score: Collection[str] = ()) -> str:
    """Return how scoring fails where a plugin lacks its preparation, "" when none does.

    Parameters
    ----------
    points
        Names of plugins by extension point, in the order they run.
    without_score
        Plugins that do not look for anything, since they give no scores.
    """
    for name, text in _failures("preScore", _PRE_SCORES, points):
        if name not in without_score:
            return f'running PreScore plugin "{name}": {text}'
    for name, text in _failures("score", _SCORES, points):
        if name not in without_score:
            return f'running Score plugins: plugin "{name}" failed with: {text}'
    return ""


def _failures(
    point: str, known: Mapping[str, MissingState], points: Mapping[str, Collection[str]]
) -> Sequence[tuple[str, str]]:
    return [
        (name, known[name].text)
        for name in points.get(point, ())
        if name in known and name not in points.get(known[name].prepared_at, ())
    ]
