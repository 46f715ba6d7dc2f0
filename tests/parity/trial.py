"""Random clusters of the oracle's making, put to the oracle and to nodewise."""

import math
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.oracle import Oracle
from tests.parity.comparison import Outcome, compare_answers

PROFILES = ("basic", "affinity", "spread", "mixed", "volumes", "dra")


@dataclass(frozen=True, slots=True)
class Trial:
    """A cluster that the oracle generates."""

    profile: str
    seed: int
    n_nodes: int
    n_pods: int
    n_pending: int

    def __str__(self) -> str:
        return (
            f"seed {self.seed}, profile {self.profile}, "
            f"{self.n_nodes} nodes, {self.n_pods} running, {self.n_pending} pending"
        )

    @property
    def command(self) -> str:
        """The command that makes this cluster again."""
        return (
            f"oracle generate --profile {self.profile} --seed {self.seed} "
            f"--nodes {self.n_nodes} --pods {self.n_pods} --pending {self.n_pending}"
        )


def trial_for(profile: str, seed: int) -> Trial:
    """Choose the sizes that belong to a seed: 10 to 60 nodes, 30 to 200 pods."""
    generator = random.Random(f"{profile} {seed}")
    n_all = generator.randint(30, 200)
    n_pending = generator.randint(n_all // 4, n_all * 3 // 4)
    return Trial(profile, seed, generator.randint(10, 60), n_all - n_pending, n_pending)


def cluster_of(oracle: Oracle, trial: Trial) -> bytes:
    """Generate the cluster of a trial."""
    return oracle.generate(
        trial.profile, seed=trial.seed, n_nodes=trial.n_nodes, n_pods=trial.n_pods, n_pending=trial.n_pending
    )


def large_trial_for(profile: str, seed: int, max_nodes: int, max_pending: int = 200) -> Trial:
    """Choose sizes from 10 nodes and 20 pending pods on, few nodes more often than many."""
    generator = random.Random(f"large {profile} {seed}")
    n_nodes = round(math.exp(generator.uniform(math.log(10), math.log(max_nodes))))
    n_pending = generator.randint(20, max_pending)
    return Trial(profile, seed, n_nodes, generator.randint(0, 3 * n_nodes), n_pending)


@contextmanager
def cluster_file(oracle: Oracle, trial: Trial) -> Iterator[Path]:
    """Give a file with the cluster of a trial, for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="nodewise-parity-") as folder:
        cluster = Path(folder) / "cluster.json"
        cluster.write_bytes(cluster_of(oracle, trial))
        yield cluster


def run_trial(oracle: Oracle, trial: Trial) -> Outcome:
    """Put one cluster to both and compare every answer."""
    with cluster_file(oracle, trial) as cluster:
        return compare_answers(oracle, cluster, f"{trial}\n  {trial.command}")
