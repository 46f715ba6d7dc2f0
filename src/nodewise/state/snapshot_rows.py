"""The rows of a snapshot: what is written when a node changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from nodewise.api.resources import PODS as PODS_RESOURCE
from nodewise.state.columns import PODS_ROW, NodeTable, wrapped
from nodewise.state.dirty_log import NODE, PODS, RESOURCES, DirtyLog
from nodewise.state.image_states import ImageStates
from nodewise.state.node_info import NodeInfo
from nodewise.state.pod_info import HostPort, PodInfo
from nodewise.state.pod_table import PodTable

UNKNOWN = -1
NO_PODS_PRIORITY = 2**63 - 1


class SnapshotRows:
    """Writes NodeInfos into the columns of a snapshot, and the difference only where that is known.

    Parameters
    ----------
    columns : NodeTable
    table : PodTable
    log : DirtyLog
        Is told which rows were written.

    Attributes
    ----------
    pods : list[dict[str, PodInfo]]
        By row, the pods by uid in the order of their NodeInfo.
    pvc_ref_counts : dict[str, int]
        How often volumes of pods on rows name a claim, by `namespace/name`.
    images : ImageStates
        Those of the cache that is followed.
    """

    def __init__(self, columns: NodeTable, table: PodTable, log: DirtyLog) -> None:
        self.columns = columns
        self.columns.image_source = self._image_state
        self.pods: list[dict[str, PodInfo]] = []
        self.pvc_ref_counts: dict[str, int] = {}
        self.images = ImageStates()
        self._table = table
        self._log = log
        self._lowest: list[int] = []
        self._generation: list[int] = []
        self._images_version: list[int] = []
        self._free_rows: list[int] = []

    def forget_generations(self) -> None:
        """Write every row in full the next time."""
        self._generation = [UNKNOWN] * len(self._generation)
        self._images_version = [UNKNOWN] * len(self._images_version)

    def write(self, info: NodeInfo) -> None:
        """Take over a NodeInfo that has a Node object; its row is made when it has none."""
        columns = self.columns
        row = columns.rows.get(info.name)
        if row is None:
            row = self._new_row(info.name)
        kind = RESOURCES
        if columns.nodes[row] is not info.node:
            self._write_node(row, info)
            kind |= NODE
        images_version = self.images.version
        if self._images_version[row] != images_version:
            self._images_version[row] = images_version
            columns.write_images(row)
            kind |= NODE
        if info.previous_generation == self._generation[row] and (info.appended or info.removed):
            self._write_last_change(row, info)
            kind |= PODS
        else:
            kind |= self._write_pods(row, info)
            self._write_amounts(row, info)
        self._generation[row] = info.generation
        self._log.append(row, kind)

    def _new_row(self, name: str) -> int:
        columns = self.columns
        row = columns.new_row(name, self._free_rows)
        if row == len(self.pods):
            self.pods.append({})
            self._lowest.append(NO_PODS_PRIORITY)
            self._generation.append(UNKNOWN)
            self._images_version.append(UNKNOWN)
        columns.writable("alive")[row] = True
        columns.writable("min_priority")[row] = NO_PODS_PRIORITY
        columns.n_nodes += 1
        return row

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
        self._images_version[row] = -1
        indices = {columns.resource_row(name): amount for name, amount in info.allocatable.items()}
        allocatable = columns.writable("allocatable")
        allocatable[:, row] = 0
        for index, amount in indices.items():
            allocatable[index, row] = amount

    def _write_amounts(self, row: int, info: NodeInfo) -> None:
        """Write all sums over a row's pods."""
        columns = self.columns
        indices = {columns.resource_row(name): amount for name, amount in info.requested.items()}
        requested = columns.writable("requested")
        requested[:, row] = 0
        for index, amount in indices.items():
            requested[index, row] = wrapped(amount)
        requested[PODS_ROW, row] = len(info.pods)
        # Wraps as Go's subtraction does.
        np.subtract(columns.writable("allocatable")[:, row], requested[:, row], out=columns.writable("free")[:, row])
        non_zero = columns.writable("non_zero")
        non_zero[0, row] = wrapped(info.non_zero_cpu_milli)
        non_zero[1, row] = wrapped(info.non_zero_memory_bytes)

    def _write_last_change(self, row: int, info: NodeInfo) -> None:
        """Take over which pod came and which went, when nothing else happened, without a look at the others."""
        appended, removed = info.appended, info.removed
        lowest = self._lowest[row]
        names: Mapping[str, int] = info.requested
        pods = self.pods[row]
        ports: tuple[HostPort, ...] = ()
        if removed is not None:
            if next(reversed(pods)) == removed.uid:
                pods.popitem()
                if appended is not None:
                    pods[appended.uid] = appended
            else:
                self.pods[row] = dict(info.pods)
            self._table.remove(removed)
            if removed.pvc_keys:
                self._count_claims(removed, -1)
            ports = removed.host_ports
            if removed.priority == lowest:
                lowest = _lowest_priority(info.pods, lowest)
        if appended is not None:
            self._table.add(appended, row)
            if appended.pvc_keys:
                self._count_claims(appended, 1)
            ports = ports or appended.host_ports
            if appended.priority < lowest:
                lowest = appended.priority
            if removed is None:
                pods[appended.uid] = appended
                names = appended.requests
        if lowest != self._lowest[row]:
            self._lowest[row] = lowest
            self.columns.writable("min_priority")[row] = lowest
        if ports:
            self.columns.write_ports(row, info.used_ports)
        try:
            self._write_sums(row, info, names)
        except (KeyError, ValueError):
            self._write_amounts(row, info)

    def _write_sums(self, row: int, info: NodeInfo, names: Iterable[str]) -> None:
        """Write the sums of some resources; KeyError for a resource without a row, ValueError beyond int64."""
        cells, amounts, allocatable = self.columns.amount_cells, info.requested, info.allocatable
        for name in names:
            requested, free = cells[name]
            amount = amounts[name]
            requested[row] = amount
            free[row] = allocatable.get(name, 0) - amount
        requested, free = cells[PODS_RESOURCE]
        n_pods = len(info.pods)
        requested[row] = n_pods
        free[row] = allocatable.get(PODS_RESOURCE, 0) - n_pods
        cpu_milli, memory_bytes = self.columns.non_zero_cells
        cpu_milli[row] = info.non_zero_cpu_milli
        memory_bytes[row] = info.non_zero_memory_bytes

    def _write_pods(self, row: int, info: NodeInfo) -> int:
        known = self.pods[row]
        changed = known.items() ^ info.pods.items()
        if not changed:
            if list(known) != list(info.pods):  # one went and came again
                self.pods[row] = dict(info.pods)
            return 0
        for uid, pod in changed:
            if known.get(uid) is pod:
                self._table.remove(pod)
                self._count_claims(pod, -1)
        for uid, pod in changed:
            if info.pods.get(uid) is pod:
                self._table.add(pod, row)
                self._count_claims(pod, 1)
        # In the cache's order: it decides between equally important victims of preemption.
        known = self.pods[row] = dict(info.pods)
        lowest = self._lowest[row] = _lowest_priority(known)
        self.columns.writable("min_priority")[row] = lowest
        if info.used_ports or row in self.columns.row_ports:
            self.columns.write_ports(row, info.used_ports)
        return PODS

    def _count_claims(self, pod: PodInfo, change: int) -> None:
        counts = self.pvc_ref_counts
        for key in pod.pvc_keys:
            counts[key] = counts.get(key, 0) + change
            if counts[key] <= 0:
                del counts[key]

    def drop(self, name: str) -> None:
        """Empty the row of a node that is gone, and keep it for another."""
        columns = self.columns
        row = columns.rows.pop(name)
        for pod in self.pods[row].values():
            self._table.remove(pod)
            self._count_claims(pod, -1)
        self.pods[row] = {}
        self._lowest[row] = NO_PODS_PRIORITY
        self._generation[row] = UNKNOWN
        self._images_version[row] = UNKNOWN
        for column in ("alive", "unschedulable", "taint_set", "feature_set", "non_zero", "requested", "free"):
            columns.writable(column)[..., row] = 0
        columns.writable("allocatable")[:, row] = 0
        columns.writable("min_priority")[row] = NO_PODS_PRIORITY
        columns.write_labels(row, {})
        columns.write_ports(row, ())
        columns.nodes[row] = None
        columns.node_version += 1
        columns.write_images(row)
        columns.n_nodes -= 1
        self._free_rows.append(row)
        self._log.append(row, RESOURCES | NODE | PODS)

    def _image_state(self, row: int, name: str) -> tuple[int, int]:
        state = self.images.get(name)
        if state is None or self.columns.nodes[row] is None or self.columns.names[row] not in state.nodes:
            return 0, 0
        return state.size_bytes, len(state.nodes)


def _lowest_priority(pods: Mapping[str, PodInfo], bound: int | None = None) -> int:
    """Return the lowest priority of some pods; it ends at the first that has `bound`, which none is below."""
    lowest = NO_PODS_PRIORITY
    for pod in pods.values():
        if pod.priority < lowest:
            lowest = pod.priority
            if lowest == bound:
                break
    return lowest
