"""What people read says what happened, at every width."""

from pathlib import Path

import pytest

from tests.cli.small_clusters import node, pod, write
from tests.command import nodewise

TAINTED = node("n3", "c").replace("metadata:", "spec: {taints: [{key: gpu, effect: NoSchedule}]}\nmetadata:")
BUSY = pod("busy", "2").replace("spec: {", "spec: {nodeName: n2, ")


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return write(tmp_path / "c.yaml", node("n1", "a") + node("n2", "b") + TAINTED + BUSY + pod("web") + pod("big", "9"))


def test_explain_says_why_here_and_why_not_there(cluster: str) -> None:
    completed = nodewise("explain", cluster, "web")
    assert completed.exit_code == 0
    lines = completed.stdout.splitlines()
    assert lines[0] == "default/web: fits on 2 of 3 nodes; goes to n1, which has the highest total"
    at = lines.index("Why not there: nodes by the first plugin that rejects them")
    assert lines[at + 2].split() == ["1", "TaintToleration", "node(s)", "had", "untolerated", "taint(s)"]
    assert lines[at + 3].strip() == "n3 (evicting pods cannot help)"
    at = lines.index("Why here: scores by plugin, weights applied (* the highest total)")
    assert lines[at + 1].split()[:2] == ["NODE", "TOTAL"]
    assert lines[at + 2].split()[:2] == ["*", "n1"]
    assert lines[at + 3].split()[0] == "n2"
    assert lines[-2].startswith("  The same on all 2: ")
    assert lines[-2].endswith("TaintToleration 300.")
    assert lines[-1].startswith("  n1 is ")
    assert " ahead of n2: NodeResourcesFit +" in lines[-1]


def test_explain_shows_the_message_of_a_pod_that_fits_nowhere(cluster: str) -> None:
    completed = nodewise("explain", cluster, "big")
    assert completed.exit_code == 1
    assert completed.stdout.startswith("default/big: fits on no node\n\n  0/3 nodes are available: ")
    assert "Why here" not in completed.stdout


def test_equal_nodes_are_told_with_how_the_tie_is_broken(tmp_path: Path) -> None:
    cluster = write(tmp_path / "c.yaml", node("n1") + node("n2") + pod())
    assert "goes to n1, the first by name of 2 with the highest total" in nodewise("explain", cluster, "p").stdout
    shown = nodewise("explain", cluster, "p", "--tie-break", "random").stdout
    assert "goes to one of the best, one at random of 2 with the highest total" in shown


def test_explain_of_many_pods_is_a_line_each(cluster: str) -> None:
    lines = nodewise("explain", cluster).stdout.splitlines()
    assert lines[1].split() == ["default/web", "2/3", "n1"]
    assert lines[2].startswith("default/big       0/3          0/3 nodes are available: ")
    assert lines[-1] == "1 of 2 pods fit, each judged by itself"


def test_simulate_shows_placements_reasons_and_nodes(cluster: str) -> None:
    completed = nodewise("simulate", cluster)
    assert completed.exit_code == 1
    lines = completed.stdout.splitlines()
    assert lines[:2] == ["POD           NODE", "default/web   n1"]
    assert lines[4].startswith("default/big   Unschedulable   0/3 nodes are available: ")
    assert [line.split()[0] for line in lines[7:10]] == ["n1", "n2", "n3"]
    assert "25%" in lines[7]
    assert lines[-1].startswith("1 of 2 pods placed, 1 fit nowhere on 3 nodes in ")


@pytest.mark.parametrize("verb", ["simulate", "explain"])
@pytest.mark.parametrize("width", [80, 120, 200])
def test_tables_keep_to_the_width(cluster: str, verb: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    completed = nodewise(verb, cluster)
    assert all(len(line) <= width for line in completed.stdout.splitlines())


def test_without_a_terminal_every_pod_stays_one_line(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    (line,) = [line for line in nodewise("simulate", cluster).stdout.splitlines() if "default/big" in line]
    assert line.endswith("3 Preemption is not helpful for scheduling.")


def test_a_big_simulation_is_summed_up(tmp_path: Path) -> None:
    nodes = "".join(node(f"n{i:03}", f"z{i % 3}") for i in range(90))
    pods = "".join(pod(f"p{i:03}", "99" if i % 2 else "100m") for i in range(200))
    cluster = write(tmp_path / "c.yaml", nodes + pods)
    lines = nodewise("simulate", cluster).stdout.splitlines()
    assert len(lines) < 80
    assert "… and 40 more (-o wide lists all)" in lines
    at = next(i for i, line in enumerate(lines) if line.split()[:2] == ["PODS", "REASON"])
    assert lines[at + 1].split()[:2] == ["100", "Unschedulable"]
    assert lines[at + 2].strip() == "default/p001, default/p003, default/p005, default/p007 and 96 more"
    at = next(i for i, line in enumerate(lines) if line.split()[:2] == ["ZONE", "NODES"])
    assert [line.split()[:2] for line in lines[at + 1 : at + 4]] == [["z0", "30"], ["z1", "30"], ["z2", "30"]]
    wide = nodewise("simulate", cluster, "-o", "wide").stdout.splitlines()
    assert len([line for line in wide if "default/p" in line and "Unschedulable" in line]) == 100
    assert len([line for line in wide if line.startswith("n0")]) == 90


def test_a_cluster_without_pending_pods_says_so(tmp_path: Path) -> None:
    cluster = write(tmp_path / "c.yaml", node())
    assert nodewise("simulate", cluster).stdout.endswith("no pending pods to place on 1 nodes\n")
    assert nodewise("explain", cluster).stdout == "no pending pods to explain\n"


def test_pods_that_are_not_asked_for_take_part_unseen(tmp_path: Path) -> None:
    other = pod("other").replace("name: other", "name: other, namespace: far, labels: {app: x}")
    cluster = write(tmp_path / "c.yaml", node() + pod() + other)
    for flags, shown in (
        (["-n", "far"], ["far/other"]),
        (["-l", "app=x"], ["far/other"]),
        (["-n", "far", "-A"], ["default/p", "far/other"]),
        (["-n", "none"], []),
    ):
        completed = nodewise("simulate", cluster, *flags, "-o", "json")
        assert [p["pod"] for p in completed.json()["pods"]] == shown
        assert completed.exit_code == 0
        assert ("left out" in completed.stderr or "leaves out" in completed.stderr) == (len(shown) < 2)


def test_pods_made_for_controllers_are_one_remark(tmp_path: Path) -> None:
    template = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}"
    controllers = "".join(
        f"---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: x{kind.lower()}}}\n"
        f"spec: {{selector: {{matchLabels: {{a: b}}}}, {template}}}\n"
        for kind in ("Deployment", "StatefulSet", "DaemonSet")
    )
    completed = nodewise("simulate", write(tmp_path / "c.yaml", node() + controllers))
    made = "1 of DaemonSets, 1 of Deployments, 1 of StatefulSets"
    assert completed.stderr == f"note: made the pods that controllers lack: {made}\n"
