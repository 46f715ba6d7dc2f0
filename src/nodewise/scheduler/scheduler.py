"""The story of one pod: evaluate, select, and what happens when it fits nowhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nodewise.errors import PluginError
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.plugin import PostFilterResult
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.runtime.evaluation import NO_NODES, Evaluation
from nodewise.runtime.nominator import Nominations
from nodewise.runtime.pod_class import PodClasses
from nodewise.runtime.profile import Framework
from nodewise.runtime.selection import BestNames, RowArray, Selector, feasible_nodes_to_find, search
from nodewise.state.cache import SchedulerCache
from nodewise.state.columns import BoolArray
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

REASON_UNSCHEDULABLE = "Unschedulable"
REASON_SCHEDULER_ERROR = "SchedulerError"


@dataclass(frozen=True, slots=True)
class Decision:
    """What one scheduling cycle came to.

    Attributes
    ----------
    node_name : str | None
        The chosen node; None when the pod fits nowhere or something went wrong.
    best : Sequence[str]
        All nodes with the top total, names sorted; only filled in on request.
    reason : str | None
        None, Unschedulable or SchedulerError, as in the PodScheduled condition.
    message : str
        The condition's message.
    post_filter : PostFilterResult | None
        What the PostFilter plugins made of it.
    """

    node_name: str | None
    best: Sequence[str] = ()
    reason: str | None = None
    message: str = ""
    post_filter: PostFilterResult | None = None


class Scheduler:
    """The decision core over one cache: scheduling cycles for the pods of its profiles.

    Parameters
    ----------
    cache : SchedulerCache
    snapshot : Snapshot
    frameworks : Mapping[str, Framework]
        By scheduler name.
    selector : Selector
        Chooses among equals.
    percentage_of_nodes_to_score : int
        Used by profiles that have no value of their own; 0 is kube-scheduler's adaptive rule.
    """

    def __init__(
        self,
        cache: SchedulerCache,
        snapshot: Snapshot,
        frameworks: Mapping[str, Framework],
        selector: Selector,
        percentage_of_nodes_to_score: int = 100,
    ) -> None:
        self.cache = cache
        self.snapshot = snapshot
        self.frameworks = frameworks
        self.selector = selector
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score
        self.nominations = Nominations()
        self.classes = {name: PodClasses(framework, snapshot) for name, framework in frameworks.items()}
        self._reserved: dict[str, CycleState] = {}  # what Reserve plugins left for PreBind, by pod
        self._start = 0
        self._every_row: RowArray = np.zeros(0, np.intp)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Return the first objection to trying the pod at all (RunPreEnqueuePlugins)."""
        for plugin in self.frameworks[pod.pod.spec.scheduler_name].pre_enqueue:
            status = plugin.pre_enqueue(pod.pod)
            if not status.is_success:
                return status.by(plugin.name)
        return SUCCESS

    def evaluate(self, pod: PodInfo) -> Evaluation:
        """Run the filters for a pod over the cluster as it is, without changing anything."""
        self.snapshot.update(self.cache)
        name = pod.pod.spec.scheduler_name
        pod_class = self.classes[name].class_of(pod.pod)
        return Evaluation(pod, pod_class, self.frameworks[name], self.snapshot, self.nominations)

    def reserve(self, pod: PodInfo, node_name: str) -> Status:
        """Let the Reserve plugins take note of a decision; when one refuses, all take it back (RunReservePlugins)."""
        reserving = self.frameworks[pod.pod.spec.scheduler_name].reserving
        if not reserving:
            return SUCCESS
        state = CycleState()
        for plugin in reserving:
            status = plugin.reserve(state, pod, node_name)
            if not status.is_success:
                for other in reversed(reserving):
                    other.unreserve(state, pod, node_name)
                return status.by(plugin.name)
        self._reserved[pod.uid] = state
        return SUCCESS

    def forget_answers(self, pod: PodInfo) -> None:
        """Drop what is kept of the plugins' answers: a plugin that fails leaves some that do not belong together."""
        self.classes[pod.pod.spec.scheduler_name].clear()

    def schedule(self, pod: PodInfo, *, with_best: bool = False, with_post_filter: bool = True) -> Decision:
        """Decide on one pod; nothing is changed but what tie-breaks and node rotation remember.

        Parameters
        ----------
        with_best : bool
            Also list all nodes that share the top total.
        with_post_filter : bool
            Run the PostFilter plugins when the pod fits nowhere.
        """
        try:
            return self._decide(pod, with_best=with_best, with_post_filter=with_post_filter)
        except PluginError as error:
            self.forget_answers(pod)
            return Decision(None, reason=REASON_SCHEDULER_ERROR, message=str(error))

    def pre_bind(self, pod: PodInfo, node_name: str) -> Status:
        """Let the PreBind plugins do their part; when one fails, Reserve plugins take all back (RunPreBindPlugins)."""
        framework = self.frameworks[pod.pod.spec.scheduler_name]
        state = self._reserved.pop(pod.uid, None) or CycleState()
        for plugin in framework.pre_binding:
            status = plugin.pre_bind(state, pod, node_name)
            if not status.is_success:
                for other in reversed(framework.reserving):
                    other.unreserve(state, pod, node_name)
                return status.by(plugin.name)
        return SUCCESS

    def _decide(self, pod: PodInfo, *, with_best: bool, with_post_filter: bool) -> Decision:
        evaluation = self.evaluate(pod)
        if self.snapshot.n_nodes == 0:
            return Decision(None, reason=REASON_UNSCHEDULABLE, message=NO_NODES)
        status = evaluation.pre_filter_status
        if status is not None and not status.code.is_rejection:
            message = f'running PreFilter plugin "{status.plugin}": {status.message}'
            return Decision(None, reason=REASON_SCHEDULER_ERROR, message=message)
        found = self.find_nodes(evaluation)
        if len(found) == 0:
            return self._unschedulable(evaluation, with_post_filter=with_post_filter)
        names = self.snapshot.columns.names
        if len(found) == 1:
            name = names[found[0]]
            return Decision(name, (name,) if with_best else ())
        totals = evaluation.totals(found)
        row = self.selector.select(
            found,
            totals,
            self.snapshot.columns.name_rank,
            rows_are_by_name=self.snapshot.rows_are_by_name,
        )
        # A copy, since totals may be what the pod class keeps up to date.
        best = BestNames(found, totals.copy(), names) if with_best else ()
        return Decision(names[row], best)

    def find_nodes(self, evaluation: Evaluation) -> RowArray:
        """Return the feasible rows that the profile wants looked at, in the order they are met.

        They come in ascending order when the order does not matter for the choice.
        """
        if evaluation.nominated_row is not None:
            return np.array([evaluation.nominated_row], np.intp)
        order = self.snapshot.order
        if evaluation.allowed is not None:
            order = order[evaluation.allowed[order]]
        percentage = evaluation.framework.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.percentage_of_nodes_to_score
        quota = feasible_nodes_to_find(len(order), percentage)
        if not evaluation.framework.scores and self.selector.takes_first_found:
            quota = 1
        if quota >= len(order) and self.selector.ignores_order:
            return self._all_feasible(evaluation.feasible)
        found, looked_at = search(evaluation.feasible, order, self._start, quota)
        self._start = (self._start + looked_at) % max(self.snapshot.n_nodes, 1)
        return np.sort(found) if self.selector.ignores_order else found

    def _all_feasible(self, feasible: BoolArray) -> RowArray:
        if np.count_nonzero(feasible) < len(feasible):
            return np.flatnonzero(feasible)
        if len(self._every_row) != len(feasible):
            self._every_row = np.arange(len(feasible))
        return self._every_row

    def _unschedulable(self, evaluation: Evaluation, *, with_post_filter: bool) -> Decision:
        result = self.run_post_filters(evaluation) if with_post_filter else None
        message = evaluation.message(result.status.message if result is not None else "")
        return Decision(None, (), REASON_UNSCHEDULABLE, message, result)

    def run_post_filters(self, evaluation: Evaluation) -> PostFilterResult | None:
        """Run the PostFilter plugins until one succeeds, fails for good or errs (RunPostFilterPlugins)."""
        reasons: list[str] = []
        kept: PostFilterResult | None = None
        effects: tuple[Callable[[], None], ...] = ()
        for plugin in evaluation.framework.post_filters:
            result = plugin.post_filter(evaluation)
            effects += result.effects
            if result.status.code is not Code.UNSCHEDULABLE:
                return replace(result, effects=effects)
            reasons.extend(result.status.reasons)
            if result.nominated_node is not None:
                kept = result
        if not evaluation.framework.post_filters:
            return None
        nominated = kept.nominated_node if kept is not None else None
        return PostFilterResult(Status.unschedulable(*reasons), nominated, effects=effects)
