"""A day of a busy cluster, played: 2,000 nodes and 100,000 arrivals in less than two minutes.

The sums are recounted from what the run says of each pod. kube-scheduler has no virtual time to compare with: the ratio
is that of the day to the time it took.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.scheduling import CACHE, NODEWISE, BenchError

N_NODES, N_ARRIVALS, DAY_S = 2_000, 100_000, 86_400
LIMIT_S = 120.0
SIZES = [(cpu, memory) for cpu in (100, 250, 500, 1000, 2000, 4000) for memory in (128, 512, 1024, 4096)]


def main() -> None:
    """Make the files, play them, check the sums and print the time."""
    CACHE.mkdir(parents=True, exist_ok=True)
    cluster, trace = CACHE / "replay-nodes.json", CACHE / "replay-day.csv"
    _write_nodes(cluster)
    _write_trace(trace)
    command = [str(NODEWISE), "simulate", str(cluster), "--trace", str(trace), "--until", "24h", "-o", "json"]
    started_s = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    seconds = time.perf_counter() - started_s
    if done.returncode not in (0, 1):
        raise BenchError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.decode(errors='replace')}")
    result = json.loads(done.stdout)
    _check_sums(result, trace)
    summary = result["summary"]
    print(
        f"a day with {N_NODES:,} nodes and {summary['created']:,} pods: {seconds:.1f} s (at most {LIMIT_S:.0f}), "
        f"{DAY_S / seconds:,.0f} times as fast as the day; {summary['placed']:,} placed, {summary['evicted']:,} evicted"
    )
    if seconds > LIMIT_S:
        sys.exit(1)


def _write_nodes(path: Path) -> None:
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    items = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"n{number:04}",
                "labels": {
                    "kubernetes.io/hostname": f"n{number:04}",
                    "topology.kubernetes.io/zone": f"z{number % 3}",
                },
            },
            "status": {"capacity": amounts, "allocatable": amounts},
        }
        for number in range(N_NODES)
    ]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def _write_trace(path: Path) -> None:
    """Write arrivals spread over the day, busier at noon, that run for about two hours; one in fifty is urgent."""
    rng = random.Random(20260601)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["at", "pod", "cpu", "memory", "duration", "priority", "labels"])
        for number in range(N_ARRIVALS):
            at_s = min(max(rng.gauss(DAY_S / 2, DAY_S / 5), 0.0), DAY_S - 1.0)
            cpu, memory = rng.choice(SIZES)
            duration_s = rng.expovariate(1 / 14_400)
            priority = 1000 if number % 50 == 0 else ""
            row = (f"p{number}", f"{cpu}m", f"{memory}Mi", f"{duration_s:.3f}", priority, f"app=a{number % 20}")
            rows.writerow([f"{at_s:.3f}", *row])


def _check_sums(result: dict[str, Any], trace: Path) -> None:
    """Recount what the summary and the last sample say, from the pods and the trace."""
    with trace.open(newline="") as file:
        requests = {f"default/{row['pod']}": row for row in csv.DictReader(file)}
    pods, summary, last = result["pods"], result["summary"], result["series"][-1]
    running = [pod for pod in pods if pod["bound"] and not pod["ended"]]
    used: Counter[str] = Counter()
    on_node: Counter[str] = Counter()
    for pod in running:
        row = requests[pod["pod"]]
        used["cpu"] += int(row["cpu"].removesuffix("m"))
        used["memory"] += int(row["memory"].removesuffix("Mi")) << 20
        on_node[pod["node"]] += int(row["cpu"].removesuffix("m"))
    expected = {
        "placed": sum(pod["bound"] is not None for pod in pods),
        "ended": sum(pod["ended"] is not None for pod in pods),
        "running": len(running),
        "waiting": sum(pod["bound"] is None and pod["ended"] is None for pod in pods),
        "evicted": sum(pod["evicted"] for pod in pods),
    }
    found = {name: summary[name] for name in expected}
    if found != expected:
        raise BenchError(f"summary says {found}, a recount {expected}")
    for name, amount in used.items():
        if last["requested"].get(name, 0) != amount:
            raise BenchError(f"{name}: the last sample says {last['requested'].get(name)}, a recount {amount}")
    if max(on_node.values(), default=0) > 32_000:
        raise BenchError("a node holds more cpu than it has")
    for pod in pods:
        if pod["ended"] and pod["bound"] and not pod["evicted"]:
            ran_s = (_time(pod["ended"]) - _time(pod["bound"])).total_seconds()
            if abs(ran_s - float(requests[pod["pod"]]["duration"])) > 0.01:
                raise BenchError(f"{pod['pod']} ran {ran_s} s, expected {requests[pod['pod']]['duration']}")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


if __name__ == "__main__":
    main()
