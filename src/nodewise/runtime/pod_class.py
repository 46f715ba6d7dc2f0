"""Pods that no plugin can tell apart, and what all plugins say about them: the equivalence cache."""

from __future__ import annotations

import weakref
from collections.abc import Hashable

import numpy as np

from nodewise.api.objects import Pod
from nodewise.caches.lru import LRUCache
from nodewise.framework.status import Code, Status
from nodewise.runtime.plugin_timing import PluginTiming
from nodewise.runtime.profile import Framework
from nodewise.runtime.selection import RowArray
from nodewise.runtime.views import SCALAR_ROWS, PluginView
from nodewise.state.columns import BoolArray, IntArray
from nodewise.state.dirty_log import NODE, PODS, RESOURCES, Window
from nodewise.state.snapshot import Snapshot

ClassKey = tuple[Hashable, ...]
FEW = 3
"""Rows are few when there are so many times more."""
UNCHANGED = Window(np.zeros(0, np.intp), 0, 0)


class PodClass:
    """All plugins' answers for pods with one class key.

    Attributes
    ----------
    filter_views : list[PluginView]
        Filters that have something to say, in profile order.
    score_views : list[tuple[PluginView, int]]
        Scores that have something to say, with their weights, in profile order.
    pre_filter_status : Status | None
        The rejection of such pods before any node is looked at, or an error.
    stopped_in_pre_filter : str
        The plugin whose PreFilter ended the cycle before later ones ran; "" when all ran.
    restricting : tuple[str, ...]
        Plugins whose PreFilter left only some nodes, names sorted.
    node_names : frozenset[str] | None
        The nodes left by these.
    may_have_invalid_scores : bool
        Whether `base` met a score out of 0..100, on whatever row.
    nbytes : int
        About how much memory the class takes, views that an older class shares left out.
    """

    def __init__(self, framework: Framework, snapshot: Snapshot, views: list[PluginView]) -> None:
        self.snapshot = snapshot
        self._views = views  # kept alive here, those with nothing to say too: other classes share them
        self.filter_views = [view for position in framework.filter_positions if (view := views[position]).filters]
        self.score_views = [
            (view, weight) for position, weight in framework.score_positions if (view := views[position]).scores
        ]
        self.erring_filters = [
            (view, code) for view in self.filter_views if (code := view.traits.first_error_code) is not None
        ]
        self._static_filters = [view for view in self.filter_views if not view.is_volatile]
        self.volatile_filters = [view for view in self.filter_views if view.is_volatile]
        self._row_scores = [
            (view, weight)
            for view, weight in self.score_views
            if not view.is_volatile and not view.traits.pre_scores and not view.traits.normalizes
        ]
        # What a pod that comes or goes can change; the other views wait until a Node object does.
        self._pod_filters = [view for view in self._static_filters if view.reads & (RESOURCES | PODS)]
        self._pod_scores = [(view, weight) for view, weight in self._row_scores if view.reads & (RESOURCES | PODS)]
        row_scores = {id(view) for view, _ in self._row_scores}
        self.late_scores = [(view, weight) for view, weight in self.score_views if id(view) not in row_scores]
        self.pre_filter_status: Status | None = None
        self.stopped_in_pre_filter = ""
        self.restricting: tuple[str, ...] = ()
        self.node_names: frozenset[str] | None = None
        self._run_pre_filter(framework, views)
        self.may_have_invalid_scores = False
        self._filtered = _Progress()
        self._scored = _Progress()
        self.nbytes = 0
        self._passes: BoolArray = np.zeros(0, bool)
        self._base: IntArray = np.zeros(0, np.int64)

    def _run_pre_filter(self, framework: Framework, views: list[PluginView]) -> None:
        restricting: list[str] = []
        for position in framework.pre_filter_positions:
            view = views[position]
            if view.state is None:
                continue
            plugin = view.plugin
            result = plugin.pre_filter(view.state)
            if result.status is not None:
                self.pre_filter_status = result.status.by(plugin.name)
                if result.status.code is not Code.UNSCHEDULABLE:
                    self.stopped_in_pre_filter = plugin.name
                    return
            if result.node_names is not None:
                restricting.append(plugin.name)
                names = result.node_names
                self.node_names = names if self.node_names is None else self.node_names & names
                if not self.node_names:
                    self._reject_all_nodes(plugin.name, restricting)
                    return
        self.restricting = tuple(sorted(restricting))

    def _reject_all_nodes(self, last: str, restricting: list[str]) -> None:
        self.restricting = tuple(sorted(restricting))
        if len(restricting) == 1:
            text = f"node(s) didn't satisfy plugin {restricting[0]}"
        else:
            text = f"node(s) didn't satisfy plugin(s) [{' '.join(self.restricting)}] simultaneously"
        self.pre_filter_status = Status.unresolvable(text)
        self.stopped_in_pre_filter = last

    def passes(self) -> BoolArray:
        """Return, up to date, which rows pass the filters that read only their row; not to be changed.

        Returns
        -------
        (n_rows,) bool
        """
        window = self._filtered.window(self.snapshot)
        if window is UNCHANGED:
            return self._passes
        views = self._static_filters if window is None or window.any_kind & NODE else self._pod_filters
        for view in views:
            view.refresh_filter()
        rejecting = [view.codes for view in self._static_filters if view.rejecting]
        alive = self.snapshot.columns.alive
        if window is None:
            passes = alive.copy()
            for codes in rejecting:
                passes &= codes == 0
            self._passes = passes
        elif len(window.rows) <= SCALAR_ROWS:
            for row in window.rows.tolist():
                self._passes[row] = alive.item(row) and not any(codes.item(row) for codes in rejecting)
        else:
            passes = alive[window.rows]
            for codes in rejecting:
                passes &= codes[window.rows] == 0
            self._passes[window.rows] = passes
        return self._passes

    def base(self) -> IntArray:
        """Return, up to date, the weighted sum of the scores that read only their row and are not normalised.

        Returns
        -------
        (n_rows,) int64
            Not to be changed.
        """
        window = self._scored.window(self.snapshot)
        if window is UNCHANGED:
            return self._base
        weighted_views = self._row_scores if window is None or window.any_kind & NODE else self._pod_scores
        for view, _ in weighted_views:
            view.refresh_score()
            if view.may_be_invalid:
                self.may_have_invalid_scores = True
        scores = [(view.raw, weight) for view, weight in self._row_scores if view.raw is not None]
        if window is None:
            base = np.zeros(self.snapshot.columns.n_rows, np.int64)
            for raw, weight in scores:
                base += raw * weight if weight != 1 else raw
            self._base = base
        elif len(window.rows) <= SCALAR_ROWS:
            for row in window.rows.tolist():
                self._base[row] = sum([raw.item(row) * weight for raw, weight in scores])
        else:
            index = window.rows
            base = np.zeros(len(index), np.int64)
            for raw, weight in scores:
                base += raw[index] * weight if weight != 1 else raw[index]
            self._base[index] = base
        return self._base

    def time_scores(self, timing: PluginTiming) -> None:
        """Bring the scores up to date that `base` is the sum of, one by one, unless only a few may be wanted."""
        if not self._scored.is_far_behind(self.snapshot):
            timing.scores(self._row_scores)

    def base_of(self, rows: RowArray) -> IntArray:
        """Return `base` of some rows; a few are scored by themselves where all would have to be scored anew."""
        n_rows = self.snapshot.columns.n_rows
        if len(rows) == n_rows:
            return self.base()
        if len(rows) * FEW > n_rows or not self._scored.is_far_behind(self.snapshot):
            return self.base()[rows]
        total = np.zeros(len(rows), np.int64)
        for view, weight in self._row_scores:
            raw = view.scores_of(rows)
            if view.may_be_invalid:
                self.may_have_invalid_scores = True
            if raw is not None:
                total += raw * weight if weight != 1 else raw
        return total


class _Progress:
    """How far in the dirty log something derived from rows has come."""

    __slots__ = ("_cursor", "_n_rows", "_node_set")

    def __init__(self) -> None:
        self._cursor = self._n_rows = self._node_set = -1

    def window(self, snapshot: Snapshot) -> Window | None:
        """Return what changed since the last call; None: everything may have, UNCHANGED: nothing did."""
        log, n_rows = snapshot.log, snapshot.columns.n_rows
        if self._cursor == log.end:
            return UNCHANGED
        window = None if self.is_far_behind(snapshot) else log.window(self._cursor, _most(n_rows))
        self._cursor, self._n_rows, self._node_set = log.end, n_rows, snapshot.node_set_version
        return window

    def is_far_behind(self, snapshot: Snapshot) -> bool:
        """Tell whether so much happened that everything has to be derived anew."""
        if self._n_rows != snapshot.columns.n_rows or self._node_set != snapshot.node_set_version:
            return True
        return snapshot.log.end - self._cursor > 2 * _most(self._n_rows)


def _most(n_rows: int) -> int:
    """Return how many changed rows are brought up to date one by one."""
    return n_rows // 4 + 16


class PodClasses:
    """The pod classes of one profile, least recently used out by a byte budget.

    Views are shared: two classes whose pods have, say, the same tolerations have one TaintToleration view.

    Attributes
    ----------
    n_compiled : int
        How many classes were made so far.
    """

    def __init__(self, framework: Framework, snapshot: Snapshot, budget_bytes: int = 256 << 20) -> None:
        self.framework = framework
        self.snapshot = snapshot
        self.budget_bytes = budget_bytes
        self._classes: LRUCache[ClassKey, PodClass] = LRUCache()  # the budget is kept here, not there
        self._views: list[weakref.WeakValueDictionary[Hashable, PluginView]] = [
            weakref.WeakValueDictionary() for _ in framework.compiling
        ]
        self._last_views: list[tuple[Hashable, PluginView] | None] = [None] * len(self._views)
        self._class_keys = [plugin.class_key for plugin in framework.compiling]
        self._nbytes = 0
        self._n_views_made = 0
        self._listers_version = -1
        self.n_compiled = 0

    def class_of(self, pod: Pod) -> PodClass:
        """Return the class of a pod, compiled if it is new."""
        if self._listers_version != self.snapshot.listers.version:
            self.clear()
            self._listers_version = self.snapshot.listers.version
        key: ClassKey = tuple([class_key(pod) for class_key in self._class_keys])
        found = self._classes.get(key)
        if found is not None:
            return found
        n_new = self._n_views_made
        views = [
            # Most plugins find the same in one pod after the other.
            last[1]
            if (last := self._last_views[position]) is not None and last[0] == part
            else self._view(position, part, pod)
            for position, part in enumerate(key)
        ]
        made = PodClass(self.framework, self.snapshot, views)
        self._classes.add(key, made)
        self.n_compiled += 1
        # A row takes 9 bytes in the class, and 16 in each view that no older class had.
        made.nbytes = self.snapshot.columns.n_rows * (9 + 16 * (self._n_views_made - n_new)) + 2_000
        self._nbytes += made.nbytes
        while self._nbytes > self.budget_bytes and len(self._classes) > 1:
            oldest = self._classes.remove_oldest()
            self._nbytes -= oldest[1].nbytes if oldest is not None else 0
        return made

    def clear(self) -> None:
        """Forget all classes."""
        self._classes.clear()
        for views in self._views:
            views.clear()
        self._last_views = [None] * len(self._views)
        self._nbytes = 0

    def __len__(self) -> int:
        return len(self._classes)

    @property
    def nbytes(self) -> int:
        """About how much memory the classes take."""
        return self._nbytes

    def _view(self, position: int, key: Hashable, pod: Pod) -> PluginView:
        views = self._views[position]
        view = views.get(key)
        if view is None:
            plugin = self.framework.compiling[position]
            view = views[key] = PluginView(plugin, plugin.compile(pod, self.snapshot), self.snapshot)
            self._n_views_made += view.state is not None
        self._last_views[position] = (key, view)
        return view
