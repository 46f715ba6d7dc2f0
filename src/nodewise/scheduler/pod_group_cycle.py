"""The story of one pod group: validated, tried as a whole, and what happens when it does not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from nodewise.config.feature_gates import FeatureGates
from nodewise.framework.pod_group_plugin import PodGroupInfo, PodGroupPostFilterResult
from nodewise.framework.status import Code, Status
from nodewise.runtime.profile import Framework
from nodewise.scheduler.group_nominations import own_nominations_as_stubs
from nodewise.scheduler.group_status import GROUP_UNSCHEDULABLE, GroupResult, GroupStatus, MemberResult
from nodewise.scheduler.pod_group_algorithm import PodGroupAlgorithm, Results
from nodewise.scheduler.pod_group_trial import PodGroupTrial
from nodewise.scheduler.pod_group_validation import disagreement
from nodewise.scheduler.scheduler import REASON_SCHEDULER_ERROR, REASON_UNSCHEDULABLE, Scheduler
from nodewise.state.pod_groups import GroupKey, PodGroupStates
from nodewise.state.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class MemberOutcome:
    """What is to be done with one pod of a group.

    Attributes
    ----------
    pod : PodInfo
    node_name : str | None
        Where it is to be bound; None: it goes back to the queue.
    best : Sequence[str]
        All nodes with the top total.
    reason : str | None
        None, Unschedulable or SchedulerError, as in the PodScheduled condition.
    message : str
        The condition's message.
    nomination : str | None
        The node to nominate; "" clears a nomination, None leaves it.
    fits_nowhere : bool
        Whether the pod itself found no node, as opposed to its group.
    """

    pod: PodInfo
    node_name: str | None
    best: Sequence[str] = ()
    reason: str | None = None
    message: str = ""
    nomination: str | None = None
    fits_nowhere: bool = False


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """What one cycle of a group came to.

    Attributes
    ----------
    status : GroupStatus
        The root's.
    members : list[MemberOutcome]
        In the order in which they were tried.
    groups : dict[GroupKey, GroupStatus]
        Of every group of the tree; its message goes into the condition PodGroupInitiallyScheduled.
    post_filter : PodGroupPostFilterResult | None
        What the PodGroupPostFilter plugins made of it.
    """

    status: GroupStatus
    members: list[MemberOutcome] = field(default_factory=list)
    groups: dict[GroupKey, GroupStatus] = field(default_factory=dict)
    post_filter: PodGroupPostFilterResult | None = None

    @property
    def placed(self) -> list[MemberOutcome]:
        """The members that are to be bound."""
        return [member for member in self.members if member.node_name is not None]

    @property
    def waits_for_preemption(self) -> bool:
        """Whether the group may fit once its victims are gone."""
        return self.post_filter is not None and self.post_filter.status.is_success


class PodGroupCycle:
    """Decides on groups; nothing is changed but what tie-breaks and node rotation remember (scheduleOnePodGroup).

    Parameters
    ----------
    scheduler : Scheduler
        With groups in its cache.
    gates : FeatureGates
    """

    def __init__(self, scheduler: Scheduler, gates: FeatureGates) -> None:
        self._scheduler = scheduler
        self._gates = gates

    def run(self, root: PodGroupInfo, *, with_best: bool = False, with_post_filter: bool = True) -> GroupOutcome:
        """Decide on a group, or a tree of them, with at least one pod that waits.

        Pods that are being deleted, or have a node meanwhile, are left out.
        """
        groups = self._scheduler.cache.pod_groups
        assert groups is not None, "pod groups are off"
        own_policy = self._gates.enabled("PodGroupPreemptionPolicy")
        problem = disagreement(root, groups, self._scheduler.frameworks, own_policy=own_policy)
        if problem is not None:
            return _refused(root, problem)
        framework = self._scheduler.frameworks[root.unscheduled_pods()[0].pod.spec.scheduler_name]
        root = self._without_skipped(root)
        if not root.unscheduled_pods():
            return GroupOutcome(GroupStatus(Code.SUCCESS))
        with groups.in_cycle(), own_nominations_as_stubs(self._scheduler.nominations, root.unscheduled_pods()):
            return self._run(root, framework, groups, with_best=with_best, with_post_filter=with_post_filter)

    def _run(
        self,
        root: PodGroupInfo,
        framework: Framework,
        groups: PodGroupStates,
        *,
        with_best: bool,
        with_post_filter: bool,
    ) -> GroupOutcome:
        algorithm = PodGroupAlgorithm(self._scheduler, framework, groups, self._gates, root, with_best=with_best)
        results = algorithm.run()
        _complete(root, results)
        post_filter = None
        if with_post_filter and results[root.key].status.code is Code.UNSCHEDULABLE:
            post_filter = self._post_filter(root, framework, algorithm)
            _apply(results, post_filter)
        members = [outcome for leaf in root.leaves() for outcome in _outcomes(results[leaf.key])]
        statuses = {key: result.status for key, result in results.items()}
        return GroupOutcome(results[root.key].status, members, statuses, post_filter)

    def _without_skipped(self, info: PodGroupInfo) -> PodGroupInfo:
        """Leave out pods that there is nothing to decide about (skipPodGroupPodSchedule)."""
        is_assumed = self._scheduler.cache.is_assumed_pod
        pods = [pod for pod in info.pods if not pod.pod.is_terminating and not is_assumed(pod.uid)]
        children = [self._without_skipped(child) for child in info.children]
        return PodGroupInfo(info.key, info.group, pods, children)

    def _post_filter(
        self, root: PodGroupInfo, framework: Framework, algorithm: PodGroupAlgorithm
    ) -> PodGroupPostFilterResult:
        """Run the plugins until one succeeds, fails for good or errs (RunPodGroupPostFilterPlugins)."""
        reasons: list[str] = []
        effects: tuple[Callable[[], None], ...] = ()
        for plugin in framework.group_post_filters:
            with PodGroupTrial(self._scheduler, root, algorithm) as trial:
                found = plugin.pod_group_post_filter(trial)
            effects += found.effects
            code = found.status.code
            if code in (Code.SUCCESS, Code.UNSCHEDULABLE_AND_UNRESOLVABLE):
                return replace(found, effects=effects)
            if code is not Code.UNSCHEDULABLE:
                text = f'error in "{plugin.name}" PodGroupPostFilter plugins: {found.status.message}'
                return PodGroupPostFilterResult(Status.error(text), effects=effects)
            reasons.extend(found.status.reasons)
        return PodGroupPostFilterResult(Status.unschedulable(*reasons), effects=effects)


def _refused(root: PodGroupInfo, problem: str) -> GroupOutcome:
    members = [
        MemberOutcome(pod, None, reason=REASON_SCHEDULER_ERROR, message=problem, nomination="")
        for pod in root.unscheduled_pods()
    ]
    status = GroupStatus.failed(problem)
    return GroupOutcome(status, members, {leaf.key: status for leaf in root.leaves()})


def _complete(info: PodGroupInfo, results: Results, above: GroupStatus | None = None) -> None:
    """Give every group of the tree, and every pod that was not tried, a result; failures go down the tree."""
    result = results.get(info.key)
    if result is None or (above is not None and not above.is_success and result.status.is_success):
        assert above is not None
        result = results[info.key] = GroupResult(info, above)
    for pod in info.pods[len(result.members) :]:
        result.members.append(MemberResult(pod, result.status))
    for child in info.children:
        _complete(child, results, result.status)


def _apply(results: Results, found: PodGroupPostFilterResult) -> None:
    """Let every group know what became of it after all (applyPodGroupPostFilterResult).

    QUIRK: groups that fail because the one above does share its status, and each of them adds the reason to it.
    """
    n_sharing = Counter(id(result.status) for result in results.values())
    with_reasons = {
        id(result.status): result.status.with_reasons([found.status.message] * n_sharing[id(result.status)])
        for result in results.values()
    }
    nodes = {proposal.pod.key: proposal.node_name for proposal in found.nominations}
    for result in results.values():
        if found.status.code is Code.ERROR:
            result.status = GroupStatus.failed(found.status.message)
            continue
        if found.status.is_success:
            result.waits_for_preemption = True
            for member in result.members:
                member.nomination = nodes.get(member.pod.key, member.nomination)
        result.status = with_reasons[id(result.status)]


def _outcomes(result: GroupResult) -> list[MemberOutcome]:
    """Return what is to be done with a group's pods (submitPodGroupAlgorithmResult)."""
    return [_outcome(result, member) for member in result.members]


def _outcome(result: GroupResult, member: MemberResult) -> MemberOutcome:
    group, own = result.status, member.status
    if group.is_error:
        text = own.message if own.is_error else group.message
        return MemberOutcome(member.pod, None, reason=REASON_SCHEDULER_ERROR, message=text, nomination="")
    if not own.is_success:
        reason = REASON_SCHEDULER_ERROR if own.is_error else REASON_UNSCHEDULABLE
        lacks = not own.is_error and not own.reasons and own.error != GROUP_UNSCHEDULABLE
        return MemberOutcome(
            member.pod, None, reason=reason, message=own.message, nomination=member.nomination, fits_nowhere=lacks
        )
    if group.is_success:
        return MemberOutcome(member.pod, member.node_name, member.best)
    message, nomination = f"{GROUP_UNSCHEDULABLE}, {group.message}", ""
    if result.waits_for_preemption:
        message, nomination = group.message, member.nomination or ""
    return MemberOutcome(member.pod, None, reason=REASON_UNSCHEDULABLE, message=message, nomination=nomination)
