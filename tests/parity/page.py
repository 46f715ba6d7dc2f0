"""What docs/parity.md says: tables made from recorded figures and from known_differences.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from nodewise.config.default_plugins import DEFAULT_MULTI_POINT
from nodewise.config.plugins import IN_TREE_POINTS
from tests.oracle import PROJECT_ROOT
from tests.parity.figures import MESSAGES, PLACEMENTS, Figures

Json = Mapping[str, Any]
PAGE = PROJECT_ROOT / "docs" / "parity.md"
FIGURES = PROJECT_ROOT / "docs" / "parity.json"
KNOWN_DIFFERENCES = Path(__file__).parent / "known_differences.yaml"
N_REASONS = 8
_DEFAULT = [ref.name for ref in DEFAULT_MULTI_POINT]

COMPARED_OTHERWISE = {
    "PrioritySort": "the order in which the pods of a cluster are tried",
    "SchedulingGates": "which pods are not tried, and by which gates",
    "DefaultPreemption": "node, victims and message of every pod that fits nowhere",
    "DefaultBinder": "nothing offline: a pod is bound at once",
}
"""What is compared of plugins that neither filter nor score."""

NOT_BY_DEFAULT = (
    "nothing in these clusters: it is behind a feature gate that is off by default, and has tests of its own"
)

_HEAD = """\
# Parity

What is compared with the real kube-scheduler 1.37.2, how much of it, and what differs. This page is made by
`make parity-report`; its figures are those of the run that made it, and stand in `parity.json` beside it.

The other side is kube-scheduler's own code, run over a cluster from a file (`tools/oracle`). Each random cluster has
10 to 60 nodes, 30 to 200 pods, and is of one of its generator's profiles (basic, affinity, spread, mixed, volumes,
dra). All answers about it are compared: every filter on every node with its code and reasons, every raw, normalised
and weighted score, the message of every pod that fits nowhere; then every decision, one after the other, with all
nodes that share the top total and all victims. Configurations, admission and malformed input have comparisons of
their own, in `tests/parity` and `tests/config`.
"""

_PLUGINS_HEAD = """\

## Plugins

"Verdicts" are answers of a filter about a pod on a node, counted only where the plugin has something to say about the
pod. "Cases" are those in `tests/cases` (public bug reports) and `tests/golden` (rule by rule) in which the plugin
keeps a pod away from a node, gives feasible nodes different scores, or otherwise decides; of plugins behind feature
gates, those that set the gates.

| Plugin | Verdicts | Rejections | Scores | Cases | Found to differ |
| --- | ---: | ---: | ---: | ---: | ---: |
"""

_REASONS_HEAD = """\

## Rejections by reason

What was rejected, and so compared word for word. Names in quotes are left out.

| Plugin | Reason | Times |
| --- | --- | ---: |
"""


def read_known_differences() -> Json:
    """Read known_differences.yaml."""
    found: Json = yaml.safe_load(KNOWN_DIFFERENCES.read_text(encoding="utf-8"))
    return found


def page_of(record: Json, known: Json) -> str:
    """Return the whole page."""
    figures = Figures.from_json(record["figures"])
    cases: Mapping[str, Sequence[str]] = record["cases"]
    parts = [
        _HEAD,
        "".join(_run(record, figures)),
        _PLUGINS_HEAD,
        "".join(_plugin_row(plugin, figures, cases) for plugin in plugins()),
        "\nOf the others is compared:\n\n",
        "".join(f"- **{plugin}**: {_compared(plugin)}.\n" for plugin in plugins() if _compared(plugin)),
        _REASONS_HEAD,
        "".join(_reason_rows(figures)),
        "\n## What differs, and why\n",
        "".join(_known(known)),
    ]
    return "".join(parts)


def plugins() -> list[str]:
    """Return every in-tree plugin: those of the default profile in its order, then the others."""
    return [*_DEFAULT, *(name for name in IN_TREE_POINTS if name not in _DEFAULT)]


def _compared(plugin: str) -> str:
    return COMPARED_OTHERWISE.get(plugin, "" if plugin in _DEFAULT else NOT_BY_DEFAULT)


def _run(record: Json, figures: Figures) -> Iterator[str]:
    differences = figures.differences
    seed, n_seeds = record["seed"], record["seeds_per_profile"]
    yield f"\n## This run\n\n`NODEWISE_SEED={seed}`, {n_seeds} clusters of each profile.\n\n"
    yield "| Compared | How many | Found to differ |\n| --- | ---: | ---: |\n"
    rows = (
        ("clusters", figures.clusters, differences["crashes"]),
        ("pending pods judged on every node", figures.pods, None),
        ("filter verdicts", figures.verdicts.total(), None),
        ("rejections, with code and reasons", sum(counts.total() for counts in figures.rejections.values()), None),
        ("scores", figures.scores.total(), None),
        ("messages of pods that fit nowhere", figures.messages, differences[MESSAGES]),
        ("decisions, with all nodes of the top total", figures.placements, differences[PLACEMENTS]),
        ("of these with evictions", figures.preemptions, None),
        ("pods evicted", figures.victims, None),
        ("orders of pods", figures.orders, differences["PrioritySort"]),
        ("choices among equals, out of kube-scheduler's own sample", figures.choices, differences["choices"]),
    )
    for what, number, differing in rows:
        yield f"| {what} | {number:,} | {'' if differing is None else f'{differing:,}'} |\n"
    yield (
        "\nThe choices are those of `--tie-break kube --percentage-of-nodes-to-score 0`, compared on "
        f"{figures.choice_clusters:,} clusters of up to 300 nodes\nwith kube-scheduler's algorithm and with its whole "
        "loop, queue and binding included, at `parallelism` 1.\n"
    )


def _plugin_row(plugin: str, figures: Figures, cases: Mapping[str, Sequence[str]]) -> str:
    rejections = figures.rejections.get(plugin)
    numbers = (
        figures.verdicts[plugin],
        rejections.total() if rejections else 0,
        figures.scores[plugin],
        len(cases.get(plugin, ())),
    )
    shown = " | ".join(f"{number:,}" if number else "" for number in numbers)
    differing = f"{figures.differences[plugin]:,}" if plugin in _DEFAULT else ""
    return f"| {plugin} | {shown} | {differing} |\n"


def _reason_rows(figures: Figures) -> Iterator[str]:
    for plugin in plugins():
        counts = figures.rejections.get(plugin)
        if not counts:
            continue
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        for reason, times in ranked[:N_REASONS]:
            yield f"| {plugin} | {_in_table(reason)} | {times:,} |\n"
        if rest := ranked[N_REASONS:]:
            yield f"| {plugin} | {len(rest)} other reasons | {sum(times for _, times in rest):,} |\n"


def _in_table(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _known(known: Json) -> Iterator[str]:
    for topic, entries in known["topics"].items():
        yield from _entries(topic, entries)
    for plugin in plugins():
        if plugin in known["plugins"]:
            yield from _entries(plugin, known["plugins"][plugin])


def _entries(title: str, entries: Sequence[Json]) -> Iterator[str]:
    yield f"\n### {title}\n\n"
    for entry in entries:
        option = f" Option: {entry['option']}." if "option" in entry else ""
        yield f"- {entry['what']} *{entry['why']}*{option}\n"
