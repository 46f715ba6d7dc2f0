"""Which nodes are looked at, and which of the best is taken."""

from __future__ import annotations

import enum
import random
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from nodewise.state.columns import BoolArray, IntArray

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE = 5
_RANDOM_BITS = 63
RowArray = np.ndarray[tuple[int], np.dtype[np.intp]]


class TieBreak(enum.Enum):
    """How to choose among nodes with the same top total."""

    FIRST = "first"
    ROUND_ROBIN = "round-robin"
    RANDOM = "random"
    KUBE = "kube"


def feasible_nodes_to_find(n_nodes: int, percentage: int) -> int:
    """Return how many feasible nodes end the search (Scheduler.numFeasibleNodesToFind); 0 percent is adaptive."""
    if n_nodes < MIN_FEASIBLE_NODES_TO_FIND or percentage >= 100:
        return n_nodes
    if percentage == 0:
        percentage = max(50 - n_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE)
    return max(n_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


def search(feasible: BoolArray, order: RowArray, start: int, quota: int) -> tuple[RowArray, int]:
    """Walk the nodes from a start position, round and round, until the quota is found.

    Parameters
    ----------
    feasible : (n_rows,) bool
    order : (n,) intp
        Rows to walk, in kube-scheduler's order of nodes.
    start : int
        Where to begin.
    quota : int
        Feasible nodes wanted.

    Returns
    -------
    found : (m,) intp
        Feasible rows in the order they were met, at most the quota.
    looked_at : int
        Nodes found or rejected; the first one over the quota is neither.
    """
    n = len(order)
    if n == 0:
        return order, 0
    walk = np.concatenate([order[start % n :], order[: start % n]]) if start % n else order
    hits = np.flatnonzero(feasible[walk])
    if len(hits) <= quota:
        return walk[hits], n
    return walk[hits[:quota]], int(hits[quota])


class Selector:
    """Chooses a node among those found; keeps what the rules remember from pod to pod."""

    def __init__(self, tie_break: TieBreak, generator: random.Random) -> None:
        self.tie_break = tie_break
        self._generator = generator
        self._counter = 0

    @property
    def ignores_order(self) -> bool:
        """Whether the choice does not depend on the order in which nodes were met."""
        return self.tie_break is TieBreak.FIRST

    @property
    def takes_first_found(self) -> bool:
        """Whether, where nothing scores, the search ends with the first feasible node (Scheduler.hasScoring)."""
        return self.tie_break is TieBreak.KUBE

    def select(
        self,
        found: RowArray,
        totals: IntArray,
        name_rank: IntArray,
        *,
        rows_are_by_name: bool = False,
        randomized: BoolArray | None = None,
    ) -> int:
        """Return the row to take.

        Parameters
        ----------
        found : (m,) intp
            Feasible rows in the order they were met.
        totals : (m,) int64
            Their total scores.
        name_rank : (n_rows,) int64
            Positions of the nodes' names in sorted order.
        rows_are_by_name : bool
            Whether names ascend with rows, and `found` too.
        randomized : (m,) bool | None
            Nodes that an extender scored: `kube` chooses among equals of these at random, as kube-scheduler does.
        """
        if self.tie_break is TieBreak.FIRST and rows_are_by_name:
            return int(found[totals.argmax()])
        if self.tie_break is TieBreak.KUBE and randomized is not None and randomized.any():
            keys = [
                (total, self._generator.getrandbits(_RANDOM_BITS) if is_random else 0)
                for total, is_random in zip(totals.tolist(), randomized.tolist(), strict=True)
            ]
            return int(found[heap_winner(keys)])
        if self.tie_break is TieBreak.KUBE:
            return int(found[first_in_preorder(np.flatnonzero(totals == totals.max()))])
        best = found[totals == totals.max()]
        if self.tie_break is TieBreak.ROUND_ROBIN:
            # Counts decisions, those without equals too (lastNodeIndex of kube-scheduler 1.12).
            position = self._counter % len(best)
            self._counter += 1
            return int(best[position])
        if len(best) == 1:
            return int(best[0])
        if self.tie_break is TieBreak.FIRST:
            return int(best[name_rank[best].argmin()])
        return int(best[self._generator.randrange(len(best))])


def heap_winner(totals: Sequence[int] | Sequence[tuple[int, int]]) -> int:
    """Return the position that kube-scheduler's selectHost takes: the root of a binary max-heap built in place.

    Among equal top totals this is the first in a preorder walk of the heap's tree: a parent keeps its place unless a
    child is strictly better, and the left child goes first.
    """
    top = max(totals)
    return first_in_preorder(np.array([position for position, total in enumerate(totals) if total == top], np.intp))


def first_in_preorder(positions: RowArray) -> int:
    """Return which position of a binary heap a preorder walk meets first.

    Parameters
    ----------
    positions : (m,) intp
        Ascending; children of p are 2p+1 and 2p+2.
    """
    if len(positions) == 1 or positions[0] == 0:
        return int(positions[0])
    # Numbered from 1, the binary digits behind the leading 1 are the way from the root: 0 is left, 1 is right. Filled
    # up with zeros to one length, the smallest way is met first; of equals it is the shortest, which stands first.
    ways = positions + 1
    n_digits = np.frexp(ways)[1]
    return int(positions[(ways << (n_digits[-1] - n_digits)).argmin()])


class BestNames(Sequence[str]):
    """Names of the nodes with the top total, sorted; found only when somebody reads them: thousands may be equal."""

    __slots__ = ("_found", "_known", "_names", "_totals")

    def __init__(self, found: RowArray, totals: IntArray, names: Sequence[str]) -> None:
        self._found = found
        self._totals = totals
        self._names = names
        self._known: list[str] | None = None

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._sorted()[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sorted())

    def __len__(self) -> int:
        return len(self._sorted())

    def _sorted(self) -> list[str]:
        if self._known is None:
            names, totals = self._names, self._totals
            self._known = sorted([names[row] for row in self._found[totals == totals.max()].tolist()])
        return self._known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
