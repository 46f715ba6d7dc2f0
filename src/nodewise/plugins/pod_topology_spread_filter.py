"""Hard topology spread constraints: how many pods each domain has, and how many it may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nodewise.framework.plugin import PodsChange, Rejections
from nodewise.plugins.spread_constraints import NodeInclusion, SpreadConstraint, has_all_keys
from nodewise.state.columns import ALL_ROWS, BoolArray, Columns, IdArray, IntArray, NodeTable, Rows
from nodewise.state.domain_counts import DomainCounts, DomainTable
from nodewise.state.pod_info import PodInfo
from nodewise.state.pod_match import PodsWithLabels
from nodewise.state.pod_table import PodTable

MISSING_LABEL = 1
TOO_SKEWED = 2

_NO_DOMAIN = -1


@dataclass(frozen=True, slots=True)
class Lowest:
    """The smallest counts among the domains of a constraint; 0 where there are no domains.

    Attributes
    ----------
    n_lowest : int
        How many domains have the smallest count.
    second : int | None
        The next larger count, None where there is none.
    """

    count: int
    n_lowest: int
    second: int | None

    def with_change(self, old: int, new: int) -> int:
        """Return the smallest count when one domain's changes (criticalPaths.update)."""
        if old > self.count or self.n_lowest > 1:
            return min(new, self.count)
        return new if self.second is None else min(new, self.second)


@dataclass(frozen=True, slots=True)
class DomainLimit:
    """The counts of a constraint's domains, and the largest that lets the pod in."""

    table: DomainTable
    limit: int

    def codes(self, ids: IdArray) -> IntArray:
        """Return the rejection of each row, given the ids of their label values."""
        table = self.table
        if len(ids) == 1:
            return np.array([self.code(int(ids[0]))])
        # one verdict for each domain, the last one for rows without the label
        verdicts = (table.amounts > self.limit) * TOO_SKEWED
        if table.changed >= 0:
            verdicts[table.changed] = self.code(table.changed)
        verdicts[-1] = MISSING_LABEL
        return verdicts.take(ids)

    def code(self, domain: int) -> int:
        """Return the rejection of a row of a domain."""
        if domain < 0:
            return MISSING_LABEL
        return TOO_SKEWED if self.table.of_domain(domain) > self.limit else 0


def codes_of(limits: tuple[DomainLimit, ...], columns: Columns, rows: Rows) -> Rejections:
    """Return for each row the rejection of the first constraint that rejects it (PodTopologySpread.Filter)."""
    codes = limits[0].codes(columns.label(limits[0].table.key)[rows])
    for limit in limits[1:]:
        later = limit.codes(columns.label(limit.table.key)[rows])
        codes = np.where(codes != 0, codes, later)
    return codes


class _Domains:
    """The domains of one constraint."""

    __slots__ = (
        "_lowest",
        "_lowest_version",
        "_registered",
        "constraint",
        "counts",
        "eligible",
        "n_domains",
        "self_match",
    )

    def __init__(self, constraint: SpreadConstraint, counts: DomainCounts, self_match: int) -> None:
        self.constraint = constraint
        self.counts = counts
        self.self_match = self_match
        self.eligible: BoolArray = np.zeros(0, bool)
        self.n_domains = 0
        self._registered: np.ndarray[tuple[int], np.dtype[np.intp]] | None = None
        self._lowest = Lowest(0, 0, None)
        self._lowest_version = -1

    def rebuild(self, columns: NodeTable, eligible: BoolArray) -> None:
        self.eligible = eligible
        ids = columns.label(self.constraint.topology_key)
        slots = np.where(eligible, ids, np.int32(_NO_DOMAIN))
        self.counts.rebuild(columns, slots)
        n_values = len(self.counts.table) - 1
        is_registered = np.bincount(slots + 1, minlength=n_values + 1)[1:] > 0
        self.n_domains = int(np.count_nonzero(is_registered))
        self._registered = None if self.n_domains == n_values else np.flatnonzero(is_registered)

    def with_counts(self, counts: DomainCounts) -> _Domains:
        """Return the same domains with other counts, which are not live."""
        other = _Domains(self.constraint, counts, self.self_match)
        other.eligible, other.n_domains, other._registered = self.eligible, self.n_domains, self._registered
        return other

    def lowest(self) -> Lowest:
        if self._lowest_version != self.counts.version:
            self._lowest = self._find_lowest()
            self._lowest_version = self.counts.version
        return self._lowest

    def _find_lowest(self) -> Lowest:
        if self.n_domains == 0:
            return Lowest(0, 0, None)
        table = self.counts.table
        counts = table[:-1] if self._registered is None else table.take(self._registered)
        count = int(counts.min())
        is_lowest = counts == count
        n_lowest = int(np.count_nonzero(is_lowest))
        second = int(counts[~is_lowest].min()) if n_lowest == 1 and self.n_domains > 1 else None
        return Lowest(count, n_lowest, second)

    def limit(self, domain: int = _NO_DOMAIN, delta: int = 0) -> DomainLimit:
        """Return how full domains may be, when the count of one of them changes."""
        c = self.constraint
        lowest = self.lowest().count
        if delta:
            old = int(self.counts.table[domain])
            lowest = self.lowest().with_change(old, old + delta)
        if self.n_domains < c.min_domains:
            lowest = 0
        table = self.counts.as_table(domain, delta) if delta else self.counts.as_table()
        return DomainLimit(table, c.max_skew + lowest - self.self_match)


class HardSpread:
    """A pod's hard constraints over the nodes and pods of a snapshot (preFilterState).

    Parameters
    ----------
    labels : Mapping[str, str]
        The pod's, for whether it counts itself.
    """

    def __init__(
        self,
        constraints: tuple[SpreadConstraint, ...],
        *,
        namespace: str,
        labels: Mapping[str, str],
        inclusion: NodeInclusion,
        columns: NodeTable,
        pods: PodTable,
    ) -> None:
        self._namespace = namespace
        self._inclusion = inclusion
        self._columns = columns
        self._node_version = -1
        self._domains = tuple(
            _Domains(c, counts_of(c, namespace, pods), int(c.selector.matches(labels))) for c in constraints
        )
        self._limits: tuple[DomainLimit, ...] = ()
        self._limits_versions: tuple[int, ...] = ()
        self._codes: Rejections | None = None

    def limits(self) -> tuple[DomainLimit, ...]:
        """Return how full the domains of each constraint may be now."""
        self._refresh()
        versions = tuple([domains.counts.version for domains in self._domains])
        if versions != self._limits_versions:
            self._limits = tuple(domains.limit() for domains in self._domains)
            self._limits_versions = versions
            self._codes = None
        return self._limits

    def codes(self, columns: Columns, rows: Rows) -> Rejections:
        """Return the rejections of rows; those of all rows are kept until something changes."""
        limits = self.limits()
        if columns is not self._columns or not isinstance(rows, slice) or rows != ALL_ROWS:
            return codes_of(limits, columns, rows)
        if self._codes is None:
            self._codes = codes_of(limits, columns, rows)
            self._codes.flags.writeable = False
        return self._codes

    def limits_with(self, change: PodsChange) -> tuple[DomainLimit, ...]:
        """Return how full domains may be with other pods on one row, or less pods on others (AddPod, RemovePod).

        QUIRK: terminating pods, and pods under an empty selector, are not counted but are added and taken away.
        """
        limits = list(self.limits())
        for i, domains in enumerate(self._domains):
            if change.elsewhere:
                domains = self._without(domains, change.elsewhere)
                limits[i] = domains.limit()
            if not domains.eligible[change.row]:
                continue
            delta = self._n_matching(domains, change.added) - self._n_matching(domains, change.removed)
            if delta:
                key = domains.constraint.topology_key
                limits[i] = domains.limit(int(self._columns.label(key)[change.row]), delta)
        return tuple(limits)

    def _without(self, domains: _Domains, gone: tuple[tuple[int, PodInfo], ...]) -> _Domains:
        """Return the domains of a constraint without some pods."""
        ids = self._columns.label(domains.constraint.topology_key)
        deltas: Counter[int] = Counter()
        for row, pod in gone:
            if domains.eligible[row]:
                deltas[int(ids[row])] -= self._n_matching(domains, (pod,))
        return domains.with_counts(domains.counts.changed_by(deltas))

    def _n_matching(self, domains: _Domains, pods: tuple[PodInfo, ...]) -> int:
        selector = domains.constraint.selector
        metas = [info.pod.metadata for info in pods]
        return sum(meta.namespace == self._namespace and selector.matches(meta.labels) for meta in metas)

    def _refresh(self) -> None:
        columns = self._columns
        if self._node_version == columns.node_version:
            for domains in self._domains:
                domains.counts.refresh()
            return
        has_keys = has_all_keys(columns, [domains.constraint for domains in self._domains])
        for domains in self._domains:
            domains.rebuild(columns, self._inclusion.restrict(has_keys, columns, domains.constraint))
        self._node_version = columns.node_version


def counts_of(constraint: SpreadConstraint, namespace: str, pods: PodTable) -> DomainCounts:
    """Return the counts by domain of the pods that a constraint is about.

    QUIRK: an empty selector counts no pods at all (countPodsMatchSelector).
    """
    selector = constraint.selector
    if selector.is_empty or selector.is_nothing:
        return DomainCounts(constraint.topology_key, ())
    match = PodsWithLabels(namespace, selector, skips_terminating=True)
    return DomainCounts(constraint.topology_key, ((pods.label_counts(match), 1),))
