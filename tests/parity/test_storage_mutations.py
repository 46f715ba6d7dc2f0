"""Nodewise and the real kube-scheduler agree on odd volumes, claims and drivers that no generator profile makes."""

import json
import os
from pathlib import Path

import pytest

from tests import seeds
from tests.oracle import Oracle
from tests.parity.comparison import compare_answers
from tests.parity.storage_mutation import with_odd_storage
from tests.parity.trial import cluster_of, trial_for

N_SEEDS = int(os.environ.get("NODEWISE_PARITY_SEEDS", "4"))
N_CHANGES = (10, 40, 120)


@pytest.mark.parametrize("number", range(N_SEEDS))
def test_every_verdict_and_placement_with_odd_storage_is_that_of_kube_scheduler(
    oracle: Path, tmp_path: Path, number: int
) -> None:
    seed = seeds.derived_seed("storage mutations", "volumes", number)
    trial, n_changes = trial_for("volumes", seed), N_CHANGES[number % len(N_CHANGES)]
    objects = with_odd_storage(json.loads(cluster_of(Oracle(oracle), trial)), seed, n_changes)
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps(objects))
    outcome = compare_answers(Oracle(oracle), cluster, f"{trial}, {n_changes} changes")
    assert outcome.is_equal, f"{outcome}\n{seeds.VARIABLE}={seeds.base_seed()}"
