"""NodeResourcesFit: keeps pods off nodes that lack room for their requests, and scores how full nodes would be."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nodewise.api.objects import Pod
from nodewise.api.resources import PodAmounts, is_extended_resource_name, pod_amounts
from nodewise.config.arguments import NodeResourcesFitArgs, ScoringStrategy
from nodewise.devices.totals import ScoredDevices, scored_devices, stand_in
from nodewise.framework.plugin import Handle, PreFilterResult, Rejections
from nodewise.framework.status import Status
from nodewise.plugins.resource_scoring import (
    FIRST_CLASS_ROWS,
    LARGEST_EXACT,
    ScoredAmounts,
    column_of,
    strategy_of,
)
from nodewise.state.columns import MEMORY_ROW, PODS_ROW, Columns, IntArray, Rows
from nodewise.state.device_listers import DeviceListers
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

UNRESOLVABLE = 1
TOO_MANY_PODS = 2
_FIRST_RESOURCE_BIT = 2
_LARGEST_BYTE = 0xFF
_MAX_MEMOISED = 4096
_NOTHING_KNOWN = PreFilterResult()


@dataclass(frozen=True, slots=True)
class Need:
    """What the pod asks of one resource.

    Attributes
    ----------
    name : str
    row : int
        Row in the columns.
    amount : int
        In the resource's unit in the columns; more than 0.
    bit : int
        Set in the code of a node that lacks it.
    is_for_devices : bool
        Whether a device class stands for it, so that nodes that do not list it are DynamicResources' to judge.
    """

    name: str
    row: int
    amount: int
    bit: int
    is_for_devices: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FitState:
    """What is compared with the nodes, for pods with one request.

    Attributes
    ----------
    needs : tuple[Need, ...]
    scored : ScoredAmounts
    rows : (1 + n_needs,) intp
        Rows of the columns to compare: first pods, then those of the needs.
    amounts : (1 + n_needs, 1) int64
        What must be free there.
    bits : (1 + n_needs, 1) uint8 or int64
        The bit in the code of a node where it is not.
    devices : ScoredDevices
        Scored resources that devices may stand in for.
    reads : Reads
    """

    needs: tuple[Need, ...]
    scored: ScoredAmounts
    rows: NDArray[np.intp]
    amounts: IntArray
    bits: NDArray[np.uint8] | IntArray
    devices: ScoredDevices
    reads: Reads


class NodeResourcesFit:
    """Fit. Codes are bits: 1 unresolvable, 2 too many pods, then one for each requested resource."""

    name: ClassVar[str] = "NodeResourcesFit"
    reads: ClassVar[Reads] = Reads.RESOURCES | Reads.NODE

    def __init__(self, args: NodeResourcesFitArgs | None, handle: Handle | None = None) -> None:
        args = args or NodeResourcesFitArgs()
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._devices = handle.listers.devices if handle is not None else DeviceListers()
        self._strategy = strategy_of(args.scoring_strategy)
        self._resources = (args.scoring_strategy or ScoringStrategy()).resources
        self._keys: dict[int, tuple[PodAmounts, Hashable]] = {}

    def class_key(self, pod: Pod) -> Hashable:
        """Return the request that is filtered by and the amounts that are scored by."""
        amounts = pod_amounts(pod)
        known = self._keys.get(id(amounts))
        if known is not None:
            return known[1]
        request, scoring = amounts.fit, amounts.scoring
        key = (
            tuple(sorted(item for item in request.items() if item[1])),
            tuple([scoring.get(spec.name, 0) for spec in self._resources]),
        )
        if len(self._keys) >= _MAX_MEMOISED:
            self._keys.clear()
        self._keys[id(amounts)] = amounts, key
        return key

    def compile(self, pod: Pod, snapshot: Snapshot) -> FitState:
        """Prepare the comparison (PreFilter and PreScore; neither ever skips)."""
        amounts = pod_amounts(pod)
        needs = self._needs(amounts.fit, snapshot.columns)
        bits = [TOO_MANY_PODS, *[need.bit for need in needs]]
        scored = ScoredAmounts.of(self._resources, amounts.scoring)
        devices = scored_devices(scored.names, self._devices)
        return FitState(
            needs,
            scored,
            np.array([PODS_ROW, *[need.row for need in needs]], np.intp),
            np.array([1, *[need.amount for need in needs]], np.int64)[:, np.newaxis],
            (np.array(bits, np.uint8) if bits[-1] <= _LARGEST_BYTE else np.array(bits, np.int64))[:, np.newaxis],
            devices,
            self.reads | Reads.ALWAYS if devices else self.reads,
        )

    def _needs(self, request: Mapping[str, int], columns: Columns) -> tuple[Need, ...]:
        names = [name for name in FIRST_CLASS_ROWS if request.get(name, 0) > 0]
        if len(names) < len(request):
            names += sorted(name for name in request if name not in FIRST_CLASS_ROWS and self._counts(name, request))
        return tuple(
            [
                Need(
                    name,
                    columns.resource_row(name),
                    request[name],
                    1 << (_FIRST_RESOURCE_BIT + position),
                    self._devices.class_of_resource(name) is not None,
                )
                for position, name in enumerate(names)
            ]
        )

    def _counts(self, name: str, request: Mapping[str, int]) -> bool:
        if request[name] <= 0:
            return False
        is_ignored = name in self._ignored or name.partition("/")[0] in self._ignored_groups
        return not (is_ignored and is_extended_resource_name(name))

    def pre_filter(self, state: FitState) -> PreFilterResult:
        return _NOTHING_KNOWN

    # --- filter -------------------------------------------------------------------------------------------------------

    def filter(self, state: FitState, columns: Columns, rows: Rows) -> Rejections:
        """Find the nodes without room (fitsRequest)."""
        free = _block(columns.free, state.rows, rows)
        lacks = free < state.amounts
        for position, need in enumerate(state.needs, start=1):
            if need.is_for_devices:
                lacks[position] &= columns.allocatable[need.row, rows] > 0
        if not lacks.any():
            return np.zeros(free.shape[1], np.int64)
        # With few resources a code fits into a byte, which is several times quicker.
        flags = lacks.view(np.uint8) if state.bits.dtype == np.uint8 else lacks
        codes: IntArray = np.bitwise_or.reduce(flags * state.bits, axis=0).astype(np.int64)
        if len(state.rows) > 1:
            # only where it lacks: amounts beyond int64 wrap around, as Go's do, and may be free though not there
            beyond = _block(columns.allocatable, state.rows[1:], rows) < state.amounts[1:]
            codes |= (beyond & lacks[1:]).any(axis=0)
        return codes

    def filter_row(self, state: FitState, columns: Columns, row: int) -> int:
        """Return the code of one node."""
        free, allocatable = columns.free, columns.allocatable
        code = 0 if free.item(PODS_ROW, row) > 0 else TOO_MANY_PODS
        for need in state.needs:
            if need.amount > free.item(need.row, row):
                if need.is_for_devices and allocatable.item(need.row, row) <= 0:
                    continue
                code |= need.bit
                if need.amount > allocatable.item(need.row, row):
                    code |= UNRESOLVABLE
        return code

    def rejection(self, state: FitState, code: int) -> Status:
        """Name everything that is lacking."""
        reasons = ["Too many pods"] if code & TOO_MANY_PODS else []
        reasons += [f"Insufficient {need.name}" for need in state.needs if code & need.bit]
        return Status.unresolvable(*reasons) if code & UNRESOLVABLE else Status.unschedulable(*reasons)

    # --- score --------------------------------------------------------------------------------------------------------

    def score(self, state: FitState, columns: Columns, rows: Rows) -> IntArray:
        """Score how full nodes would be (resourceAllocationScorer.score)."""
        scored = state.scored
        resources = scored.rows_in(columns)
        allocatable = scored.block(columns.allocatable, resources, rows)
        if not resources:
            return np.zeros(allocatable.shape[1], np.int64)
        if scored.is_cpu_and_memory:
            requested = scored.block(columns.non_zero, resources, rows)
        else:
            tables = [columns.non_zero if resource <= MEMORY_ROW else columns.requested for resource in resources]
            parts = [column_of(table, resource, rows) for table, resource in zip(tables, resources, strict=True)]
            requested = np.stack(parts)
            stand_in(state.devices, columns, rows, allocatable, requested)
        return self._strategy.scores(requested + scored.amounts_column, allocatable, scored.weights)

    def score_row(self, state: FitState, columns: Columns, row: int) -> int:
        """Score one node."""
        scored = state.scored
        resources = scored.rows_in(columns)
        requested, non_zero, table = columns.requested, columns.non_zero, columns.allocatable
        allocatable = [table.item(resource, row) for resource in resources]
        used = [
            (non_zero if resource <= MEMORY_ROW else requested).item(resource, row) + amount
            for resource, amount in zip(resources, scored.amounts, strict=True)
        ]
        amounts = (*allocatable, *used)
        if max(amounts, default=0) > LARGEST_EXACT or min(amounts, default=0) < 0:
            # only int64 columns overflow as Go does
            return int(self.score(state, columns, np.array([row]))[0])
        return self._strategy.score(used, allocatable, scored.weights)


def _block(table: IntArray, resources: NDArray[np.intp], rows: Rows) -> IntArray:
    """Return some rows of some resources' columns."""
    # A slice beside an index array is quicker than `take`, which copies a table that is part of a bigger one.
    part: IntArray = table[resources, rows] if isinstance(rows, slice) else table[resources[:, np.newaxis], rows]
    return part
