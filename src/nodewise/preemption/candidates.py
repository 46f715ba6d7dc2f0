"""Which nodes could take a pod after evictions, and which of them is the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from nodewise.framework.plugin import FilterVerdict
from nodewise.framework.status import Code, Status
from nodewise.preemption.group_victims import find_victims, lost_node, select_victims_and_groups
from nodewise.preemption.pdb import BudgetIndex
from nodewise.preemption.victims import NO_VICTIMS, Victims, select_victims
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_PRIORITY_OFFSET = 2**31  # makes every priority positive: fewer victims win over a lower sum of negative priorities
Preference = tuple[int, int, int, int, int, str]
"""What the nodes are compared by, smallest first."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node on which the pod would fit once the victims are gone."""

    node_name: str
    victims: Victims


@dataclass(slots=True)
class DryRun:
    """What trying evictions on nodes came to.

    Attributes
    ----------
    candidates : list[Candidate]
    statuses : dict[int, Status]
        By row, why evicting does not help there; rows without any pod of lower priority are only counted.
    n_without_victims : int
        Rows without any pod of lower priority (status NO_VICTIMS).
    other_errors : list[str]
        Errors that leave a row without a status.
    """

    candidates: list[Candidate] = field(default_factory=list)
    statuses: dict[int, Status] = field(default_factory=dict)
    n_without_victims: int = 0
    other_errors: list[str] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        """The messages of the errors met, each once."""
        messages = (status.message for status in self.statuses.values() if status.code is Code.ERROR)
        return list(dict.fromkeys([*messages, *self.other_errors]))


def preference(candidate: Candidate, now: datetime) -> Preference:
    """Return what speaks against a candidate (pickOneNodeForPreemption).

    In this order: disruption budgets broken, priority of the most important victim, sum of priorities, number of
    victims, an early start of the most important victims; then the name, where kube-scheduler takes any.
    """
    pods = candidate.victims.pods
    top = max(pod.priority for pod in pods)
    earliest = min(pod.start_time or now for pod in pods if pod.priority == top)
    return (
        candidate.victims.n_pdb_violations,
        pods[0].priority,
        sum(pod.priority + _PRIORITY_OFFSET for pod in pods),
        len(pods),
        -((earliest - _EPOCH) // _MICROSECOND),
        candidate.node_name,
    )


def pick_candidate(candidates: Iterable[Candidate], now: datetime) -> Candidate:
    """Return the best candidate."""
    return min(candidates, key=lambda candidate: preference(candidate, now))


def dry_run(
    verdict: FilterVerdict,
    rows: Sequence[int],
    budgets: BudgetIndex,
    *,
    now: datetime,
    n_wanted: int,
    groups: PodGroupStates | None = None,
) -> DryRun:
    """Try evictions on nodes, in the order given, until enough candidates are found (DryRunPreemption).

    Parameters
    ----------
    verdict : FilterVerdict
    rows : Sequence[int]
    budgets : BudgetIndex
    now : datetime
    n_wanted : int
        Candidates to stop at, provided one of them breaks no disruption budget.
    groups : PodGroupStates | None
        Groups of pods, some of which are evicted as a whole; None: every pod is evicted on its own.
    """
    result = DryRun()
    is_any_clean = False
    for row in rows:
        candidate = _try(verdict, row, budgets, now, result, groups)
        if candidate is None:
            continue
        is_any_clean |= candidate.victims.n_pdb_violations == 0
        if is_any_clean and len(result.candidates) >= n_wanted:
            break
    return result


def find_best(
    verdict: FilterVerdict, rows: Sequence[int] | NDArray[np.intp], budgets: BudgetIndex, *, now: datetime
) -> DryRun:
    """Try evictions on nodes, leaving out those that cannot be better than what was found before.

    The best candidate is that of a `dry_run` over all rows. Without any candidate no row is left out.
    """
    result = DryRun()
    if len(rows) == 0:
        return result
    columns, priority = verdict.snapshot.columns, verdict.pod.priority
    all_rows = np.asarray(rows, np.intp)
    lowest = columns.min_priority[all_rows]
    has_victims = lowest < priority
    result.n_without_victims = len(all_rows) - int(np.count_nonzero(has_victims))
    if result.n_without_victims == len(all_rows):
        return result
    all_rows, lowest = all_rows[has_victims], lowest[has_victims]
    order = np.lexsort((columns.name_rank[all_rows], lowest))
    best: Preference | None = None
    for row, low in zip(all_rows[order].tolist(), lowest[order].tolist(), strict=True):
        if best is not None:
            if (0, low) > best[:2]:
                break  # and so are all that follow
            if _bound(verdict, row, low, now) >= best:
                continue
        candidate = _try(verdict, row, budgets, now, result)
        if candidate is not None:
            found = preference(candidate, now)
            best = found if best is None else min(best, found)
    return result


def _bound(verdict: FilterVerdict, row: int, lowest: int, now: datetime) -> Preference:
    """Return a preference that no candidate on a row can be below."""
    priority = verdict.pod.priority
    latest = max(pod.start_time or now for pod in _pods_on(verdict, row) if pod.priority < priority)
    name = verdict.snapshot.columns.names[row]
    return 0, lowest, lowest + _PRIORITY_OFFSET, 1, -((latest - _EPOCH) // _MICROSECOND), name


def _try(
    verdict: FilterVerdict,
    row: int,
    budgets: BudgetIndex,
    now: datetime,
    result: DryRun,
    groups: PodGroupStates | None = None,
) -> Candidate | None:
    pods, name, what_if = _pods_on(verdict, row), verdict.snapshot.columns.names[row], verdict.what_if(row)
    if groups is None:
        found = select_victims(verdict.pod, pods, what_if, budgets=budgets, now=now, node_name=name)
    else:
        snapshot = verdict.snapshot
        victims = find_victims(pods, groups, now)
        lost = lost_node(victims, snapshot)
        if lost is not None:
            result.other_errors.append(lost.message)
            return None
        found = select_victims_and_groups(verdict.pod, victims, what_if, row, budgets=budgets, snapshot=snapshot)
    if found is NO_VICTIMS:
        result.n_without_victims += 1
        return None
    if isinstance(found, Status):
        result.statuses[row] = found
        return None
    candidate = Candidate(name, found)
    result.candidates.append(candidate)
    return candidate


def _pods_on(verdict: FilterVerdict, row: int) -> Iterable[PodInfo]:
    return verdict.snapshot.pods_on(row).values()
