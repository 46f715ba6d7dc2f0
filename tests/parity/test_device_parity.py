"""Nodewise and the real kube-scheduler agree on clusters with every kind of device and request."""

import os
from pathlib import Path

import pytest

from tests import seeds
from tests.command import nodewise
from tests.oracle import Oracle
from tests.parity.comparison import compare_answers
from tests.parity.device_clusters import DeviceClusters

N_SEEDS = int(os.environ.get("NODEWISE_PARITY_SEEDS", "6"))


@pytest.mark.parametrize("with_failures", [False, True])
@pytest.mark.parametrize("number", range(N_SEEDS))
def test_every_verdict_and_every_device_is_that_of_kube_scheduler(
    oracle: Path, tmp_path: Path, number: int, *, with_failures: bool
) -> None:
    seed = seeds.derived_seed("devices", number)
    cluster = tmp_path / "cluster.json"
    cluster.write_bytes(DeviceClusters(seed).make(with_failures=with_failures))
    outcome = compare_answers(Oracle(oracle), cluster, f"device cluster {seed}")
    assert outcome.is_equal, f"{outcome}\n{seeds.VARIABLE}={seeds.base_seed()}"


@pytest.mark.parametrize("number", range(N_SEEDS))
def test_selectors_that_fail_say_what_kube_scheduler_says(oracle: Path, tmp_path: Path, number: int) -> None:
    cluster = tmp_path / "cluster.json"
    cluster.write_bytes(DeviceClusters(seeds.derived_seed("device failures", number)).make(with_failures=True))
    explained = nodewise("explain", str(cluster), "--workloads", "ignore", "--all", "-o", "jsonl").json_lines()
    errors = {line["pod"]: line.get("error", "") for line in Oracle(oracle).evaluate(cluster)}
    assert {line["pod"]: line.get("error", "") for line in explained} == errors
