"""`--tie-break` decides among nodes that are equally good, and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import nodewise

N_PODS = 30
NODES = ("b", "c", "a")


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Give three nodes so large that they stay equal, and pods that fit everywhere."""
    amounts = {"cpu": "4000", "memory": "32Ti", "pods": "110"}
    items: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": amounts}}
        for name in NODES
    ]
    spec = {"containers": [{"name": "c", "image": "i"}]}
    items += [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i:02}"}, "spec": spec} for i in range(N_PODS)
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return file


def chosen(cluster: Path, *flags: str) -> str:
    pods = nodewise("simulate", str(cluster), "-o", "json", *flags).json()["pods"]
    assert all(pod["best"] == sorted(NODES) for pod in pods)
    return "".join(pod["node"] for pod in pods)


def test_first_takes_the_first_by_name(cluster: Path) -> None:
    assert chosen(cluster) == chosen(cluster, "--tie-break", "first") == "a" * N_PODS


def test_round_robin_takes_one_after_the_other(cluster: Path) -> None:
    assert chosen(cluster, "--tie-break", "round-robin") == "abc" * (N_PODS // 3)


def test_kube_takes_the_root_of_the_heap(cluster: Path) -> None:
    assert chosen(cluster, "--tie-break", "kube") == "a" * N_PODS


def test_random_takes_all_and_follows_the_seed(cluster: Path) -> None:
    runs = [chosen(cluster, "--tie-break", "random", "--seed", str(seed)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert set(runs[0]) == set(NODES)
