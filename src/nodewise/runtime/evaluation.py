"""What the plugins of a profile make of one pod: verdicts, scores and the message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from nodewise.errors import InvalidScoreError, PluginError
from nodewise.framework.extender import EXTENDER
from nodewise.framework.fit_error import fit_error_message
from nodewise.framework.plugin import MAX_NODE_SCORE, DetailingPlugin, FilterVerdict, Nominator
from nodewise.framework.status import Code, Status
from nodewise.runtime.extenders import ExtenderVerdict
from nodewise.runtime.plugin_timing import PluginTiming
from nodewise.runtime.pod_class import PodClass
from nodewise.runtime.profile import Framework
from nodewise.runtime.selection import RowArray
from nodewise.runtime.views import PluginScores, PluginView, distinct_codes, is_out_of_range
from nodewise.runtime.what_if import RowWhatIf
from nodewise.state.columns import ALL_ROWS, BoolArray, Columns, IntArray
from nodewise.state.dirty_log import Reads
from nodewise.state.empty_columns import EmptyNodeColumns
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

NO_NODES = "no nodes available to schedule pods"
_OF_PODS_THERE = int(Reads.RESOURCES | Reads.PODS | Reads.NODE_SET)


class Evaluation(FilterVerdict):
    """The filters' verdict on one pod over the snapshot as it is, and what follows from it.

    Attributes
    ----------
    feasible : (n_rows,) bool
        Rows that pass every filter, nominated pods taken into account.
    nominated_row : int | None
        The pod's own nominated node when it fits there; it is then taken without a look at others.
    failed_nomination : int | None
        The pod's own nominated node when it does not fit there.
    with_nominated : dict[int, dict[str, Status]]
        For rows that other pods are nominated to: what each filter says with these in place.
    extended : ExtenderVerdict | None
        What extenders made of the pod, once they were asked; None: there are none.
    placement : (n_rows,) bool | None
        The only rows that count; None: all. What plugins prepare they prepare from all nodes nevertheless.
    muted_scores : frozenset[str]
        Plugins whose scores do not count.
    timing : PluginTiming | None
        Times each plugin that scores.
    """

    def __init__(
        self,
        pod: PodInfo,
        pod_class: PodClass,
        framework: Framework,
        snapshot: Snapshot,
        nominations: Nominator,
        placement: BoolArray | None = None,
    ) -> None:
        self._pod = pod
        self.pod_class = pod_class
        self.framework = framework
        self._snapshot = snapshot
        self.nominations = nominations
        self.placement = placement
        self.muted_scores: frozenset[str] = frozenset()
        self.with_nominated: dict[int, dict[str, Status]] = {}
        self._nominated_failure = ""
        self.failed_nomination: int | None = None
        self.extended: ExtenderVerdict | None = None
        self._groups: list[tuple[PluginView | None, int, Status, RowArray]] | None = None
        self._explicit: set[int] = set()
        self.timing: PluginTiming | None = None
        self.pre_filter_status = pod_class.pre_filter_status
        n_rows = snapshot.columns.n_rows
        if self.pre_filter_status is not None:
            self.nominated_row: int | None = None
            self.allowed: BoolArray | None = None
            self.feasible: BoolArray = np.zeros(n_rows, bool)
            return
        passes = pod_class.passes()
        for view in pod_class.volatile_filters:
            view.refresh_filter()
            if view.rejecting:
                passes = passes & (view.codes == 0)
        if nominations.nominations():
            passes = self._with_nominated_pods(passes)
        if placement is not None:
            passes = passes & placement
        self.allowed = self._allowed_rows()
        self.nominated_row = self._try_own_nomination(passes)
        self.feasible = passes if self.allowed is None else passes & self.allowed
        if self.nominated_row is not None and not self.feasible[self.nominated_row]:
            self.feasible = self.feasible.copy()
            self.feasible[self.nominated_row] = True
        if any(view.rejecting and view.codes.max() >= code for view, code in pod_class.erring_filters):
            self._raise_filter_error()

    @property
    def n_nodes(self) -> int:
        """Nodes that count (NumNodesInPlacement)."""
        return self._snapshot.n_nodes if self.placement is None else int(np.count_nonzero(self._nodes))

    @property
    def _nodes(self) -> BoolArray:
        """Return which rows are nodes that count."""
        alive = self._snapshot.columns.alive
        return alive if self.placement is None else alive & self.placement

    # --- what filters said --------------------------------------------------------------------------------------------

    @property
    def pod(self) -> PodInfo:
        return self._pod

    @property
    def snapshot(self) -> Snapshot:
        return self._snapshot

    @property
    def nominator(self) -> Nominator:
        return self.nominations

    @property
    def stopped_in_pre_filter(self) -> str:
        return self.pod_class.stopped_in_pre_filter

    def ran_pre_filter(self, plugin: str) -> bool:
        stopped = self.stopped_in_pre_filter
        names = [other.name for other in self.framework.pre_filters]
        if not stopped or plugin not in names:
            return not stopped
        return names.index(plugin) <= names.index(stopped)

    @property
    def excluded_by(self) -> tuple[str, ...]:
        """Return the plugins whose PreFilter left some nodes out, names sorted."""
        return self.pod_class.restricting

    @property
    def absent_status(self) -> Status:
        """Return the status of nodes that were not looked at."""
        if self.pre_filter_status is not None:
            return self.pre_filter_status
        if self.allowed is None:
            return Status.unresolvable()
        plugins = sorted({*self.pod_class.restricting, *filter(None, [self._nominated_failure])})
        return Status.unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]")

    def failures(self, row: int) -> dict[str, Status]:
        """Return what every filter that rejects the pod on a row says, each asked on its own, in profile order."""
        if row in self.with_nominated:
            return self.with_nominated[row]
        found: dict[str, Status] = {}
        for view in self.pod_class.filter_views:
            view.refresh_filter()
            code = int(view.codes[row])
            if code:
                found[view.plugin.name] = view.plugin.rejection(view.state, code)
        return found

    def details(self, row: int | None, plugins: Iterable[str]) -> dict[str, str]:
        """Return what plugins that reject a row, or for None every row, add to their reasons."""
        found: dict[str, str] = {}
        wanted = set(plugins)
        for plugin in self.framework.compiling:
            if plugin.name in wanted and isinstance(plugin, DetailingPlugin):
                detail = plugin.detail(self._pod.pod, row)
                if detail:
                    found[plugin.name] = detail
        return found

    def _raise_filter_error(self) -> None:
        """Fail when the first that is said of some node is an error, as RunFilterPlugins does."""
        erring = [(status, rows) for _, _, status, rows in self.first_failures() if not status.code.is_rejection]
        if erring:
            status_of = {row: status for status, rows in erring for row in rows.tolist()}
            status = next(status_of[row] for row in self._snapshot.order.tolist() if row in status_of)
            raise PluginError(f'running "{status.plugin}" filter plugin: {status.message}')

    def looked_at(self) -> BoolArray:
        """Return which rows were judged one by one, as opposed to left out by a PreFilter."""
        nodes = self._nodes
        if self.pre_filter_status is not None:
            return np.zeros(len(nodes), bool)
        mask = nodes.copy() if self.allowed is None else nodes & self.allowed
        mask[list(self._explicit)] = True
        if self.extended is not None:
            return self.extended.explicit_rows(mask & ~self.feasible, self._snapshot.columns)
        return mask

    def first_failures(self) -> list[tuple[PluginView | None, int, Status, RowArray]]:
        """Group the rows that were judged and rejected by their first rejection.

        Returns
        -------
        list of (view, code, status, rows)
            `view` is None for rows where nominated pods made the difference.
        """
        if self._groups is not None:
            return self._groups
        rejected = self.looked_at() & ~self.feasible
        groups: list[tuple[PluginView | None, int, Status, RowArray]] = []
        if self.extended is not None:
            for status, rows in self.extended.groups(self._snapshot.columns):
                groups.append((None, 0, status, rows))
                rejected[rows] = False
        for row, failures in self.with_nominated.items():
            if rejected[row] and failures:
                name, status = next(iter(failures.items()))
                groups.append((None, 0, status.by(name), np.array([row])))
                rejected[row] = False
        for view in self.pod_class.filter_views:
            view.refresh_filter()
            if not view.rejecting:
                continue
            rows = (rejected & (view.codes != 0)).nonzero()[0]
            if len(rows) == 0:
                continue
            rejected[rows] = False
            codes = view.codes[rows]
            for code in distinct_codes(codes):
                status = view.plugin.rejection(view.state, code).by(view.plugin.name)
                groups.append((view, code, status, rows[codes == code]))
        self._groups = groups
        return groups

    def rejectors(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the plugins that rejected the pod or left nodes out, and those of them whose status is Pending.

        They are Diagnosis.UnschedulablePlugins and PendingPlugins.
        """
        statuses = [status for _, _, status, _ in self.first_failures()]
        if self.pre_filter_status is not None:
            statuses.append(self.pre_filter_status)
        plugins = {status.plugin for status in statuses}
        plugins.update(self.pod_class.restricting, (self._nominated_failure,))
        if self.extended is not None and self.extended.refused_by:
            plugins.add(EXTENDER)
        pending = {status.plugin for status in statuses if status.code is Code.PENDING}
        return frozenset(plugins - {""}), frozenset(pending)

    def skipped_filters(self) -> frozenset[str]:
        """Return the filters that had nothing to say about the pod, on any node (CycleState.SkipFilterPlugins)."""
        active = {v.plugin.name for v in self.pod_class.filter_views if not getattr(v.state, "skips_now", False)}
        return frozenset(plugin.name for plugin in self.framework.filters) - active

    def statuses_by_row(self) -> Mapping[int, Status]:
        statuses: dict[int, Status] = {}
        for _, _, status, rows in self.first_failures():
            statuses.update(dict.fromkeys(rows.tolist(), status))
        absent = self.absent_status
        for row in np.flatnonzero(self._nodes & ~self.looked_at()).tolist():
            statuses[row] = absent
        return statuses

    def resolvable_rows(self) -> RowArray:
        found = [rows for _, _, status, rows in self.first_failures() if status.code is Code.UNSCHEDULABLE]
        if self.absent_status.code is Code.UNSCHEDULABLE:
            found.append(np.flatnonzero(self._nodes & ~self.looked_at()))
        return np.concatenate(found) if found else np.zeros(0, np.intp)

    def what_if(self, row: int) -> RowWhatIf:
        return RowWhatIf(self.pod_class, self._snapshot, row, self._nominated_pods(row))

    def message(self, post_filter_message: str = "") -> str:
        """Return what goes into the PodScheduled condition of a pod that fits nowhere (FitError.Error)."""
        n_nodes = self.n_nodes
        if n_nodes == 0:
            return NO_NODES
        if self.pre_filter_status is not None:
            return fit_error_message(n_nodes, self.pre_filter_status.message, {}, post_filter_message)
        counts: Counter[str] = Counter()
        for _, _, status, rows in self.first_failures():
            for reason in status.reasons:
                counts[reason] += len(rows)
        n_absent = n_nodes - int(np.count_nonzero(self.looked_at()))
        if self.extended is not None:
            of_no_node = self.extended.statuses_of_no_node(self._snapshot.columns)
            counts.update(reason for status in of_no_node for reason in status.reasons)
            n_absent = max(n_absent - len(of_no_node), 0)
        if n_absent:
            for reason in self.absent_status.reasons:
                counts[reason] += n_absent
        return fit_error_message(n_nodes, "", counts, post_filter_message)

    # --- nominated pods -----------------------------------------------------------------------------------------------

    def _nominated_pods(self, row: int) -> tuple[PodInfo, ...]:
        """Pods that may take room on the node before this one: nominated there, of no lower priority."""
        nominated = self.nominations.nominated_to(self._snapshot.columns.names[row])
        return tuple(p for p in nominated if p.priority >= self._pod.priority and p.uid != self._pod.uid)

    def _with_nominated_pods(self, passes: BoolArray) -> BoolArray:
        changed = passes
        for name in self.nominations.nominations():
            row = self._snapshot.columns.row_of(name)
            if row is None:
                continue
            others = self._nominated_pods(row)
            if not others:
                continue
            failures = RowWhatIf(self.pod_class, self._snapshot, row, ()).failures(added=others)
            if failures:
                self.with_nominated[row] = failures
                if changed[row]:
                    changed = changed.copy() if changed is passes else changed
                    changed[row] = False
        return changed

    def _allowed_rows(self) -> BoolArray | None:
        names = self.pod_class.node_names
        if names is None:
            return None
        columns = self._snapshot.columns
        mask = np.zeros(columns.n_rows, bool)
        for name in names:
            row = columns.row_of(name)
            if row is not None:
                mask[row] = True
        return mask

    def _try_own_nomination(self, passes: BoolArray) -> int | None:
        """Return the row of the pod's nominated node when it fits there, even if a PreFilter left that node out."""
        name = self.nominations.node_of(self._pod.uid)
        row = self._snapshot.columns.row_of(name) if name else None
        if row is None or (self.placement is not None and not self.placement[row]):
            return None
        self._explicit.add(row)
        if passes[row]:
            return row
        self._nominated_failure = next(iter(self.failures(row)), "")
        self.failed_nomination = row
        return None

    @property
    def nominated_node(self) -> str:
        """The node the pod is nominated to, "" for none."""
        return self.nominations.node_of(self._pod.uid)

    def give_up_nomination(self) -> None:
        """Treat the nominated node, which passes the filters, as any other."""
        row = self.nominated_row
        if row is None:
            return
        self.nominated_row = None
        self._explicit.discard(row)
        self._groups = None
        if self.allowed is not None and not self.allowed[row]:
            self.feasible = self.feasible.copy()
            self.feasible[row] = False

    # --- scores -------------------------------------------------------------------------------------------------------

    def totals(self, found: RowArray, *, in_row_order: bool = False) -> IntArray:
        """Return the total scores of feasible rows, all else equal: parts that are the same for all may be left out.

        Parameters
        ----------
        found : (m,) intp
            Rows to score; normalisation looks at these only.
        in_row_order : bool
            Whether they are known to ascend.

        Raises
        ------
        PluginError
            A plugin of the profile cannot score.
        """
        if self.framework.score_failure:
            raise PluginError(self.framework.score_failure)
        if in_row_order or (found[1:] > found[:-1]).all():
            return self._totals_in_row_order(found)
        in_order = np.argsort(found)
        totals = np.empty(len(found), np.int64)
        totals[in_order] = self._totals_in_row_order(found[in_order])
        return totals

    def _totals_in_row_order(self, found: RowArray) -> IntArray:
        if (self.extended is not None and self.extended.are_fresh) or self.muted_scores:
            weighted = (scores.normalized * scores.weight for scores in self.plugin_scores(found))
            return sum(weighted, start=np.zeros(len(found), np.int64))
        timing = self.timing
        if timing is not None:
            self.pod_class.time_scores(timing)
        total = self.pod_class.base_of(found)
        if self.pod_class.may_have_invalid_scores:
            self.plugin_scores(found)  # raises when it is one of these rows
        rows: RowArray | slice = ALL_ROWS if len(found) == self._snapshot.columns.n_rows else found
        mask: BoolArray | None = None
        late_scores = self.pod_class.late_scores
        for view, weight in late_scores if timing is None else timing.each_score(late_scores):
            if not view.traits.pre_scores and not view.is_volatile:
                view.refresh_score()
                if view.raw is None or view.uniform:
                    continue
                raw, state = view.raw[rows], view.state
            else:
                if mask is None:
                    mask = self._mask_of(found)
                scored = self._score_late(view, mask)
                if scored is None:
                    continue
                raw, state = scored[0][rows], scored[1]
            normalized = self._checked(found, view, self._normalize(view, state, raw))
            total = total + (normalized * weight if weight != 1 else normalized)
        return total

    def plugin_scores(self, found: RowArray) -> list[PluginScores]:
        """Return every plugin's scores of feasible rows, given in ascending order; plugins in profile order.

        Raises
        ------
        InvalidScoreError
            A normalised score is out of 0..100.
        """
        scores = self._plugin_scores(found)
        for plugin_scores in scores:
            if is_out_of_range(plugin_scores.normalized):
                raise self._invalid_score(found, scores)
        return scores

    def _plugin_scores(self, found: RowArray) -> list[PluginScores]:
        mask = self._mask_of(found)
        empty: EmptyNodeColumns | None = None
        if self.extended is not None and self.extended.are_fresh:
            empty = EmptyNodeColumns(self._snapshot.columns)
        scores: list[PluginScores] = []
        for view, weight in [s for s in self.pod_class.score_views if s[0].plugin.name not in self.muted_scores]:
            if view.traits.pre_scores or view.is_volatile or empty is not None:
                scored = self._score_late(view, mask, empty)
                if scored is None:
                    continue
                raw, state = scored[0][found], scored[1]
            else:
                view.refresh_score()
                if view.raw is None:
                    continue
                raw, state = view.raw[found], view.state
            scores.append(PluginScores(view.plugin.name, raw, self._normalize(view, state, raw), weight))
        return scores

    def _invalid_score(self, found: RowArray, scores: list[PluginScores]) -> InvalidScoreError:
        """Name the first bad score: by node in the order of the snapshot, then by plugin (normalizeScores)."""
        place_of = {row: place for place, row in enumerate(self._snapshot.order.tolist())}
        for position in sorted(range(len(found)), key=lambda position: place_of[int(found[position])]):
            for plugin_scores in scores:
                score = int(plugin_scores.normalized[position])
                if not 0 <= score <= MAX_NODE_SCORE:
                    return InvalidScoreError(
                        f'applying score defaultWeights on Score plugins: plugin "{plugin_scores.name}" returns an '
                        f"invalid score {score}, it should in the range of [0, {MAX_NODE_SCORE}] after normalizing"
                    )
        raise AssertionError("no score is out of range")

    def _mask_of(self, found: RowArray) -> BoolArray:
        if len(found) == np.count_nonzero(self.feasible):
            return self.feasible
        mask = np.zeros(self._snapshot.columns.n_rows, bool)
        mask[found] = True
        return mask

    def _score_late(
        self, view: PluginView, mask: BoolArray, empty: EmptyNodeColumns | None = None
    ) -> tuple[IntArray, object] | None:
        columns: Columns = self._snapshot.columns
        state = view.state
        if empty is not None:
            # What is counted over several nodes is counted on the real ones.
            if view.reads & _OF_PODS_THERE and not view.reads & Reads.DOMAIN:
                columns = empty
            if hasattr(view.plugin, "on_empty_nodes"):
                state = view.plugin.on_empty_nodes(state)
        if view.traits.pre_scores:
            state = view.plugin.pre_score(state, columns, mask)
            if state is None:
                return None
        raw = view.plugin.score(state, columns, ALL_ROWS)
        return None if raw is None else (raw, state)

    def _checked(self, found: RowArray, view: PluginView, normalized: IntArray) -> IntArray:
        if is_out_of_range(normalized):
            raise self._invalid_score(found, self._plugin_scores(found))
        return normalized

    def _normalize(self, view: PluginView, state: object, raw: IntArray) -> IntArray:
        normalized: IntArray = view.plugin.normalize(state, raw) if view.traits.normalizes else raw
        return normalized
