"""The conformance suite for plugins: what the runtime relies on, checked on small clusters.

>>> from nodewise.plugins.node_unschedulable import NodeUnschedulable
>>> check_plugin(NodeUnschedulable)
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from nodewise.api.objects import Pod
from nodewise.framework.node_plugin import adapt
from nodewise.framework.plugin import EXTENSION_POINTS, MAX_NODE_SCORE, CompilingPlugin, PodsChange, PreFilterResult
from nodewise.framework.status import Code, Status
from nodewise.state.cache import SchedulerCache
from nodewise.state.columns import ALL_ROWS, BoolArray, Columns, IntArray, NodeTable, Rows
from nodewise.state.dirty_log import ROW, Reads
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.state.what_if import WhatIfColumns
from nodewise.testing.builders import FakeHandle, make_cache
from nodewise.testing.check_events import check_events
from nodewise.testing.plugin_check_error import PluginCheckError as PluginCheckError
from nodewise.testing.samples import (
    Cluster,
    sample_clusters,
    sample_node,
    sample_pods,
    sample_running_pod,
    variants,
)

COLUMNS = ("alive", "allocatable", "requested", "non_zero", "unschedulable", "taint_set", "feature_set", "name_rank")


Plugin = Any
Make = Callable[[Snapshot], Plugin]


def check_plugin(
    plugin: Plugin, clusters: Iterable[Cluster] | None = None, pods: Iterable[Pod] | None = None, *, args: Any = None
) -> None:
    """Check a plugin, over columns or over single nodes.

    Parameters
    ----------
    plugin : Any
        Its class, made anew for each cluster as `plugin(args, handle)`, or one ready-made object.
    clusters, pods : Iterable | None
        What to try it on; None: the samples of `nodewise.testing.samples`.

    Raises
    ------
    PluginCheckError
        At the first thing that is wrong, saying on which pod and node.
    """

    def make(snapshot: Snapshot) -> Plugin:
        return adapt(plugin(args, FakeHandle(snapshot)) if isinstance(plugin, type) else plugin)

    some = make(Snapshot())
    name = getattr(some, "name", None)
    if not isinstance(name, str) or not name:
        raise PluginCheckError(f"{some!r} has no name")
    if not any(isinstance(some, protocol) for protocol in EXTENSION_POINTS.values()):
        raise PluginCheckError(f"{name} takes part at no extension point: {', '.join(EXTENSION_POINTS)}")
    pods = list(sample_pods() if pods is None else pods)
    if hasattr(some, "events_to_register"):
        check_events(some, pods)
    if not isinstance(some, CompilingPlugin):
        return
    if not isinstance(some.reads, Reads):
        raise PluginCheckError(f"{name}: reads is {some.reads!r}, expected Reads")
    clusters = list(sample_clusters() if clusters is None else clusters)
    for cluster in clusters:
        _check_answers(make, cluster, pods)
    for index, cluster in enumerate(clusters):
        _check_class_keys(make, cluster, pods)
        _check_reads(make, cluster, pods, rng=random.Random(index))


class Answers:
    """All that a plugin says of one pod with one state, checked for form.

    Attributes
    ----------
    statuses : list[Status | None]
        By row; None: the pod passes.
    raw : IntArray | None
        Raw scores by row.
    """

    def __init__(self, plugin: Plugin, state: Any, snapshot: Snapshot, *, what: str) -> None:
        self.plugin = plugin
        self.columns = snapshot.columns
        self.what = what
        n_rows = self.columns.n_rows
        self.codes: IntArray = np.zeros(n_rows, np.int64)
        self.raw: IntArray | None = None
        self.score_state = state
        if state is not None and hasattr(plugin, "filter"):
            self.codes = self._array("filter", plugin.filter(state, self.columns, ALL_ROWS), n_rows)
            if (self.codes < 0).any():
                raise self.wrong(f"filter gave code {self.codes.min()}; codes are 0 (passes) or more")
        self.statuses = [self._status(state, int(code)) for code in self.codes]
        feasible = self.columns.alive & (self.codes == 0)
        if state is not None and hasattr(plugin, "pre_score"):
            self.score_state = plugin.pre_score(state, self.columns, feasible)
        if self.score_state is not None and hasattr(plugin, "score"):
            raw = plugin.score(self.score_state, self.columns, ALL_ROWS)
            self.raw = None if raw is None else self._array("score", raw, n_rows)
        self.normalized = self._normalized(feasible)

    def wrong(self, problem: str, row: int | None = None) -> PluginCheckError:
        where = "" if row is None else f", node {self.columns.names[row]}"
        return PluginCheckError(f"{self.plugin.name}: {self.what}{where}: {problem}")

    def _array(self, point: str, found: Any, length: int) -> IntArray:
        if not isinstance(found, np.ndarray) or found.dtype != np.int64 or found.shape != (length,):
            shown = f"{found.dtype}{found.shape}" if isinstance(found, np.ndarray) else repr(found)
            raise self.wrong(f"{point} returned {shown}, expected int64({length},)")
        if not found.flags.writeable and not self.plugin.reads & (Reads.DOMAIN | Reads.ALWAYS):
            raise self.wrong(f"{point} returned a read-only array, expected one that the runtime may write to")
        return found

    def _status(self, state: Any, code: int) -> Status | None:
        if code == 0:
            return None
        status = self.plugin.rejection(state, code)
        if not isinstance(status, Status) or not (status.code.is_rejection or status.code is Code.ERROR):
            raise self.wrong(f"rejection of code {code} is {status!r}, expected a Status that rejects")
        return status

    def _normalized(self, feasible: BoolArray) -> IntArray | None:
        if self.raw is None:
            return None
        raw = self.raw[feasible]
        before = raw.copy()
        scores = raw
        if hasattr(self.plugin, "normalize"):
            scores = self._array("normalize", self.plugin.normalize(self.score_state, raw), len(raw))
            if not np.array_equal(raw, before):
                raise self.wrong("normalize wrote to the raw scores")
        if ((scores < 0) | (scores > MAX_NODE_SCORE)).any():
            extreme = scores.min() if scores.min(initial=0) < 0 else scores.max()
            raise self.wrong(f"a score is {extreme} after normalizing, expected 0..{MAX_NODE_SCORE}")
        return scores

    def check_same(self, other: Answers, rows: Sequence[int], problem: str) -> None:
        """Check that the answers on some rows are those of another time, pod or state."""
        for row in rows:
            if self.statuses[row] != other.statuses[row]:
                raise self.wrong(f"{problem}: filter says {self.statuses[row]}, and {other.statuses[row]}", row)
        if (self.raw is None) != (other.raw is None):
            raise self.wrong(f"{problem}: score returned None only once")
        if self.raw is not None and other.raw is not None:
            for row in rows:
                if self.raw[row] != other.raw[row]:
                    raise self.wrong(f"{problem}: score says {self.raw[row]}, and {other.raw[row]}", row)


# --- one answer, asked in several ways --------------------------------------------------------------------------------


def _check_answers(make: Make, cluster: Cluster, pods: Sequence[Pod]) -> None:
    snapshot = _snapshot(make_cache(cluster.nodes, cluster.pods))
    plugin = make(snapshot)
    for pod in pods:
        hash(plugin.class_key(pod))
        if plugin.class_key(pod) != plugin.class_key(pod):
            raise PluginCheckError(f"{plugin.name}: {pod.key}: class_key differs from one call to the next")
        state = plugin.compile(pod, snapshot)
        if state is None:
            continue
        if hasattr(plugin, "pre_filter") and not isinstance(plugin.pre_filter(state), PreFilterResult):
            raise PluginCheckError(f"{plugin.name}: {pod.key}: pre_filter returned no PreFilterResult")
        n_resources = len(snapshot.columns.resources)
        before = _contents(snapshot.columns, n_resources)
        answers = Answers(plugin, state, snapshot, what=pod.key)
        alive = np.flatnonzero(snapshot.columns.alive).tolist()
        answers.check_same(Answers(plugin, state, snapshot, what=pod.key), alive, "asked twice")
        _check_rows(answers, state, snapshot.columns)
        _check_what_if(answers, state, snapshot)
        if _contents(snapshot.columns, n_resources) != before:
            raise PluginCheckError(f"{plugin.name}: {pod.key}: the plugin wrote to the columns")


def _check_rows(answers: Answers, state: Any, columns: NodeTable) -> None:
    plugin, n_rows = answers.plugin, columns.n_rows
    order = np.random.default_rng(n_rows).permutation(n_rows).astype(np.intp)
    asked: list[Rows] = [np.arange(n_rows, dtype=np.intp), order, order[: (n_rows + 1) // 2]] if n_rows else []
    asked += [np.array([row], np.intp) for row in range(n_rows)]
    if hasattr(plugin, "filter"):
        for rows in asked:
            codes = plugin.filter(state, columns, rows)
            _check_equal(answers, "filter", rows, found=codes, expected=answers.codes[rows])
        for row in range(n_rows) if hasattr(plugin, "filter_row") else ():
            if plugin.filter_row(state, columns, row) != answers.codes[row]:
                raise answers.wrong(f"filter_row differs from filter, which says {answers.codes[row]}", row)
    if answers.raw is not None:
        for rows in asked:
            raw = plugin.score(answers.score_state, columns, rows)
            _check_equal(answers, "score", rows, found=raw, expected=answers.raw[rows])
        for row in range(n_rows) if hasattr(plugin, "score_row") else ():
            if plugin.score_row(answers.score_state, columns, row) != answers.raw[row]:
                raise answers.wrong(f"score_row differs from score, which says {answers.raw[row]}", row)


def _check_equal(answers: Answers, point: str, rows: Rows, *, found: Any, expected: IntArray) -> None:
    if not isinstance(found, np.ndarray) or found.shape != expected.shape:
        raise answers.wrong(f"{point} returned {found!r} for {len(expected)} rows")
    numbers = np.arange(answers.columns.n_rows)[rows].tolist()
    for row, one, other in zip(numbers, found.tolist(), expected.tolist(), strict=True):
        if one != other:
            raise answers.wrong(f"{point} says {one} with rows={rows!r}, and {other} with all rows", row)


def _check_what_if(answers: Answers, state: Any, snapshot: Snapshot) -> None:
    plugin = answers.plugin
    if not hasattr(plugin, "filter"):
        return
    for row in np.flatnonzero(snapshot.columns.alive).tolist():
        pods = tuple(snapshot.pods_on(row).values())
        columns = WhatIfColumns(snapshot.columns, row)
        for pod in pods:
            columns.remove(pod)
        for pod in pods:
            columns.add(pod)
        same = state
        if hasattr(plugin, "with_pods"):
            gone = plugin.with_pods(state, snapshot.columns, PodsChange(row, removed=pods))
            same = plugin.with_pods(gone, snapshot.columns, PodsChange(row, added=pods))
        code = plugin.filter(same, columns, ALL_ROWS)
        if code.tolist() != [answers.codes[row]]:
            raise answers.wrong(f"filter says {code} on columns of this row alone, not {answers.codes[row]}", row)


# --- class keys -------------------------------------------------------------------------------------------------------


def _check_class_keys(make: Make, cluster: Cluster, pods: Sequence[Pod]) -> None:
    snapshot = _snapshot(make_cache(cluster.nodes, cluster.pods))
    plugin = make(snapshot)
    alive = np.flatnonzero(snapshot.columns.alive).tolist()
    first_of: dict[Any, Answers] = {}
    for pod in itertools.chain.from_iterable((pod, *variants(pod)) for pod in pods):
        key = plugin.class_key(pod)
        answers = Answers(plugin, plugin.compile(pod, snapshot), snapshot, what=pod.key)
        first = first_of.setdefault(key, answers)
        answers.check_same(first, alive, f"the class key is that of {first.what} ({key!r}), the answer is not")


# --- reads ------------------------------------------------------------------------------------------------------------


def _check_reads(make: Make, cluster: Cluster, pods: Sequence[Pod], *, rng: random.Random) -> None:
    """Change the cluster step by step; rows that `reads` does not call stale must keep their answers."""
    cache = make_cache(cluster.nodes, cluster.pods)
    snapshot = _snapshot(cache)
    plugin = make(snapshot)
    states = [(plugin.class_key(pod), plugin.compile(pod, snapshot)) for pod in pods]
    known = [Answers(plugin, state, snapshot, what=pod.key) for pod, (_, state) in zip(pods, states, strict=True)]
    names = [node.name for node in cluster.nodes]
    running = {pod.key: PodInfo(pod) for pod in cluster.pods}
    for step in range(30 if cluster.nodes else 3):
        cursor, node_set = snapshot.log.end, snapshot.node_set_version
        change = _change(cache, names, running, rng=rng, step=step)
        snapshot.update(cache)
        untouched = _untouched(plugin.reads, snapshot, cursor, node_set=node_set)
        untouched = [row for row in untouched if row < len(known[0].codes)] if known else []
        alive = np.flatnonzero(snapshot.columns.alive).tolist()
        for index, pod in enumerate(pods):
            what = f"{pod.key} after {change}"
            key = plugin.class_key(pod)
            if key != states[index][0]:  # a state lasts as long as its key: another pod's affinity may be new
                states[index] = (key, plugin.compile(pod, snapshot))
            state = states[index][1]
            answers = Answers(plugin, state, snapshot, what=what)
            if not hasattr(plugin, "pre_score"):
                answers.check_same(
                    known[index], untouched, f"changed, though reads={plugin.reads!r} covers no such change"
                )
            fresh = Answers(plugin, plugin.compile(pod, snapshot), snapshot, what=what)
            answers.check_same(fresh, alive, "the compiled state is out of date")
            known[index] = answers


def _untouched(reads: Reads, snapshot: Snapshot, cursor: int, *, node_set: int) -> list[int]:
    if reads & (Reads.DOMAIN | Reads.ALWAYS) or (reads & Reads.NODE_SET and node_set != snapshot.node_set_version):
        return []
    dirty = snapshot.log.since(cursor, int(reads & ROW), snapshot.columns.n_rows)
    alive = np.flatnonzero(snapshot.columns.alive).tolist()
    return [] if dirty is None else sorted(set(alive) - set(dirty.tolist()))


def _change(
    cache: SchedulerCache, names: list[str], running: dict[str, PodInfo], *, rng: random.Random, step: int
) -> str:
    kind = rng.choice(("pod comes", "pod goes", "node changes", "node comes", "node goes"))
    if kind == "pod goes" and running:
        key = rng.choice(sorted(running))
        cache.remove_pod(running.pop(key))
        return f"{key} went"
    if kind == "node changes" and names:
        name = rng.choice(names)
        cache.update_node(sample_node(rng, name))
        return f"{name} changed"
    if kind == "node goes" and len(names) > 1:
        name = names.pop(rng.randrange(len(names)))
        for key in [key for key, info in running.items() if info.node_name == name]:
            cache.remove_pod(running.pop(key))
        cache.remove_node(name)
        return f"{name} went"
    if kind == "node comes" or not names:
        names.append(f"new-node-{step}")
        cache.add_node(sample_node(rng, names[-1]))
        return f"{names[-1]} came"
    info = PodInfo(sample_running_pod(rng, f"new-{step}", rng.choice(names)))
    running[info.key] = info
    cache.add_pod(info)
    return f"{info.key} came to {info.node_name}"


def _snapshot(cache: SchedulerCache) -> Snapshot:
    snapshot = Snapshot()
    snapshot.update(cache)
    return snapshot


def _contents(columns: Columns, n_resources: int) -> dict[str, bytes]:
    """Return the columns' bytes, those of the first resources: asking for a resource may add one."""
    return {
        name: array[:n_resources].tobytes() if (array := getattr(columns, name)).ndim > 1 else array.tobytes()
        for name in COLUMNS
    }
