"""NodeResourcesFit: keeps pods off nodes that lack room for their requests, and scores how full nodes would be."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nodewise.api.objects import Pod
from nodewise.api.resources import PodAmounts, is_extended_resource_name, pod_amounts
from nodewise.config.arguments import NodeResourcesFitArgs, ScoringStrategy
from nodewise.config.feature_gates import DEFAULT_GATES
from nodewise.devices.totals import ScoredDevices, scored_devices, stand_in
from nodewise.framework.events import ClusterEventWithHint
from nodewise.framework.plugin import Handle, PreFilterResult, Rejections
from nodewise.framework.pod_group_plugin import Placement, PodGroupInfo, Proposal
from nodewise.framework.status import Status
from nodewise.plugins.node_resources_fit_hints import FitHints
from nodewise.plugins.placement_fullness import placement_fullness
from nodewise.plugins.resource_scoring import (
    FIRST_CLASS_ROWS,
    ScoredAmounts,
    column_of,
    strategy_of,
)
from nodewise.state.columns import (
    LARGEST_PLAIN,
    MEMORY_ROW,
    PODS_ROW,
    AllocatableFacts,
    BoolArray,
    Columns,
    IntArray,
    Rows,
)
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


BitArray = NDArray[np.uint8] | IntArray


class OutOfReach:
    """Which nodes could not hold what a pod asks for even when empty; known until some Node object changes.

    Parameters
    ----------
    rows : (n_needs,) intp
        Rows of the columns.
    amounts : (n_needs, 1) int64
    bits : (n_needs, 1) uint8 or int64
    """

    __slots__ = ("_amounts", "_bits", "_facts", "_of_nodes", "_rows")

    def __init__(self, rows: NDArray[np.intp], amounts: IntArray, bits: BitArray) -> None:
        self._rows, self._amounts, self._bits = rows, amounts, bits
        self._facts: AllocatableFacts | None = None
        self._of_nodes: BitArray | None = None

    def bits(self, columns: Columns) -> BitArray | None:
        """Return for each row the bits of the resources of which the node has too little; None: all have enough.

        Returns
        -------
        (n_rows,) uint8 or int64
        """
        facts = columns.allocatable_facts()
        if facts is not self._facts:
            beyond = columns.allocatable[self._rows] < self._amounts
            self._of_nodes = _codes(beyond, self._bits) if beyond.any() else None
            self._facts = facts
        return self._of_nodes


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
        The bit in the code of a node where it is not. With few resources a code fits into a byte, which is several
        times quicker.
    out_of_reach : OutOfReach
    devices : ScoredDevices
        Scored resources that devices may stand in for.
    reads : Reads
    """

    needs: tuple[Need, ...]
    scored: ScoredAmounts
    rows: NDArray[np.intp]
    amounts: IntArray
    bits: BitArray
    out_of_reach: OutOfReach
    devices: ScoredDevices
    reads: Reads


class NodeResourcesFit:
    """Fit. Codes are bits: 1 unresolvable, 2 too many pods, then one for each requested resource."""

    name: ClassVar[str] = "NodeResourcesFit"
    reads: ClassVar[Reads] = Reads.RESOURCES | Reads.NODE

    def __init__(self, args: NodeResourcesFitArgs | None, handle: Handle | None = None) -> None:
        args = args or NodeResourcesFitArgs()
        self._handle = handle
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._devices = handle.listers.devices if handle is not None else DeviceListers()
        self._gates = handle.feature_gates if handle is not None else DEFAULT_GATES
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
        rows = np.array([PODS_ROW, *[need.row for need in needs]], np.intp)
        least = np.array([1, *[need.amount for need in needs]], np.int64)[:, np.newaxis]
        bit_column: BitArray = np.array(bits, np.uint8) if bits[-1] <= _LARGEST_BYTE else np.array(bits, np.int64)
        bit_column = bit_column[:, np.newaxis]
        scored = ScoredAmounts.of(self._resources, amounts.scoring)
        devices = scored_devices(scored.names, self._devices)
        return FitState(
            needs,
            scored,
            rows,
            least,
            bit_column,
            OutOfReach(rows[1:], least[1:], bit_column[1:]),
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
        codes = _codes(lacks, state.bits)
        out_of_reach = state.out_of_reach.bits(columns)
        if out_of_reach is not None:
            # only where it lacks: amounts beyond int64 wrap around, as Go's do, and may be free though not there
            codes |= (codes & out_of_reach[rows]) != 0
        return codes.astype(np.int64)

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
        if scored.is_cpu_and_memory and not state.devices:
            used = columns.non_zero[:2, rows] + scored.amounts_column
            facts = columns.allocatable_facts()
            # negative ones are huge when read without their sign
            if all(facts.is_plain[:2]) and used.view(np.uint64).max(initial=0) <= LARGEST_PLAIN:
                return self._strategy.plain_scores(used, facts.divisor[:2, rows], scored.weights)
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
        if max(amounts, default=0) > LARGEST_PLAIN or min(amounts, default=0) < 0:
            # only int64 columns overflow as Go does
            return int(self.score(state, columns, np.array([row]))[0])
        return self._strategy.score(used, allocatable, scored.weights)

    # --- waiting ------------------------------------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return FitHints(self._devices, self._gates).events_to_register()

    def score_placement(self, group: PodGroupInfo, placement: Placement, proposed: Sequence[Proposal]) -> int:
        """Score how full the nodes of a placement would be with a group's pods, the fuller the better."""
        assert self._handle is not None
        pods = [proposal.pod.pod for proposal in proposed]
        return placement_fullness(self._resources, self._handle.snapshot.columns, placement, pods)


def _codes(lacks: BoolArray, bits: BitArray) -> BitArray:
    """Join the bits of what is lacking, `(n_resources, n)` bool, to `(n,)` codes."""
    flags = lacks.view(np.uint8) if bits.dtype == np.uint8 else lacks
    codes: BitArray = np.bitwise_or.reduce(flags * bits, axis=0)
    return codes


def _block(table: IntArray, resources: NDArray[np.intp], rows: Rows) -> IntArray:
    """Return some rows of some resources' columns."""
    # A slice beside an index array is quicker than `take`, which copies a table that is part of a bigger one.
    part: IntArray = table[resources, rows] if isinstance(rows, slice) else table[resources[:, np.newaxis], rows]
    return part
