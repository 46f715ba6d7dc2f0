"""Nodes as columns: one array per fact, one position per node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.api.objects import Node, Taint
from nodewise.api.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from nodewise.state.interning import Interner
from nodewise.state.pod_info import ANY_IP, HostPort

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
IdArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]
Rows = slice | NDArray[np.intp]
"""Which nodes: a slice (all) or an array of row numbers; `column[rows]` works for both."""

CPU_ROW, MEMORY_ROW, EPHEMERAL_STORAGE_ROW, PODS_ROW = range(4)
ALL_ROWS = slice(None)
LARGEST_PLAIN = 2**53 // 100
"""Up to here float64 holds a whole number and its hundredfold exactly, and int64 is far from overflow."""
_INT64 = 2**63


def wrapped(amount: int) -> int:
    """Return a sum as Go's int64 holds it."""
    return amount if -_INT64 <= amount < _INT64 else (amount + _INT64) % (2 * _INT64) - _INT64


class ImageColumns:
    """What the rows' NodeInfos say of one image: its size and how many nodes have it, 0 where it is absent."""

    __slots__ = ("n_nodes", "size_bytes")

    def __init__(self, n_rows: int) -> None:
        self.size_bytes = np.zeros(n_rows, np.int64)
        self.n_nodes = np.zeros(n_rows, np.int64)


class AllocatableFacts:
    """What follows from `allocatable` alone, so that nobody has to look for it pod by pod.

    Attributes
    ----------
    divisor : (n_resources, n_rows) float64
        The amounts, to divide by: where one is not positive, 1.
    is_plain : list[bool]
        By resource: whether all amounts are positive and exact in float64, even when multiplied by 100.
    """

    __slots__ = ("divisor", "is_plain")

    def __init__(self, allocatable: IntArray) -> None:
        self.divisor: FloatArray = np.maximum(allocatable, 1).astype(np.float64)
        self.is_plain = [bool(((amounts > 0) & (amounts <= LARGEST_PLAIN)).all()) for amounts in allocatable]


class Columns:
    """What plugins read of the nodes; arrays have shape (n_rows,) or (n_resources, n_rows) and are read-only.

    Attributes
    ----------
    n_rows : int
        Rows in use at some time; rows whose node is gone have `alive` False.
    alive : (n_rows,) bool
    allocatable, requested : (n_resources, n_rows) int64
        cpu in millicores, memory and ephemeral storage in bytes, pods in pods; see `resource_row`.
    free : (n_resources, n_rows) int64
        `allocatable - requested`, which may be negative.
    non_zero : (2, n_rows) int64
        Requested cpu (millicores) and memory (bytes) with defaults for containers that ask for nothing.
    unschedulable : (n_rows,) bool
        spec.unschedulable.
    taint_set, feature_set : (n_rows,) int32
        Ids into `taint_sets` and `feature_sets`.
    name_rank : (n_rows,) int64
        Position of the node's name among all names in sorted order.
    """

    n_rows: int
    n_nodes: int
    names: Sequence[str]
    alive: BoolArray
    allocatable: IntArray
    requested: IntArray
    free: IntArray
    non_zero: IntArray
    unschedulable: BoolArray
    taint_set: IdArray
    feature_set: IdArray
    name_rank: IntArray
    resources: Interner[str]
    taint_sets: Interner[tuple[Taint, ...]]
    feature_sets: Interner[frozenset[str]]

    def resource_row(self, resource: str) -> int:
        """Return the first index of a resource in `allocatable` and `requested`."""
        raise NotImplementedError

    def allocatable_facts(self) -> AllocatableFacts:
        """Return what follows from `allocatable`: the same object as long as no amount there changes."""
        return AllocatableFacts(self.allocatable)

    def label(self, key: str) -> IdArray:
        """Return the ids of the nodes' values of a label, -1 where absent; ids index `label_values(key)`."""
        raise NotImplementedError

    def label_values(self, key: str) -> list[str]:
        """Return the values a label has or had on some node."""
        raise NotImplementedError

    def image(self, name: str) -> ImageColumns:
        """Return size and spread of an image."""
        raise NotImplementedError

    def has_port_conflict(self, wanted: Iterable[HostPort]) -> BoolArray:
        """Tell for each row whether some wanted host port is taken there."""
        raise NotImplementedError

    def has_port_conflict_on(self, row: int, wanted: Iterable[HostPort]) -> bool:
        """Tell the same of one row."""
        raise NotImplementedError

    def row_of(self, name: str) -> int | None:
        """Return the row of a node's name."""
        raise NotImplementedError


def ports_conflict(wanted: Iterable[HostPort], used: Iterable[HostPort]) -> bool:
    """Tell whether two sets of host ports clash (HostPortInfo.CheckConflict)."""
    taken = {(protocol, port): set[str]() for protocol, _, port in used}
    for protocol, ip, port in used:
        taken[protocol, port].add(ip)
    return any(_ip_conflicts(ip, taken.get((protocol, port), ())) for protocol, ip, port in wanted)


def _ip_conflicts(ip: str, used: Iterable[str]) -> bool:
    used = set(used)
    return bool(used) and (ip == ANY_IP or ip in used or ANY_IP in used)


class _LabelColumn:
    __slots__ = ("ids", "values")

    def __init__(self, capacity: int) -> None:
        self.values: Interner[str] = Interner()
        self.ids = np.full(capacity, -1, np.int32)


class NodeTable(Columns):
    """The columns of a snapshot; only the snapshot writes them.

    Attributes
    ----------
    node_version : int
        Grows whenever a Node object is written or a row is dropped.
    full : dict[str, NDArray]
        Whole columns by name, capacity included, for the snapshot to write.
    amount_cells : dict[str, tuple[memoryview, memoryview]]
        The rows of `requested` and `free` by resource, capacity included: single values are written twice as fast
        through them, and a value that is no int64 is a ValueError.
    non_zero_cells : tuple[memoryview, memoryview]
        The rows of `non_zero`.
    """

    def __init__(self) -> None:
        self.capacity = 16
        self.n_rows = 0
        self.n_nodes = 0
        self.node_version = 0
        self.names: list[str] = []
        self.rows: dict[str, int] = {}
        self.nodes: list[Node | None] = []
        self.resources = Interner()
        for name in (CPU, MEMORY, EPHEMERAL_STORAGE, PODS):
            self.resources.intern(name)
        self.taint_sets = Interner()
        self.feature_sets = Interner()
        self.taint_sets.intern(())
        self.feature_sets.intern(frozenset())
        self._n_resources = 8
        self.full: dict[str, NDArray[Any]] = {
            "alive": np.zeros(self.capacity, bool),
            "unschedulable": np.zeros(self.capacity, bool),
            "taint_set": np.zeros(self.capacity, np.int32),
            "feature_set": np.zeros(self.capacity, np.int32),
            "name_rank": np.zeros(self.capacity, np.int64),
            "non_zero": np.zeros((2, self.capacity), np.int64),
            "allocatable": np.zeros((self._n_resources, self.capacity), np.int64),
            "requested": np.zeros((self._n_resources, self.capacity), np.int64),
            "free": np.zeros((self._n_resources, self.capacity), np.int64),
            "min_priority": np.full(self.capacity, np.iinfo(np.int64).max, np.int64),
        }
        self._facts: AllocatableFacts | None = None
        self._facts_of: tuple[int, tuple[int, ...]] = (0, ())
        self._labels: dict[str, _LabelColumn] = {}
        self._images: dict[str, ImageColumns] = {}
        self._ports: dict[tuple[str, int], dict[int, set[str]]] = {}
        self.row_ports: dict[int, frozenset[HostPort]] = {}
        self.label_views: dict[str, IdArray] = {}
        self.image_source: Callable[[int, str], tuple[int, int]] = lambda row, name: (0, 0)
        self._share_cells()
        self.publish()

    # --- reading ------------------------------------------------------------------------------------------------------

    def resource_row(self, resource: str) -> int:
        known = self.resources.ids.get(resource)
        if known is not None:
            return known
        row = self.resources.intern(resource)
        if row >= self._n_resources:
            self._n_resources *= 2
            for name in ("allocatable", "requested", "free"):
                old = self.full[name]
                new = np.zeros((self._n_resources, self.capacity), np.int64)
                new[: old.shape[0]] = old
                self.full[name] = new
            self.publish()
        self._share_cells()
        return row

    def allocatable_facts(self) -> AllocatableFacts:
        now = (self.node_version, self.allocatable.shape)
        if self._facts is None or self._facts_of != now:
            self._facts, self._facts_of = AllocatableFacts(self.allocatable), now
        return self._facts

    def label(self, key: str) -> IdArray:
        view = self.label_views.get(key)
        if view is None:
            column = self._labels.get(key)
            if column is None:
                column = self._labels[key] = _LabelColumn(self.capacity)
                for row, node in enumerate(self.nodes):
                    if node is not None and key in node.metadata.labels:
                        column.ids[row] = column.values.intern(node.metadata.labels[key])
            view = self.label_views[key] = _read_only(column.ids[: self.n_rows])
        return view

    def label_values(self, key: str) -> list[str]:
        self.label(key)
        return self._labels[key].values.values

    def image(self, name: str) -> ImageColumns:
        columns = self._images.get(name)
        if columns is None:
            columns = self._images[name] = ImageColumns(self.capacity)
            for row in range(self.n_rows):
                columns.size_bytes[row], columns.n_nodes[row] = self.image_source(row, name)
        view = ImageColumns(0)
        view.size_bytes = columns.size_bytes[: self.n_rows]
        view.n_nodes = columns.n_nodes[: self.n_rows]
        return view

    def has_port_conflict(self, wanted: Iterable[HostPort]) -> BoolArray:
        mask = np.zeros(self.n_rows, bool)
        for protocol, ip, port in wanted:
            users = self._ports.get((protocol, port))
            if not users:
                continue
            rows: Iterable[int] = users
            if ip != ANY_IP:
                rows = [row for row, used in users.items() if ip in used or ANY_IP in used]
            mask[np.fromiter(rows, np.intp)] = True
        return mask

    def has_port_conflict_on(self, row: int, wanted: Iterable[HostPort]) -> bool:
        return row in self.row_ports and ports_conflict(wanted, self.row_ports[row])

    def row_of(self, name: str) -> int | None:
        return self.rows.get(name)

    # --- writing ------------------------------------------------------------------------------------------------------

    def writable(self, name: str) -> NDArray[Any]:
        """Return a whole column, capacity included, for the snapshot to write."""
        return self.full[name]

    def new_row(self, name: str, reusable: list[int]) -> int:
        """Give a node a row, a freed one if there is one; `publish` when all are there."""
        if reusable:
            row = reusable.pop()
        else:
            row = self.n_rows
            if row == self.capacity:
                self._grow()
            self.n_rows += 1
            self.names.append(name)
            self.nodes.append(None)
        self.names[row] = name
        self.rows[name] = row
        return row

    def _grow(self) -> None:
        self.capacity *= 2
        for name, old in self.full.items():
            new = np.zeros((*old.shape[:-1], self.capacity), old.dtype)
            new[..., : old.shape[-1]] = old
            self.full[name] = new
        for column in self._labels.values():
            ids = np.full(self.capacity, -1, np.int32)
            ids[: len(column.ids)] = column.ids
            column.ids = ids
        for image in self._images.values():
            image.size_bytes = np.resize(image.size_bytes, self.capacity)
            image.n_nodes = np.resize(image.n_nodes, self.capacity)
        self._share_cells()

    def _share_cells(self) -> None:
        requested, free, non_zero = (self.full[name] for name in ("requested", "free", "non_zero"))
        self.amount_cells = {
            name: (memoryview(requested[index]), memoryview(free[index])) for name, index in self.resources.ids.items()
        }
        self.non_zero_cells = (memoryview(non_zero[0]), memoryview(non_zero[1]))

    def publish(self) -> None:
        """Show the columns with all their rows to readers."""
        n = self.n_rows
        for name, column in self.full.items():
            setattr(self, name, _read_only(column[..., :n]))
        self.label_views = {}

    min_priority: IntArray

    def write_labels(self, row: int, labels: Mapping[str, str]) -> None:
        """Rewrite the row in every label column that exists."""
        for key, column in self._labels.items():
            value = labels.get(key)
            column.ids[row] = -1 if value is None else column.values.intern(value)

    def write_images(self, row: int) -> None:
        """Rewrite the row in every image column that exists."""
        for name, columns in self._images.items():
            columns.size_bytes[row], columns.n_nodes[row] = self.image_source(row, name)

    def write_ports(self, row: int, used: Iterable[HostPort]) -> None:
        """Replace the host ports in use on a row."""
        for protocol, _, port in self.row_ports.pop(row, ()):
            self._ports.get((protocol, port), {}).pop(row, None)
        ports = frozenset(used)
        if ports:
            self.row_ports[row] = ports
            for protocol, ip, port in ports:
                self._ports.setdefault((protocol, port), {}).setdefault(row, set()).add(ip)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
