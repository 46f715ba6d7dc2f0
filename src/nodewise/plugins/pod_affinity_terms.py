"""A pending pod's own affinity terms, with namespace selectors resolved."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

import msgspec

from nodewise.api.objects import Affinity, Pod, PodAffinity
from nodewise.errors import SelectorError
from nodewise.state.affinity_terms import AffinityTerm, affinity_terms
from nodewise.state.listers import Listers
from nodewise.state.pod_match import PodsOfTerms, resolve_namespaces

_MAX_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class OwnTerms:
    """What a pod asks of the pods around it.

    Attributes
    ----------
    key : Hashable
        Equal for equal terms over equal namespaces.
    preferred : tuple[tuple[AffinityTerm, int], ...]
        With weights, negative for anti-affinity.
    error : str
        Why the terms cannot be read; empty when they can.
    """

    key: Hashable
    required: tuple[AffinityTerm, ...] = ()
    anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[tuple[AffinityTerm, int], ...] = ()
    error: str = ""

    def match_own_pod(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Tell whether the pod is one that its own required affinity is about."""
        return PodsOfTerms(self.required).matches(namespace, labels)


NO_OWN_TERMS = OwnTerms(None)


class OwnTermsReader:
    """Reads pods' own terms, remembering them until a lister changes."""

    __slots__ = ("_known", "_listers", "_version")

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._version = -1
        self._known: dict[Hashable, OwnTerms] = {}

    def of(self, pod: Pod) -> OwnTerms:
        """Return the terms of a pod."""
        affinity = pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return NO_OWN_TERMS
        if self._version != self._listers.version or len(self._known) > _MAX_REMEMBERED:
            self._known.clear()
            self._version = self._listers.version
        key = (
            pod.metadata.namespace,
            msgspec.json.encode(affinity.pod_affinity),
            msgspec.json.encode(affinity.pod_anti_affinity),
        )
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._read(pod, affinity, key)
        return found

    def _read(self, pod: Pod, affinity: Affinity, key: Hashable) -> OwnTerms:
        try:
            terms = affinity_terms(pod)
        except SelectorError:
            return OwnTerms(key, error=_parse_error(pod, affinity))
        namespaces = self._listers.namespaces
        required = tuple(resolve_namespaces(term, namespaces) for term in terms.required_affinity)
        anti = tuple(resolve_namespaces(term, namespaces) for term in terms.required_anti_affinity)
        preferred = tuple((resolve_namespaces(term, namespaces), weight) for term, weight in terms.preferred)
        names = tuple(term.namespaces for term in (*required, *anti, *(term for term, _ in preferred)))
        return OwnTerms((key, names), required, anti, preferred)


def _parse_error(pod: Pod, affinity: Affinity) -> str:
    """Say what cannot be read, list by list (PodInfo.Update)."""
    near, apart = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()
    parts: list[tuple[str, Affinity]] = [
        ("requiredAffinityTerms", Affinity(pod_affinity=PodAffinity(required=near.required))),
        ("requiredAntiAffinityTerms", Affinity(pod_affinity=PodAffinity(required=apart.required))),
        ("preferredAffinityTerms", Affinity(pod_affinity=PodAffinity(preferred=near.preferred))),
        ("preferredAntiAffinityTerms", Affinity(pod_affinity=PodAffinity(preferred=apart.preferred))),
    ]
    with_affinity: Callable[[Affinity], Pod] = lambda part: msgspec.structs.replace(  # noqa: E731
        pod, spec=msgspec.structs.replace(pod.spec, affinity=part)
    )
    errors: list[str] = []
    for name, part in parts:
        try:
            affinity_terms(with_affinity(part))
        except SelectorError as error:
            errors.append(f"{name}: {error}")
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
