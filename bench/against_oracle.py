"""Placements per second against the real kube-scheduler, on the same machine in the same run: ``make bench``."""

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bench.scheduling import BenchError, Run, Shape, check_placement, cluster_file, run_kube_scheduler, run_nodewise
from bench.storage import with_csi_volumes
from tests.oracle import Oracle, find_oracle

# Spreading and affinity have fewer pending pods: kube-scheduler places some 50 a second.
SHAPES = (
    Shape("plain", "perf-basic", 5_000, 5_000, 2_000, target_ratio=10),
    Shape("hard spread", "perf-spread", 5_000, 50_000, 1_000, target_ratio=30),
    Shape("soft spread", "perf-preferred-spread", 5_000, 50_000, 1_000, target_ratio=30),
    Shape("anti-affinity", "perf-new-antiaffinity", 5_000, 50_000, 1_000, target_ratio=30),
    Shape("preferred affinity", "perf-preferred-affinity", 5_000, 50_000, 1_000, target_ratio=30),
    Shape("100 deployments interleaved", "perf-deployments", 5_000, 5_000, 2_000, target_ratio=5),
    Shape("CSI volumes", "perf-basic", 5_000, 5_000, 1_000, target_ratio=5, change=with_csi_volumes),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Time every shape with both schedulers, check what they placed, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.against_oracle", description=__doc__)
    parser.add_argument("--only", action="append", metavar="TITLE", help="a shape's title; may be repeated")
    options = parser.parse_args(argv)
    oracle = find_oracle()
    console = Console(width=110)
    table = Table("workload", title="Pods placed per second, decisions only, best of 2")
    for heading in ("nodes", "running", "pending", "kube-scheduler", "nodewise", "ratio", "target", ""):
        table.add_column(heading, justify="right")
    for shape in SHAPES:
        if options.only and shape.title not in options.only:
            continue
        console.print(f"{shape.title} ...", style="dim")
        table.add_row(*row(shape, *measure(oracle, shape)))
    console.print(table)
    return 0


def measure(oracle: Oracle, shape: Shape) -> tuple[Run, Run]:
    """Run both schedulers over a shape; both must place every pod."""
    cluster = cluster_file(oracle, shape)
    ours, node_by_pod = run_nodewise(cluster)
    theirs = run_kube_scheduler(oracle, cluster)
    if not ours.n_placed == theirs.n_placed == shape.n_pending:
        raise BenchError(
            f"{shape.title}: nodewise placed {ours.n_placed}, kube-scheduler {theirs.n_placed}; "
            f"expected all {shape.n_pending}"
        )
    check_placement(cluster, node_by_pod)
    return theirs, ours


def row(shape: Shape, theirs: Run, ours: Run) -> list[str]:
    """Give a shape's line of the table."""
    ratio = ours.pods_per_s / theirs.pods_per_s
    return [
        shape.title,
        *(f"{number:,}" for number in (shape.n_nodes, shape.n_running, shape.n_pending)),
        f"{theirs.pods_per_s:,.0f}",
        f"{ours.pods_per_s:,.0f}",
        f"{ratio:,.1f}",
        str(shape.target_ratio),
        "met" if ratio >= shape.target_ratio else "missed",
    ]


if __name__ == "__main__":
    sys.exit(main())
