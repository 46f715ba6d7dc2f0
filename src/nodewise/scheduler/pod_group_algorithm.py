"""Whether and how a pod group fits: its pods one after another, each on the cluster that the others left."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nodewise.config.feature_gates import FeatureGates
from nodewise.errors import PluginError
from nodewise.framework.extender import ExtenderError
from nodewise.framework.pod_group_plugin import Placement, PlacementProgress, PodGroupInfo, Proposal, RowArray
from nodewise.framework.status import Code, Status
from nodewise.runtime.evaluation import NO_NODES, Evaluation
from nodewise.runtime.profile import Framework
from nodewise.scheduler.group_status import OK, GroupResult, GroupStatus, MemberResult
from nodewise.scheduler.placement_choice import choose_placement
from nodewise.scheduler.scheduler import REASON_SCHEDULER_ERROR, Scheduler
from nodewise.scheduler.tentative import TentativePods
from nodewise.state.columns import BoolArray
from nodewise.state.pod_groups import GroupKey, PodGroupStates
from nodewise.state.pod_info import PodInfo

Results = dict[GroupKey, GroupResult]
_IMAGE_SCORES = frozenset({"ImageLocality"})


@dataclass(frozen=True, slots=True)
class Tried:
    """What is kept of the filters' verdict on a member.

    Attributes
    ----------
    evaluation : Evaluation
    skipped : frozenset[str]
        Filters that had nothing to say.
    rejections : list[tuple[Status, (n,) intp]]
        What was said of which rows, for pods with resource claims.
    """

    evaluation: Evaluation
    skipped: frozenset[str]
    rejections: list[tuple[Status, RowArray]]


class PodGroupAlgorithm:
    """Tries a group, or a tree of groups, and leaves the cluster as it was (runRootSchedulingAlgorithm).

    Attributes
    ----------
    tried : dict[str, Tried]
        By uid, the members that filters were asked about; of several tries the last.
    is_what_if : bool
        Whether pods have been taken off their nodes. QUIRK: kube-scheduler copies its nodes twice then, and loses how
        many nodes have an image, so that ImageLocality finds no difference between them.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        framework: Framework,
        groups: PodGroupStates,
        gates: FeatureGates,
        root: PodGroupInfo,
        *,
        with_best: bool = False,
    ) -> None:
        self._scheduler = scheduler
        self._framework = framework
        self._groups = groups
        self._has_topology = gates.enabled("TopologyAwareWorkloadScheduling")
        self._root = root
        self._with_best = with_best
        self._tentative = TentativePods(scheduler)
        self._placement: BoolArray | None = None
        self.tried: dict[str, Tried] = {}
        self.is_what_if = False

    def run(self) -> Results:
        """Try the whole tree; at least one pod has to find a node."""
        results: Results = {}
        try:
            root = self._try(self._root, results)
        finally:
            self._tentative.back_to(0)
            self._placement = None
        if root.status.is_success and not root.is_any_scheduled:
            root.status = GroupStatus.unschedulable()
        return results

    def _try(self, info: PodGroupInfo, results: Results) -> GroupResult:
        """Try one group of the tree; what it holds then stays until the whole tree is done."""
        attempt = self._try_placements if self._has_topology else self._try_here
        result = attempt(info, results)
        results[info.key] = result
        return result

    def _try_here(self, info: PodGroupInfo, results: Results) -> GroupResult:
        before = len(self._tentative)
        result = self._try_children(info, results) if info.key.is_composite else self._try_members(info)
        if result.status.code is Code.WAIT:
            result.status = GroupStatus.unschedulable(*result.status.reasons)
        if not result.status.is_success:
            self._tentative.back_to(before)
            result.is_any_scheduled = False
        results[info.key] = result
        return result

    # --- one after the other ------------------------------------------------------------------------------------------

    def _try_members(self, info: PodGroupInfo) -> GroupResult:
        """Try the pods of a group in their order (podGroupSchedulingDefaultAlgorithm)."""
        state, key = self._groups.state(info.key), f"{info.key.namespace}/{info.key.name}"
        if state is None:
            missing = f"pod group state not found for pod group {key}"
            text = f"failed to get podGroup state for podGroup {key} to compute gang feasibility: {missing}"
            return GroupResult(info, GroupStatus.failed(text))
        progress = PlacementProgress(state.n_scheduled, len(info.pods))
        result = GroupResult(info, self._feasible(info, progress))
        if result.status.code is Code.UNSCHEDULABLE:
            result.status = replace(result.status, error=GroupStatus.unschedulable().error)
        if result.status.is_error or result.status.code is Code.UNSCHEDULABLE:
            return result
        for pod in info.pods:
            member = self._try_member(pod)
            result.members.append(member)
            if member.status.is_error:
                text = f"failed to schedule other pod from a pod group: {member.status.error_text}"
                result.status = GroupStatus.failed(text)
                break
            n_scheduled = progress.n_scheduled + member.status.is_success
            progress = PlacementProgress(n_scheduled, progress.n_remaining - 1)
            result.status = self._feasible(info, progress)
            if result.status.is_error or result.status.code is Code.UNSCHEDULABLE:
                break
            result.is_any_scheduled |= member.status.is_success
        return result

    def _try_member(self, pod: PodInfo) -> MemberResult:
        scheduler = self._scheduler
        try:
            evaluation = scheduler.evaluate(pod, self._placement)
            if self.is_what_if:
                evaluation.muted_scores = _IMAGE_SCORES
            if evaluation.n_nodes:
                self.tried[pod.uid] = _noted(evaluation)
            decision = scheduler.decide(evaluation, with_best=self._with_best, with_post_filter=False)
        except PluginError as error:
            scheduler.forget_answers(pod)
            return MemberResult(pod, GroupStatus.failed(str(error)), nomination="")
        except ExtenderError as error:
            return MemberResult(pod, GroupStatus.failed(str(error)), nomination="")
        if decision.reason == REASON_SCHEDULER_ERROR:
            return MemberResult(pod, GroupStatus.failed(decision.message), nomination="")
        if decision.node_name is None:
            nomination = "" if decision.message == NO_NODES else None
            return MemberResult(pod, GroupStatus.unschedulable(error=decision.message), nomination=nomination)
        status = self._tentative.assume(pod, decision.node_name)
        if not status.is_success:
            return MemberResult(pod, status, nomination="")
        return MemberResult(pod, OK, decision.node_name, decision.best)

    def _try_children(self, info: PodGroupInfo, results: Results) -> GroupResult:
        """Try the groups of a group in their order (compositePodGroupSchedulingDefaultAlgorithm)."""
        progress = PlacementProgress(0, len(info.children))
        result = GroupResult(info, self._feasible(info, progress))
        if result.status.is_error or result.status.code is Code.UNSCHEDULABLE:
            return result
        for child in info.children:
            tried = self._try(child, results)
            if tried.status.is_error:
                text = f"composite pod group evaluation failed due to child error: {tried.status.error_text}"
                result.status = GroupStatus.failed(text)
                return result
            result.is_any_scheduled |= tried.is_any_scheduled
            n_scheduled = progress.n_scheduled + tried.status.is_success
            progress = PlacementProgress(n_scheduled, progress.n_remaining - 1)
            result.status = self._feasible(info, progress)
            if result.status.is_error or result.status.code is Code.UNSCHEDULABLE:
                break
        return result

    def _feasible(self, info: PodGroupInfo, progress: PlacementProgress) -> GroupStatus:
        """Ask whether what is placed is enough, or may become enough (RunPlacementFeasiblePlugins)."""
        status = OK
        for plugin in self._framework.placement_feasible:
            found = plugin.placement_feasible(info, progress)
            if found.code is Code.WAIT:
                status = GroupStatus.of(found)
            elif found.code is Code.UNSCHEDULABLE:
                return GroupStatus.of(found)
            elif not found.is_success:
                text = f"running PlacementFeasible plugin: {found.message}"
                return GroupStatus.failed(f"failed to evaluate placement feasibility: {text}")
        return status

    # --- in one place after the other ---------------------------------------------------------------------------------

    def _try_placements(self, info: PodGroupInfo, results: Results) -> GroupResult:
        """Try a group in every placement, and take the best (podGroupSchedulingPlacementAlgorithm)."""
        parent = self._placement
        placements = self._generate(info)
        if isinstance(placements, GroupStatus):
            return GroupResult(info, placements)
        fitting: list[tuple[Placement, Results]] = []
        first: Results | None = None
        for placement in placements:
            self._placement = self._mask_of(placement)
            before = len(self._tentative)
            found: Results = {}
            result = self._try_here(info, found)
            self._tentative.back_to(before)
            self._placement = parent
            if result.status.is_error:
                return result
            first = found if first is None else first
            if result.status.is_success:
                fitting.append((placement, found))
        if not fitting:
            assert first is not None
            return self._no_placement(info, len(placements), first, results)
        self._scheduler.snapshot.update(self._scheduler.cache)  # without the pods of the last placement
        best = choose_placement(info, self._framework, self._scheduler.selector, _proposed(info, fitting))
        if isinstance(best, GroupStatus):
            return GroupResult(info, best)
        return self._settle(info, fitting[best][1], results)

    def _generate(self, info: PodGroupInfo) -> list[Placement] | GroupStatus:
        order = self._scheduler.snapshot.order
        if self._placement is None:
            self._scheduler.snapshot.update(self._scheduler.cache)
            order = self._scheduler.snapshot.order
        else:
            order = order[self._placement[order]]
        parent = Placement("", order)
        for plugin in self._framework.placement_generating[:1]:
            found = plugin.generate_placements(info, parent)
            if isinstance(found, Status):
                return GroupStatus.of(found)
            return found or GroupStatus(Code.UNSCHEDULABLE, ("no feasible placements found",))
        return [parent]

    def _mask_of(self, placement: Placement) -> BoolArray | None:
        """Return which rows a placement has; None where it has all nodes."""
        snapshot = self._scheduler.snapshot
        if len(placement.rows) == snapshot.n_nodes:
            return None
        mask = np.zeros(snapshot.columns.n_rows, bool)
        mask[placement.rows] = True
        return mask

    def _no_placement(self, info: PodGroupInfo, n_placements: int, first: Results, results: Results) -> GroupResult:
        """Report the first placement's failures in the name of all."""
        results.update(first)
        result = first[info.key]
        text = f"0/{n_placements} placements are available, first placement status: {result.status.error_text}"
        result.status = GroupStatus.unschedulable(text)
        return result

    def _settle(self, info: PodGroupInfo, chosen: Results, results: Results) -> GroupResult:
        """Count the chosen placement's pods in, for groups of a tree that come after (assumeSubtreeWithRevert)."""
        if self._groups.has_composites:
            before = len(self._tentative)
            for member in placed_members(info, chosen):
                status = self._tentative.assume(member.pod, member.node_name)
                if not status.is_success:
                    self._tentative.back_to(before)
                    text = f"failed to assume the subtree: {status.error_text}"
                    return GroupResult(info, GroupStatus.failed(text))
        results.update(chosen)
        return chosen[info.key]


def placed_members(info: PodGroupInfo, results: Results) -> list[MemberResult]:
    """Return the members that have nodes in groups that succeeded, as did all above them (successfulLeafResults)."""
    result = results.get(info.key)
    if result is None or not result.status.is_success:
        return []
    found = [member for child in info.children for member in placed_members(child, results)]
    return found + [member for member in result.members if member.status.is_success and member.node_name]


def _proposed(info: PodGroupInfo, fitting: list[tuple[Placement, Results]]) -> list[tuple[Placement, list[Proposal]]]:
    return [
        (placement, [Proposal(member.pod, member.node_name) for member in placed_members(info, found)])
        for placement, found in fitting
    ]


def _noted(evaluation: Evaluation) -> Tried:
    rejections: list[tuple[Status, RowArray]] = []
    if evaluation.pod.pod.spec.resource_claims and evaluation.nominated_row is None:
        rejections = [(status, rows) for _, _, status, rows in evaluation.first_failures()]
    return Tried(evaluation, evaluation.skipped_filters(), rejections)
