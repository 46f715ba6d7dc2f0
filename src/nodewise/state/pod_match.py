"""Which pods count for a spread constraint or for pod affinity terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nodewise.api.objects import Namespace
from nodewise.api.selectors import NOTHING, Selector
from nodewise.state.affinity_terms import AffinityTerm

_NO_LABELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class PodsWithLabels:
    """Pods of one namespace with some labels."""

    namespace: str
    selector: Selector
    skips_terminating: bool

    @property
    def equality_pairs(self) -> tuple[tuple[str, str], ...]:
        return self.selector.equality_pairs

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return namespace == self.namespace and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class PodsOfTerms:
    """Pods that every one of some resolved affinity terms is about; no terms, no pods (podMatchesAllAffinityTerms)."""

    terms: tuple[AffinityTerm, ...]

    @property
    def equality_pairs(self) -> tuple[tuple[str, str], ...]:
        return tuple(pair for term in self.terms for pair in term.selector.equality_pairs)

    @property
    def skips_terminating(self) -> bool:
        return False

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        # labels of the namespace play no part: `resolve_namespaces` has looked at them
        return bool(self.terms) and all(term.matches(namespace, _NO_LABELS, labels) for term in self.terms)


def resolve_namespaces(term: AffinityTerm, namespaces: Mapping[str, Namespace]) -> AffinityTerm:
    """Turn a pending pod's namespaceSelector into names (mergeAffinityTermNamespacesIfNotEmpty).

    An empty selector stays: it means every namespace, those without a Namespace object included.
    """
    selector = term.namespace_selector
    if selector.is_empty:
        return term
    found = {name for name, namespace in namespaces.items() if selector.matches(namespace.metadata.labels)}
    return AffinityTerm(term.namespaces | found, NOTHING, term.selector, term.topology_key)
