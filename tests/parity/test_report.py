"""docs/parity.md is what its generator makes of the recorded figures, complete and true."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nodewise.config.plugins import IN_TREE_POINTS
from tests import seeds
from tests.parity.comparison import Answers, Outcome
from tests.parity.differences import Difference
from tests.parity.figures import Figures, figures_of
from tests.parity.golden_use import cases_by_plugin
from tests.parity.page import FIGURES, PAGE, page_of, plugins, read_known_differences
from tests.parity.report import Ledger, tasks_of

REFRESH = "run python -m tests.parity.report --cases-only"


@pytest.fixture
def own_seed(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let a test choose its seed, and put that of the run back afterwards."""
    monkeypatch.setenv(seeds.VARIABLE, os.environ[seeds.VARIABLE])
    monkeypatch.delenv(seeds.VARIABLE)
    return monkeypatch


def test_the_page_is_what_the_figures_and_the_known_differences_make_it() -> None:
    record = json.loads(FIGURES.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page_of(record, read_known_differences()), REFRESH


def test_every_in_tree_plugin_has_a_row() -> None:
    rows = [line.split("|")[1].strip() for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    assert set(IN_TREE_POINTS) <= set(rows)
    assert set(IN_TREE_POINTS) == set(plugins())


def test_every_case_that_is_counted_exercises_the_plugin_and_none_is_missing() -> None:
    assert json.loads(FIGURES.read_text(encoding="utf-8"))["cases"] == cases_by_plugin(), REFRESH


def test_every_known_difference_has_a_subject_and_a_reason() -> None:
    known = read_known_differences()
    assert set(known["plugins"]) <= set(IN_TREE_POINTS)
    for entries in [*known["topics"].values(), *known["plugins"].values()]:
        assert all({"what", "why"} <= set(entry) <= {"what", "why", "option"} for entry in entries)
        assert all(text.strip() for entry in entries for text in entry.values())


def test_an_interrupted_run_keeps_its_seed_and_what_was_done(tmp_path: Path, own_seed: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ledger.jsonl"
    Ledger(file, "code").add("basic 0", Figures(clusters=1, verdicts=Counter(NodeName=3)))
    seed = seeds.base_seed()
    with file.open("a") as cut_off:
        cut_off.write('{"key": "basic 1", "figu')
    own_seed.delenv(seeds.VARIABLE)
    again = Ledger(file, "code")
    assert seeds.base_seed() == seed
    assert again.done == {"basic 0": Figures(clusters=1, verdicts=Counter(NodeName=3))}
    again.add("basic 1", Figures(clusters=1))
    assert set(Ledger(file, "code").done) == {"basic 0", "basic 1"}


def test_what_another_code_or_another_seed_left_is_dropped(tmp_path: Path, own_seed: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ledger.jsonl"
    Ledger(file, "code").add("basic 0", Figures(clusters=1))
    assert Ledger(file, "other code").done == {}
    Ledger(file, "other code").add("basic 0", Figures(clusters=1))
    own_seed.setenv(seeds.VARIABLE, str(seeds.base_seed() + 1))
    assert Ledger(file, "other code").done == {}


def test_more_seeds_need_only_those_that_are_missing() -> None:
    few, more = ({task.key for task in tasks_of(["basic", "dra"], n_seeds)} for n_seeds in (5, 9))
    assert few < more
    assert len(few) == 2 * (5 + 2)


def test_figures_survive_being_written_and_add_up() -> None:
    one = Figures(clusters=1, rejections={"NodeName": Counter(a=2)}, scores=Counter(ImageLocality=4))
    total = Figures()
    for figures in (one, Figures.from_json(json.loads(json.dumps(one.as_json())))):
        total.add(figures)
    assert total.clusters == 2
    assert total.rejections == {"NodeName": Counter(a=4)}
    assert total.scores == Counter(ImageLocality=8)


def test_verdicts_rejections_scores_and_differences_are_counted_by_plugin() -> None:
    score = {"raw": 1, "normalized": 1, "weighted": 1}
    nodes = [
        {"name": "a", "filters": {"NodeName": {"code": "Unschedulable", "reasons": ['pod "x" no']}}, "scores": {}},
        {"name": "b", "filters": {}, "scores": {"ImageLocality": score}},
    ]
    judged: list[dict[str, Any]] = [{"pod": "n/p", "nodes": nodes, "skipped_filters": ["NodePorts"]}]
    placed: list[dict[str, Any]] = [{"pod": "n/p", "node": "b"}, {"pod": "n/q", "node": "b", "victims": ["n/r"]}]
    outcome = Outcome(
        "", [Difference("n/p", "filter", 1, 2, plugin="NodeName"), Difference("n/p", "message", 1, 2)], []
    )
    figures = figures_of(Answers(judged, placed, judged, placed[::-1], ()), outcome)
    assert (figures.verdicts["NodeName"], figures.verdicts["NodePorts"]) == (2, 0)
    assert figures.rejections == {"NodeName": Counter({'pod "…" no': 1})}
    assert figures.scores == Counter(ImageLocality=1)
    assert (figures.placements, figures.preemptions, figures.victims) == (2, 1, 1)
    assert figures.differences == Counter(NodeName=1, messages=1, PrioritySort=1)
