"""Keeps pods near, or away from, other pods."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.config.arguments import InterPodAffinityArgs
from nodewise.framework.events import ClusterEventWithHint
from nodewise.framework.plugin import Handle, PodsChange, PreFilterResult, Rejections
from nodewise.framework.status import Status
from nodewise.plugins.inter_pod_affinity_filter import (
    NOT_NEAR,
    TOO_NEAR,
    UNWELCOME,
    AffinityTables,
    RequiredAffinity,
)
from nodewise.plugins.inter_pod_affinity_hints import events_of_affinity
from nodewise.plugins.inter_pod_affinity_score import AffinityScores, PreferredAffinity, normalize
from nodewise.plugins.pod_affinity_terms import NO_OWN_TERMS, OwnTermsReader
from nodewise.state.columns import BoolArray, Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

REJECTIONS = {
    NOT_NEAR: Status.unresolvable("node(s) didn't match pod affinity rules"),
    TOO_NEAR: Status.unschedulable("node(s) didn't match pod anti-affinity rules"),
    UNWELCOME: Status.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules"),
}


@dataclass(frozen=True, slots=True)
class AffinityState:
    """What the plugin prepares for pods of one class; None where it takes itself out."""

    required: RequiredAffinity | None
    preferred: PreferredAffinity | None
    pre_filter: PreFilterResult
    change: PodsChange | None = None
    tables: AffinityTables | None = None
    """Counts with the pods of one row changed; None: as they are."""

    @property
    def skips_filter(self) -> bool:
        """Whether there is nothing to filter by (PreFilter Skip)."""
        return self.required is None

    @property
    def skips_now(self) -> bool:
        """Whether there is nothing to filter by as long as no pod comes that minds this one."""
        return self.required is None or self.required.is_skipped()


class InterPodAffinity:
    """Plugin InterPodAffinity."""

    name: ClassVar[str] = "InterPodAffinity"
    reads: ClassVar[Reads] = Reads.DOMAIN | Reads.NODE_SET | Reads.NODE | Reads.PODS

    def __init__(self, args: InterPodAffinityArgs | None, handle: Handle) -> None:
        self._args = args if args is not None else InterPodAffinityArgs()
        self._handle = handle
        self._own_terms = OwnTermsReader(handle.listers)

    # --- preparing ----------------------------------------------------------------------------------------------------

    def class_key(self, pod: Pod) -> Hashable:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        owned = self._handle.snapshot.pods.owned_terms_matching(namespace, labels)
        # the pod table interns terms and keeps them, so that identity is equality
        about = frozenset(map(id, owned)) if owned else None
        own = self._own_terms.of(pod)
        if own is NO_OWN_TERMS:
            return about
        return (about, own.key, own.match_own_pod(namespace, labels))

    def compile(self, pod: Pod, snapshot: Snapshot) -> AffinityState | None:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        own = self._own_terms.of(pod)
        if own.error:
            return AffinityState(None, None, PreFilterResult(Status.unresolvable(f"parsing pod: {own.error}")))
        owned = snapshot.pods.owned_terms_matching(namespace, labels)
        required = RequiredAffinity(own, owned, namespace=namespace, labels=labels, snapshot=snapshot)
        preferred: PreferredAffinity | None = None
        if own.preferred or not self._args.ignore_preferred_terms_of_existing_pods:
            preferred = PreferredAffinity(
                own,
                owned,
                hard_weight=max(0, self._args.hard_pod_affinity_weight),
                columns=snapshot.columns,
                pods=snapshot.pods,
            )
        state = AffinityState(
            required if required.has_terms else None,
            preferred if preferred is not None and preferred.has_terms else None,
            PreFilterResult(),
        )
        return None if state.required is None and state.preferred is None else state

    # --- filtering ----------------------------------------------------------------------------------------------------

    def pre_filter(self, state: AffinityState) -> PreFilterResult:
        return state.pre_filter

    def filter(self, state: AffinityState, columns: Columns, rows: Rows) -> Rejections:
        """Reject rows that lack pods to be near, or have pods to be away from (InterPodAffinity.Filter)."""
        if state.tables is not None:
            return state.tables.codes(columns, rows)
        if state.required is None:
            return np.zeros(len(columns.alive[rows]), np.int64)
        return state.required.codes(columns, rows)

    def filter_row(self, state: AffinityState, columns: Columns, row: int) -> int:
        if state.tables is not None:
            return state.tables.code(columns, row)
        return state.required.tables().code(columns, row) if state.required is not None else 0

    def rejection(self, state: AffinityState, code: int) -> Status:
        return REJECTIONS[code]

    def with_pods(self, state: AffinityState, columns: Columns, change: PodsChange) -> AffinityState:
        if state.required is None:
            return state
        change = change if state.change is None else state.change.then(change)
        tables = state.required.tables_with(change)
        return AffinityState(state.required, state.preferred, state.pre_filter, change, tables)

    # --- scoring ------------------------------------------------------------------------------------------------------

    def pre_score(self, state: AffinityState, columns: Columns, feasible: BoolArray) -> AffinityScores | None:
        return state.preferred.scores() if state.preferred is not None else None

    def score(self, state: AffinityScores, columns: Columns, rows: Rows) -> IntArray:
        return state.raw[rows]

    def normalize(self, state: AffinityScores, scores: IntArray) -> IntArray:
        return normalize(scores)

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return events_of_affinity()
