"""Which pods of one node would have to go for a pod to fit there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from nodewise.framework.plugin import WhatIf
from nodewise.framework.status import Status
from nodewise.preemption.go_sort import sort_as_go
from nodewise.preemption.pdb import BudgetIndex, split_by_budget
from nodewise.state.pod_info import PodInfo

NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming pod")


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods to evict from a node.

    Attributes
    ----------
    pods : tuple[PodInfo, ...]
        Most important first; never empty.
    n_pdb_violations : int
        How many of them a disruption budget protects.
    """

    pods: tuple[PodInfo, ...]
    n_pdb_violations: int


Importance = tuple[int, datetime, int]
"""Smaller is more important: higher priority first, then earlier start (MoreImportantVictim)."""


def importance(pods: Sequence[PodInfo], now: datetime) -> dict[PodInfo, Importance]:
    """Return how important pods of a node are.

    Parameters
    ----------
    pods : Sequence[PodInfo]
        In the order in which they came to the node.
    now : datetime
        Start time of pods that have none; kube-scheduler asks the clock for each of them, so that of two such pods
        the later one in the list is taken to have started later.
    """
    return {
        pod: (-pod.priority, pod.start_time, 0) if pod.start_time is not None else (-pod.priority, now, position)
        for position, pod in enumerate(pods)
    }


def select_victims(
    preemptor: PodInfo, pods: Iterable[PodInfo], what_if: WhatIf, *, budgets: BudgetIndex, now: datetime, node_name: str
) -> Victims | Status:
    """Find the pods to evict from a node, or why evicting does not help (SelectVictimsOnNode).

    All pods of lower priority are taken away; then as many as possible are put back, those first that a disruption
    budget protects, and among these the more important ones first.

    Parameters
    ----------
    preemptor : PodInfo
    pods : Iterable[PodInfo]
        All pods of the node.
    what_if : WhatIf
        Tells whether the preemptor fits the node without some of them.
    """
    lower = [pod for pod in pods if pod.priority < preemptor.priority]
    if not lower:
        return NO_VICTIMS
    failure = what_if.failure(lower)
    if failure is not None:
        return failure
    importance_of = importance(lower, now)
    violating, others = split_by_budget(sort_as_go(lower, importance_of.__getitem__), budgets)
    removed = dict.fromkeys(violating + others)
    victims: list[PodInfo] = []
    n_pdb_violations = 0
    for group in (violating, others):
        for pod in group:
            del removed[pod]
            if what_if.failure(list(removed)) is not None:
                removed[pod] = None
                victims.append(pod)
                n_pdb_violations += group is violating
    if not victims:
        return Status.error(f'expected at least one victim pod on node "{node_name}"')
    if violating and others:
        victims = sort_as_go(victims, importance_of.__getitem__)
    return Victims(tuple(victims), n_pdb_violations)
