"""One benchmark cluster: made by the oracle, scheduled by kube-scheduler and by nodewise, and checked."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.oracle import BUILD_DIR, Oracle

CACHE = BUILD_DIR / "bench"
NODEWISE = Path(sys.executable).parent / "nodewise"
N_RUNS = 2
SUFFIXES = {"m": Fraction(1, 1000), "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30)}


class BenchError(Exception):
    """A run ended with an error or with an impossible result."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A workload of the oracle's generator and how much faster nodewise means to be."""

    title: str
    profile: str
    n_nodes: int
    n_running: int
    n_pending: int
    target_ratio: int
    change: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """What is done to the cluster that the oracle makes."""


@dataclass(frozen=True, slots=True)
class Run:
    """How fast one scheduler placed the pending pods, at its best of some runs."""

    n_placed: int
    pods_per_s: float


def cluster_file(oracle: Oracle, shape: Shape) -> Path:
    """Give the shape's cluster, generated at its first use or after the oracle has changed."""
    changed = f"-{shape.change.__name__}" if shape.change is not None else ""
    name = f"{shape.profile}-{shape.n_nodes}-{shape.n_running}-{shape.n_pending}{changed}.json"
    cluster = CACHE / name
    if not cluster.exists() or cluster.stat().st_mtime < oracle.binary.stat().st_mtime:
        CACHE.mkdir(parents=True, exist_ok=True)
        sizes = {"n_nodes": shape.n_nodes, "n_pods": shape.n_running, "n_pending": shape.n_pending}
        text = oracle.generate(shape.profile, seed=1, **sizes)
        if shape.change is not None:
            text = json.dumps(shape.change(json.loads(text))).encode()
        partial = cluster.with_suffix(".partial")
        partial.write_bytes(text)
        partial.rename(cluster)
    return cluster


def run_kube_scheduler(oracle: Oracle, cluster: Path) -> Run:
    """Time kube-scheduler's whole loop, without an API server.

    Its pods wait in the queue in one run and arrive while it runs in the other: the better one counts.
    """
    timings = [oracle.loop(cluster, preload=preload) for preload in (True, False)]
    placed = {timing["scheduled"] for timing in timings}
    if len(placed) != 1:
        raise BenchError(f"{cluster.name}: kube-scheduler placed {sorted(placed)} pods in equal runs")
    return Run(placed.pop(), max(timing["pods_per_second"] for timing in timings))


def run_nodewise(cluster: Path, *flags: str) -> tuple[Run, dict[str, str]]:
    """Time nodewise's decisions, loading left out as for kube-scheduler; also give node by pod."""
    results = [simulate(cluster, *flags) for _ in range(N_RUNS)]
    placements = [{pod["pod"]: pod["node"] for pod in result["pods"] if pod["node"]} for result in results]
    if any(placement != placements[0] for placement in placements):
        raise BenchError(f"{cluster.name}: nodewise decided differently in equal runs")
    seconds = min(result["summary"]["seconds"] for result in results)
    return Run(len(placements[0]), len(placements[0]) / seconds), placements[0]


def simulate(cluster: Path, *flags: str) -> dict[str, Any]:
    """Run ``nodewise simulate`` in a process of its own."""
    command = [str(NODEWISE), "simulate", str(cluster), "--workloads", "ignore", "-o", "json", *flags]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        error = done.stderr.decode(errors="replace")
        raise BenchError(f"{' '.join(command)}: exit code {done.returncode}: {error}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def check_placement(cluster: Path, node_by_pod: dict[str, str]) -> None:
    """Recompute every node's load from the file, and the rules of the shapes over the new pods.

    Raises
    ------
    BenchError
        A node holds more than it can, or a spreading or anti-affinity rule is broken.
    """
    items = json.loads(cluster.read_bytes())["items"]
    nodes = {item["metadata"]["name"]: item for item in items if item["kind"] == "Node"}
    load: dict[str, Counter[str]] = {name: Counter() for name in nodes}
    new_by_node: Counter[str] = Counter()
    placed: list[dict[str, Any]] = []
    for pod in (item for item in items if item["kind"] == "Pod"):
        node = pod["spec"].get("nodeName")
        if node is None:
            node = node_by_pod[f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"]
            new_by_node[node] += 1
            placed.append(pod)
        load[node]["pods"] += 1
        for container in pod["spec"]["containers"]:
            for resource, text in container.get("resources", {}).get("requests", {}).items():
                load[node][resource] += _milli(text)
    for name, used in load.items():
        room = nodes[name]["status"].get("allocatable") or nodes[name]["status"]["capacity"]
        for resource, amount in used.items():
            limit = int(room[resource]) if resource == "pods" else _milli(room[resource])
            if amount > limit:
                raise BenchError(f"{cluster.name}: {name} holds {amount} {resource}, expected at most {limit}")
    _check_rules(cluster, placed[0]["spec"], nodes, new_by_node)


def _check_rules(cluster: Path, spec: dict[str, Any], nodes: dict[str, Any], new_by_node: Counter[str]) -> None:
    """Check hard rules, which are those of any new pod: a shape's pods are equal in them."""
    for constraint in spec.get("topologySpreadConstraints", ()):
        if constraint["whenUnsatisfiable"] == "DoNotSchedule":
            new_by_zone = {node["metadata"]["labels"][constraint["topologyKey"]]: 0 for node in nodes.values()}
            for name, n_new in new_by_node.items():
                new_by_zone[nodes[name]["metadata"]["labels"][constraint["topologyKey"]]] += n_new
            skew = max(new_by_zone.values()) - min(new_by_zone.values())
            if skew > constraint["maxSkew"]:
                raise BenchError(f"{cluster.name}: skew {skew}, expected at most {constraint['maxSkew']}")
    anti_affinity = spec.get("affinity", {}).get("podAntiAffinity", {})
    most = max(new_by_node.values())
    if anti_affinity.get("requiredDuringSchedulingIgnoredDuringExecution") and most > 1:
        raise BenchError(f"{cluster.name}: {most} pods on one node that refuse each other")


def _milli(text: str) -> int:
    for suffix, factor in SUFFIXES.items():
        if text.endswith(suffix):
            return int(Fraction(text.removesuffix(suffix)) * factor * 1000)
    return int(Fraction(text) * 1000)
