"""`--tie-break kube` takes the very nodes that kube-scheduler takes with one worker, on fresh random clusters."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests import seeds
from tests.oracle import Oracle
from tests.parity.choices import compare_choices, run_choice_trial
from tests.parity.trial import PROFILES, large_trial_for

N_SEEDS = int(os.environ.get("NODEWISE_PARITY_SEEDS", "1"))
MAX_NODES, MAX_PENDING = 300, 60
"""Up to three times the nodes that kube-scheduler looks at in full."""


@pytest.mark.parametrize("number", range(N_SEEDS))
@pytest.mark.parametrize("profile", PROFILES)
def test_every_node_is_the_one_that_kube_scheduler_takes(oracle: Path, profile: str, number: int) -> None:
    seed = seeds.derived_seed("choices", profile, number)
    outcome = run_choice_trial(Oracle(oracle), large_trial_for(profile, seed, MAX_NODES, MAX_PENDING))
    assert outcome.n_decisions > 0
    assert outcome.is_equal, f"{outcome}\n{seeds.VARIABLE}={seeds.base_seed()}"


def test_names_decide_the_order_of_nodes_and_a_failed_nomination_moves_the_next_search(
    oracle: Path, tmp_path: Path
) -> None:
    """150 equal nodes, of which a search takes 100: every start that is off by one shows in the next choice."""
    nodes = [_node(f"n{(i * 67) % 150:03}", zone=f"z{i % 3}") for i in range(150)]
    pods = [_pod(f"p{i:02}", nominated="n149" if i % 5 == 1 else "") for i in range(20)]
    # Full, so that the nominated pods fail there, at the far end of their search.
    pods.append(_pod("full", node="n149", cpu="4"))
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}))
    outcome = compare_choices(Oracle(oracle), cluster, "equal nodes")
    assert outcome.n_decisions == 60
    assert outcome.is_equal, str(outcome)


def test_a_pod_that_names_its_node_and_fits_nowhere_moves_the_next_search(oracle: Path, tmp_path: Path) -> None:
    nodes = [_node(f"n{i}", zone="z") for i in range(5)]
    pods = [_pod("a0"), _pod("a1", cpu="40", only_on="n3"), _pod("a2"), _pod("a3", cpu="40", only_on="n4"), _pod("a4")]
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}))
    outcome = compare_choices(Oracle(oracle), cluster, "named nodes")
    assert outcome.is_equal, str(outcome)


def _node(name: str, *, zone: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


def _pod(name: str, *, cpu: str = "1m", node: str = "", nominated: str = "", only_on: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Mi"}}}]
    }
    if node:
        spec["nodeName"] = node
    if only_on:
        field = {"key": "metadata.name", "operator": "In", "values": [only_on]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    status = {"nominatedNodeName": nominated} if nominated else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec, "status": status}
