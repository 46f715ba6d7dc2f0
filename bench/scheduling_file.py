"""A cluster file of one's own, such as a trace, placed by the real kube-scheduler and by nodewise in the same run."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from bench.scheduling import BenchError, run_nodewise
from tests.oracle import OracleError, find_oracle

KUBE_CHOICE = ("--tie-break", "kube", "--percentage-of-nodes-to-score", "100")
"""What makes nodewise choose as a kube-scheduler with one worker that looks at all nodes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Compare the placements, then print how many pods a second each of the two places."""
    parser = argparse.ArgumentParser(prog="python -m bench.scheduling_file", description=__doc__)
    parser.add_argument("file", type=Path, help="a cluster: JSON or YAML, as for nodewise simulate -f")
    cluster: Path = parser.parse_args(argv).file
    console = Console(width=110)
    try:
        console.print(comparison(cluster))
    except (BenchError, OracleError) as error:
        console.print(f"{cluster}: {error}", style="red")
        return 2
    return 0


def comparison(cluster: Path) -> str:
    """Run both schedulers over a file.

    kube-scheduler is timed as it comes, with 16 workers that look at a part of the nodes, and the way that makes its
    placements reproducible; the ratio is that to its fastest run.

    Raises
    ------
    BenchError
        Some pod got another node.
    """
    oracle = find_oracle()
    ours, node_by_pod = run_nodewise(cluster, *KUBE_CHOICE)
    expected, timing = oracle.loop_placements(cluster)
    check_same(expected, node_by_pod)
    timings = [timing, *[oracle.loop(cluster, preload=preload) for preload in (True, False)]]
    theirs = max(timing["pods_per_second"] for timing in timings)
    return (
        f"the same node for each of {len(expected):,} pods of {timing['pending']:,} on {timing['nodes']:,} nodes; "
        f"pods placed a second: kube-scheduler {theirs:,.0f}, nodewise {ours.pods_per_s:,.0f}, "
        f"ratio {ours.pods_per_s / theirs:,.1f}"
    )


def check_same(expected: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Raise BenchError that names a pod with different nodes, if there is one."""
    for pod in sorted({*expected, *found}):
        if expected.get(pod) != found.get(pod):
            nodes = [nodes.get(pod) or "no node" for nodes in (found, expected)]
            raise BenchError(f"{pod}: nodewise chose {nodes[0]}, expected {nodes[1]} as kube-scheduler")


if __name__ == "__main__":
    sys.exit(main())
