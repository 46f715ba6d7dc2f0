"""Which plugins each case of tests/cases and tests/golden is about, found by asking nodewise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from nodewise.config.default_plugins import DEFAULT_MULTI_POINT, default_multi_point
from nodewise.config.feature_gates import parse_feature_gates
from tests.command import nodewise

Json = Mapping[str, Any]
ROOTS = (Path(__file__).parents[1] / "cases", Path(__file__).parents[1] / "golden")
_DEFAULT = {ref.name for ref in DEFAULT_MULTI_POINT}
_WAITING = "waiting for scheduling gates"


def cases_by_plugin() -> dict[str, list[str]]:
    """Return the cases that exercise a plugin, by its name.

    A case exercises a plugin that keeps a pod away from a node or from all of them, that gives feasible nodes different
    scores, that is asked for evictions, that binds a pod, or that puts pods in another order than that of the input.
    Plugins that are there only because of the feature gates that a case sets are exercised by it.
    """
    found: dict[str, list[str]] = {}
    for root in ROOTS:
        for folder in sorted(path for path in root.iterdir() if (path / "cluster.yaml").is_file()):
            for plugin in sorted(exercised_by(folder)):
                found.setdefault(plugin, []).append(folder.name)
    return dict(sorted(found.items()))


def exercised_by(folder: Path) -> set[str]:
    """Return the plugins that one case exercises."""
    gates = yaml.safe_load((folder / "expect.yaml").read_text(encoding="utf-8")).get("feature_gates", "")
    # fmt: off
    flags = (
        str(folder / "cluster.yaml"), "--workloads", "ignore", "--percentage-of-nodes-to-score", "100",
        *(("--feature-gates", gates) if gates else ()),
    )
    # fmt: on
    judged = nodewise("explain", *flags, "--all", "-o", "jsonl").json_lines()
    placed = nodewise("simulate", *flags, "-o", "json").json()["pods"]
    plugins = {plugin for line in judged for plugin in _of_judgement(line)} | _brought_by(gates)
    if any(_WAITING in f"{pod['message']} {pod.get('detail', '')}" for pod in placed):
        plugins.add("SchedulingGates")
    if any("preemption: " in pod["message"] for pod in placed):
        plugins.add("DefaultPreemption")
    if any(pod["node"] is not None for pod in placed):
        plugins.add("DefaultBinder")
    if [pod["pod"] for pod in placed] != [line["pod"] for line in judged if _is_listed(line, placed)]:
        plugins.add("PrioritySort")
    return plugins


def _brought_by(gates: str) -> set[str]:
    """Return the plugins that a profile has only with these gates."""
    if not gates:
        return set()
    return {ref.name for ref in default_multi_point(parse_feature_gates(gates))} - _DEFAULT


def _of_judgement(line: Json) -> Iterator[str]:
    if rejection := line.get("prefilter"):
        yield rejection["plugin"]
    scores: dict[str, set[int]] = {}
    for node in line.get("nodes") or ():
        yield from node["filters"]
        yield from node["excluded_by"]
        for plugin, score in node["scores"].items():
            scores.setdefault(plugin, set()).add(score["weighted"])
    yield from (plugin for plugin, different in scores.items() if len(different) > 1)


def _is_listed(line: Json, placed: list[Json]) -> bool:
    return any(pod["pod"] == line["pod"] for pod in placed)
