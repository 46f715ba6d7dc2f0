"""NodeResourcesBalancedAllocation: prefers nodes whose resources would be used more evenly than they are now."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.api.resources import balanced_request
from nodewise.config.arguments import NodeResourcesBalancedAllocationArgs
from nodewise.devices.totals import ScoredDevices, scored_devices, stand_in
from nodewise.framework.plugin import MAX_NODE_SCORE, Handle
from nodewise.plugins.resource_scoring import ScoredAmounts
from nodewise.state.columns import BoolArray, Columns, FloatArray, IntArray, Rows
from nodewise.state.device_listers import DeviceListers
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

_HALF = MAX_NODE_SCORE // 2
_MAX_INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class BalanceState:
    """What the pod asks of the resources that are balanced."""

    scored: ScoredAmounts
    devices: ScoredDevices
    reads: Reads


class NodeResourcesBalancedAllocation:
    """BalancedAllocation: 75 where a pod leaves the balance as it is, up to 100 where it mends it, down to 50."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    reads: ClassVar[Reads] = Reads.RESOURCES | Reads.NODE

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None, handle: Handle | None = None) -> None:
        self._resources = (args or NodeResourcesBalancedAllocationArgs()).resources
        self._devices = handle.listers.devices if handle is not None else DeviceListers()

    def class_key(self, pod: Pod) -> Hashable:
        """Return the requested amounts of the balanced resources."""
        request = balanced_request(pod)
        return tuple([request.get(spec.name, 0) for spec in self._resources])

    def compile(self, pod: Pod, snapshot: Snapshot) -> BalanceState | None:
        """Prepare the amounts; a pod that asks for none of the resources is not scored (PreScore)."""
        request = balanced_request(pod)
        if not any(request.get(spec.name, 0) for spec in self._resources):
            return None
        scored = ScoredAmounts.of(self._resources, request)
        devices = scored_devices(scored.names, self._devices)
        return BalanceState(scored, devices, self.reads | Reads.ALWAYS if devices else self.reads)

    def score(self, state: BalanceState, columns: Columns, rows: Rows) -> IntArray:
        """Compare the balance with and without the pod (balancedResourceScorer)."""
        scored = state.scored
        resources = scored.rows_in(columns)
        facts = columns.allocatable_facts()
        if not state.devices and all(facts.is_plain[resource] for resource in resources):
            divisor = scored.block(facts.divisor, resources, rows)
            requested = scored.block(columns.requested, resources, rows)
            parts = _deviation(_fractions(requested, scored.amounts_column, divisor))
        else:
            allocatable = scored.block(columns.allocatable, resources, rows)
            requested = scored.block(columns.requested, resources, rows)
            stand_in(state.devices, columns, rows, allocatable, requested)
            has = allocatable != 0
            divisor = np.where(has, allocatable, 1).astype(np.float64)
            parts = _masked_deviation(_fractions(requested, scored.amounts_column, divisor), has)
        np.subtract(1.0, parts, out=parts)
        parts *= MAX_NODE_SCORE
        np.trunc(parts, out=parts)
        score = parts[0] - parts[1]
        score += MAX_NODE_SCORE + _HALF
        score /= 2
        scores: IntArray = score.astype(np.int64)
        return scores

    def score_row(self, state: BalanceState, columns: Columns, row: int) -> int:
        """Score one node."""
        resources = state.scored.rows_in(columns)
        allocatable, requested = columns.allocatable, columns.requested
        with_pod: list[float] = []
        without_pod: list[float] = []
        for resource, amount in zip(resources, state.scored.amounts, strict=True):
            there = allocatable.item(resource, row)
            if there:
                taken = requested.item(resource, row)
                if taken + amount > _MAX_INT64:  # only int64 columns overflow as Go does
                    return int(self.score(state, columns, np.array([row]))[0])
                with_pod.append(_fraction(taken + amount, there))
                without_pod.append(_fraction(taken, there))
        return _HALF + int((_HALF + _part(with_pod) - _part(without_pod)) / 2)


def _fractions(requested: IntArray, amounts: IntArray, allocatable: FloatArray) -> FloatArray:
    """Return how much of each resource is taken, at most 1: with the pod, and without it.

    Parameters
    ----------
    requested, allocatable : (n_resources, n) int64 and float64
    amounts : (n_resources, 1) int64

    Returns
    -------
    (2, n_resources, n) float64
    """
    taken = np.empty((2, *requested.shape), np.int64)
    np.add(requested, amounts, out=taken[0])
    taken[1] = requested
    fractions = taken.astype(np.float64)
    fractions /= allocatable
    return np.minimum(fractions, 1.0, out=fractions)


def _deviation(fractions: FloatArray, has: BoolArray | None = None, count: int = 0) -> FloatArray:
    """Return the standard deviation over resources, computed in Go's order (balancedResourceScore).

    Parameters
    ----------
    fractions : (2, n_resources, n) float64
        With the pod, and without it.
    has : (n_resources, n) bool | None
        Which resources each node has; None: all.
    count : int
        How many of the resources every node has; 0: all.

    Returns
    -------
    (2, n) float64
    """
    count = count or fractions.shape[1]
    if count < 2:
        return np.zeros((2, fractions.shape[2]))
    if count == 2:
        if has is None:
            gap = fractions[:, 0] - fractions[:, 1]
        else:
            gap = np.where(has, fractions, -np.inf).max(axis=1) - np.where(has, fractions, np.inf).min(axis=1)
        gap /= 2
        return np.abs(gap, out=gap)
    mean = np.zeros((2, fractions.shape[2]))
    for position in range(fractions.shape[1]):
        mean += fractions[:, position] if has is None else fractions[:, position] * has[position]
    mean /= count
    squares = np.zeros_like(mean)
    for position in range(fractions.shape[1]):
        gap = fractions[:, position] - mean
        gap *= gap
        squares += gap if has is None else gap * has[position]
    squares /= count
    return np.sqrt(squares, out=squares)


def _masked_deviation(fractions: FloatArray, has: BoolArray) -> FloatArray:
    """Return the standard deviation where some nodes lack some resources."""
    n_has = has.sum(axis=0)
    result = np.zeros((2, fractions.shape[2]))
    for count in np.unique(n_has[n_has > 1]).tolist():
        where = np.flatnonzero(n_has == count)
        result[:, where] = _deviation(fractions[:, :, where], has[:, where], count)
    return result


def _fraction(taken: int, there: int) -> float:
    # float() first: Go rounds both to float64 before it divides, Python's int / int does not.
    return min(float(taken) / float(there), 1.0)


def _part(fractions: Sequence[float]) -> int:
    """Return how even the fractions are, 50..100 (balancedResourceScore)."""
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        total = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / len(fractions)
        squares = 0.0
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / len(fractions))
    return int((1 - deviation) * MAX_NODE_SCORE)
