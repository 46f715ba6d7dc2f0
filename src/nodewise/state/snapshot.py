"""The columnar picture of the cache that a scheduling cycle reads."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nodewise.state.cache import SchedulerCache
from nodewise.state.columns import PODS_ROW, NodeTable
from nodewise.state.dirty_log import NODE, PODS, RESOURCES, DirtyLog
from nodewise.state.listers import Listers
from nodewise.state.node_info import NodeInfo
from nodewise.state.pod_info import PodInfo
from nodewise.state.pod_table import PodTable

_INT64 = 2**63
NO_PODS_PRIORITY = np.iinfo(np.int64).max


class Snapshot:
    """Columns over nodes, counts over pods, and the log of what changed.

    Attributes
    ----------
    columns : NodeTable
        A row for every node.
    pods : PodTable
        Counts of pods by row.
    log : DirtyLog
        Rows that changed, in order.
    listers : Listers
        Namespaces, services and so on.
    node_set_version : int
        Grows when nodes come or go or change zone.
    rows_are_by_name : bool
        Whether the nodes' names ascend with their rows.
    """

    def __init__(self, listers: Listers | None = None) -> None:
        self.listers = listers or Listers()
        self.columns = NodeTable()
        self.columns.image_source = self._image_state
        self.pods = PodTable(self.listers.namespace_labels)
        self.log = DirtyLog()
        self.generation = 0
        self.node_set_version = 0
        self._cache: SchedulerCache | None = None
        self._row_pods: list[dict[str, PodInfo]] = []
        self._row_images_version: list[int] = []
        self._images_of_row: list[frozenset[str]] = []
        self._free_rows: list[int] = []
        self.rows_are_by_name = True
        self._tree_version = -1
        self._order: np.ndarray[tuple[int], np.dtype[np.intp]] = np.zeros(0, np.intp)

    @property
    def n_nodes(self) -> int:
        """Nodes in the snapshot."""
        return self.columns.n_nodes

    @property
    def order(self) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """Return the rows in the order of kube-scheduler's node list: round robin over zones."""
        return self._order

    def pods_on(self, row: int) -> Mapping[str, PodInfo]:
        """Return the pods of a row by uid."""
        return self._row_pods[row]

    def update(self, cache: SchedulerCache) -> None:
        """Take over what changed in the cache since the last update; the cost is that of the changed nodes."""
        if cache.generation == self.generation and cache is self._cache:
            return
        with cache.lock:
            self._cache = cache
            changed: list[NodeInfo] = []
            for info in cache.newest_first():
                if info.generation <= self.generation:
                    break
                changed.append(info)
            self.generation = cache.generation
            n_rows = self.columns.n_rows
            for info in reversed(changed):
                if info.node is not None:
                    self._write(info, cache)
            if self.columns.n_rows != n_rows:
                self.columns.publish()
            if cache.tree_version != self._tree_version:
                self._drop_missing(cache)
                self._rebuild_order(cache)
                self._tree_version = cache.tree_version

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _write(self, info: NodeInfo, cache: SchedulerCache) -> None:
        columns = self.columns
        row = columns.rows.get(info.name)
        if row is None:
            row = columns.new_row(info.name, self._free_rows)
            if row == len(self._row_pods):
                self._row_pods.append({})
                self._row_images_version.append(-1)
                self._images_of_row.append(frozenset())
            columns.writable("alive")[row] = True
            columns.n_nodes += 1
        kind = 0
        if columns.nodes[row] is not info.node:
            self._write_node(row, info)
            kind = NODE
        if self._row_images_version[row] != cache.images_version:
            self._row_images_version[row] = cache.images_version
            columns.write_images(row)
            columns.node_version += 1
            kind = NODE
        kind |= self._write_pods(row, info)
        self._write_amounts(row, info)
        self.log.append(row, kind | RESOURCES)

    def _write_node(self, row: int, info: NodeInfo) -> None:
        columns, node = self.columns, info.node
        assert node is not None
        columns.nodes[row] = node
        columns.node_version += 1
        columns.write_labels(row, node.metadata.labels)
        columns.writable("unschedulable")[row] = node.spec.unschedulable
        columns.writable("taint_set")[row] = columns.taint_sets.intern(node.spec.taints)
        features = columns.feature_sets.intern(frozenset(node.status.declared_features))
        columns.writable("feature_set")[row] = features
        self._images_of_row[row] = frozenset(name for image in node.status.images for name in image.names)
        self._row_images_version[row] = -1
        indices = {columns.resource_row(name): amount for name, amount in info.allocatable.items()}
        allocatable = columns.writable("allocatable")
        allocatable[:, row] = 0
        for index, amount in indices.items():
            allocatable[index, row] = amount

    def _write_amounts(self, row: int, info: NodeInfo) -> None:
        columns = self.columns
        index_of = columns.resources.ids
        for name in info.requested:
            if name not in index_of:
                columns.resource_row(name)
        requested = columns.writable("requested")
        for name, amount in info.requested.items():
            requested[index_of[name], row] = amount if -_INT64 <= amount < _INT64 else _wrapped(amount)
        requested[PODS_ROW, row] = len(info.pods)
        # Wraps as Go's subtraction does.
        np.subtract(columns.writable("allocatable")[:, row], requested[:, row], out=columns.writable("free")[:, row])
        non_zero = columns.writable("non_zero")
        non_zero[0, row] = _wrapped(info.non_zero_cpu_milli)
        non_zero[1, row] = _wrapped(info.non_zero_memory_bytes)

    def _write_pods(self, row: int, info: NodeInfo) -> int:
        known = self._row_pods[row]
        changed = known.items() ^ info.pods.items()
        if not changed:
            self._row_pods[row] = dict(info.pods)  # the order may differ
            return 0
        for uid, pod in changed:
            if known.get(uid) is pod:
                self.pods.remove(pod)
        for uid, pod in changed:
            if info.pods.get(uid) is pod:
                self.pods.add(pod, row)
        # In the cache's order: it decides between equally important victims of preemption.
        known = self._row_pods[row] = dict(info.pods)
        lowest = min((pod.priority for pod in known.values()), default=int(NO_PODS_PRIORITY))
        self.columns.writable("min_priority")[row] = lowest
        if info.used_ports or row in self.columns.row_ports:
            self.columns.write_ports(row, info.used_ports)
        return PODS

    def _drop_missing(self, cache: SchedulerCache) -> None:
        columns = self.columns
        for name, row in list(columns.rows.items()):
            if name not in cache.tree:
                for pod in self._row_pods[row].values():
                    self.pods.remove(pod)
                self._row_pods[row] = {}
                for column in ("alive", "unschedulable", "taint_set", "feature_set", "non_zero", "requested", "free"):
                    columns.writable(column)[..., row] = 0
                columns.writable("allocatable")[:, row] = 0
                columns.writable("min_priority")[row] = NO_PODS_PRIORITY
                columns.write_labels(row, {})
                columns.write_ports(row, ())
                columns.nodes[row] = None
                columns.node_version += 1
                self._images_of_row[row] = frozenset()
                columns.write_images(row)
                del columns.rows[name]
                columns.n_nodes -= 1
                self._free_rows.append(row)
                self.log.append(row, RESOURCES | NODE | PODS)

    def _rebuild_order(self, cache: SchedulerCache) -> None:
        rows = self.columns.rows
        self._order = np.array([rows[name] for name in cache.tree.list() if name in rows], np.intp)
        ranks = self.columns.writable("name_rank")
        for rank, name in enumerate(sorted(rows)):
            ranks[rows[name]] = rank
        in_rows = sorted(rows.values())
        self.rows_are_by_name = bool((np.diff(ranks[in_rows]) > 0).all())
        self.node_set_version += 1

    def _image_state(self, row: int, name: str) -> tuple[int, int]:
        if self._cache is None or name not in self._images_of_row[row]:
            return 0, 0
        state = self._cache.images.get(name)
        return (state.size_bytes, len(state.nodes)) if state is not None else (0, 0)


def _wrapped(amount: int) -> int:
    """Return a sum as Go's int64 holds it."""
    return (amount + _INT64) % (2 * _INT64) - _INT64
