"""Each case ends as its expect.yaml says, which is what kube-scheduler 1.37.2 does.

Those in `cases` come from public bug reports; those in `golden` were measured with the oracle, rule by rule.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import Completed, nodewise

ROOTS = (Path(__file__).parent / "cases", Path(__file__).parent / "golden")
FOLDERS = {folder.name: folder for root in ROOTS for folder in sorted(root.iterdir()) if folder.is_dir()}
CASE_NAMES = list(FOLDERS)
EXPECTATION_KEYS = {"pod", "nodes", "unschedulable", "message_contains", "preempts", "reason"}

Json = Mapping[str, Any]


@cache
def simulate(case: str) -> Completed:
    """Run the case's cluster once for all expectations about it."""
    gates = expectations(case).get("feature_gates")
    # fmt: off
    return nodewise(
        "simulate", str(FOLDERS[case] / "cluster.yaml"), "--workloads", "ignore", "-o", "json",
        "--percentage-of-nodes-to-score", "100", *(["--feature-gates", gates] if gates else []),
    )
    # fmt: on


@cache
def expectations(case: str) -> Json:
    """Read expect.yaml."""
    found: Json = yaml.safe_load((FOLDERS[case] / "expect.yaml").read_text(encoding="utf-8"))
    return found


def expected_pods() -> list[Any]:
    """List (case, expectation)."""
    return [
        pytest.param(case, expected, id=f"{case}-{expected['pod']}")
        for case in CASE_NAMES
        for expected in expectations(case)["expect"]
    ]


def answer_for(case: str, pod: str) -> Json | None:
    """Find the pod's line in the result, if it has one."""
    found: list[Json] = [line for line in simulate(case).json()["pods"] if line["pod"] == pod]
    assert len(found) <= 1, f"{pod} is listed {len(found)} times"
    return found[0] if found else None


def refusals(case: str, pod: str) -> list[str]:
    """Give the messages of input errors about a pod."""
    return [error["message"] for error in simulate(case).json()["inputErrors"] if error["object"] == f"Pod {pod}"]


def is_for_another_scheduler(case: str, pod: str) -> bool:
    """Whether the pod names a scheduler that the default configuration has no profile for."""
    documents = yaml.safe_load_all((FOLDERS[case] / "cluster.yaml").read_bytes())
    objects = [item for document in documents if document for item in document.get("items", [document])]
    for candidate in objects:
        metadata = candidate.get("metadata", {})
        if f"{metadata.get('namespace', 'default')}/{metadata.get('name')}" == pod and "spec" in candidate:
            return str(candidate["spec"].get("schedulerName", "default-scheduler")) != "default-scheduler"
    return False


@pytest.mark.parametrize(("case", "expected"), expected_pods())
def test_a_pod_ends_as_kube_scheduler_ends_it(case: str, expected: Json) -> None:
    assert set(expected) <= EXPECTATION_KEYS
    pod = expected["pod"]
    answer = answer_for(case, pod)
    if answer is None:
        assert expected.get("unschedulable"), f"{pod} is not in the result; refused: {refusals(case, pod)}"
        assert is_for_another_scheduler(case, pod), f"{pod} is not in the result; refused: {refusals(case, pod)}"
        return
    if expected.get("unschedulable"):
        assert answer["node"] is None
        assert answer["reason"] == expected.get("reason", "Unschedulable")
    else:
        assert answer["node"] in expected["nodes"], answer["message"]
        assert set(answer["best"]) <= set(expected["nodes"])
        assert answer["reason"] is None
    for part in expected.get("message_contains", []):
        assert part in answer["message"] or part in answer.get("detail", "")
    assert sorted(answer["victims"]) == sorted(expected.get("preempts", []))


@pytest.mark.parametrize("case", CASE_NAMES)
def test_the_input_is_refused_only_where_the_case_says_so(case: str) -> None:
    found = simulate(case).json()["inputErrors"]
    expected = expectations(case).get("input_errors", [])
    assert sorted({error["object"] for error in found}) == sorted(error["object"] for error in expected)
    assert all(error["message"] and error["source"] for error in found)


@pytest.mark.parametrize("case", CASE_NAMES)
def test_the_exit_code_and_the_summary_say_what_the_list_says(case: str) -> None:
    completed = simulate(case)
    result = completed.json()
    assert (result["apiVersion"], result["kind"]) == ("nodewise/v1", "Simulation")
    pods, summary = result["pods"], result["summary"]
    placed = [pod for pod in pods if pod["node"] is not None]
    assert summary["placed"] == len(placed)
    assert summary["pending"] == len(pods)
    has_failed = any(pod["reason"] == "SchedulerError" for pod in pods)
    if result["inputErrors"] or has_failed:
        assert completed.exit_code == 2
    else:
        # a gated pod waits for its gates, which says nothing about whether it would fit
        does_not_fit = any(pod["reason"] == "Unschedulable" for pod in pods)
        assert completed.exit_code == (1 if does_not_fit else 0)
