"""The pod affinity terms of a pod, ready for matching."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from nodewise.api.objects import Affinity, Pod, PodAffinityTerm
from nodewise.api.selectors import Selector


class TermRole(enum.Enum):
    """What an existing pod's term does to a newcomer that it matches."""

    REQUIRED_ANTI_AFFINITY = enum.auto()
    REQUIRED_AFFINITY = enum.auto()
    PREFERRED_AFFINITY = enum.auto()
    PREFERRED_ANTI_AFFINITY = enum.auto()


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Pods in some namespaces with some labels, seen over a topology key (framework.AffinityTerm).

    Attributes
    ----------
    namespaces : frozenset[str]
        Names that count whatever their labels.
    namespace_selector : Selector
        Further namespaces, by their labels.
    selector : Selector
        The pods' labels.
    topology_key : str
        The node label whose values are the domains.
    """

    namespaces: frozenset[str]
    namespace_selector: Selector
    selector: Selector
    topology_key: str

    def matches(self, namespace: str, namespace_labels: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        """Tell whether the term is about a pod."""
        return (
            namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class PodAffinityTerms:
    """All pod affinity terms of a pod; weights of preferred anti-affinity are negative."""

    required_affinity: tuple[AffinityTerm, ...]
    required_anti_affinity: tuple[AffinityTerm, ...]
    preferred: tuple[tuple[AffinityTerm, int], ...]

    def owned(self) -> dict[tuple[TermRole, AffinityTerm], int]:
        """Return the terms by role with their multiplicity (required) or summed weight (preferred); never 0."""
        owned: dict[tuple[TermRole, AffinityTerm], int] = {}
        weighted = [
            *(((TermRole.REQUIRED_ANTI_AFFINITY, term), 1) for term in self.required_anti_affinity),
            *(((TermRole.REQUIRED_AFFINITY, term), 1) for term in self.required_affinity),
            *(((_preferred_role(weight), term), weight) for term, weight in self.preferred),
        ]
        for key, weight in weighted:
            owned[key] = owned.get(key, 0) + weight
        return owned


def _preferred_role(weight: int) -> TermRole:
    # Roles of their own, so that sums are 0 only where nobody owns the term: opposite terms must not cancel.
    return TermRole.PREFERRED_AFFINITY if weight > 0 else TermRole.PREFERRED_ANTI_AFFINITY


NO_TERMS = PodAffinityTerms((), (), ())


def affinity_terms(pod: Pod) -> PodAffinityTerms:
    """Return the terms of a pod; SelectorError when one of its selectors cannot be read."""
    affinity = pod.spec.affinity
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS
    return _compiled(msgspec.json.encode((affinity.pod_affinity, affinity.pod_anti_affinity)), pod.metadata.namespace)


_Parts = tuple[msgspec.Raw | None, msgspec.Raw | None]


@lru_cache(maxsize=4096)
def _compiled(encoded: bytes, namespace: str) -> PodAffinityTerms:
    raw_affinity, raw_anti = msgspec.json.decode(encoded, type=list[msgspec.Raw])
    affinity = msgspec.json.decode(
        b'{"podAffinity":' + bytes(raw_affinity) + b',"podAntiAffinity":' + bytes(raw_anti) + b"}", type=Affinity
    )
    near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    return PodAffinityTerms(
        tuple(_term(term, namespace) for term in (near.required if near else ())),
        tuple(_term(term, namespace) for term in (apart.required if apart else ())),
        (
            *((_term(p.pod_affinity_term, namespace), p.weight) for p in (near.preferred if near else ())),
            *((_term(p.pod_affinity_term, namespace), -p.weight) for p in (apart.preferred if apart else ())),
        ),
    )


def _term(term: PodAffinityTerm, namespace: str) -> AffinityTerm:
    own = not term.namespaces and term.namespace_selector is None
    return AffinityTerm(
        frozenset((namespace,) if own else term.namespaces),
        Selector.from_label_selector(term.namespace_selector),
        Selector.from_label_selector(term.label_selector),
        term.topology_key,
    )
