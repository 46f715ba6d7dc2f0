"""Nodewise and the real kube-scheduler agree on fresh random clusters in every run."""

import os
from pathlib import Path

import pytest

from tests import seeds
from tests.oracle import Oracle
from tests.parity.trial import PROFILES, run_trial, trial_for

N_SEEDS = int(os.environ.get("NODEWISE_PARITY_SEEDS", "6"))


@pytest.mark.parametrize("number", range(N_SEEDS))
@pytest.mark.parametrize("profile", PROFILES)
def test_every_verdict_and_every_placement_is_that_of_kube_scheduler(oracle: Path, profile: str, number: int) -> None:
    outcome = run_trial(Oracle(oracle), trial_for(profile, seeds.derived_seed("parity", profile, number)))
    assert outcome.is_equal, f"{outcome}\n{seeds.VARIABLE}={seeds.base_seed()}"
