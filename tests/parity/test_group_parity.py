"""Nodewise and the real kube-scheduler make the same of pod groups, on random clusters and on the cases in `golden`."""

import os
from pathlib import Path

import pytest
import yaml

from tests import seeds
from tests.oracle import Oracle
from tests.parity.group_clusters import COMPOSITE, GENERIC, TOPOLOGY, group_cluster, group_trial_for
from tests.parity.group_comparison import compare_groups

N_SEEDS = int(os.environ.get("NODEWISE_PARITY_SEEDS", "6"))
GOLDEN = Path(__file__).parent.parent / "golden"
CASES = {
    folder.name: gates
    for folder in sorted(GOLDEN.iterdir())
    if folder.is_dir() and (gates := yaml.safe_load((folder / "expect.yaml").read_bytes()).get("feature_gates"))
}


@pytest.mark.parametrize("gates", [GENERIC, TOPOLOGY, COMPOSITE], ids=["groups", "topology", "composite"])
@pytest.mark.parametrize("number", range(N_SEEDS))
def test_every_group_ends_as_kube_scheduler_ends_it(oracle: Path, tmp_path: Path, number: int, gates: str) -> None:
    trial = group_trial_for(seeds.derived_seed(f"groups {gates}", number), gates)
    cluster = tmp_path / "cluster.json"
    cluster.write_bytes(group_cluster(Oracle(oracle), trial))
    outcome = compare_groups(Oracle(oracle), cluster, gates)
    assert not outcome.differences, f"{trial}\n{seeds.VARIABLE}={seeds.base_seed()}"


@pytest.mark.parametrize("case", CASES)
def test_the_cases_are_what_kube_scheduler_does(oracle: Path, case: str) -> None:
    assert not compare_groups(Oracle(oracle), GOLDEN / case / "cluster.yaml", CASES[case]).differences
