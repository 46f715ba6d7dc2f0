"""Preferred pod affinity and anti-affinity: which domains have pods that are good, or bad, to be near."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nodewise.framework.plugin import MAX_NODE_SCORE
from nodewise.plugins.pod_affinity_terms import OwnTerms
from nodewise.state.affinity_terms import TermRole
from nodewise.state.columns import IntArray, NodeTable
from nodewise.state.domain_counts import DomainCounts
from nodewise.state.pod_match import PodsOfTerms
from nodewise.state.pod_table import Counts, OwnedTerm, PodTable

_PREFERRED_ROLES = (TermRole.PREFERRED_AFFINITY, TermRole.PREFERRED_ANTI_AFFINITY)


@dataclass(frozen=True, slots=True)
class AffinityScores:
    """Raw scores, (n_rows,) int64: the summed weights of a row's domains; may be negative."""

    raw: IntArray


class PreferredAffinity:
    """What preferred terms, a pod's own and those about it, say over a snapshot (preScoreState).

    Parameters
    ----------
    owned : Iterable[OwnedTerm]
        Terms of other pods that are about this pod.
    hard_weight : int
        What a required affinity term of another pod counts.
    """

    def __init__(
        self, own: OwnTerms, owned: Iterable[OwnedTerm], *, hard_weight: int, columns: NodeTable, pods: PodTable
    ) -> None:
        parts: dict[str, list[tuple[Counts, int]]] = {}
        for term, weight in own.preferred:
            parts.setdefault(term.topology_key, []).append((pods.label_counts(PodsOfTerms((term,))), weight))
        for owned_term in owned:
            role, term = owned_term
            weight = hard_weight if role is TermRole.REQUIRED_AFFINITY else int(role in _PREFERRED_ROLES)
            if weight:
                parts.setdefault(term.topology_key, []).append((pods.owner_counts(owned_term), weight))
        self._domains = tuple(DomainCounts(key, found) for key, found in parts.items())
        self._columns = columns
        self._node_version = -1
        self._versions: tuple[int, ...] = ()
        self._scores: AffinityScores | None = None

    @property
    def has_terms(self) -> bool:
        """Whether there are, or were, any terms to score by."""
        return bool(self._domains)

    def scores(self) -> AffinityScores | None:
        """Return the raw scores of all rows; None when no pod near any node matters (PreScore and Score)."""
        columns = self._columns
        if self._node_version != columns.node_version:
            for domains in self._domains:
                domains.rebuild(columns)
            self._node_version = columns.node_version
        else:
            for domains in self._domains:
                domains.refresh()
        versions = tuple([domains.version for domains in self._domains])
        if versions != self._versions:
            self._scores = self._sum_up()
            self._versions = versions
        return self._scores

    def _sum_up(self) -> AffinityScores | None:
        weighing = [domains for domains in self._domains if domains.n_nonzero()]
        if not weighing and not any(domains.has_counts() for domains in self._domains):
            return None
        raw: IntArray | None = None
        for domains in weighing:
            part = domains.table.take(self._columns.label(domains.key))
            raw = part if raw is None else raw + part
        if raw is None:
            raw = np.zeros(self._columns.n_rows, np.int64)
        raw.flags.writeable = False
        return AffinityScores(raw)


def normalize(scores: IntArray) -> IntArray:
    """Spread scores over 0..100 in float64, truncating (InterPodAffinity.NormalizeScore)."""
    if len(scores) == 0:
        return scores
    lowest, highest = int(scores.min()), int(scores.max())
    if highest == lowest:
        return np.zeros_like(scores)
    return (float(MAX_NODE_SCORE) * ((scores - lowest) / float(highest - lowest))).astype(np.int64)
