"""DefaultPreemption: makes room for a pod that fits nowhere, by evicting pods of lower priority."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.config.arguments import DefaultPreemptionArgs
from nodewise.framework.events import ActionType, ClusterEventWithHint, EventResource, always_skip, register
from nodewise.framework.extender import Extender, ExtenderError
from nodewise.framework.fit_error import count_reasons, fit_error_message
from nodewise.framework.plugin import FilterVerdict, Handle, PostFilterResult
from nodewise.framework.pod_group_plugin import PodGroupPostFilterResult, PodGroupVerdict
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.preemption.candidates import Candidate, DryRun, dry_run, find_best, pick_candidate
from nodewise.preemption.extenders import call_extenders
from nodewise.preemption.group_victims import priority_of
from nodewise.preemption.ongoing import OngoingPreemptions
from nodewise.preemption.pdb import BudgetIndex
from nodewise.preemption.pod_group import is_preempted, preempt_for_group
from nodewise.preemption.victims import NO_VICTIMS
from nodewise.state.pod_groups import HierarchyError, group_key_of

_PREFIX = "preemption: "
_GROUP_PREFIX = "pod group preemption: "
_NEVER = Status.unschedulable(_PREFIX + "not eligible due to preemptionPolicy=Never.")
_TERMINATING = Status.unschedulable(_PREFIX + "not eligible due to a terminating pod on the nominated node.")
_UNDER_WAY = Status.unresolvable("waiting for the preemption for this pod to be finished")
_GROUP_UNDER_WAY = Status.unresolvable("waiting for the preemption for this pod group to be finished")
_NO_CANDIDATE = Status.unschedulable(_PREFIX + "no candidate node for preemption")
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


class DefaultPreemption:
    """Looks for the node where evictions do the least harm.

    Every node that evictions may help is looked at, and among equals the first by name is taken. When the handle has
    a generator `random`, nodes are sampled as kube-scheduler does: from a random one on, until enough candidates are
    found (`minCandidateNodesPercentage`, `minCandidateNodesAbsolute`).

    With the feature gate SchedulerAsyncPreemption, a pod stays out of the queue while its victims are evicted: as long
    as `ongoing` says so, which is the handle's `preemptions` where it has them.

    Attributes
    ----------
    ongoing : OngoingPreemptions
    """

    name: ClassVar[str] = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        self._args = args or DefaultPreemptionArgs()
        self._handle = handle
        self._random = getattr(handle, "random", None)
        self._extenders: Sequence[Extender] = getattr(handle, "extenders", ())
        self._budgets = BudgetIndex(handle.listers)
        self._is_async = handle.feature_gates.enabled("SchedulerAsyncPreemption")
        self.ongoing: OngoingPreemptions = getattr(handle, "preemptions", None) or OngoingPreemptions()

    def pre_enqueue(self, pod: Pod) -> Status:
        """Keep a pod out of the queue while victims of it, or of its group, are evicted in the background."""
        if not self._is_async:
            return SUCCESS
        groups, key = self._handle.pod_groups, group_key_of(pod)
        if groups is None or key is None:
            return _UNDER_WAY if self.ongoing.is_running(pod.metadata.uid or pod.key) else SUCCESS
        try:
            root = groups.root_of(key)
        except HierarchyError:
            return SUCCESS
        group = groups.object(root) if root is not None else None
        return _GROUP_UNDER_WAY if group is not None and self.ongoing.is_running(group.metadata.uid) else SUCCESS

    def events_to_register(self) -> list[ClusterEventWithHint]:
        """Hear of deletions, which let pods into the queue that `pre_enqueue` kept out; it rejects no other pods."""
        if not self._is_async:
            return []
        return [register(EventResource.ASSIGNED_POD, ActionType.DELETE, always_skip)]

    def post_filter(self, verdict: FilterVerdict) -> PostFilterResult:
        """Nominate a node and name the victims, or tell why preemption does not help (Evaluator.Preempt)."""
        refusal = self._refusal(verdict)
        if refusal is not None:
            return PostFilterResult(refusal)
        now = self._handle.now()
        groups = self._handle.pod_groups
        if self._random is None and not self._asks_extenders and groups is None:
            found = find_best(verdict, verdict.resolvable_rows(), self._budgets, now=now)
        else:
            rows = _in_name_order(verdict)
            start = self._random.randrange(len(rows)) if rows and self._random is not None else 0
            wanted = self.n_candidates(len(rows)) if self._random is not None else len(rows)
            found = dry_run(
                verdict, rows[start:] + rows[:start], self._budgets, now=now, n_wanted=wanted, groups=groups
            )
        if not found.candidates:
            return _nothing_found(verdict, found)
        candidates = found.candidates
        if self._asks_extenders:
            try:
                candidates = call_extenders(self._extenders, verdict, candidates)
            except ExtenderError as error:
                return PostFilterResult(Status.error(f"{_PREFIX}{error}"))
            if not candidates:
                return PostFilterResult(_NO_CANDIDATE)
        return _nomination(verdict, pick_candidate(candidates, now))

    @property
    def _asks_extenders(self) -> bool:
        """Whether extenders may change candidates, so that these all have to be known."""
        return any(extender.supports_preemption for extender in self._extenders)

    def pod_group_post_filter(self, verdict: PodGroupVerdict) -> PodGroupPostFilterResult:
        """Name victims anywhere in the cluster that make room for a whole group (PodGroupPostFilter)."""
        groups = self._handle.pod_groups
        assert groups is not None, "pod groups are off"
        own_policy = self._handle.feature_gates.enabled("PodGroupPreemptionPolicy")
        found = preempt_for_group(verdict, groups, self._budgets, now=self._handle.now(), own_policy=own_policy)
        message = found.status.message
        if not message:
            return found
        return replace(found, status=Status(found.status.code, (f"{_GROUP_PREFIX}{message}",)))

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
        groups = self._handle.pod_groups
        for other in verdict.snapshot.pods_on(row).values():
            priority = other.priority if groups is None else priority_of(other, groups)
            if priority < verdict.pod.priority and is_preempted(other.pod):
                return _TERMINATING
        return None


def _in_name_order(verdict: FilterVerdict) -> list[int]:
    rows = verdict.resolvable_rows()
    ordered: list[int] = rows[np.argsort(verdict.snapshot.columns.name_rank[rows])].tolist()
    return ordered


def _nothing_found(verdict: FilterVerdict, found: DryRun) -> PostFilterResult:
    errors = found.errors
    if errors:
        rank = verdict.snapshot.columns.name_rank
        errors = replace(found, statuses=dict(sorted(found.statuses.items(), key=lambda item: rank[item[0]]))).errors
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
