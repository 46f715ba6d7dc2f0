"""The story of one pod: evaluate, select, and what happens when it fits nowhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nodewise.errors import PluginError
from nodewise.framework.extender import Extender, ExtenderError
from nodewise.framework.plugin import BindPlugin, PostFilterResult
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.queue.nominator import Nominations
from nodewise.runtime.evaluation import NO_NODES, Evaluation
from nodewise.runtime.extenders import extender_scores, find_with_extenders, need_all
from nodewise.runtime.plugin_timing import PluginTiming
from nodewise.runtime.pod_class import PodClasses
from nodewise.runtime.profile import Framework
from nodewise.runtime.reservation import Reservation
from nodewise.runtime.selection import BestNames, RowArray, Selector, feasible_nodes_to_find, search
from nodewise.scheduler.metrics import NO_SCHEDULER_METRICS
from nodewise.state.cache import SchedulerCache
from nodewise.state.columns import BoolArray
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

PREEMPTING = "DefaultPreemption"
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
    rejectors : frozenset[str]
        Plugins that rejected the pod, somewhere or everywhere: whose events bring it back. None after an error.
    pending : frozenset[str]
        Those of them that watch something themselves, so that the pod need not back off when they call.
    """

    node_name: str | None
    best: Sequence[str] = ()
    reason: str | None = None
    message: str = ""
    post_filter: PostFilterResult | None = None
    rejectors: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()


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
    extenders : Sequence[Extender]
        In the order in which they are asked.

    Attributes
    ----------
    binders : Sequence[BindPlugin]
        What binds pods before the profile's Bind plugins are asked; extenders do so only where there is a real cluster.
    metrics : SchedulerMetrics
        Hears of what takes how long.
    """

    def __init__(
        self,
        cache: SchedulerCache,
        snapshot: Snapshot,
        frameworks: Mapping[str, Framework],
        selector: Selector,
        percentage_of_nodes_to_score: int = 100,
        extenders: Sequence[Extender] = (),
    ) -> None:
        self.cache = cache
        self.snapshot = snapshot
        self.frameworks = frameworks
        self.selector = selector
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score
        self.extenders = extenders
        self.binders: Sequence[BindPlugin] = ()
        self.metrics = NO_SCHEDULER_METRICS
        self.nominations = Nominations()
        self._timing: PluginTiming | None = None
        self.classes = {name: PodClasses(framework, snapshot) for name, framework in frameworks.items()}
        self._start = 0
        self._every_row: RowArray = np.zeros(0, np.intp)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Return the first objection to trying the pod at all (RunPreEnqueuePlugins)."""
        for plugin in self.frameworks[pod.pod.spec.scheduler_name].pre_enqueue:
            status = plugin.pre_enqueue(pod.pod)
            if not status.is_success:
                return status.by(plugin.name)
        return SUCCESS

    def evaluate(self, pod: PodInfo, placement: BoolArray | None = None) -> Evaluation:
        """Run the filters for a pod over the cluster as it is, or some rows of it, without changing anything."""
        self.snapshot.update(self.cache)
        name = pod.pod.spec.scheduler_name
        metrics = self.metrics
        started = metrics.start()
        classes = self.classes[name]
        n_known = classes.n_compiled
        pod_class = classes.class_of(pod.pod)
        status = pod_class.pre_filter_status
        if classes.n_compiled != n_known:
            metrics.ran("PreFilter", Code.SUCCESS if status is None else status.code, name, started)
            started = metrics.start()
        self._timing = metrics.timing()
        if self._timing is not None:
            self._timing.filters(pod_class.filter_views)
        evaluation = Evaluation(pod, pod_class, self.frameworks[name], self.snapshot, self.nominations, placement)
        evaluation.timing = self._timing
        if status is None:
            metrics.ran("Filter", Code.SUCCESS, name, started)
        return evaluation

    def reservation(self, pod: PodInfo, node_name: str) -> Reservation:
        """Return what takes a pod from Reserve to PostBind on the node that was chosen."""
        framework = self.frameworks[pod.pod.spec.scheduler_name]
        return Reservation(framework, pod, node_name, binders=self.binders, timing=self._timing)

    def forget_answers(self, pod: PodInfo) -> None:
        """Drop what is kept of the plugins' answers: a plugin that fails leaves some that do not belong together."""
        self.classes[pod.pod.spec.scheduler_name].clear()

    def schedule(
        self,
        pod: PodInfo,
        *,
        with_best: bool = False,
        with_post_filter: bool = True,
        placement: BoolArray | None = None,
    ) -> Decision:
        """Decide on one pod; nothing is changed but what tie-breaks and node rotation remember.

        Parameters
        ----------
        with_best : bool
            Also list all nodes that share the top total.
        with_post_filter : bool
            Run the PostFilter plugins when the pod fits nowhere.
        placement : (n_rows,) bool | None
            The only nodes that come into question; None: all.
        """
        try:
            evaluation = self.evaluate(pod, placement)
            return self.decide(evaluation, with_best=with_best, with_post_filter=with_post_filter)
        except PluginError as error:
            self.forget_answers(pod)
            return Decision(None, reason=REASON_SCHEDULER_ERROR, message=str(error))
        except ExtenderError as error:
            return Decision(None, reason=REASON_SCHEDULER_ERROR, message=str(error))

    def decide(self, evaluation: Evaluation, *, with_best: bool, with_post_filter: bool) -> Decision:
        """Choose a node by what the filters said, or tell why there is none."""
        if evaluation.n_nodes == 0:
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
        started = self.metrics.start()
        totals = evaluation.totals(found, in_row_order=self.selector.ignores_order)
        self.metrics.ran("Score", Code.SUCCESS, evaluation.framework.scheduler_name, started)
        randomized: BoolArray | None = None
        if self.extenders:
            scores = extender_scores(self.extenders, evaluation, found)
            totals, randomized = totals + scores.total, scores.scored_mask
        row = self.selector.select(
            found,
            totals,
            self.snapshot.columns.name_rank,
            rows_are_by_name=self.snapshot.rows_are_by_name,
            randomized=randomized,
        )
        # A copy, since totals may be what the pod class keeps up to date.
        best = BestNames(found, totals.copy(), names) if with_best else ()
        return Decision(names[row], best)

    def find_nodes(self, evaluation: Evaluation) -> RowArray:
        """Return the feasible rows that the profile wants looked at, in the order they are met.

        They come in ascending order when the order does not matter for the choice.

        Raises
        ------
        ExtenderError
            An extender failed that may not be ignored.
        """
        if not self.extenders:
            return self._search(evaluation)[0]
        found = find_with_extenders(self.extenders, evaluation, lambda: self._search(evaluation))
        return np.sort(found) if self.selector.ignores_order else found

    def _search(self, evaluation: Evaluation) -> tuple[RowArray, RowArray | None]:
        """Return rows that pass the filters, and those that were looked at; None: all (findNodesThatPassFilters)."""
        if evaluation.nominated_row is not None:
            return np.array([evaluation.nominated_row], np.intp), None
        order = self.snapshot.order
        if evaluation.placement is not None:
            order = order[evaluation.placement[order]]
        n_nodes = len(order)
        if evaluation.allowed is not None:
            order = order[evaluation.allowed[order]]
        percentage = evaluation.framework.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.percentage_of_nodes_to_score
        quota = feasible_nodes_to_find(len(order), percentage)
        if not evaluation.framework.scores and self.selector.takes_first_found and not need_all(self.extenders):
            quota = 1
        ignores_order = self.selector.ignores_order and not self.extenders  # these see the real order
        if quota >= len(order) and ignores_order:
            return self._all_feasible(evaluation.feasible), None
        found, looked_at = search(evaluation.feasible, order, self._start, quota)
        visited: RowArray | None = None
        failed = evaluation.failed_nomination
        if (self.extenders or failed is not None) and looked_at < len(order):
            visited = np.roll(order, -(self._start % len(order)))[:looked_at]
        walked = order if visited is None else visited
        # A nominated node that was tried first and failed counts as looked at even if the search did not come to it.
        n_beyond = int(failed is not None and failed not in walked)
        if evaluation.extended is not None:
            n_beyond += evaluation.extended.n_beyond(walked[~evaluation.feasible[walked]], self.snapshot.columns)
        self._start = (self._start + looked_at + n_beyond) % max(n_nodes, 1)
        return np.sort(found) if ignores_order else found, visited

    def _all_feasible(self, feasible: BoolArray) -> RowArray:
        if np.count_nonzero(feasible) < len(feasible):
            return feasible.nonzero()[0]
        if len(self._every_row) != len(feasible):
            self._every_row = np.arange(len(feasible))
        return self._every_row

    def _unschedulable(self, evaluation: Evaluation, *, with_post_filter: bool) -> Decision:
        result = self._timed_post_filters(evaluation) if with_post_filter else None
        message = evaluation.message(result.status.message if result is not None else "")
        rejectors, pending = evaluation.rejectors()
        return Decision(None, (), REASON_UNSCHEDULABLE, message, result, rejectors, pending)

    def _timed_post_filters(self, evaluation: Evaluation) -> PostFilterResult | None:
        started = self.metrics.start()
        result = self.run_post_filters(evaluation)
        if result is not None:
            self.metrics.ran("PostFilter", result.status.code, evaluation.framework.scheduler_name, started)
        return result

    def run_post_filters(self, evaluation: Evaluation) -> PostFilterResult | None:
        """Run the PostFilter plugins until one succeeds, fails for good or errs (RunPostFilterPlugins)."""
        reasons: list[str] = []
        kept: PostFilterResult | None = None
        effects: tuple[Callable[[], None], ...] = ()
        timing = evaluation.timing
        if timing is not None:
            timing.begin()
        for plugin in evaluation.framework.post_filters:
            result = plugin.post_filter(evaluation)
            if timing is not None:
                timing.lap("PostFilter", plugin.name, result.status.code)
            if plugin.name == PREEMPTING:
                self.metrics.preemption_attempted()
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
