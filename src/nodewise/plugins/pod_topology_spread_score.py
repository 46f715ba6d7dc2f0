"""Soft topology spread constraints: prefer domains with fewer pods."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nodewise.framework.normalize import shares_of
from nodewise.framework.plugin import MAX_NODE_SCORE
from nodewise.plugins.go_log import go_log
from nodewise.plugins.pod_topology_spread_filter import counts_of
from nodewise.plugins.spread_constraints import NodeInclusion, SpreadConstraint, has_all_keys
from nodewise.state.columns import BoolArray, IdArray, IntArray, NodeTable
from nodewise.state.pod_match import PodsWithLabels
from nodewise.state.pod_table import Counts, PodTable

FloatArray = NDArray[np.float64]
_MAX_SINGLE_CHANGES = 48


@dataclass(frozen=True, slots=True)
class SpreadScores:
    """Raw scores, and who is left out of normalising.

    Attributes
    ----------
    raw : (n_rows,) int64
        Weighted pod counts of the rows' domains; meaningful for feasible rows.
    ignored : (n_feasible,) bool | None
        Feasible rows that lack a topology key; None: no such rows.
    domains : DomainScores | None
        The same by domain, when one constraint by another key than hostname is all there is.
    """

    raw: IntArray
    ignored: BoolArray | None
    domains: DomainScores | None = None


@dataclass(frozen=True, slots=True)
class DomainScores:
    """Raw scores that depend on a row's domain only.

    Attributes
    ----------
    raw : (n_domains + 1,) int64
        By domain; last for rows without the label, which are ignored.
    is_scored : (n_domains,) bool
        Domains of feasible rows.
    of_feasible : (n_feasible,) int32
        The feasible rows' domains, -1 for none.
    """

    raw: IntArray
    is_scored: BoolArray
    of_feasible: IdArray


class _NodeCounts:
    """A soft constraint by hostname: pods are counted on the very node, whatever the inclusion policies."""

    __slots__ = ("_columns", "_constraint", "_counts", "_without_label")

    def __init__(self, constraint: SpreadConstraint, columns: NodeTable, counts: Counts | None) -> None:
        self._constraint = constraint
        self._columns = columns
        self._counts = counts
        self._without_label: BoolArray | None = None

    @property
    def version(self) -> int:
        return self._counts.version if self._counts is not None else 0

    def rebuild(self) -> None:
        without = self._columns.label(self._constraint.topology_key) < 0
        self._without_label = without if without.any() else None

    def parts(self, n_scored: int) -> FloatArray:
        offset = float(self._constraint.max_skew - 1)
        n_rows = self._columns.n_rows
        if self._counts is None:
            parts = np.full(n_rows, offset)
        else:
            parts = self._counts.by_row(n_rows) * go_log(float(n_scored + 2)) + offset
        if self._without_label is not None:
            parts[self._without_label] = 0.0
        return parts


class _ZoneCounts:
    """A soft constraint by any other key: pods are counted in the domains that feasible nodes belong to.

    `_members` has the number of scored rows by domain id + 1; those without the label come first.
    """

    __slots__ = ("_columns", "_constraint", "_counts", "_members", "_slots", "members_version")

    def __init__(self, constraint: SpreadConstraint, columns: NodeTable, namespace: str, pods: PodTable) -> None:
        self._constraint = constraint
        self._columns = columns
        self._counts = counts_of(constraint, namespace, pods)
        self._slots: IdArray = np.zeros(0, np.int32)
        self._members: IntArray = np.zeros(1, np.int64)
        self.members_version = 0

    @property
    def version(self) -> int:
        self._counts.refresh()
        return self._counts.version

    def rebuild(self, counted: BoolArray) -> None:
        """Count pods anew on the rows that count."""
        key = self._constraint.topology_key
        ids = self._columns.label(key)
        # QUIRK: a node without the label counts for the value "", should some node have that very value
        values = self._columns.label_values(key)
        if "" in values:
            ids = np.where(ids < 0, np.int32(values.index("")), ids)
        self._counts.rebuild(self._columns, np.where(counted, ids, np.int32(-1)))
        self._slots = ids + np.int32(1)

    def count_members(self, scored: BoolArray) -> None:
        self._members = np.bincount(self._slots[scored], minlength=len(self._counts.table))
        self.members_version += 1

    def change_members(self, rows: IntArray, scored: BoolArray) -> None:
        for row in rows.tolist():
            self._members[self._slots[row]] += 1 if scored[row] else -1
        self.members_version += 1

    def parts(self) -> FloatArray:
        return self.parts_by_domain().take(self._columns.label(self._constraint.topology_key))

    def rounded(self) -> tuple[IntArray, IntArray, BoolArray, IdArray]:
        """Return `parts` rounded by row and by domain, the scored domains, and the rows' domains.

        Where they are all there is, rounding by domain first is much less to do.
        """
        ids = self._columns.label(self._constraint.topology_key)
        by_domain = _round(self.parts_by_domain())
        return by_domain.take(ids), by_domain, self._members[1 : len(by_domain)] > 0, ids

    def parts_by_domain(self) -> FloatArray:
        """Return what each domain adds, and last what lacking the label does: nothing."""
        size = int(np.count_nonzero(self._members))
        offset = float(self._constraint.max_skew - 1)
        by_domain: FloatArray = self._counts.table.astype(np.float64) * go_log(float(size + 2)) + offset
        by_domain[-1] = 0.0
        return by_domain


class SoftSpread:
    """A pod's soft constraints over the nodes and pods of a snapshot (preScoreState).

    Parameters
    ----------
    requires_all : bool
        Whether nodes that lack some topology key are left out; not so with the system's default constraints.
    counts_on_nodes : bool
        Whether constraints by hostname count the pods on the nodes; else they take these for empty.
    """

    def __init__(
        self,
        constraints: tuple[SpreadConstraint, ...],
        *,
        namespace: str,
        inclusion: NodeInclusion,
        requires_all: bool,
        columns: NodeTable,
        pods: PodTable,
        counts_on_nodes: bool = True,
    ) -> None:
        self._constraints = constraints
        self._namespace = namespace
        self._pods = pods
        self._inclusion = inclusion
        self._requires_all = requires_all
        self._columns = columns
        self._node_version = -1
        self._ignored: BoolArray | None = None
        self._scored: BoolArray = np.zeros(0, bool)
        self._feasible: BoolArray = self._scored
        self._feasible_version = 0
        self._n_scored = 0
        self._terms: tuple[_NodeCounts | _ZoneCounts, ...] = tuple(
            _NodeCounts(c, columns, _node_counts(c, namespace, pods) if counts_on_nodes else None)
            if c.is_by_hostname
            else _ZoneCounts(c, columns, namespace, pods)
            for c in constraints
        )
        self._scores = SpreadScores(np.zeros(0, np.int64), None)
        self._scores_token: tuple[int, ...] = ()

    def on_empty_nodes(self) -> SoftSpread:
        """Return the same constraints where the nodes themselves have no pods; those of domains stay."""
        return SoftSpread(
            self._constraints,
            namespace=self._namespace,
            inclusion=self._inclusion,
            requires_all=self._requires_all,
            columns=self._columns,
            pods=self._pods,
            counts_on_nodes=False,
        )

    def scores(self, feasible: BoolArray) -> SpreadScores:
        """Return the raw scores of all rows, given which are feasible (PreScore and Score)."""
        if self._node_version != self._columns.node_version:
            self._rebuild(feasible)
        else:
            self._take_over(feasible)
        token = self._token()
        if token != self._scores_token:
            self._scores = self._sum_up()
            self._scores_token = token
        return self._scores

    def _token(self) -> tuple[int, ...]:
        versions = [term.version for term in self._terms]
        members = [term.members_version for term in self._terms if isinstance(term, _ZoneCounts)]
        # which feasible rows are ignored depends on every one of them
        feasible = self._feasible_version if self._ignored is not None else -1
        return (self._node_version, self._n_scored, feasible, *versions, *members)

    def _rebuild(self, feasible: BoolArray) -> None:
        columns = self._columns
        counted: BoolArray = columns.alive
        self._ignored = None
        if self._requires_all:
            counted = has_all_keys(columns, self._constraints)
            if not counted.all():
                self._ignored = ~counted
        for constraint, term in zip(self._constraints, self._terms, strict=True):
            if isinstance(term, _ZoneCounts):
                term.rebuild(self._inclusion.restrict(counted, columns, constraint))
            else:
                term.rebuild()
        self._node_version = columns.node_version
        self._count_members(feasible)

    def _count_members(self, feasible: BoolArray) -> None:
        self._feasible = feasible.copy()
        self._feasible_version += 1
        self._scored = self._feasible if self._ignored is None else self._feasible & ~self._ignored
        self._n_scored = int(np.count_nonzero(self._scored))
        for term in self._terms:
            if isinstance(term, _ZoneCounts):
                term.count_members(self._scored)

    def _take_over(self, feasible: BoolArray) -> None:
        """Follow the change of a few rows, which is what usually lies between two pods of a class."""
        changed = np.flatnonzero(feasible != self._feasible)
        if len(changed) == 0:
            return
        if len(changed) > _MAX_SINGLE_CHANGES:
            self._count_members(feasible)
            return
        self._feasible[changed] = feasible[changed]
        self._feasible_version += 1
        if self._ignored is not None:
            changed = changed[~self._ignored[changed]]
            self._scored[changed] = feasible[changed]
        self._n_scored = int(np.count_nonzero(self._scored))
        for term in self._terms:
            if isinstance(term, _ZoneCounts):
                term.change_members(changed, self._scored)

    def _sum_up(self) -> SpreadScores:
        only = self._terms[0]
        domains: DomainScores | None = None
        if len(self._terms) == 1 and isinstance(only, _ZoneCounts):
            raw, by_domain, is_scored, ids = only.rounded()
            if self._requires_all:
                whole = len(ids) == np.count_nonzero(self._feasible)
                domains = DomainScores(by_domain, is_scored, ids if whole else ids[self._feasible])
        else:
            parts = [
                term.parts() if isinstance(term, _ZoneCounts) else term.parts(self._n_scored) for term in self._terms
            ]
            raw = _round(functools.reduce(np.add, parts))
        ignored: BoolArray | None = None
        if self._ignored is not None:
            raw[self._ignored] = 0
            found = self._ignored[self._feasible]
            ignored = found if found.any() else None
        raw.flags.writeable = False
        return SpreadScores(raw, ignored, domains)


def normalize(state: SpreadScores, scores: IntArray) -> IntArray:
    """Turn counts of feasible nodes into 0..100, fewer is better (PodTopologySpread.NormalizeScore)."""
    if state.domains is not None:
        return _normalize_by_domain(state.domains)
    ignored = state.ignored
    if ignored is not None and ignored.all():
        return np.zeros_like(scores)
    counting = scores if ignored is None else scores[~ignored]
    highest = int(counting.max(initial=0))
    if highest == 0:
        normalized = np.full_like(scores, MAX_NODE_SCORE)
    else:
        lowest = int(counting.min())
        normalized = shares_of(highest + lowest - scores, highest)
    if ignored is not None:
        normalized[ignored] = 0
    return normalized


def _normalize_by_domain(domains: DomainScores) -> IntArray:
    counting = domains.raw[:-1][domains.is_scored]
    if len(counting) == 0:
        return np.zeros(len(domains.of_feasible), np.int64)
    highest, lowest = int(counting.max()), int(counting.min())
    if highest == 0:
        normalized = np.full_like(domains.raw, MAX_NODE_SCORE)
    else:
        normalized = shares_of(highest + lowest - domains.raw, highest)
    normalized[-1] = 0
    return normalized.take(domains.of_feasible)


def _node_counts(constraint: SpreadConstraint, namespace: str, pods: PodTable) -> Counts | None:
    """Return the pods that a constraint by hostname is about; None: no pods, as under an empty selector (QUIRK)."""
    selector = constraint.selector
    if selector.is_empty or selector.is_nothing:
        return None
    return pods.label_counts(PodsWithLabels(namespace, selector, skips_terminating=True))


def _round(values: FloatArray) -> IntArray:
    """Round half away from zero, for values that are not negative (math.Round)."""
    whole = values.astype(np.int64)
    whole += (values - whole) >= 0.5
    return whole
