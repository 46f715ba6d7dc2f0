"""InterPodAffinity node by node and pod by pod, written from the description of its behaviour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from nodewise.api.objects import Node, Pod, PodAffinity, PodAffinityTerm, WeightedPodAffinityTerm
from nodewise.api.selectors import Selector
from nodewise.state.listers import Listers
from tests.plugins.small_world import SmallWorld

Pair = tuple[str, str]
Change = tuple[str, Sequence[Pod], Sequence[Pod]]  # node, removed, added


def near(pod: Pod) -> PodAffinity:
    return (pod.spec.affinity and pod.spec.affinity.pod_affinity) or PodAffinity()


def apart(pod: Pod) -> PodAffinity:
    return (pod.spec.affinity and pod.spec.affinity.pod_anti_affinity) or PodAffinity()


def is_about(term: PodAffinityTerm, owner: Pod, pod: Pod, listers: Listers, *, by_existing: bool) -> bool:
    """Tell whether a term of one pod is about another.

    A pending pod's namespaceSelector sees only Namespace objects; that of a pod on a node sees the namespace's labels.
    """
    namespace = pod.metadata.namespace
    if not term.namespaces and term.namespace_selector is None:
        in_namespace = namespace == owner.metadata.namespace
    else:
        chosen = Selector.from_label_selector(term.namespace_selector)
        known = by_existing or chosen.is_empty or namespace in listers.namespaces
        in_namespace = namespace in term.namespaces or (known and chosen.matches(listers.namespace_labels(namespace)))
    return in_namespace and Selector.from_label_selector(term.label_selector).matches(pod.metadata.labels)


class Tables:
    """The three maps from (topology key, value) to a count, and how they change."""

    def __init__(self, pod: Pod, listers: Listers) -> None:
        self.pod = pod
        self.listers = listers
        self.unwelcome: Counter[Pair] = Counter()
        self.near: Counter[Pair] = Counter()
        self.apart: Counter[Pair] = Counter()

    def matches_all(self, other: Pod) -> bool:
        terms = near(self.pod).required
        return bool(terms) and all(is_about(t, self.pod, other, self.listers, by_existing=False) for t in terms)

    def count(self, node: Node, other: Pod, sign: int) -> None:
        labels = node.metadata.labels

        def add(table: Counter[Pair], term: PodAffinityTerm) -> None:
            if term.topology_key in labels:
                pair = (term.topology_key, labels[term.topology_key])
                table[pair] += sign
                if table[pair] == 0:
                    del table[pair]

        for term in apart(other).required:
            if is_about(term, other, self.pod, self.listers, by_existing=True):
                add(self.unwelcome, term)
        if self.matches_all(other):
            for term in near(self.pod).required:
                add(self.near, term)
        for term in apart(self.pod).required:
            if is_about(term, self.pod, other, self.listers, by_existing=False):
                add(self.apart, term)

    def code(self, node: Node) -> int:
        labels = node.metadata.labels
        terms = near(self.pod).required
        if any(term.topology_key not in labels for term in terms):
            return 1
        if any(self.near[term.topology_key, labels[term.topology_key]] <= 0 for term in terms) and not (
            not +self.near and self.matches_all(self.pod)
        ):
            return 1
        if any(
            self.apart[t.topology_key, labels.get(t.topology_key, "")] > 0
            for t in apart(self.pod).required
            if t.topology_key in labels
        ):
            return 2
        return 3 if any(self.unwelcome[pair] > 0 for pair in labels.items()) else 0


def filter_codes(world: SmallWorld, pod: Pod, *changes: Change) -> dict[str, int]:
    """Give 0, 1 (affinity), 2 (own anti-affinity) or 3 (other pods' anti-affinity) by node name."""
    tables = Tables(pod, world.snapshot.listers)
    for other in world.pods.values():
        tables.count(world.nodes[other.spec.node_name], other, 1)
    if not tables.unwelcome and not near(pod).required and not apart(pod).required:
        return dict.fromkeys(world.nodes, 0)  # PreFilter says Skip, so that AddPod is not called either
    for name, removed, added in changes:
        for sign, pods in ((-1, removed), (1, added)):
            for other in pods:
                tables.count(world.nodes[name], other, sign)
    return {name: tables.code(node) for name, node in world.nodes.items()}


def scores(
    world: SmallWorld, pod: Pod, feasible: Sequence[str], *, hard_weight: int = 1, ignores_existing: bool = False
) -> dict[str, tuple[int, int]] | None:
    """Give raw and normalized scores of feasible nodes; None: nothing to score by."""
    has_preferred = bool(near(pod).preferred or apart(pod).preferred)
    if ignores_existing and not has_preferred:
        return None
    table: Counter[Pair] = Counter()
    listers = world.snapshot.listers
    for other in world.pods.values():
        labels = world.nodes[other.spec.node_name].metadata.labels
        for term, weight in _about_each_other(pod, other, listers, hard_weight):
            if term.topology_key in labels:
                table[term.topology_key, labels[term.topology_key]] += weight
    if not table:
        return None
    raw = {name: sum(table[pair] for pair in world.nodes[name].metadata.labels.items()) for name in feasible}
    lowest, highest = min(raw.values(), default=0), max(raw.values(), default=0)
    spread = highest - lowest
    return {name: (s, int(100.0 * ((s - lowest) / spread)) if spread else 0) for name, s in raw.items()}


def _about_each_other(
    pod: Pod, other: Pod, listers: Listers, hard_weight: int
) -> Iterable[tuple[PodAffinityTerm, int]]:
    for sign, own in ((1, near(pod).preferred), (-1, apart(pod).preferred)):
        yield from _weighted(own, sign, pod, other, listers, by_existing=False)
    if hard_weight > 0:
        for term in near(other).required:
            if is_about(term, other, pod, listers, by_existing=True):
                yield term, hard_weight
    for sign, theirs in ((1, near(other).preferred), (-1, apart(other).preferred)):
        yield from _weighted(theirs, sign, other, pod, listers, by_existing=True)


def _weighted(
    terms: Iterable[WeightedPodAffinityTerm], sign: int, owner: Pod, pod: Pod, listers: Listers, *, by_existing: bool
) -> Iterable[tuple[PodAffinityTerm, int]]:
    for preferred in terms:
        if is_about(preferred.pod_affinity_term, owner, pod, listers, by_existing=by_existing):
            yield preferred.pod_affinity_term, sign * preferred.weight
