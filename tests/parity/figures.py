"""How much of what each plugin says was compared with kube-scheduler: the figures of docs/parity.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nodewise.config.default_plugins import DEFAULT_MULTI_POINT
from nodewise.config.plugins import in_tree_implements
from tests.parity.comparison import Answers, Outcome

Json = Mapping[str, Any]
MESSAGES, PLACEMENTS = "messages", "placements"
LEFT_OUT = "left out by PreFilter"
_QUOTED = re.compile(r'"[^"]*"')
_FILTERS = [ref.name for ref in DEFAULT_MULTI_POINT if in_tree_implements(ref.name, "filter")]


@dataclass(slots=True)
class Figures:
    """Sums over clusters; differences are those between the two.

    Attributes
    ----------
    clusters, nodes, pods : int
        Clusters compared; nodes in them; pending pods judged.
    verdicts : Counter[str]
        Filter answers compared, one per pod and node, by plugin; those of a plugin that has nothing to say left out.
    rejections : dict[str, Counter[str]]
        Rejections by plugin and reason, names in reasons left out.
    scores : Counter[str]
        Scores compared (raw, normalised and weighted), by plugin.
    messages, placements : int
        Conditions of pods that fit nowhere; decisions, with all nodes that share the top total.
    preemptions, victims : int
        Decisions with evictions, and pods evicted.
    orders : int
        Clusters whose pods were tried in an order that was compared.
    choices : int
        Decisions compared node for node, ties and sample included.
    differences : Counter[str]
        By plugin, or by what it was about.
    """

    clusters: int = 0
    nodes: int = 0
    pods: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    rejections: dict[str, Counter[str]] = field(default_factory=dict)
    scores: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    placements: int = 0
    preemptions: int = 0
    victims: int = 0
    orders: int = 0
    choice_clusters: int = 0
    choices: int = 0
    differences: Counter[str] = field(default_factory=Counter)

    def add(self, other: Figures) -> None:
        """Add another's sums to these."""
        for name in self.__dataclass_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, Counter):
                mine.update(theirs)
            elif isinstance(mine, dict):
                for plugin, reasons in theirs.items():
                    mine.setdefault(plugin, Counter()).update(reasons)
            else:
                setattr(self, name, mine + theirs)

    def as_json(self) -> dict[str, Any]:
        """Return the sums with keys sorted, so that equal figures give equal files."""
        found: dict[str, Any] = {}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            found[name] = dict(sorted(value.items())) if isinstance(value, dict) else value
        found["rejections"] = {name: dict(sorted(reasons.items())) for name, reasons in found["rejections"].items()}
        return found

    @classmethod
    def from_json(cls, found: Json) -> Figures:
        """Read what `as_json` returned."""
        counters: dict[str, Counter[str]] = {
            name: Counter(found[name]) for name in ("verdicts", "scores", "differences")
        }
        rejections = {plugin: Counter(reasons) for plugin, reasons in found["rejections"].items()}
        return cls(**{**found, **counters, "rejections": rejections})


def figures_of(answers: Answers, outcome: Outcome) -> Figures:
    """Count what one cluster gave to compare, and what differed."""
    figures = Figures(clusters=1)
    for line in answers.judged_by_oracle:
        _count_verdicts(line, figures)
    figures.placements = len(answers.placed_by_oracle)
    for line in answers.placed_by_oracle:
        figures.preemptions += bool(line.get("victims"))
        figures.victims += len(line.get("victims") or ())
    figures.orders = 1
    figures.differences.update(_subjects(answers, outcome))
    return figures


def _count_verdicts(line: Json, figures: Figures) -> None:
    for status in line.get("preenqueue") or ():
        _reject(figures, status["plugin"], status["reasons"])
    if line.get("skipped") or line.get("preenqueue") or line.get("error"):
        return
    figures.pods += 1
    figures.messages += bool(line.get("message"))
    if rejection := line.get("prefilter"):
        _reject(figures, rejection["plugin"], rejection["reasons"])
        return
    nodes = line.get("nodes") or ()
    figures.nodes = max(figures.nodes, len(nodes))
    skipped = set(line.get("skipped_filters") or ())
    figures.verdicts.update({plugin: len(nodes) for plugin in _FILTERS if plugin not in skipped})
    for node in nodes:
        for plugin, status in node["filters"].items():
            _reject(figures, plugin, status["reasons"])
        for plugin in node.get("excluded_by") or ():
            _reject(figures, plugin, [LEFT_OUT])
        figures.scores.update((node.get("scores") or {}).keys())


def _reject(figures: Figures, plugin: str, reasons: Iterable[str]) -> None:
    counts = figures.rejections.setdefault(plugin, Counter())
    counts.update(_QUOTED.sub('"…"', reason) for reason in reasons)


def _subjects(answers: Answers, outcome: Outcome) -> Iterable[str]:
    for difference in outcome.evaluation:
        yield difference.plugin or MESSAGES
    for _ in outcome.placement:
        yield PLACEMENTS
    if _order(answers.placed_by_oracle, answers.placed) != _order(answers.placed, answers.placed_by_oracle):
        yield "PrioritySort"


def _order(pods: Sequence[Json], others: Sequence[Json]) -> list[str]:
    """Return the pods in the order they were tried, those left out that the other does not list."""
    listed = {line["pod"] for line in others}
    return [line["pod"] for line in pods if line["pod"] in listed]
