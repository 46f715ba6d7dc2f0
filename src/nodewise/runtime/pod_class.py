"""Pods that no plugin can tell apart, and what all plugins say about them: the equivalence cache."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from nodewise.api.objects import Pod
from nodewise.framework.plugin import CompilingPlugin
from nodewise.framework.status import Code, Status
from nodewise.runtime.profile import Framework
from nodewise.runtime.views import SCALAR_ROWS, PluginView
from nodewise.state.columns import BoolArray, IntArray
from nodewise.state.dirty_log import NODE, PODS, RESOURCES
from nodewise.state.snapshot import Snapshot

ClassKey = tuple[Hashable, ...]


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
    nbytes : int
        About how much memory the class takes, views that an older class shares left out.
    """

    def __init__(self, framework: Framework, snapshot: Snapshot, views: dict[str, PluginView]) -> None:
        self.snapshot = snapshot
        self._views = views  # kept alive here, those with nothing to say too: other classes share them
        self.filter_views = [v for p in framework.filters if (v := views[p.name]).filters]
        self.score_views = [(v, weight) for p, weight in framework.scores if (v := views[p.name]).scores]
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
        self._cursor = -1
        self._node_set = -1
        self.nbytes = 0
        self._passes: BoolArray = np.zeros(0, bool)
        self._base: IntArray = np.zeros(0, np.int64)

    def _run_pre_filter(self, framework: Framework, views: dict[str, PluginView]) -> None:
        restricting: list[str] = []
        for plugin in framework.pre_filters:
            view = views[plugin.name]
            if view.state is None:
                continue
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

    def refresh(self) -> tuple[BoolArray, IntArray]:
        """Return, up to date, which rows pass the filters that read only their row, and the sum of such scores.

        Returns
        -------
        passes : (n_rows,) bool
            Not to be changed.
        base : (n_rows,) int64
            Weighted scores of plugins that read only the row and do not normalise. Not to be changed.
        """
        log = self.snapshot.log
        if self._cursor == log.end:
            return self._passes, self._base
        columns = self.snapshot.columns
        n_rows = columns.n_rows
        node_set = self.snapshot.node_set_version
        window = None
        if self._cursor >= 0 and len(self._passes) == n_rows and node_set == self._node_set:
            window = log.window(self._cursor, n_rows // 4 + 16)
        if window is not None and not window.any_kind & NODE:
            filters, scores = self._pod_filters, self._pod_scores
        else:
            filters, scores = self._static_filters, self._row_scores
        for view in filters:
            view.refresh_filter()
        for view, _ in scores:
            view.refresh_score()
        if window is None:
            self._refresh_all()
        elif len(window.rows) <= SCALAR_ROWS:
            self._refresh_rows(window.rows)
        else:
            self._refresh_index(window.index)
        self._cursor, self._node_set = log.end, node_set
        return self._passes, self._base

    def _refresh_all(self) -> None:
        columns = self.snapshot.columns
        passes = columns.alive.copy()
        for view in self._static_filters:
            if view.rejecting:
                passes &= view.codes == 0
        base = np.zeros(columns.n_rows, np.int64)
        for view, weight in self._row_scores:
            if view.raw is not None:
                base += view.raw * weight if weight != 1 else view.raw
        self._passes, self._base = passes, base

    def _refresh_index(self, index: NDArray[np.intp]) -> None:
        passes = self.snapshot.columns.alive[index]
        for view in self._static_filters:
            if view.rejecting:
                passes &= view.codes[index] == 0
        self._passes[index] = passes
        base = np.zeros(len(index), np.int64)
        for view, weight in self._row_scores:
            if view.raw is not None:
                base += view.raw[index] * weight if weight != 1 else view.raw[index]
        self._base[index] = base

    def _refresh_rows(self, rows: list[int]) -> None:
        alive = self.snapshot.columns.alive
        rejecting = [view.codes for view in self._static_filters if view.rejecting]
        for row in rows:
            self._passes[row] = alive[row] and not any(codes[row] for codes in rejecting)
            self._base[row] = sum(int(view.raw[row]) * w for view, w in self._row_scores if view.raw is not None)


class PodClasses:
    """The pod classes of one profile, least recently used out by a byte budget.

    Views are shared: two classes whose pods have, say, the same tolerations have one TaintToleration view.
    """

    def __init__(self, framework: Framework, snapshot: Snapshot, budget_bytes: int = 256 << 20) -> None:
        self.framework = framework
        self.snapshot = snapshot
        self.budget_bytes = budget_bytes
        self._classes: OrderedDict[ClassKey, PodClass] = OrderedDict()
        self._views: list[weakref.WeakValueDictionary[Hashable, PluginView]] = [
            weakref.WeakValueDictionary() for _ in framework.compiling
        ]
        self._last_views: list[tuple[Hashable, PluginView] | None] = [None] * len(self._views)
        self._nbytes = 0
        self._n_views_made = 0
        self._listers_version = -1

    def class_of(self, pod: Pod) -> PodClass:
        """Return the class of a pod, compiled if it is new."""
        if self._listers_version != self.snapshot.listers.version:
            self.clear()
            self._listers_version = self.snapshot.listers.version
        key: ClassKey = tuple([plugin.class_key(pod) for plugin in self.framework.compiling])
        found = self._classes.get(key)
        if found is not None:
            self._classes.move_to_end(key)
            return found
        n_new = self._n_views_made
        views = {
            plugin.name: self._view(index, plugin, key[index], pod)
            for index, plugin in enumerate(self.framework.compiling)
        }
        made = self._classes[key] = PodClass(self.framework, self.snapshot, views)
        # A row takes 9 bytes in the class, and 16 in each view that no older class had.
        made.nbytes = self.snapshot.columns.n_rows * (9 + 16 * (self._n_views_made - n_new)) + 2_000
        self._nbytes += made.nbytes
        while self._nbytes > self.budget_bytes and len(self._classes) > 1:
            _, oldest = self._classes.popitem(last=False)
            self._nbytes -= oldest.nbytes
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

    def _view(self, index: int, plugin: CompilingPlugin, key: Hashable, pod: Pod) -> PluginView:
        # Most plugins find the same in one pod after the other.
        last = self._last_views[index]
        if last is not None and last[0] == key:
            return last[1]
        views = self._views[index]
        view = views.get(key)
        if view is None:
            view = views[key] = PluginView(plugin, plugin.compile(pod, self.snapshot), self.snapshot)
            self._n_views_made += view.state is not None
        self._last_views[index] = (key, view)
        return view
