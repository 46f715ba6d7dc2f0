"""The columnar picture of the cache that a scheduling cycle reads."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

import numpy as np

from nodewise.errors import CacheError
from nodewise.state.cache import SchedulerCache
from nodewise.state.cached_nodes import CachedNodes
from nodewise.state.columns import NodeTable
from nodewise.state.dirty_log import DirtyLog
from nodewise.state.listers import Listers
from nodewise.state.log_message import LOGGER, LogMessage
from nodewise.state.node_tree import NodeTree
from nodewise.state.pod_info import PodInfo
from nodewise.state.pod_table import PodTable
from nodewise.state.snapshot_rows import UNKNOWN, SnapshotRows


class SnapshotError(CacheError):
    """A snapshot was not what its cache says, and was made anew; the cycle that found it cannot go on.

    Attributes
    ----------
    n_listed, n_in_tree, n_rows, n_cached : int
        Nodes in the snapshot's list, in the cache's tree, with a row, and in the cache (ghosts included).
    """

    def __init__(self, n_listed: int, n_in_tree: int, n_rows: int, n_cached: int) -> None:
        super().__init__(
            f"snapshot state is not consistent, length of NodeInfoList={n_listed} not equal to length of nodes in "
            f"tree={n_in_tree} , length of NodeInfoMap={n_rows}, length of nodes in cache={n_cached}, trying to recover"
        )
        self.n_listed = n_listed
        self.n_in_tree = n_in_tree
        self.n_rows = n_rows
        self.n_cached = n_cached


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
        self.pods = PodTable(self.listers.namespace_labels)
        self.log = DirtyLog()
        self._rows = SnapshotRows(self.columns, self.pods, self.log)
        self.generation = 0
        self.node_set_version = 0
        self._cache: SchedulerCache | None = None
        self.rows_are_by_name = True
        self._tree_version = UNKNOWN
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
        return self._rows.pods[row]

    def is_pvc_used(self, key: str) -> bool:
        """Tell whether a volume of some pod on a node names the claim `namespace/name` (IsPVCUsedByPods)."""
        return key in self._rows.pvc_ref_counts

    def update(self, cache: SchedulerCache) -> None:
        """Take over what changed in the cache since the last update; the cost is that of the changed nodes.

        Raises
        ------
        SnapshotError
            The nodes are not those of the cache's tree, which is a bug; the snapshot has been made anew.
        """
        nodes = cache.nodes
        if nodes.generation == self.generation and cache is self._cache:
            return
        cache.lock.acquire()  # `with` costs twice as much, which shows here
        try:
            if cache is not self._cache:
                self._forget_all(cache)
            self._catch_up(nodes)
            if nodes.tree.version != self._tree_version:
                self._follow_tree(cache)
        finally:
            cache.lock.release()

    def _follow_tree(self, cache: SchedulerCache) -> None:
        tree = cache.nodes.tree
        self._drop_missing(tree)
        self._rebuild_order(tree)
        if len(self._order) == len(tree) == len(self.columns.rows):
            self._tree_version = tree.version
            return
        error = SnapshotError(len(self._order), len(tree), len(self.columns.rows), cache.node_count())
        cache.counters.n_snapshot_repairs += 1
        LOGGER.error(LogMessage(str(error)))
        self._forget_all(cache)
        self._catch_up(cache.nodes)
        self._drop_missing(tree)
        self._rebuild_order(tree)
        raise error

    def _forget_all(self, cache: SchedulerCache) -> None:
        """Make the next look at the cache one at all of it."""
        self._cache = cache
        self.generation = 0
        self._tree_version = UNKNOWN
        self._rows.images = cache.nodes.images
        self._rows.forget_generations()

    def _catch_up(self, nodes: CachedNodes) -> None:
        """Write the rows of nodes that changed, oldest change first."""
        n_rows, write, since = self.columns.n_rows, self._rows.write, self.generation
        newest = nodes.newest
        if newest is not None and nodes.second_generation <= since:
            if newest.node is not None:
                write(newest)
        else:
            changed = list(takewhile(lambda info: info.generation > since, nodes.newest_first()))
            for info in reversed(changed):
                if info.node is not None:
                    write(info)
        self.generation = nodes.generation
        if self.columns.n_rows != n_rows:
            self.columns.publish()

    def _drop_missing(self, tree: NodeTree) -> None:
        for name in [name for name in self.columns.rows if name not in tree]:
            self._rows.drop(name)

    def _rebuild_order(self, tree: NodeTree) -> None:
        rows = self.columns.rows
        self._order = np.array([rows[name] for name in tree.list() if name in rows], np.intp)
        ranks = self.columns.writable("name_rank")
        for rank, name in enumerate(sorted(rows)):
            ranks[rows[name]] = rank
        in_rows = sorted(rows.values())
        self.rows_are_by_name = bool((np.diff(ranks[in_rows]) > 0).all())
        self.node_set_version += 1
