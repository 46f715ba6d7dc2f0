"""Keeps pods off nodes whose CSI drivers cannot attach more volumes, or are not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.framework.events import ClusterEventWithHint
from nodewise.framework.plugin import Handle, PodsChange, Rejections
from nodewise.framework.status import Status
from nodewise.plugins.node_volume_limits_hints import events_of_limits, may_use_csi
from nodewise.state.columns import BoolArray, Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot
from nodewise.state.storage_listers import StorageListers
from nodewise.volumes.attached import NO_LIMIT, AttachedVolumes, RowVolumes
from nodewise.volumes.csi_volumes import CSIVolumes, Problem

TOO_MANY, NO_CLAIM, FIRST_DRIVER = 1, 2, 16
"""Codes from the last on: a driver that is missing, by its place."""
ERROR = 1 << 20
FIRST_FAILING = ERROR + 1
"""Codes from here on: a row whose pods' volumes cannot be counted."""
EXCEEDED = Status.unschedulable("node(s) exceed max volume count")


@dataclass(frozen=True, slots=True)
class NewVolumes:
    """What a pod needs attached on nodes with, or without, a CSINode.

    Attributes
    ----------
    fresh : tuple[tuple[str, int], ...]
        Drivers with their numbers of volumes that no node has attached.
    shared : tuple[tuple[str, str], ...]
        Other volumes with their drivers.
    drivers : tuple[str, ...]
        All drivers, sorted.
    problem : Problem | None
    """

    fresh: tuple[tuple[str, int], ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    drivers: tuple[str, ...] = ()
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class LimitsState:
    """What the plugin prepares for pods of one class.

    Attributes
    ----------
    with_csi_node, without : NewVolumes
    change : PodsChange | None
        What is different on one row.
    changed : RowVolumes | None
        The volumes of that row then.
    """

    with_csi_node: NewVolumes
    without: NewVolumes
    change: PodsChange | None = None
    changed: RowVolumes | None = None

    @property
    def drivers(self) -> list[str]:
        """All drivers; their places go into codes."""
        return sorted({*self.with_csi_node.drivers, *self.without.drivers})


class NodeVolumeLimits:
    """Plugin NodeVolumeLimits (CSILimits); without the gate VolumeLimitScaling a missing driver is no obstacle."""

    name: ClassVar[str] = "NodeVolumeLimits"
    reads: ClassVar[Reads] = Reads.PODS | Reads.NODE
    first_error_code: ClassVar[int] = ERROR

    def __init__(self, args: object, handle: Handle) -> None:
        self._handle = handle
        self._needs_drivers = handle.feature_gates.enabled("VolumeLimitScaling")
        self._storage: StorageListers = handle.listers.storage
        self._volumes = CSIVolumes(self._storage)
        self._attached = AttachedVolumes(handle.snapshot, self._storage, self._volumes)

    # --- preparing ----------------------------------------------------------------------------------------------------

    def class_key(self, pod: Pod) -> Hashable:
        if not pod.spec.volumes or not may_use_csi(pod):
            return None
        return (self._storage.version, *self._needs(pod))

    def compile(self, pod: Pod, snapshot: Snapshot) -> LimitsState | None:
        if not pod.spec.volumes or not may_use_csi(pod):
            return None
        return LimitsState(*self._needs(pod))

    def _needs(self, pod: Pod) -> tuple[NewVolumes, NewVolumes]:
        self._attached.sync()
        shares_all = self._is_nominating()
        return (
            self._new_volumes(pod, has_csi_node=True, shares_all=shares_all),
            self._new_volumes(pod, has_csi_node=False, shares_all=shares_all),
        )

    def _is_nominating(self) -> bool:
        """Tell whether a nominated pod may bring volumes that a pending one needs too."""
        nominations = self._handle.nominator.nominations()
        return any(pod.pod.spec.volumes for pods in nominations.values() for pod in pods)

    def _new_volumes(self, pod: Pod, *, has_csi_node: bool, shares_all: bool) -> NewVolumes:
        ids = self._volumes.of_new_pod(pod, has_csi_node=has_csi_node)
        if isinstance(ids, Problem):
            return NewVolumes(problem=ids)
        known = self._attached.rows_of
        shared = [(volume_id, driver) for volume_id, driver in ids.items() if shares_all or volume_id in known]
        if len(shared) == len(ids):
            fresh: Mapping[str, int] = {}
        else:
            fresh = Counter(driver for volume_id, driver in ids.items() if not shares_all and volume_id not in known)
        return NewVolumes(tuple(sorted(fresh.items())), tuple(sorted(shared)), tuple(sorted({*ids.values()})))

    # --- judging nodes ------------------------------------------------------------------------------------------------

    def filter(self, state: LimitsState, columns: Columns, rows: Rows) -> Rejections:
        """Reject nodes without the drivers, or with too many volumes, that the pod needs (CSILimits.Filter)."""
        attached = self._attached
        attached.sync()
        if state.change is not None:
            return self._filter_changed(state, state.change.row)
        index = np.arange(columns.n_rows)[rows]
        codes = np.zeros(len(index), np.int64)
        has_csi_node = attached.has_csi_node[index]
        for needs, mask in ((state.with_csi_node, has_csi_node), (state.without, ~has_csi_node)):
            if mask.all():
                codes = self._codes(needs, state.drivers, index)
            elif mask.any():
                codes[mask] = self._codes(needs, state.drivers, index[mask])
        return codes

    def _codes(self, needs: NewVolumes, drivers: Sequence[str], index: IntArray) -> IntArray:
        codes, open_mask = self._before_counting(needs, drivers, index)
        attached = self._attached
        if attached.failing and open_mask.any():
            for place in np.flatnonzero(open_mask & np.isin(index, list(attached.failing))).tolist():
                codes[place] = FIRST_FAILING + int(index[place])
                open_mask[place] = False
        if not open_mask.any():
            return codes
        new = {driver: np.full(len(index), count, np.int64) for driver, count in needs.fresh}
        for volume_id, driver in needs.shared:
            is_new = ~np.isin(index, list(attached.rows_of.get(volume_id, ())))
            new[driver] = new.get(driver, 0) + is_new.astype(np.int64)
        for driver, count in new.items():
            limit = attached.limit(driver)[index]
            too_many = (limit != NO_LIMIT) & (count > 0) & (attached.attached(driver)[index] + count > limit)
            codes[open_mask & too_many] = TOO_MANY
        return codes

    def _before_counting(
        self, needs: NewVolumes, drivers: Sequence[str], index: IntArray
    ) -> tuple[IntArray, BoolArray]:
        """Judge what needs no count, and tell which rows need one."""
        codes = np.zeros(len(index), np.int64)
        open_mask = np.zeros(len(index), np.bool_)
        if needs.problem is not None:
            codes[:] = NO_CLAIM if needs.problem.is_missing_claim else ERROR
            return codes, open_mask
        if not needs.drivers:
            return codes, open_mask
        attached = self._attached
        open_mask[:] = True
        for name in needs.drivers if self._needs_drivers else ():
            driver = self._storage.csi_drivers.get(name)
            if driver is not None and driver.spec.prevent_pod_scheduling_if_missing:
                missing = open_mask & ~attached.installed(name)[index]
                codes[missing] = FIRST_DRIVER + drivers.index(name)
                open_mask &= ~missing
        return codes, open_mask & attached.has_limits[index]

    def _filter_changed(self, state: LimitsState, row: int) -> Rejections:
        """Judge one row with other pods on it."""
        assert state.changed is not None
        attached, there = self._attached, state.changed
        needs = state.with_csi_node if attached.has_csi_node[row] else state.without
        codes, open_mask = self._before_counting(needs, state.drivers, np.array([row]))
        if not open_mask[0]:
            return codes
        if there.problem:
            codes[0] = FIRST_FAILING + row
            return codes
        new = Counter(dict(needs.fresh))
        new.update(driver for volume_id, driver in needs.shared if volume_id not in there.ids)
        for driver, count in new.items():
            limit = int(attached.limit(driver)[row])
            if limit != NO_LIMIT and there.counts[driver] + count > limit:
                codes[0] = TOO_MANY
        return codes

    def with_pods(self, state: LimitsState, columns: Columns, change: PodsChange) -> LimitsState:
        change = change if state.change is None else state.change.then(change)
        self._attached.sync()
        pods = dict(self._handle.snapshot.pods_on(change.row))
        for pod in change.removed:
            pods.pop(pod.uid, None)
        pods.update((pod.uid, pod) for pod in change.added)
        changed = self._attached.with_pods(change.row, pods.values())
        return LimitsState(state.with_csi_node, state.without, change, changed)

    def rejection(self, state: LimitsState, code: int) -> Status:
        if code == TOO_MANY:
            return EXCEEDED
        if code >= FIRST_FAILING:
            row = code - FIRST_FAILING
            return Status.error(state.changed.problem if state.changed is not None else self._attached.problem(row))
        if FIRST_DRIVER <= code < ERROR:
            name = state.drivers[code - FIRST_DRIVER]
            return Status.unschedulable(f"{name} CSI driver is not installed on the node")
        problem = state.with_csi_node.problem or state.without.problem
        assert problem is not None
        return Status.unresolvable(problem.text) if code == NO_CLAIM else Status.error(problem.text)

    def detail(self, pod: Pod, row: int | None) -> str:
        """Say of each driver without room how many volumes it has, gets and can have."""
        if row is None or not may_use_csi(pod):
            return ""
        needs = self._needs(pod)[0 if self._attached.has_csi_node[row] else 1]
        there = self._attached.with_pods(row, self._handle.snapshot.pods_on(row).values())
        new = Counter(dict(needs.fresh))
        new.update(driver for volume_id, driver in needs.shared if volume_id not in there.ids)
        parts = []
        for driver, count in sorted(new.items()):
            limit = int(self._attached.limit(driver)[row])
            if limit != NO_LIMIT and there.counts[driver] + count > limit:
                parts.append(f"{driver}: {there.counts[driver]} attached and {count} new, at most {limit}")
        return "; ".join(parts)

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return events_of_limits()
