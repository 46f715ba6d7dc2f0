"""What nodewise and the real kube-scheduler make of pods and pod groups, each tried once, side by side."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nodewise.cluster.load import load_cluster
from nodewise.config.feature_gates import parse_feature_gates
from nodewise.config.load import default_configuration
from nodewise.plugins import in_tree_registry
from nodewise.runtime.selection import TieBreak
from nodewise.scheduler.assembly import SchedulerOptions
from nodewise.simulation.session import open_session
from nodewise.simulation.simulate import Placement, simulate
from tests.oracle import Oracle

Json = Mapping[str, Any]


@dataclass(slots=True)
class GroupOutcome:
    """The pods that both judged, and where they differ."""

    n_placed: int = 0
    n_evicted: int = 0
    differences: list[str] = field(default_factory=list)


def compare_groups(oracle: Oracle, cluster: Path, gates: str) -> GroupOutcome:
    """Let both place a cluster's pods and groups, taking the very nodes that kube-scheduler takes among equals."""
    theirs = {line["pod"]: line for line in oracle.groups(cluster, gates)}
    placements = place(cluster, gates)
    ours = dict(placements)
    outcome = GroupOutcome()
    for pod, line in theirs.items():
        placement = ours.pop(pod, None)
        if placement is None:
            if line["node"] is not None or line["messages"]:
                outcome.differences.append(f"{pod}: nodewise says nothing, kube-scheduler {_shown(line)}")
            continue
        outcome.n_placed += line["node"] is not None
        outcome.n_evicted += len(line.get("victims", ()))
        difference = _difference(placement, line)
        if difference:
            outcome.differences.append(f"{pod}: {difference}")
    victims = _all_victims(theirs.values(), placements)
    outcome.differences += [f"victims: only {who} {names}" for who, names in victims.items() if names]
    outcome.differences += [f"{pod}: only nodewise judged it" for pod in ours]
    return outcome


def place(cluster: Path, gates: str) -> dict[str, Placement]:
    """Run nodewise over a cluster."""
    values = parse_feature_gates(gates)
    loaded = load_cluster([str(cluster)], workloads="ignore", gates=values)
    assert not loaded.errors, loaded.errors
    options = SchedulerOptions(TieBreak.KUBE, feature_gates=values)
    session = open_session(loaded.objects, default_configuration(values), in_tree_registry(), options)
    return {placement.pod: placement for placement in simulate(session)}


def _difference(ours: Placement, theirs: Json) -> str:
    if ours.node != theirs["node"]:
        return f"node {ours.node} ({ours.message}; {ours.detail}), kube-scheduler {_shown(theirs)}"
    if ours.node is not None:
        return ""
    if not theirs["messages"]:
        waits = theirs.get("waits", "").partition(": ")[2]
        said = ours.message or ours.detail
        return "" if not waits or waits in said else f"waits for {said!r}, kube-scheduler {waits!r}"
    messages = map(_in_order, theirs["messages"])
    if ours.reason != theirs["reason"] or _in_order(ours.message) not in messages:
        return f"{ours.reason} {ours.message!r} ({ours.detail}), kube-scheduler {_shown(theirs)}"
    return ""


def _in_order(message: str) -> str:
    """Sort two domains that kube-scheduler names in an order of chance."""
    head, found, domains = message.partition("more than 1 domain found for pod group: ")
    return head + found + ", ".join(sorted(domains.split(", "))) if found else message


def _all_victims(theirs: Iterable[Json], ours: Mapping[str, Placement]) -> dict[str, list[str]]:
    """Return the pods that only one of both evicted."""
    of_kube = {victim for line in theirs for victim in line.get("victims", ())}
    of_nodewise = {victim for placement in ours.values() for victim in placement.victims}
    return {"nodewise": sorted(of_nodewise - of_kube), "kube-scheduler": sorted(of_kube - of_nodewise)}


def _shown(line: Json) -> str:
    victims = f", victims {line['victims']}" if line.get("victims") else ""
    return f"node {line['node']}, {line.get('reason', '')} {line['messages']} {line.get('waits', '')}{victims}"
