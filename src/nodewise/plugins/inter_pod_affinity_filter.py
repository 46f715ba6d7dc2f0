"""Required pod affinity and anti-affinity: which domains have pods that must, or must not, be near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from nodewise.framework.plugin import PodsChange, Rejections
from nodewise.plugins.pod_affinity_terms import OwnTerms
from nodewise.state.affinity_terms import AffinityTerm, TermRole
from nodewise.state.columns import ALL_ROWS, Columns, NodeTable, Rows
from nodewise.state.domain_counts import DomainCounts, DomainTable
from nodewise.state.pod_info import PodInfo
from nodewise.state.pod_match import PodsOfTerms
from nodewise.state.pod_table import Counts, OwnedTerm
from nodewise.state.snapshot import Snapshot

NOT_NEAR = 1
TOO_NEAR = 2
UNWELCOME = 3

Deltas = dict[str, int]
"""By topology key: how much the domain of one row changes."""


@dataclass(frozen=True, slots=True)
class AffinityTables:
    """Counts of pods by domain, for each topology key.

    Attributes
    ----------
    near : tuple[DomainTable, ...]
        Pods that match all required affinity terms; a key for each term.
    is_first : bool
        Whether there are no such pods and the pod would be one itself, so that none is asked for.
    apart : tuple[DomainTable, ...]
        Pods that match a required anti-affinity term.
    unwelcome : tuple[DomainTable, ...]
        Pods with a required anti-affinity term that matches the pod.
    """

    near: tuple[DomainTable, ...]
    is_first: bool
    apart: tuple[DomainTable, ...]
    unwelcome: tuple[DomainTable, ...]

    def codes(self, columns: Columns, rows: Rows) -> Rejections:
        """Return what keeps the pod off each row (InterPodAffinity.Filter)."""
        codes = np.zeros(len(columns.alive[rows]), np.int64)
        for code, tables in ((UNWELCOME, self.unwelcome), (TOO_NEAR, self.apart)):
            for table in tables:
                codes[table.of(columns.label(table.key)[rows]) > 0] = code
        for table in self.near:
            ids = columns.label(table.key)[rows]
            codes[(ids < 0) if self.is_first else (table.of(ids) <= 0)] = NOT_NEAR
        return codes

    def code(self, columns: Columns, row: int) -> int:
        """Return what keeps the pod off one row."""
        for table in self.near:
            domain = int(columns.label(table.key)[row])
            if domain < 0 or (not self.is_first and table.of_domain(domain) <= 0):
                return NOT_NEAR
        for code, tables in ((TOO_NEAR, self.apart), (UNWELCOME, self.unwelcome)):
            for table in tables:
                if table.of_domain(int(columns.label(table.key)[row])) > 0:
                    return code
        return 0


class RequiredAffinity:
    """What required terms, a pod's own and those about it, say over a snapshot (preFilterState).

    Parameters
    ----------
    owned : Iterable[OwnedTerm]
        Terms of other pods that are about this pod.
    """

    def __init__(
        self,
        own: OwnTerms,
        owned: Iterable[OwnedTerm],
        *,
        namespace: str,
        labels: Mapping[str, str],
        snapshot: Snapshot,
    ) -> None:
        pods = snapshot.pods
        self._own = own
        self._namespace = namespace
        self._labels = labels
        self._snapshot = snapshot
        self._columns: NodeTable = snapshot.columns
        self._node_version = -1
        self._required = PodsOfTerms(own.required)
        self._matches_itself = own.match_own_pod(namespace, labels)
        near = pods.label_counts(self._required) if own.required else None
        near_keys = dict.fromkeys(term.topology_key for term in own.required)
        self._near = tuple(DomainCounts(key, ((near, 1),)) for key in near_keys if near is not None)
        self._apart = _by_key((term, pods.label_counts(PodsOfTerms((term,)))) for term in own.anti)
        self._unwelcome = _by_key(
            (owned_term[1], pods.owner_counts(owned_term))
            for owned_term in owned
            if owned_term[0] is TermRole.REQUIRED_ANTI_AFFINITY
        )
        self._all = (*self._near, *self._apart, *self._unwelcome)
        self._versions: tuple[int, ...] | None = None
        self._tables = AffinityTables((), False, (), ())
        self._codes: Rejections | None = None

    @property
    def has_terms(self) -> bool:
        """Whether there are, or were, any required terms to look at."""
        return bool(self._all)

    def codes(self, columns: Columns, rows: Rows) -> Rejections:
        """Return the rejections of rows; those of all rows are kept until something changes."""
        tables = self.tables()
        if columns is not self._columns or not isinstance(rows, slice) or rows != ALL_ROWS:
            return tables.codes(columns, rows)
        if self._codes is None:
            self._codes = tables.codes(columns, rows)
            self._codes.flags.writeable = False
        return self._codes

    def tables(self) -> AffinityTables:
        """Return the counts as they are now."""
        self._refresh()
        versions = tuple([counts.version for counts in self._all])
        if versions != self._versions:
            self._tables = AffinityTables(
                tuple(counts.as_table() for counts in self._near),
                self._matches_itself and not any(counts.n_nonzero() for counts in self._near),
                tuple(counts.as_table() for counts in self._apart),
                tuple(counts.as_table() for counts in self._unwelcome),
            )
            self._versions = versions
            self._codes = None
        return self._tables

    def is_skipped(self) -> bool:
        """Tell whether PreFilter takes the plugin out: no own terms, and no pod objects to this one."""
        if self._own.required or self._own.anti:
            return False
        self._refresh()
        return not any(counts.n_nonzero() for counts in self._unwelcome)

    def tables_with(self, change: PodsChange) -> AffinityTables | None:
        """Return the counts with other pods on one row, or less on others (AddPod, RemovePod); None: as they are."""
        if self.is_skipped():
            return None
        self._refresh()
        if change.elsewhere:
            others = self._without(change.elsewhere)
            return others._with_row(change) or others.tables()
        return self._with_row(change)

    def _with_row(self, change: PodsChange) -> AffinityTables | None:
        near: Deltas = {}
        apart: Deltas = {}
        unwelcome: Deltas = {}
        for sign, pods in ((1, change.added), (-1, change.removed)):
            for info in pods:
                self._change(info, sign, near, apart, unwelcome)
        if not (near or apart or unwelcome):
            return None
        row = change.row
        return AffinityTables(
            self._changed(self._near, near, row),
            self._matches_itself and self._near_is_empty(near, row),
            self._changed(self._apart, apart, row),
            self._changed(self._unwelcome, unwelcome, row),
        )

    def _without(self, gone: Sequence[tuple[int, PodInfo]]) -> RequiredAffinity:
        """Return the same over counts without some pods, which are not live."""
        changes: list[tuple[int, tuple[Deltas, Deltas, Deltas]]] = []
        for row, info in gone:
            deltas: tuple[Deltas, Deltas, Deltas] = ({}, {}, {})
            self._change(info, -1, *deltas)
            changes.append((row, deltas))
        other = copy(self)
        groups = [self._near, self._apart, self._unwelcome]
        for i, group in enumerate(groups):
            groups[i] = tuple(self._less(counts, [(row, deltas[i]) for row, deltas in changes]) for counts in group)
        other._near, other._apart, other._unwelcome = groups
        other._all = (*other._near, *other._apart, *other._unwelcome)
        other._versions = None
        return other

    def _less(self, counts: DomainCounts, changes: Iterable[tuple[int, Deltas]]) -> DomainCounts:
        ids = self._columns.label(counts.key)
        sums: Counter[int] = Counter()
        for row, deltas in changes:
            sums[int(ids[row])] += deltas.get(counts.key, 0)
        return counts.changed_by(sums)

    def _change(self, info: PodInfo, sign: int, near: Deltas, apart: Deltas, unwelcome: Deltas) -> None:
        meta = info.pod.metadata
        if self._own.required and self._required.matches(meta.namespace, meta.labels):
            for counts in self._near:
                near[counts.key] = near.get(counts.key, 0) + sign
        for term in self._own.anti:
            if PodsOfTerms((term,)).matches(meta.namespace, meta.labels):
                apart[term.topology_key] = apart.get(term.topology_key, 0) + sign
        affinity = info.pod.spec.affinity
        if affinity is not None and affinity.pod_anti_affinity is not None:
            namespace_labels = self._snapshot.listers.namespace_labels(self._namespace)
            for term in self._snapshot.pods.terms_of(info).required_anti_affinity:
                if term.matches(self._namespace, namespace_labels, self._labels):
                    unwelcome[term.topology_key] = unwelcome.get(term.topology_key, 0) + sign

    def _changed(self, group: Sequence[DomainCounts], deltas: Deltas, row: int) -> tuple[DomainTable, ...]:
        columns = self._columns
        tables = []
        for counts in group:
            domain = int(columns.label(counts.key)[row]) if counts.key in deltas else -1
            tables.append(counts.as_table(domain, deltas.get(counts.key, 0)))
        # a nominated pod may bring a topology key that no pod on a node asks about
        for key in deltas.keys() - {counts.key for counts in group}:
            zeros = np.zeros(len(columns.label_values(key)) + 1, np.int64)
            tables.append(DomainTable(key, zeros, int(columns.label(key)[row]), deltas[key]))
        return tuple(tables)

    def _near_is_empty(self, deltas: Deltas, row: int) -> bool:
        for counts in self._near:
            n_nonzero = counts.n_nonzero()
            domain = int(self._columns.label(counts.key)[row])
            if domain >= 0:
                old = int(counts.table[domain])
                n_nonzero += int(old + deltas.get(counts.key, 0) != 0) - int(old != 0)
            if n_nonzero:
                return False
        return True

    def _refresh(self) -> None:
        if self._node_version == self._columns.node_version:
            for counts in self._all:
                counts.refresh()
            return
        for counts in self._all:
            counts.rebuild(self._columns)
        self._node_version = self._columns.node_version


def _by_key(terms: Iterable[tuple[AffinityTerm, Counts]]) -> tuple[DomainCounts, ...]:
    """Add up the counts of terms with one topology key."""
    parts: dict[str, list[tuple[Counts, int]]] = {}
    for term, counts in terms:
        parts.setdefault(term.topology_key, []).append((counts, 1))
    return tuple(DomainCounts(key, found) for key, found in parts.items())
