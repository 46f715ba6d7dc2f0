"""Keeps pods to the nodes their selectors match, and prefers nodes that match preferred terms."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Node, NodeSelector, Pod, PreferredSchedulingTerm
from nodewise.config.arguments import NodeAffinityArgs
from nodewise.errors import PluginError
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.framework.node_selector import (
    NAME_FIELD,
    NodeSelectorMatcher,
    RequiredNodeAffinity,
    TermMatcher,
    required_affinity_key,
)
from nodewise.framework.normalize import default_normalize
from nodewise.framework.plugin import Handle, PreFilterResult, Rejections
from nodewise.framework.status import Status
from nodewise.state.columns import Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

PASSES, NOT_ENFORCED, NOT_REQUIRED = range(3)
REJECTIONS = {
    NOT_ENFORCED: Status.unresolvable("node(s) didn't match scheduler-enforced node affinity"),
    NOT_REQUIRED: Status.unresolvable("node(s) didn't match Pod's node affinity/selector"),
}
CONFLICT = Status.unresolvable("pod affinity terms conflict")
NO_RESTRICTION = PreFilterResult()
_MAX_REMEMBERED = 4096

WeightedTerm = tuple[TermMatcher, int]


@dataclass(frozen=True, slots=True)
class AffinityState:
    """What a pod requires and prefers; `preferred` is None when it has no preferred list at all."""

    required: RequiredNodeAffinity | None
    node_names: PreFilterResult
    preferred: tuple[WeightedTerm, ...] | None


class NodeAffinity:
    """Plugin NodeAffinity; `addedAffinity` of its arguments holds for every pod of the profile."""

    name: ClassVar[str] = "NodeAffinity"
    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, args: NodeAffinityArgs | None, handle: Handle) -> None:
        added = args.added_affinity if args is not None else None
        self._required: dict[Hashable, RequiredNodeAffinity | None] = {}
        self._added: NodeSelectorMatcher | None = None
        self._added_preferred: tuple[WeightedTerm, ...] | None = None
        if added is not None and added.required is not None:
            self._added = NodeSelectorMatcher(added.required)
            if self._added.parse_errors:
                raise PluginError(_unreadable("addedAffinity.required", self._added.parse_errors))
        if added is not None and added.preferred:
            self._added_preferred = _weighted(added.preferred, "addedAffinity.preferred")

    def class_key(self, pod: Pod) -> Hashable:
        affinity = pod.spec.affinity
        node_affinity = affinity.node_affinity if affinity is not None else None
        if node_affinity is None:
            return required_affinity_key(pod) if pod.spec.node_selector else None
        return (required_affinity_key(pod), node_affinity.preferred)

    def compile(self, pod: Pod, snapshot: Snapshot) -> AffinityState | None:
        required = RequiredNodeAffinity.of(pod)
        affinity = pod.spec.affinity
        node_affinity = affinity.node_affinity if affinity is not None else None
        preferred = node_affinity.preferred if node_affinity is not None else None
        has_added = self._added is not None or self._added_preferred is not None
        if required is None and preferred is None and not has_added:
            return None
        return AffinityState(
            required,
            _pre_filter(node_affinity.required if node_affinity is not None else None),
            None if preferred is None else _weighted(preferred, pod.key),
        )

    def pre_filter(self, state: AffinityState) -> PreFilterResult:
        """Leave only the nodes that the terms name, if every term names some (NodeAffinity.PreFilter)."""
        return state.node_names

    def filter(self, state: AffinityState, columns: Columns, rows: Rows) -> Rejections:
        """Reject nodes outside the added affinity, then those outside the pod's own (NodeAffinity.Filter)."""
        codes = np.zeros(len(columns.alive[rows]), np.int64)
        if state.required is not None:
            codes[~state.required.mask(columns, rows)] = NOT_REQUIRED
        if self._added is not None:
            codes[~self._added.matches(columns, rows)] = NOT_ENFORCED
        return codes

    def rejection(self, state: AffinityState, code: int) -> Status:
        return REJECTIONS[code]

    def score(self, state: AffinityState, columns: Columns, rows: Rows) -> IntArray | None:
        """Add up the weights of the preferred terms that match (NodeAffinity.Score)."""
        if state.preferred is None and self._added_preferred is None:
            return None
        scores = np.zeros(len(columns.alive[rows]), np.int64)
        for matcher, weight in (*(self._added_preferred or ()), *(state.preferred or ())):
            scores += weight * matcher.matches(columns, rows)
        return scores

    def normalize(self, state: AffinityState, scores: IntArray) -> IntArray:
        return default_normalize(scores, reverse=False)

    def events_to_register(self) -> list[ClusterEventWithHint]:
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL
        return [register(EventResource.NODE, node_changes, self._after_node_change)]

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        """Queue when the pod's own affinity matches the node and did not match it before.

        Of the added affinity only the present counts: a node that it matches newly is skipped if the pod's matched it.
        """
        if self._added is not None and not self._added.matches_node(new):
            return SKIP
        required = self._required_of(pod)
        if required is None:
            return QUEUE if old is None else SKIP
        if not required.matches_node(new):
            return SKIP
        return QUEUE if old is None or not required.matches_node(old) else SKIP

    def _required_of(self, pod: Pod) -> RequiredNodeAffinity | None:
        """Return what a pod requires, read once for all pods that require the same."""
        key = required_affinity_key(pod)
        found = self._required.get(key)
        if found is None and key is not None:
            if len(self._required) >= _MAX_REMEMBERED:
                self._required.clear()
            found = self._required[key] = RequiredNodeAffinity.of(pod)
        return found


def _pre_filter(required: NodeSelector | None) -> PreFilterResult:
    """Return the nodes named by all values of each term's metadata.name In requirements, terms ORed."""
    if required is None or not required.node_selector_terms:
        return NO_RESTRICTION
    names: set[str] = set()
    for term in required.node_selector_terms:
        named = [r.values for r in term.match_fields if r.key == NAME_FIELD and r.operator == "In"]
        if not named:
            return NO_RESTRICTION
        names |= set(named[0]).intersection(*named[1:])
    return PreFilterResult(node_names=frozenset(names)) if names else PreFilterResult(status=CONFLICT)


def _weighted(terms: Iterable[PreferredSchedulingTerm], where: str) -> tuple[WeightedTerm, ...]:
    """Read preferred terms, those with weight 0 or without requirements left out before their reading."""
    weighted = [
        (TermMatcher(term.preference, f"[{index}]"), term.weight) for index, term in enumerate(terms) if term.weight
    ]
    errors = [error for matcher, _ in weighted for error in matcher.parse_errors]
    if errors:
        raise PluginError(_unreadable(where, errors))
    return tuple((matcher, weight) for matcher, weight in weighted if not matcher.is_empty)


def _unreadable(where: str, errors: Sequence[str]) -> str:
    shown = errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"
    return f"NodeAffinity: {where}: {shown}"
