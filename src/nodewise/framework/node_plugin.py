"""Plugins that look at one node at a time, and what makes them plugins over columns.

Such a plugin is a class with a `name` and `filter(pod, node)` or `score(pod, node)` or both:

>>> class PreferQuietNodes:
...     name = "PreferQuietNodes"
...     def __init__(self, args, handle): ...
...     def filter(self, pod, node):
...         if "maintenance" in node.labels:
...             return Status.unresolvable("node(s) were under maintenance")
...     def score(self, pod, node):
...         return max(0, 100 - len(node.pods))

It may state `reads` (default: RESOURCES, NODE and PODS of the node itself) and `reads_identity = True` when it looks at
the pod's name, uid or annotations, and may have `normalize(pod, scores)` and any other extension point.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol

import msgspec
import numpy as np

from nodewise.api.objects import Node, Pod, Taint
from nodewise.errors import PluginError
from nodewise.framework.plugin import PodsChange, Rejections
from nodewise.framework.status import Code, Status
from nodewise.state.columns import Columns, IntArray, Rows
from nodewise.state.dirty_log import ROW, Reads
from nodewise.state.interning import Interner
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

PASSED_ON = (
    "pre_enqueue",
    "sort_key",
    "post_filter",
    "reserve",
    "unreserve",
    "permit",
    "pre_bind",
    "bind",
    "post_bind",
    "events_to_register",
)
"""Methods of other extension points, which an adapter has when its plugin has them."""


class NodeView:
    """One node as a plugin sees it: read-only, and valid only during the call that it is passed to."""

    __slots__ = ("_change", "_columns", "_node", "_row", "_snapshot", "_table_row")

    def __init__(self, snapshot: Snapshot, change: PodsChange | None = None) -> None:
        self._snapshot = snapshot
        self._change = change

    def look_at(self, columns: Columns, row: int) -> bool:
        """Turn to another row; False when it has no node."""
        table = self._snapshot.columns
        self._columns, self._row = columns, row
        table_row = row if columns is table else table.row_of(columns.names[row])
        node = None if table_row is None else table.nodes[table_row]
        if table_row is None or node is None:
            return False
        self._table_row, self._node = table_row, node
        return True

    @property
    def node(self) -> Node:
        """The Node object."""
        return self._node

    @property
    def name(self) -> str:
        return self._node.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        return self._node.metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        return self._node.metadata.annotations

    @property
    def taints(self) -> tuple[Taint, ...]:
        return self._node.spec.taints

    @property
    def unschedulable(self) -> bool:
        """spec.unschedulable."""
        return self._node.spec.unschedulable

    def allocatable(self, resource: str) -> int:
        """Return how much pods can have: cpu in millicores, memory in bytes, others in their unit."""
        columns = self._columns
        index = columns.resource_row(resource)
        return int(columns.allocatable[index, self._row])

    def requested(self, resource: str) -> int:
        """Return how much the node's pods request."""
        columns = self._columns
        index = columns.resource_row(resource)
        return int(columns.requested[index, self._row])

    def free(self, resource: str) -> int:
        """Return what is left; less than 0 on an overcommitted node."""
        return self.allocatable(resource) - self.requested(resource)

    @property
    def pods(self) -> tuple[PodInfo, ...]:
        """The pods on the node, assumed ones included; `info.pod` is the Pod object."""
        here = self._snapshot.pods_on(self._table_row)
        change = self._change
        if change is None or change.row != self._table_row:
            return tuple(here.values())
        gone = {info.uid for info in change.removed}
        return (*(info for info in here.values() if info.uid not in gone), *change.added)


class NodePlugin(Protocol):
    """A plugin that looks at one node at a time; it has `filter`, `score` or both."""

    name: str


class NodeFilterPlugin(NodePlugin, Protocol):
    """Judges a node."""

    def filter(self, pod: Pod, node: NodeView) -> Status | None:
        """Return why the pod does not fit; None: it fits."""
        ...


class NodeScorePlugin(NodePlugin, Protocol):
    """Rates a node."""

    def score(self, pod: Pod, node: NodeView) -> int:
        """Return a score; 0..100 unless the plugin normalizes."""
        ...


@dataclass(frozen=True, slots=True)
class AdapterState:
    """A pod to judge, and the rejections met so far; code n is `rejections[n - 1]`."""

    pod: Pod
    snapshot: Snapshot
    rejections: Interner[Status]
    change: PodsChange | None = None


class NodePluginAdapter:
    """Makes a plugin over columns of one that looks at single nodes.

    `adapt` makes a subclass that has exactly the extension points that the plugin has.
    """

    def __init__(self, plugin: Any) -> None:
        self.plugin = plugin
        self.name: str = plugin.name
        self.reads: Reads = getattr(plugin, "reads", Reads(ROW))
        self._reads_identity: bool = getattr(plugin, "reads_identity", False)

    def class_key(self, pod: Pod) -> Hashable:
        """Return what the plugin may read: spec, namespace and labels, with `reads_identity` all metadata."""
        meta = pod.metadata
        key = (meta.namespace, frozenset(meta.labels.items()), msgspec.json.encode(pod.spec))
        if not self._reads_identity:
            return key
        return (*key, meta.name, meta.uid, frozenset(meta.annotations.items()))

    def compile(self, pod: Pod, snapshot: Snapshot) -> AdapterState:
        return AdapterState(pod, snapshot, Interner())

    def with_pods(self, state: AdapterState, columns: Columns, change: PodsChange) -> AdapterState:
        """Return the state for a node with other pods; the row is one of the snapshot's."""
        before = state.change
        if before is not None and before.row == change.row:
            gone = {info.uid for info in change.removed}
            added = (*(info for info in before.added if info.uid not in gone), *change.added)
            change = PodsChange(change.row, (*before.removed, *change.removed), added)
        return replace(state, change=change)


class _Filtering(NodePluginAdapter):
    def filter(self, state: AdapterState, columns: Columns, rows: Rows) -> Rejections:
        view = NodeView(state.snapshot, state.change)
        numbers = np.arange(columns.n_rows)[rows].tolist()
        return np.array([self._code(state, columns, row, view=view) for row in numbers], np.int64)

    def filter_row(self, state: AdapterState, columns: Columns, row: int) -> int:
        return self._code(state, columns, row, view=NodeView(state.snapshot, state.change))

    def rejection(self, state: AdapterState, code: int) -> Status:
        return state.rejections.values[code - 1]

    def _code(self, state: AdapterState, columns: Columns, row: int, *, view: NodeView) -> int:
        if not view.look_at(columns, row):
            return 0
        status = self.plugin.filter(state.pod, view)
        if status is None:
            return 0
        if not isinstance(status, Status):
            raise PluginError(
                f"plugin {self.name}: filter returned {status!r} for {state.pod.key} on node {view.name}, "
                "expected a Status or None"
            )
        return 0 if status.code is Code.SUCCESS else state.rejections.intern(status) + 1


class _Scoring(NodePluginAdapter):
    def score(self, state: AdapterState, columns: Columns, rows: Rows) -> IntArray:
        view = NodeView(state.snapshot, state.change)
        numbers = np.arange(columns.n_rows)[rows].tolist()
        return np.array([self._raw(state, columns, row, view=view) for row in numbers], np.int64)

    def score_row(self, state: AdapterState, columns: Columns, row: int) -> int:
        return self._raw(state, columns, row, view=NodeView(state.snapshot, state.change))

    def _raw(self, state: AdapterState, columns: Columns, row: int, *, view: NodeView) -> int:
        if not view.look_at(columns, row):
            return 0
        raw = self.plugin.score(state.pod, view)
        if not isinstance(raw, int | np.integer) or not -(2**63) <= raw < 2**63:
            raise PluginError(
                f"plugin {self.name}: score returned {raw!r} for {state.pod.key} on node {view.name}, "
                "expected a whole number of 64 bits"
            )
        return int(raw)


class _Normalizing(NodePluginAdapter):
    def normalize(self, state: AdapterState, scores: IntArray) -> IntArray:
        return np.asarray(self.plugin.normalize(state.pod, scores), np.int64)


_PARTS: dict[str, type[NodePluginAdapter]] = {"filter": _Filtering, "score": _Scoring, "normalize": _Normalizing}


@cache
def _adapter_class(points: frozenset[str]) -> type[NodePluginAdapter]:
    """Return the adapter with some extension points: methods of the class, since they decide where it takes part."""
    bases = tuple(part for point, part in _PARTS.items() if point in points)
    passed_on = {point: _pass_on(point) for point in PASSED_ON if point in points}
    return type("NodePluginAdapter", bases, passed_on)


def _pass_on(point: str) -> Callable[..., Any]:
    def call(self: NodePluginAdapter, *args: Any) -> Any:
        return getattr(self.plugin, point)(*args)

    return call


def adapt(plugin: Any) -> Any:
    """Return a plugin over columns: the plugin itself, or the adapter of one that looks at single nodes."""
    points = [point for point in ("filter", "score") if hasattr(plugin, point)]
    if not points or hasattr(plugin, "compile"):
        return plugin
    for point in points:
        try:
            inspect.signature(getattr(plugin, point)).bind(None, None)
        except TypeError as error:
            raise PluginError(
                f"plugin {plugin.name}: {point}{inspect.signature(getattr(plugin, point))} does not take (pod, node); "
                "a plugin over columns has `compile` and `class_key` too"
            ) from error
    have = frozenset(point for point in (*_PARTS, *PASSED_ON) if hasattr(plugin, point))
    return _adapter_class(have)(plugin)
