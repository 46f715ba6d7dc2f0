"""Which events may let a pod fit that InterPodAffinity rejected.

Terms are taken as they are written: a namespace selector is matched against no labels at all, as kube-scheduler's hints
do, so that `{}` is about every namespace and any other one about nearly none. A selector that cannot be read raises
SelectorError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodewise.api.objects import Node, Pod
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    always_queue,
    register,
)
from nodewise.state.affinity_terms import AffinityTerm, affinity_terms

_NO_LABELS: Mapping[str, str] = {}


def events_of_affinity() -> list[ClusterEventWithHint]:
    """Return what the plugin registers (InterPodAffinity.EventsToRegister)."""
    pod_changes = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
    return [
        register(EventResource.ASSIGNED_POD, pod_changes, after_pod_change),
        register(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL, always_queue),
        register(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, after_node_change),
    ]


def after_pod_change(pod: Pod, old: Pod | None, new: Pod | None) -> QueueingHint:
    """Queue when another pod came to be near, or one to be away from went, or changed its labels so."""
    if not all(other.is_assigned_or_nominated for other in (old, new) if other is not None):
        return SKIP
    terms = affinity_terms(pod)
    near, apart = terms.required_affinity, terms.required_anti_affinity
    if new is not None:
        if _is_matched_by_all(near, new) and (old is None or not _is_matched_by_all(near, old)):
            return QUEUE
        has_left = old is not None and _is_matched_by_any(apart, old) and not _is_matched_by_any(apart, new)
        return QUEUE if has_left else SKIP
    assert old is not None
    if _is_matched_by_any(apart, old):
        return QUEUE
    return QUEUE if _is_matched_by_any(affinity_terms(old).required_anti_affinity, pod) else SKIP


def after_node_change(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
    """Queue when a node came to a domain of an affinity term, or left one of an anti-affinity term.

    Any new node may do for a pod with anti-affinity: where the key is missing nothing is in the way.
    """
    terms = affinity_terms(pod)
    now = new.metadata.labels
    if old is None:
        has_key = any(term.topology_key in now for term in terms.required_affinity)
        return QUEUE if has_key or terms.required_anti_affinity else SKIP
    before = old.metadata.labels
    for term in terms.required_affinity:
        if term.topology_key in now and now[term.topology_key] != before.get(term.topology_key):
            return QUEUE
    for term in terms.required_anti_affinity:
        if term.topology_key in before and before[term.topology_key] != now.get(term.topology_key):
            return QUEUE
    return SKIP


def _is_matched_by_all(terms: Iterable[AffinityTerm], pod: Pod) -> bool:
    """Tell whether all terms are about a pod; no terms are about none (podMatchesAllAffinityTerms)."""
    found = [_is_about(term, pod) for term in terms]
    return bool(found) and all(found)


def _is_matched_by_any(terms: Iterable[AffinityTerm], pod: Pod) -> bool:
    return any(_is_about(term, pod) for term in terms)


def _is_about(term: AffinityTerm, pod: Pod) -> bool:
    return term.matches(pod.metadata.namespace, _NO_LABELS, pod.metadata.labels)
