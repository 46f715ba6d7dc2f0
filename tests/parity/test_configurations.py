"""Nodewise and the real kube-scheduler agree under random configurations too."""

import json
import os
from pathlib import Path

import pytest

from tests import seeds
from tests.oracle import Oracle
from tests.parity.comparison import compare_answers
from tests.parity.configurations import configuration, with_two_schedulers
from tests.parity.trial import cluster_of, trial_for

PROFILES = ("affinity", "spread", "mixed", "volumes")
N_SEEDS = int(os.environ.get("NODEWISE_PARITY_SEEDS", "4"))


@pytest.mark.parametrize("number", range(N_SEEDS))
@pytest.mark.parametrize("profile", PROFILES)
def test_every_verdict_and_placement_is_that_of_kube_scheduler_with_the_same_configuration(
    oracle: Path, tmp_path: Path, profile: str, number: int
) -> None:
    seed = seeds.derived_seed("configurations", profile, number)
    trial = trial_for(profile, seed)
    document = configuration(seed)
    objects = json.loads(cluster_of(Oracle(oracle), trial))
    if len(document["profiles"]) > 1:
        objects = with_two_schedulers(objects, seed)
    cluster, config = tmp_path / "cluster.json", tmp_path / "config.json"
    cluster.write_text(json.dumps(objects))
    config.write_text(json.dumps(document))
    outcome = compare_answers(Oracle(oracle), cluster, f"{trial}\n  {json.dumps(document)}", config)
    assert outcome.is_equal, f"{outcome}\n{seeds.VARIABLE}={seeds.base_seed()}"
