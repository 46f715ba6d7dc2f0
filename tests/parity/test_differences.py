"""The comparison sees what it is there to see."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.differences import evaluation_differences, given_up_at, placement_differences

FIT = {"code": "Unschedulable", "reasons": ["Insufficient a.example/x", "Insufficient b.example/y"]}
VERDICT: dict[str, Any] = {
    "pod": "shop/web",
    "nodes": [
        {
            "name": "n1",
            "filters": {},
            "scores": {"NodeAffinity": {"raw": 1, "normalized": 2, "weighted": 4}},
            "total": 4,
        },
        {"name": "n2", "filters": {"NodeResourcesFit": FIT}, "excluded_by": ["NodeAffinity"]},
    ],
    "feasible": ["n1"],
    "best": ["n1"],
}
PLACEMENT: dict[str, Any] = {"pod": "shop/web", "node": "n1", "best": ["n1"], "victims": ["shop/a", "shop/b"]}
ANSWER: dict[str, Any] = {**PLACEMENT, "reason": None, "message": ""}


def changed(answer: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> list[dict[str, Any]]:
    """Give a copy with one change."""
    mutable = copy.deepcopy(answer)
    change(mutable)
    return [mutable]


def test_equal_verdicts_have_no_difference() -> None:
    assert evaluation_differences([VERDICT], [{**VERDICT, "prefilter": None, "message": ""}]) == []


def test_the_order_of_missing_resources_does_not_count() -> None:
    other = changed(VERDICT, lambda v: v["nodes"][1]["filters"]["NodeResourcesFit"]["reasons"].reverse())
    assert evaluation_differences([VERDICT], other) == []


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("score", lambda v: v["nodes"][0]["scores"]["NodeAffinity"].update(raw=7)),
        ("score", lambda v: v["nodes"][0]["scores"].update(ImageLocality={"raw": 0, "normalized": 0, "weighted": 0})),
        ("total", lambda v: v["nodes"][0].update(total=5)),
        ("filter", lambda v: v["nodes"][1]["filters"].clear()),
        ("filter", lambda v: v["nodes"][1]["filters"]["NodeResourcesFit"].update(code="UnschedulableAndUnresolvable")),
        ("filter", lambda v: v["nodes"][1]["filters"]["NodeResourcesFit"]["reasons"].pop()),
        ("excluded_by", lambda v: v["nodes"][1].pop("excluded_by")),
        ("node", lambda v: v["nodes"].pop()),
        ("feasible", lambda v: v["feasible"].append("n2")),
        ("best", lambda v: v["best"].clear()),
        ("message", lambda v: v.update(message="0/2 nodes are available")),
        ("prefilter", lambda v: v.update(prefilter={"plugin": "NodePorts", "code": "Unschedulable", "reasons": ["x"]})),
        ("skipped", lambda v: v.update(skipped="the pod is being deleted")),
        ("answer", lambda v: v.update(pod="shop/other")),
    ],
)
def test_one_changed_value_of_a_verdict_is_reported(what: str, change: Callable[[dict[str, Any]], object]) -> None:
    assert what in {difference.what for difference in evaluation_differences([VERDICT], changed(VERDICT, change))}


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("node", lambda p: p.update(node="n2")),
        ("best", lambda p: p["best"].append("n2")),
        ("victims", lambda p: p["victims"].reverse()),
        ("message", lambda p: p.update(message="0/2 nodes are available")),
        ("reason", lambda p: p.update(reason="SchedulerError")),
    ],
)
def test_one_changed_value_of_a_placement_is_reported(what: str, change: Callable[[dict[str, Any]], object]) -> None:
    (found,) = placement_differences([PLACEMENT], changed(ANSWER, change))
    assert found.what == what


def test_the_second_refusal_of_a_preemptor_is_compared_too() -> None:
    first = {"pod": "shop/web", "node": None, "best": [], "victims": ["shop/a"], "message": "0/2 nodes are available"}
    refused = {**first, "reason": "Unschedulable", "detail": "preemption did not help: 0/2 nodes"}
    assert placement_differences([{**first, "still_unschedulable": "0/2 nodes"}], [refused]) == []
    (found,) = placement_differences([{**first, "still_unschedulable": "1/2 nodes"}], [refused])
    assert found.what == "detail"


def test_a_pod_that_is_being_deleted_must_not_be_placed() -> None:
    skipped: dict[str, Any] = {"pod": "shop/web", "node": None, "best": [], "skipped": "the pod is being deleted"}
    assert placement_differences([skipped], []) == []
    assert [found.what for found in placement_differences([skipped], [ANSWER])] == ["answer"]


def test_a_gated_pod_is_listed_as_gated() -> None:
    gated: dict[str, Any] = {"pod": "shop/web", "node": None, "best": [], "skipped": "SchedulingGates: [waiting]"}
    listed = {**ANSWER, "node": None, "best": [], "victims": [], "reason": "SchedulingGated", "message": "waiting"}
    assert placement_differences([gated], [listed]) == []
    assert placement_differences([gated], [{**listed, "reason": "Unschedulable"}]) != []


def test_nothing_is_compared_from_the_pod_on_where_the_oracle_gives_up() -> None:
    first = {**PLACEMENT, "pod": "shop/first"}
    gave_up: dict[str, Any] = {"pod": "shop/web", "error": "timed out waiting for nominations to be withdrawn"}
    after = {**PLACEMENT, "pod": "shop/after"}
    answers = [{**ANSWER, "pod": "shop/first", "node": "n2"}, ANSWER, {**ANSWER, "pod": "shop/after", "node": "n2"}]
    oracle = [first, gave_up, after]
    assert given_up_at(oracle) == "shop/web"
    assert [found.pod for found in placement_differences(oracle, answers)] == ["shop/first"]
    assert given_up_at([first, after]) == ""
