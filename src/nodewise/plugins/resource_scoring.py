"""How full nodes are of chosen resources, and the strategies that make a score of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nodewise.api.resources import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar_resource_name
from nodewise.config.arguments import ResourceSpec, ScoringStrategy, UtilizationShapePoint
from nodewise.errors import NodewiseError
from nodewise.framework.plugin import MAX_NODE_SCORE
from nodewise.state.columns import (
    CPU_ROW,
    EPHEMERAL_STORAGE_ROW,
    LARGEST_PLAIN,
    MEMORY_ROW,
    Columns,
    FloatArray,
    IntArray,
    Rows,
)

Number = TypeVar("Number", np.int64, np.float64)

FIRST_CLASS_ROWS: Mapping[str, int] = {
    CPU: CPU_ROW,
    MEMORY: MEMORY_ROW,
    EPHEMERAL_STORAGE: EPHEMERAL_STORAGE_ROW,
}
_CPU_AND_MEMORY_ROWS = (CPU_ROW, MEMORY_ROW)
_SHAPE_SCALE = 10  # a shape's scores go from 0 to 10
_MAX_UTILIZATION = 100


@dataclass(frozen=True, slots=True, eq=False)
class ScoredAmounts:
    """The resources that take part in a score, and what the pod asks of them.

    Attributes
    ----------
    names : tuple[str, ...]
    amounts : tuple[int, ...]
        In the resources' units in the columns.
    amounts_column : (n_resources, 1) int64
        The same, to be added to blocks.
    weights : tuple[int, ...]
    is_cpu_and_memory : bool
        Whether it is just these two, in this order: their rows are the first of every table.
    """

    names: tuple[str, ...]
    amounts: tuple[int, ...]
    amounts_column: IntArray
    weights: tuple[int, ...]
    is_cpu_and_memory: bool

    @classmethod
    def of(cls, specs: Iterable[ResourceSpec], request: Mapping[str, int]) -> ScoredAmounts:
        """Return the amounts that count for a pod (calculateNodeAllocatableRequest).

        Scalar resources count only if the pod asks for them, and names that nodes do not keep never count.
        """
        counted = [
            spec
            for spec in specs
            if spec.name in FIRST_CLASS_ROWS or (request.get(spec.name, 0) and is_scalar_resource_name(spec.name))
        ]
        names = tuple([spec.name for spec in counted])
        amounts = tuple([request.get(name, 0) for name in names])
        column = np.array(amounts, np.int64)[:, np.newaxis]
        return cls(names, amounts, column, tuple([spec.weight for spec in counted]), names == (CPU, MEMORY))

    def rows_in(self, columns: Columns) -> Sequence[int]:
        """Return the resources' rows; ask before reading any column, since columns may be replaced."""
        if self.is_cpu_and_memory:
            return _CPU_AND_MEMORY_ROWS
        return [
            known if (known := FIRST_CLASS_ROWS.get(name)) is not None else columns.resource_row(name)
            for name in self.names
        ]

    def block(self, table: NDArray[Number], resources: Sequence[int], rows: Rows) -> NDArray[Number]:
        """Return the resources' part of a table, `(n_resources, n)`; not to be changed."""
        if self.is_cpu_and_memory:
            return table[:2, rows]
        part: NDArray[Number] = table[np.array(resources, np.intp)][:, rows]
        return part


class Strategy(Protocol):
    """Makes a score of how full a node would be."""

    def scores(self, used: IntArray, allocatable: IntArray, weights: Sequence[int]) -> IntArray:
        """Return the nodes' scores.

        Parameters
        ----------
        used : (n_resources, n) int64
            What would be in use with the pod; may be overwritten.
        allocatable : (n_resources, n) int64
        weights : Sequence[int]
            By resource.

        Returns
        -------
        (n,) int64, 0..100
        """
        ...

    def plain_scores(self, used: IntArray, allocatable: FloatArray, weights: Sequence[int]) -> IntArray:
        """Return the same where all amounts are plain: from 0, or 1 for allocatable, to LARGEST_PLAIN."""
        ...

    def score(self, used: Sequence[int], allocatable: Sequence[int], weights: Sequence[int]) -> int:
        """Return one node's score."""
        ...


class LeastAllocated:
    """Prefers nodes with much left (leastResourceScorer)."""

    def scores(self, used: IntArray, allocatable: IntArray, weights: Sequence[int]) -> IntArray:
        free = np.minimum(used, allocatable, out=used)
        np.subtract(allocatable, free, out=free)
        return _weighted_means(free, allocatable, weights)

    def plain_scores(self, used: IntArray, allocatable: FloatArray, weights: Sequence[int]) -> IntArray:
        free = allocatable - used
        return _plain_weighted_means(np.maximum(free, 0.0, out=free), allocatable, weights)

    def score(self, used: Sequence[int], allocatable: Sequence[int], weights: Sequence[int]) -> int:
        total = weight_sum = 0
        for taken, there, weight in zip(used, allocatable, weights, strict=True):
            if there:
                weight_sum += weight
                if taken < there:
                    total += (there - taken) * MAX_NODE_SCORE // there * weight
        return total // weight_sum if weight_sum else 0


class MostAllocated:
    """Prefers nodes that would be full (mostResourceScorer)."""

    def scores(self, used: IntArray, allocatable: IntArray, weights: Sequence[int]) -> IntArray:
        return _weighted_means(np.minimum(used, allocatable, out=used), allocatable, weights)

    def plain_scores(self, used: IntArray, allocatable: FloatArray, weights: Sequence[int]) -> IntArray:
        return _plain_weighted_means(np.minimum(used, allocatable), allocatable, weights)

    def score(self, used: Sequence[int], allocatable: Sequence[int], weights: Sequence[int]) -> int:
        total = weight_sum = 0
        for taken, there, weight in zip(used, allocatable, weights, strict=True):
            if there:
                weight_sum += weight
                total += min(taken, there) * MAX_NODE_SCORE // there * weight
        return total // weight_sum if weight_sum else 0


class RequestedToCapacityRatio:
    """Scores utilization by a broken line (requestedToCapacityRatioScorer)."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        heights = [on_line(shape, utilization) for utilization in range(_MAX_UTILIZATION + 1)]
        self._score_of = np.array(heights, np.int64)

    def scores(self, used: IntArray, allocatable: IntArray, weights: Sequence[int]) -> IntArray:
        utilization = percent(np.minimum(used, allocatable, out=used), allocatable)
        parts = self._heights(utilization.clip(0, _MAX_UTILIZATION))
        parts[allocatable == 0] = 0
        return self._means(parts, weights)

    def plain_scores(self, used: IntArray, allocatable: FloatArray, weights: Sequence[int]) -> IntArray:
        utilization = _plain_percent(np.minimum(used, allocatable), allocatable)
        return self._means(self._heights(utilization), weights)

    def _heights(self, utilization: FloatArray) -> IntArray:
        heights: IntArray = self._score_of[utilization.astype(np.intp)]
        return heights

    @staticmethod
    def _means(parts: IntArray, weights: Sequence[int]) -> IntArray:
        by_resource = np.array(weights, np.int64)[:, np.newaxis]
        total = (parts * by_resource).sum(axis=0)
        # A resource that scores 0 has no say.
        weight_sum = ((parts > 0) * by_resource).sum(axis=0)
        halves_up: IntArray = np.floor(total / np.maximum(weight_sum, 1) + 0.5).astype(np.int64)
        return halves_up

    def score(self, used: Sequence[int], allocatable: Sequence[int], weights: Sequence[int]) -> int:
        total = weight_sum = 0
        for taken, there, weight in zip(used, allocatable, weights, strict=True):
            if there:
                part = self._score_of.item(min(taken, there) * _MAX_UTILIZATION // there)
                if part > 0:
                    total += part * weight
                    weight_sum += weight
        return int(total / weight_sum + 0.5) if weight_sum else 0


def strategy_of(strategy: ScoringStrategy | None) -> Strategy:
    """Return the strategy that a configuration names."""
    kind = strategy.type if strategy is not None else ""
    if kind == "LeastAllocated":
        return LeastAllocated()
    if kind == "MostAllocated":
        return MostAllocated()
    if strategy is not None and kind == "RequestedToCapacityRatio" and strategy.requested_to_capacity_ratio:
        return RequestedToCapacityRatio(strategy.requested_to_capacity_ratio.shape)
    raise NodewiseError(
        f"scoringStrategy is {strategy!r}, expected type LeastAllocated, MostAllocated or RequestedToCapacityRatio "
        "with a shape"
    )


def percent(part: IntArray, whole: IntArray) -> FloatArray:
    """Return `part * 100 / whole`, truncated as Go's int64 division does.

    Parameters
    ----------
    part : (..., n) int64
        Not negative.
    whole : (..., n) int64
        Where it is not positive the result means nothing.

    Returns
    -------
    (..., n) float64
        Whole numbers.
    """
    if part.max(initial=0) > LARGEST_PLAIN:
        return trunc_div(part * MAX_NODE_SCORE, np.maximum(whole, 1)).astype(np.float64)
    return _plain_percent(part.astype(np.float64), np.maximum(whole, 1).astype(np.float64))


def _plain_percent(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return `part * 100 / whole`, truncated; `part` is overwritten.

    Parameters
    ----------
    part : (..., n) float64
        Whole numbers, 0..LARGEST_PLAIN.
    whole : (..., n) float64
        Whole numbers from 1 on.
    """
    # The float quotient of two whole numbers below 2^53 never rounds up to the next whole number.
    part *= MAX_NODE_SCORE
    part /= whole
    return np.floor(part, out=part)


def trunc_div(numerator: IntArray, denominator: IntArray) -> IntArray:
    """Divide by positive int64 denominators, rounding towards zero as Go does."""
    quotient: IntArray = numerator // denominator
    quotient += (numerator < 0) & (quotient * denominator != numerator)
    return quotient


def _weighted_means(part: IntArray, allocatable: IntArray, weights: Sequence[int]) -> IntArray:
    """Return the truncated weighted means of the percentages of the resources that a node has.

    Parameters
    ----------
    part, allocatable : (n_resources, n) int64
    weights : Sequence[int]
        By resource.

    Returns
    -------
    (n,) int64
    """
    percentages = percent(part, allocatable)
    has = allocatable != 0
    by_resource = np.array(weights, np.int64)[:, np.newaxis]
    sums = (percentages.astype(np.int64) * has * by_resource).sum(axis=0)
    weight_sums: IntArray = np.maximum((has * by_resource).sum(axis=0), 1)
    return trunc_div(sums, weight_sums)


def _plain_weighted_means(part: FloatArray, allocatable: FloatArray, weights: Sequence[int]) -> IntArray:
    """Return the same of plain amounts, which every node has of every resource; `part` is overwritten."""
    percentages = _plain_percent(part, allocatable)
    total = percentages[0] if weights[0] == 1 else percentages[0] * weights[0]
    for percentage, weight in zip(percentages[1:], weights[1:], strict=True):
        total += percentage if weight == 1 else percentage * weight
    total /= sum(weights)
    means: IntArray = total.astype(np.int64)
    return means


def on_line(shape: Sequence[UtilizationShapePoint], utilization: int) -> int:
    """Return the height of a broken line, times 10 (BuildBrokenLinearFunction)."""
    if utilization <= shape[0].utilization:
        return shape[0].score * _SHAPE_SCALE
    for left, right in itertools.pairwise(shape):
        if utilization <= right.utilization:
            rise = (right.score - left.score) * _SHAPE_SCALE * (utilization - left.utilization)
            run = right.utilization - left.utilization
            # towards zero, also where the line falls
            return left.score * _SHAPE_SCALE + (rise // run if rise >= 0 else -(-rise // run))
    return shape[-1].score * _SHAPE_SCALE


def column_of(table: IntArray, resource: int, rows: Rows) -> IntArray:
    """Return some rows of one resource's column."""
    column: IntArray = table[resource, rows]
    return column
