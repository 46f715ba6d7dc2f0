"""Victims when pod groups are on: single pods, and groups whose pods go all together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from nodewise.framework.plugin import WhatIf
from nodewise.framework.status import Status
from nodewise.preemption.go_sort import sort_as_go
from nodewise.preemption.pdb import BudgetIndex, n_violating
from nodewise.preemption.victims import NO_VICTIMS, Victims
from nodewise.state.pod_groups import GroupKey, PodGroupStates, group_key_of, key_of
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

_POD_RANK, _GROUP_RANK, _COMPOSITE_RANK = 1, 2, 3
Start = tuple[datetime, int]
"""When something started, and its place among things without a start time."""


@dataclass(frozen=True, slots=True, eq=False)
class Victim:
    """Pods that are evicted together or not at all.

    Attributes
    ----------
    pods : tuple[PodInfo, ...]
        Wherever they are.
    priority : int
        That of the topmost group, for pods in groups.
    rank : int
        1 pod, 2 pod group (or a pod of one), 3 group of groups.
    start : (datetime, int)
        The earliest.
    """

    pods: tuple[PodInfo, ...]
    priority: int
    rank: int
    start: Start

    @property
    def importance(self) -> tuple[int, int, int, Start]:
        """What victims are compared by, the most important first (MoreImportantVictim)."""
        return -self.priority, -self.rank, -len(self.pods), self.start


def priority_of(pod: PodInfo, groups: PodGroupStates) -> int:
    """Return what counts as a pod's priority: that of the topmost group above it that is there (GetPodPriority)."""
    key = group_key_of(pod.pod)
    if key is None:
        return pod.priority
    found = pod.priority
    for group in groups.ancestry(key):
        found = group.spec.priority or 0
    return found


def find_victims(pods: Iterable[PodInfo], groups: PodGroupStates, now: datetime) -> list[Victim]:
    """Put pods into victims, in the order of their first pods (getCrossNodesVictims).

    Parameters
    ----------
    pods : Iterable[PodInfo]
        Pods on the nodes in question; groups bring their pods on other nodes with them.
    now : datetime
        Start time of pods that have none; the clock goes on from one to the next of them.
    """
    found: list[Victim] = []
    seen: set[GroupKey] = set()
    for pod in pods:
        key = _highest_group_of_all(pod, groups)
        if key is None:
            rank = _POD_RANK if group_key_of(pod.pod) is None else _GROUP_RANK
            found.append(_victim((pod,), priority_of(pod, groups), rank, now, len(found)))
        elif key not in seen:
            seen.add(key)
            members = tuple(member for state in groups.leaf_states(key) for member in state.scheduled_pods())
            rank = _COMPOSITE_RANK if key.is_composite else _GROUP_RANK
            found.append(_victim(members or (pod,), priority_of(pod, groups), rank, now, len(found)))
    return found


def _victim(pods: tuple[PodInfo, ...], priority: int, rank: int, now: datetime, position: int) -> Victim:
    start = min((pod.start_time, 0) if pod.start_time is not None else (now, position) for pod in pods)
    return Victim(pods, priority, rank, start)


def _highest_group_of_all(pod: PodInfo, groups: PodGroupStates) -> GroupKey | None:
    """Return the topmost group above a pod whose pods go all together (getHighestAllAncestor)."""
    key = group_key_of(pod.pod)
    found = None
    for group in groups.ancestry(key) if key is not None else ():
        if group.spec.disruption_mode is not None and group.spec.disruption_mode.all is not None:
            found = key_of(group)
    return found


def is_group(victim: Victim) -> bool:
    """Tell whether a victim is a group, or a pod of one."""
    return victim.rank > _POD_RANK


def by_importance(victims: Sequence[Victim]) -> list[Victim]:
    """Sort victims as kube-scheduler does, the most important first."""
    return sort_as_go(victims, lambda victim: victim.importance)


def split_victims(victims: Sequence[Victim], budgets: BudgetIndex) -> tuple[list[tuple[Victim, int]], list[Victim]]:
    """Split victims into those that break a budget, with how many of their pods do, and the others.

    Budgets are used up in the order of the victims; one pod is enough to make a whole victim break a budget
    (FilterVictimsWithPDBViolation).
    """
    violating: list[tuple[Victim, int]] = []
    others: list[Victim] = []
    used: dict[int, int] = {}
    for victim in victims:
        count = n_violating(victim.pods, budgets, used)
        if count:
            violating.append((victim, count))
        else:
            others.append(victim)
    return violating, others


def lost_node(victims: Iterable[Victim], snapshot: Snapshot) -> Status | None:
    """Return an error when a victim has a pod on a node that is gone (newDomainVictim)."""
    for victim in victims:
        for pod in victim.pods:
            if snapshot.columns.row_of(pod.node_name) is None:
                found = f'nodeinfo not found for node name "{pod.node_name}"'
                return Status.error(f'failed to get node info for node "{pod.node_name}" from snapshot: {found}')
    return None


def select_victims_and_groups(
    preemptor: PodInfo,
    victims: Iterable[Victim],
    what_if: WhatIf,
    row: int,
    *,
    budgets: BudgetIndex,
    snapshot: Snapshot,
) -> Victims | Status:
    """Find the victims to evict for a pod to fit a node (SelectVictimsOnNode with the feature gate GenericWorkload).

    Parameters
    ----------
    preemptor : PodInfo
    victims : Iterable[Victim]
        All that have a pod on the node.
    what_if : WhatIf
        Tells whether the preemptor fits the node without some pods.
    row : int
        Of the node.
    """
    lower = [victim for victim in victims if victim.priority < preemptor.priority]
    if not lower:
        return NO_VICTIMS
    removed = dict.fromkeys(lower)
    failure = _failure_without(removed, what_if, row, snapshot)
    if failure is not None:
        return failure
    violating, others = split_victims(by_importance(lower), budgets)
    left: list[Victim] = []
    n_pdb_violations = 0
    for victim, count in [*violating, *((victim, 0) for victim in others)]:
        del removed[victim]
        if _failure_without(removed, what_if, row, snapshot) is not None:
            removed[victim] = None
            left.append(victim)
            n_pdb_violations += count
    if not left:
        return Status.error(f'expected at least one victim pod on node "{snapshot.columns.names[row]}"')
    if violating and others:
        left = by_importance(left)
    return Victims(tuple(pod for victim in left for pod in victim.pods), n_pdb_violations)


def _failure_without(victims: Iterable[Victim], what_if: WhatIf, row: int, snapshot: Snapshot) -> Status | None:
    """Return why the preemptor does not fit when some victims are gone, wherever they are."""
    here: list[PodInfo] = []
    elsewhere: list[tuple[int, PodInfo]] = []
    for victim in victims:
        for pod in victim.pods:
            pod_row = snapshot.columns.row_of(pod.node_name)
            if pod_row == row:
                here.append(pod)
            elif pod_row is not None:
                elsewhere.append((pod_row, pod))
    return what_if.failure(here, elsewhere)
