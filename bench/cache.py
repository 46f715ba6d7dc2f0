"""The scheduler cache: what one change costs, by cluster size and against kube-scheduler's, and a million pods in it.

``python -m bench.cache``. One change is what a decision makes of the cache: a pod is assumed on a node and the snapshot
takes it over; then the pod is forgotten and the snapshot updated again. Nodes and pods are those of the oracle's shape
perf-basic. Every change is on the next node, as those of a scheduler that spreads its pods. Every size is measured in a
process of its own.
"""

import argparse
import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import msgspec
from rich.console import Console
from rich.table import Table

from bench.scheduling import BenchError
from nodewise.api.objects import Node, Pod
from nodewise.state.cache import SchedulerCache
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from tests.oracle import find_oracle

BIG = (100_000, 1_000_000)
SIZES = ((1_000, 10_000), (5_000, 50_000), BIG)
COMPARED = (1_000, 30_000)
N_CHANGES = 5_000
CHUNK = 10_000
MAX_RATIO_OF_SIZES = 1.5
MAX_RATIO_TO_GO = 3.0
MAX_RESIDENT_GB = 3.0
MAX_LOAD_S = 60.0
MAX_PAUSE_MS = 50.0

NODE = """{"metadata":{"name":"node-%05d","labels":{"kubernetes.io/hostname":"node-%05d"}},
"status":{"capacity":{"cpu":"4","memory":"32Gi","pods":"110"}}}"""
POD = """{"metadata":{"name":"%s","namespace":"sched-0","uid":"%s","labels":{%s}},
"spec":{"nodeName":"node-%05d","containers":[{"name":"pause","image":"pause:3.10","ports":[{"containerPort":80}],
"resources":{"requests":{"cpu":"100m","memory":"500Mi"},"limits":{"cpu":"100m","memory":"500Mi"}}}]},
"status":{"phase":"Running","startTime":"2026-06-01T00:00:00Z"}}"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one cache cost.

    Attributes
    ----------
    load_s : float
        From typed objects to the end of the first snapshot.
    resident_gb : float
        The process at its largest, typed objects included.
    pause_ms : float
        The longest of some full garbage collections.
    assume_us, update_us, update_after_forget_us : tuple[float, float]
        Median and mean.
    quiet_update_us : float
        The lowest median of the updates in a tenth of the time: what else the machine does shows least.
    """

    n_nodes: int
    n_pods: int
    load_s: float
    resident_gb: float
    pause_ms: float
    assume_us: tuple[float, float]
    update_us: tuple[float, float]
    update_after_forget_us: tuple[float, float]
    quiet_update_us: float


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; a wrong result is an error, a missed target is not."""
    parser = argparse.ArgumentParser(prog="python -m bench.cache", description=__doc__)
    parser.add_argument("--measure", nargs=2, type=int, metavar=("NODES", "PODS"), help="print one size as JSON")
    options = parser.parse_args(argv)
    if options.measure:
        print(json.dumps(asdict(measure(*options.measure))))
        return 0
    console = Console(width=110)
    by_size = [in_a_process(*size) for size in SIZES]
    show_sizes(console, by_size)
    show_big(console, by_size[-1])
    show_against_go(console)
    return 0


def show_sizes(console: Console, by_size: Sequence[Measured]) -> None:
    """Print what one changed node costs in clusters of several sizes."""
    table = Table("nodes", "pods", title="Snapshot update with one changed node, microseconds (median)")
    for heading in ("assume", "update", "quietest tenth", "ratio", "target", ""):
        table.add_column(heading, justify="right")
    for measured in by_size:
        ratio = measured.quiet_update_us / by_size[0].quiet_update_us
        table.add_row(
            f"{measured.n_nodes:,}",
            f"{measured.n_pods:,}",
            *(f"{us:.2f}" for us in (measured.assume_us[0], measured.update_us[0], measured.quiet_update_us)),
            *verdict(ratio, MAX_RATIO_OF_SIZES),
        )
    console.print(table)


def show_big(console: Console, big: Measured) -> None:
    """Print what the biggest cache costs in all."""
    table = Table(f"{big.n_nodes:,} nodes, {big.n_pods:,} pods", title="Cache and snapshot, from typed objects")
    for heading in ("measured", "target", ""):
        table.add_column(heading, justify="right")
    table.add_row("load, seconds", *verdict(big.load_s, MAX_LOAD_S))
    table.add_row("resident, GB", *verdict(big.resident_gb, MAX_RESIDENT_GB))
    table.add_row("full garbage collection, ms", *verdict(big.pause_ms, MAX_PAUSE_MS))
    console.print(table)


def show_against_go(console: Console) -> None:
    """Print the same step in kube-scheduler's cache and in nodewise's."""
    n_nodes, n_pods = COMPARED
    theirs = find_oracle().snapshot(n_nodes=n_nodes, n_pods=n_pods, n_changes=N_CHANGES, n_spots=n_nodes)
    ours = in_a_process(n_nodes, n_pods)
    table = Table("microseconds", title=f"{n_nodes:,} nodes, {n_pods:,} pods, one changed node")
    for heading in ("kube-scheduler", "nodewise", "ratio", "target", ""):
        table.add_column(heading, justify="right")
    steps = (
        ("snapshot update", "snapshot_us", ours.update_us),
        ("snapshot update after forget", "snapshot_after_forget_us", ours.update_after_forget_us),
        ("assume", "assume_us", ours.assume_us),
    )
    for step, key, measured in steps:
        for kind, position, name in (("mean", 1, "mean"), ("median", 0, "p50")):
            there, here = theirs[key][name], measured[position]
            cells = verdict(here / there, MAX_RATIO_TO_GO)
            table.add_row(f"{step}, {kind}", f"{there:.1f}", f"{here:.1f}", *cells)
    console.print(table)


def verdict(found: float, at_most: float) -> list[str]:
    """Give the cells of a figure and its target."""
    return [f"{found:.2f}", f"{at_most:g}", "met" if found <= at_most else "missed"]


def in_a_process(n_nodes: int, n_pods: int) -> Measured:
    """Measure one size in a process of its own."""
    command = [sys.executable, "-m", "bench.cache", "--measure", str(n_nodes), str(n_pods)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
    return msgspec.json.decode(done.stdout, type=Measured)


def measure(n_nodes: int, n_pods: int) -> Measured:
    """Fill a cache, then change one node at a time."""
    cache, snapshot = SchedulerCache(), Snapshot()
    load_s = fill(cache, snapshot, n_nodes, n_pods)
    sizes = cache.sizes()
    if (sizes.nodes, sizes.pods, snapshot.n_nodes) != (n_nodes, n_pods, n_nodes):
        raise BenchError(f"{sizes} and {snapshot.n_nodes} nodes in the snapshot, expected {n_nodes} and {n_pods}")
    pauses = [seconds_of_full_collection() for _ in range(3)]
    assumes, updates, updates_after_forget = change_one_by_one(cache, snapshot, n_nodes)
    # The unit of ru_maxrss is KiB on Linux and bytes on macOS.
    unit = 1 if sys.platform == "darwin" else 1024
    resident_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    return Measured(
        n_nodes, n_pods, load_s, resident_gb, 1e3 * max(pauses), summary(assumes), summary(updates),
        summary(updates_after_forget), quiet_median(updates),
    )  # fmt: skip


def fill(cache: SchedulerCache, snapshot: Snapshot, n_nodes: int, n_pods: int) -> float:
    """Put nodes and pods into a cache and its snapshot; give the seconds, the making of objects left out."""
    took_s = 0.0
    decode_node = msgspec.json.Decoder(Node).decode
    for start in range(0, n_nodes, CHUNK):
        nodes = [decode_node(NODE % (number, number)) for number in range(start, min(start + CHUNK, n_nodes))]
        began = time.perf_counter()
        for node in nodes:
            cache.add_node(node)
        took_s += time.perf_counter() - began
    for pods in chunks_of_pods(n_nodes, n_pods):
        began = time.perf_counter()
        for pod in pods:
            cache.add_pod(PodInfo(pod))
        took_s += time.perf_counter() - began
    began = time.perf_counter()
    snapshot.update(cache)
    return took_s + time.perf_counter() - began


def chunks_of_pods(n_nodes: int, n_pods: int) -> Iterator[list[Pod]]:
    """Make running pods, node by node in turn, in pieces."""
    decode = msgspec.json.Decoder(Pod).decode
    for start in range(0, n_pods, CHUNK):
        yield [
            decode(POD % (f"init-{n:07d}", f"uid-of-init-pod-number-{n:012d}", f'"app":"app-{n % 1000}"', n % n_nodes))
            for n in range(start, min(start + CHUNK, n_pods))
        ]


def seconds_of_full_collection() -> float:
    """Time a collection of all generations."""
    began = time.perf_counter()
    gc.collect()
    return time.perf_counter() - began


def change_one_by_one(
    cache: SchedulerCache, snapshot: Snapshot, n_nodes: int
) -> tuple[list[int], list[int], list[int]]:
    """Assume a pod, update, forget it, update; give the nanoseconds of assume and of both updates."""
    decode = msgspec.json.Decoder(Pod).decode
    clock = time.perf_counter_ns
    assumes, updates, updates_after_forget = [], [], []
    for number in range(N_CHANGES):
        pod = PodInfo(decode(POD % (f"new-{number}", f"uid-of-new-{number}", "", 0)))
        pod = pod.placed_on(f"node-{number % n_nodes:05d}")
        times = [clock()]
        cache.assume_pod(pod)
        times.append(clock())
        snapshot.update(cache)
        times.append(clock())
        cache.forget_pod(pod)
        times.append(clock())
        snapshot.update(cache)
        times.append(clock())
        assumes.append(times[1] - times[0])
        updates.append(times[2] - times[1])
        updates_after_forget.append(times[4] - times[3])
    return assumes, updates, updates_after_forget


def summary(times_ns: Sequence[int]) -> tuple[float, float]:
    """Give median and mean in microseconds."""
    return statistics.median(times_ns) / 1e3, statistics.mean(times_ns) / 1e3


def quiet_median(times_ns: Sequence[int]) -> float:
    """Give the lowest of the medians of ten equal parts, in microseconds."""
    n = len(times_ns) // 10
    return min(statistics.median(times_ns[start : start + n]) for start in range(0, 10 * n, n)) / 1e3


if __name__ == "__main__":
    sys.exit(main())
