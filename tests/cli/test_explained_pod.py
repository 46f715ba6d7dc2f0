"""`explain POD` for pods that have a node, or another scheduler."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import Completed, nodewise


def node(name: str, cpu: str = "4") -> dict[str, Any]:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}


def pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def explained(tmp_path: Path, *items: dict[str, Any], output: str = "json") -> Completed:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return nodewise("explain", str(path), "web", "-o", output)


def test_a_pod_that_has_a_node_does_not_stand_in_its_own_way(tmp_path: Path) -> None:
    completed = explained(tmp_path, node("n1"), pod("web", "3", nodeName="n1"))
    (answer,) = completed.json()["pods"]
    assert (answer["feasible"], answer["placedOn"]) == (["n1"], "n1")
    assert completed.exit_code == 0


@pytest.mark.parametrize(
    ("others", "verdict"),
    [
        ([], "n1 would be chosen again"),
        ([node("n2")], "n1 is one of the 2 best nodes, all alike"),
        ([node("n2", "64")], "n1 would still do, but n2 would be chosen"),
        ([node("n2"), pod("big", "3500m", nodeName="n1")], "n1 would not do"),
    ],
)
def test_a_note_says_whether_the_pod_would_get_the_same_node(
    tmp_path: Path, others: list[dict[str, Any]], verdict: str
) -> None:
    completed = explained(tmp_path, node("n1"), *others, pod("web", nodeName="n1"))
    expected = f"note: Pod default/web is on node n1; judged as if it were pending and not there: {verdict}\n"
    assert completed.stderr == expected


def test_a_pod_of_another_scheduler_is_judged_by_the_first_profile(tmp_path: Path) -> None:
    completed = explained(tmp_path, node("n1"), pod("web", schedulerName="other"))
    assert completed.json()["pods"][0]["feasible"] == ["n1"]
    assert "Pod default/web is of scheduler other; judged as if it were of default-scheduler" in completed.stderr


def test_a_pending_pod_says_nothing_about_a_node_that_it_is_on(tmp_path: Path) -> None:
    completed = explained(tmp_path, node("n1"), pod("web"))
    assert "placedOn" not in completed.json()["pods"][0]
    assert completed.stderr == ""


def test_a_pending_pod_is_meant_where_another_of_the_same_name_runs(tmp_path: Path) -> None:
    running = pod("web", nodeName="n1")
    running["metadata"]["namespace"] = "other"
    assert explained(tmp_path, node("n1"), running, pod("web")).json()["pods"][0]["pod"] == "default/web"
