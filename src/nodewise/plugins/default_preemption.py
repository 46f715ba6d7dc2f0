"""DefaultPreemption: makes room for a pod that fits nowhere, by evicting pods of lower priority."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.config.arguments import DefaultPreemptionArgs
from nodewise.framework.fit_error import count_reasons, fit_error_message
from nodewise.framework.plugin import FilterVerdict, Handle, PostFilterResult
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.preemption.candidates import Candidate, DryRun, dry_run, find_best, pick_candidate
from nodewise.preemption.pdb import BudgetIndex
from nodewise.preemption.victims import NO_VICTIMS

_PREFIX = "preemption: "
_NEVER = Status.unschedulable(_PREFIX + "not eligible due to preemptionPolicy=Never.")
_TERMINATING = Status.unschedulable(_PREFIX + "not eligible due to a terminating pod on the nominated node.")
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


class DefaultPreemption:
    """Looks for the node where evictions do the least harm.

    Every node that evictions may help is looked at, and among equals the first by name is taken. When the handle has
    a generator `random`, nodes are sampled as kube-scheduler does: from a random one on, until enough candidates are
    found (`minCandidateNodesPercentage`, `minCandidateNodesAbsolute`).
    """

    name: ClassVar[str] = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        self._args = args or DefaultPreemptionArgs()
        self._handle = handle
        self._random = getattr(handle, "random", None)
        self._budgets = BudgetIndex(handle.listers)

    def post_filter(self, verdict: FilterVerdict) -> PostFilterResult:
        """Nominate a node and name the victims, or tell why preemption does not help (Evaluator.Preempt)."""
        refusal = self._refusal(verdict)
        if refusal is not None:
            return PostFilterResult(refusal)
        now = self._handle.now()
        if self._random is None:
            found = find_best(verdict, verdict.resolvable_rows(), self._budgets, now=now)
        else:
            rows = _in_name_order(verdict)
            start = self._random.randrange(len(rows)) if rows else 0
            wanted = self.n_candidates(len(rows))
            found = dry_run(verdict, rows[start:] + rows[:start], self._budgets, now=now, n_wanted=wanted)
        if not found.candidates:
            return _nothing_found(verdict, found)
        return _nomination(verdict, pick_candidate(found.candidates, now))

    def n_candidates(self, n_nodes: int) -> int:
        """Return how many candidates are enough, of so many nodes (calculateNumCandidates)."""
        share = n_nodes * self._args.min_candidate_nodes_percentage // 100
        return min(n_nodes, max(share, self._args.min_candidate_nodes_absolute))

    def _refusal(self, verdict: FilterVerdict) -> Status | None:
        """Return why the pod may not preempt, or None (PodEligibleToPreemptOthers)."""
        pod = verdict.pod.pod
        if pod.spec.preemption_policy == "Never":
            return _NEVER
        row = verdict.snapshot.columns.row_of(pod.status.nominated_node_name)
        if row is None:
            return None
        status = verdict.statuses_by_row().get(row)
        if status is not None and status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return None
        for other in verdict.snapshot.pods_on(row).values():
            if other.priority < verdict.pod.priority and _is_preempted(other.pod):
                return _TERMINATING
        return None


def _is_preempted(pod: Pod) -> bool:
    """Whether a pod is being deleted because the scheduler evicted it (PodTerminatingByPreemption)."""
    if not pod.is_terminating:
        return False
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False


def _in_name_order(verdict: FilterVerdict) -> list[int]:
    rows = verdict.resolvable_rows()
    ordered: list[int] = rows[np.argsort(verdict.snapshot.columns.name_rank[rows])].tolist()
    return ordered


def _nothing_found(verdict: FilterVerdict, found: DryRun) -> PostFilterResult:
    errors = found.errors
    if errors:
        message = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        return PostFilterResult(Status.error(_PREFIX + message))
    n_nodes = verdict.snapshot.n_nodes
    counts = count_reasons(found.statuses.values())
    n_tried = len(found.statuses) + found.n_without_victims
    for reason, n_rows in ((NO_VICTIMS.message, found.n_without_victims), (_NOT_HELPFUL, n_nodes - n_tried)):
        if n_rows:
            counts[reason] += n_rows
    message = fit_error_message(n_nodes, "", counts, "")
    return PostFilterResult(Status.unschedulable(_PREFIX + message), nominated_node="")


def _nomination(verdict: FilterVerdict, chosen: Candidate) -> PostFilterResult:
    pods = chosen.victims.pods
    message = f"found a potential placement for pod on node {chosen.node_name}, preempting {len(pods)} victims"
    nominated = verdict.nominator.nominated_to(chosen.node_name)
    # Where all victims are on their way out already, kube-scheduler has nothing to do, and leaves nominations alone.
    is_any_running = any(not pod.pod.is_terminating for pod in pods)
    yielding = tuple(pod for pod in nominated if pod.priority < verdict.pod.priority) if is_any_running else ()
    return PostFilterResult(
        Status(SUCCESS.code, (_PREFIX + message,)), chosen.node_name, victims=pods, yielding=yielding
    )
