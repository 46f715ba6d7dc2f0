"""Random clusters of the oracle's making, put to the oracle and to nodewise."""

import random
import tempfile
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


def run_trial(oracle: Oracle, trial: Trial) -> Outcome:
    """Put one cluster to both and compare every answer."""
    with tempfile.TemporaryDirectory(prefix="nodewise-parity-") as folder:
        cluster = Path(folder) / "cluster.json"
        cluster.write_bytes(cluster_of(oracle, trial))
        return compare_answers(oracle, cluster, f"{trial}\n  {trial.command}")
