"""Time from the start of a process to its end: the command's help, and a small cluster."""

import subprocess
import sys
import time
from collections.abc import Sequence

from bench.scheduling import NODEWISE, BenchError, Shape, cluster_file
from tests.oracle import find_oracle

CLUSTER = Shape("1,000 nodes", "perf-basic", 1_000, 0, 2_000, target_ratio=1)
HELP_TARGET_S = 0.3
SIMULATE_TARGET_S = 3.0
N_RUNS = 3


def main() -> int:
    """Print both times beside their targets; a wrong result is an error, a missed target is not."""
    help_s, text = best_time([str(NODEWISE), "--help"])
    if "simulate" not in text:
        raise BenchError(f"nodewise --help: expected it to name the verb simulate, found {text[:200]!r}")
    show("nodewise --help", help_s, HELP_TARGET_S)

    cluster = cluster_file(find_oracle(), CLUSTER)
    simulate_s, text = best_time([str(NODEWISE), "simulate", str(cluster), "--workloads", "ignore", "-o", "json"])
    n_placed = text.count('"node":"node-') + text.count('"node": "node-')
    if n_placed != CLUSTER.n_pending:
        raise BenchError(f"nodewise simulate: {n_placed} pods placed, expected {CLUSTER.n_pending}")
    show("nodewise simulate, 1,000 nodes, 2,000 pending pods", simulate_s, SIMULATE_TARGET_S)
    return 0


def best_time(command: Sequence[str]) -> tuple[float, str]:
    """Run a command a few times; give the shortest time in seconds and the output."""
    times_s: list[float] = []
    output = ""
    for _ in range(N_RUNS):
        started = time.perf_counter()
        output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        times_s.append(time.perf_counter() - started)
    return min(times_s), output


def show(what: str, took_s: float, target_s: float) -> None:
    """Print one line."""
    verdict = "met" if took_s <= target_s else "missed"
    print(f"{what:52} {took_s:6.2f} s   target {target_s:.1f} s   {verdict}")


if __name__ == "__main__":
    sys.exit(main())
