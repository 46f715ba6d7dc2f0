"""What `simulate` and `explain` print about pods in groups."""

from pathlib import Path
from typing import Any

import pytest

from tests.command import Completed, nodewise

GATES = ("--feature-gates", "GenericWorkload=true")
NODE = (
    '{apiVersion: v1, kind: Node, metadata: {name: NAME}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}}'
)
GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train}
spec: {schedulingPolicy: {gang: {minCount: MIN}}, priority: 10}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  priority: 10
  schedulingGroup: {podGroupName: train}
  containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]
"""
LOW = """\
apiVersion: v1
kind: Pod
metadata: {name: low}
spec: {nodeName: n1, priority: 1, containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}
status: {phase: Running}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> "Cluster":
    return Cluster(tmp_path / "cluster.yaml")


class Cluster:
    """A file with nodes n1.., the group `train` and its pods w-0.."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, *, nodes: int, pods: int, minimum: int, more: str = "") -> None:
        texts = [NODE.replace("NAME", f"n{number}") for number in range(1, nodes + 1)]
        texts += [GROUP.replace("MIN", str(minimum)), *(POD.replace("NAME", f"w-{number}") for number in range(pods))]
        self.path.write_text("\n---\n".join([*texts, *([more] if more else [])]))

    def run(self, verb: str, *args: str) -> Completed:
        return nodewise(verb, str(self.path), *args, *GATES)

    def pods(self, verb: str, *args: str) -> dict[str, dict[str, Any]]:
        return {line["pod"]: line for line in self.run(verb, *args, "-o", "json").json()["pods"]}


def test_a_gang_that_does_not_fit_says_which_pods_are_short_of_what(cluster: Cluster) -> None:
    cluster.write(nodes=2, pods=3, minimum=3)
    done = cluster.run("simulate", "-o", "json")
    result = done.json()
    assert done.exit_code == 1
    assert result["summary"] | {"seconds": 0} == {
        "nodes": 2,
        "pending": 3,
        "placed": 0,
        "unschedulable": 3,
        "gated": 0,
        "seconds": 0,
    }
    by_name = {line["pod"]: line for line in result["pods"]}
    assert {line["podGroup"] for line in by_name.values()} == {"default/train"}
    short = "0/2 nodes are available: 2 Insufficient cpu."
    assert by_name["default/w-2"]["message"] == short
    assert "detail" not in by_name["default/w-2"]
    assert by_name["default/w-0"]["message"].startswith("pod group is unschedulable, minCount (3) cannot be satisfied")
    assert by_name["default/w-0"]["detail"] == f"fits nowhere: default/w-2 ({short})"


def test_of_many_pods_that_fit_nowhere_the_first_few_are_named(cluster: Cluster) -> None:
    cluster.write(nodes=1, pods=8, minimum=2)
    short = "(0/1 nodes are available: 1 Insufficient cpu.)"
    shown = ", ".join(f"default/w-{number} {short}" for number in (1, 2, 3))
    assert cluster.pods("simulate")["default/w-0"]["detail"] == f"fits nowhere: {shown} and 4 more"


def test_the_table_shows_what_the_group_lacks(cluster: Cluster) -> None:
    cluster.write(nodes=1, pods=2, minimum=2)
    shown = " ".join(cluster.run("simulate").stdout.split())
    assert "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining" in shown
    assert "fits nowhere: default/w-1 (0/1 nodes are available: 1 Insufficient cpu.)" in shown
    assert "0 of 2 pods placed, 2 fit nowhere" in shown


def test_a_group_that_waits_for_pods_is_not_tried(cluster: Cluster) -> None:
    cluster.write(nodes=1, pods=2, minimum=3)
    waiting = "waiting for minCount pods from a gang to appear in scheduling queue"
    assert {line["message"] for line in cluster.pods("simulate").values()} == {waiting}
    explained = cluster.pods("explain")
    assert {line["skipped"] for line in explained.values()} == {f"GangScheduling: {waiting}"}


def test_evicted_pods_stand_with_one_pod_of_the_group(cluster: Cluster) -> None:
    cluster.write(nodes=2, pods=2, minimum=2, more=LOW)
    lines = cluster.pods("simulate")
    assert all(line["node"] for line in lines.values())
    assert [victim for line in lines.values() for victim in line["victims"]] == ["default/low"]


def test_explain_tells_of_a_pod_what_becomes_of_its_group(cluster: Cluster) -> None:
    cluster.write(nodes=1, pods=2, minimum=2)
    done = cluster.run("explain", "-o", "json")
    first, second = done.json()["pods"]
    assert done.exit_code == 1
    assert first["feasible"] == second["feasible"] == ["n1"]
    assert first["message"] == ""
    assert "preemption" not in first
    assert first["podGroup"] == {
        "name": "default/train",
        "placed": False,
        "node": None,
        "message": "pod group is unschedulable, minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, "
        "pod group preemption: No preemption victims found for incoming preemptor",
        "detail": "fits nowhere: default/w-1 (0/1 nodes are available: 1 Insufficient cpu.)",
    }
    assert second["podGroup"] == {
        "name": "default/train",
        "placed": False,
        "node": None,
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
        "detail": "it fits nowhere beside the other pods of its group",
    }


def test_explain_tells_whom_a_group_would_evict(cluster: Cluster) -> None:
    cluster.write(nodes=2, pods=2, minimum=2, more=LOW)
    [line] = [line for line in cluster.pods("explain").values() if line["podGroup"].get("preemption")][:1]
    assert line["podGroup"]["preemption"]["victims"] == ["default/low"]
    assert line["podGroup"]["preemption"]["node"] in ("n1", "n2")
    page = cluster.run("explain", "default/w-0").stdout
    assert "Its pod group default/train is not placed." in page
    assert "by evicting default/low." in page


def test_explain_of_a_group_that_fits_names_the_node(cluster: Cluster) -> None:
    cluster.write(nodes=2, pods=2, minimum=2)
    page = cluster.run("explain", "default/w-1").stdout
    assert "With its pod group default/train the pod goes to n2." in page
    assert cluster.run("explain").exit_code == 0


def test_the_list_of_explanations_says_which_group_does_not_fit(cluster: Cluster) -> None:
    cluster.write(nodes=1, pods=2, minimum=2)
    shown = " ".join(cluster.run("explain", "--all").stdout.split())
    assert "pod group default/train: pod group is unschedulable, minCount (2) cannot be satisfied" in shown


def test_without_the_gate_pods_are_on_their_own(cluster: Cluster) -> None:
    cluster.write(nodes=1, pods=2, minimum=2)
    done = nodewise("simulate", str(cluster.path), "-o", "json")
    lines = done.json()["pods"]
    assert [line["node"] for line in lines] == ["n1", None]
    assert all("podGroup" not in line for line in lines)
    assert "1 PodGroup without effect: feature gate GenericWorkload is off" in done.stderr
