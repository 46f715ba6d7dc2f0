"""Making room for a whole pod group: which pods of the cluster would have to go (PodGroupEvaluator)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from nodewise.api.objects import Pod
from nodewise.framework.pod_group_plugin import PodGroupInfo, PodGroupPostFilterResult, PodGroupVerdict, Proposal
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.preemption.group_victims import Victim, by_importance, find_victims, lost_node, priority_of, split_victims
from nodewise.preemption.pdb import BudgetIndex
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

_NO_VICTIMS = Status.unresolvable("No preemption victims found for incoming preemptor")
_NEVER = Status.unschedulable("not eligible due to preemptionPolicy=Never.")
_ONGOING = Status(Code.SUCCESS, ("ongoing preemption on nominated nodes",))


def preempt_for_group(
    verdict: PodGroupVerdict, groups: PodGroupStates, budgets: BudgetIndex, *, now: datetime, own_policy: bool
) -> PodGroupPostFilterResult:
    """Find victims in the whole cluster, or tell why there are none.

    Parameters
    ----------
    verdict : PodGroupVerdict
        Its trial ends with what is done here.
    own_policy : bool
        Whether the group's own preemption policy counts instead of that of its pods (PodGroupPreemptionPolicy).
    """
    group, snapshot = verdict.group, verdict.snapshot
    found = find_victims(_all_pods(snapshot), groups, now)
    lost = lost_node(found, snapshot)
    if lost is not None:
        return PodGroupPostFilterResult(Status.error(f"failed to create domain: {lost.message}"))
    if _may_not_preempt(group, own_policy=own_policy):
        return PodGroupPostFilterResult(_NEVER)
    members = group.unscheduled_pods()
    if _is_ongoing(members, group.priority, snapshot, groups):
        kept = tuple(Proposal(pod, pod.pod.status.nominated_node_name) for pod in members)
        return PodGroupPostFilterResult(_ONGOING, kept)
    victims = [victim for victim in found if victim.priority < group.priority]
    if not victims:
        return PodGroupPostFilterResult(_NO_VICTIMS)
    for victim in victims:
        verdict.take_off(victim.pods)
    status, proposals = verdict.schedule()
    if not status.is_success:
        return PodGroupPostFilterResult(status)
    kept_off = _reprieve(verdict, by_importance(victims), proposals, budgets)
    pods = tuple(pod for victim in by_importance(kept_off) for pod in victim.pods)
    text = f"found a placement for podgroup, preempting {len(pods)} victims"
    return PodGroupPostFilterResult(Status(SUCCESS.code, (text,)), tuple(proposals), pods)


def _reprieve(
    verdict: PodGroupVerdict, victims: Sequence[Victim], proposals: Sequence[Proposal], budgets: BudgetIndex
) -> list[Victim]:
    """Put back as many victims as the proposed members leave room for, and return the others.

    Those that break a budget are put back first, then the more important ones.
    """
    violating, others = split_victims(victims, budgets)
    left: list[Victim] = []
    for victim in [*[victim for victim, _ in violating], *others]:
        verdict.put_back(victim.pods)
        if not _all_fit(verdict, proposals):
            verdict.take_off(victim.pods)
            left.append(victim)
    return left


def _all_fit(verdict: PodGroupVerdict, proposals: Sequence[Proposal]) -> bool:
    """Tell whether the members fit their nodes one after the other."""
    try:
        for proposal in proposals:
            if not verdict.fits(proposal):
                return False
            verdict.assume(proposal)
        return True
    finally:
        verdict.forget_assumed()


def _all_pods(snapshot: Snapshot) -> Iterator[PodInfo]:
    for row in snapshot.order.tolist():
        yield from snapshot.pods_on(row).values()


def _may_not_preempt(group: PodGroupInfo, *, own_policy: bool) -> bool:
    if own_policy:
        return group.group.spec.preemption_policy == "Never"
    return any(pod.pod.spec.preemption_policy == "Never" for pod in group.unscheduled_pods())


def _is_ongoing(members: Sequence[PodInfo], priority: int, snapshot: Snapshot, groups: PodGroupStates) -> bool:
    """Tell whether victims are still on their way out of a node that a member is nominated to."""
    names = dict.fromkeys(name for pod in members if (name := pod.pod.status.nominated_node_name))
    for name in names:
        row = snapshot.columns.row_of(name)
        for pod in snapshot.pods_on(row).values() if row is not None else ():
            if priority_of(pod, groups) < priority and is_preempted(pod.pod):
                return True
    return False


def is_preempted(pod: Pod) -> bool:
    """Whether a pod is being deleted because the scheduler evicted it (PodTerminatingByPreemption)."""
    if not pod.is_terminating:
        return False
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False
