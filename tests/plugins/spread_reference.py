"""PodTopologySpread node by node and pod by pod, written from the description of its behaviour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodewise.api.objects import Node, Pod, TopologySpreadConstraint
from nodewise.api.selectors import Selector
from nodewise.api.tolerations import untolerated_taint
from nodewise.plugins.go_log import go_log
from tests.plugins.small_world import HOSTNAME, SmallWorld

Change = tuple[str, Sequence[Pod], Sequence[Pod]]  # node, removed, added


def selector_of(constraint: TopologySpreadConstraint, pod: Pod) -> Selector:
    labels = pod.metadata.labels
    return Selector.from_label_selector(constraint.label_selector).with_equal(
        {key: labels[key] for key in constraint.match_label_keys if key in labels}
    )


def counts_for(constraint: TopologySpreadConstraint, pod: Pod, node: Node) -> bool:
    """Tell whether a node passes the inclusion policies."""
    if constraint.node_affinity_policy in (None, "Honor"):
        for key, value in (pod.spec.node_selector or {}).items():
            if node.metadata.labels.get(key) != value:
                return False
    if constraint.node_taints_policy == "Honor":
        return untolerated_taint(pod.spec.tolerations, node.spec.taints) is None
    return True


def count(pods: Iterable[Pod], selector: Selector, namespace: str) -> int:
    if selector.is_empty:
        return 0
    return sum(
        not pod.is_terminating and pod.metadata.namespace == namespace and selector.matches(pod.metadata.labels)
        for pod in pods
    )


def has_all(node: Node, constraints: Sequence[TopologySpreadConstraint]) -> bool:
    return all(c.topology_key in node.metadata.labels for c in constraints)


def filter_codes(world: SmallWorld, pod: Pod, *changes: Change) -> dict[str, int]:
    """Give 0, 1 (missing label) or 2 (too skewed) by node name."""
    hard = [c for c in pod.spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]
    counts: list[dict[str, int]] = []
    for c in hard:
        selector = selector_of(c, pod)
        found: dict[str, int] = {}
        for node in world.nodes.values():
            if has_all(node, hard) and counts_for(c, pod, node):
                value = node.metadata.labels[c.topology_key]
                found[value] = found.get(value, 0) + count(world.pods_on(node.name), selector, pod.metadata.namespace)
        for name, removed, added in changes:
            node = world.nodes[name]
            if has_all(node, hard) and counts_for(c, pod, node):
                for sign, pods in ((-1, removed), (1, added)):
                    for other in pods:
                        if other.metadata.namespace == pod.metadata.namespace and selector.matches(
                            other.metadata.labels
                        ):
                            found[node.metadata.labels[c.topology_key]] += sign
        counts.append(found)
    return {name: _code(node, pod, hard, counts) for name, node in world.nodes.items()}


def _code(node: Node, pod: Pod, hard: list[TopologySpreadConstraint], counts: list[dict[str, int]]) -> int:
    for c, found in zip(hard, counts, strict=True):
        value = node.metadata.labels.get(c.topology_key)
        if value is None:
            return 1
        lowest = min(found.values()) if found and len(found) >= (c.min_domains or 1) else 0
        itself = int(selector_of(c, pod).matches(pod.metadata.labels))
        if found.get(value, 0) + itself - lowest > c.max_skew:
            return 2
    return 0


def scores(world: SmallWorld, pod: Pod, feasible: Sequence[str]) -> dict[str, tuple[int, int]] | None:
    """Give raw and normalized scores of feasible nodes; None: nothing to score by."""
    own = pod.spec.topology_spread_constraints
    return soft_scores(world, pod, [c for c in own if c.when_unsatisfiable == "ScheduleAnyway"], feasible)


def soft_scores(
    world: SmallWorld,
    pod: Pod,
    soft: Sequence[TopologySpreadConstraint],
    feasible: Sequence[str],
    *,
    requires_all: bool = True,
) -> dict[str, tuple[int, int]] | None:
    if not soft:
        return None
    ignored = {name for name in feasible if requires_all and not has_all(world.nodes[name], soft)}
    counting = [name for name in feasible if name not in ignored]
    domains: list[dict[str, int]] = []
    weights = []
    for c in soft:
        found: dict[str, int] = {}
        if c.topology_key != HOSTNAME:
            for name in counting:
                found[world.nodes[name].metadata.labels.get(c.topology_key, "")] = 0
        size = len(counting) if c.topology_key == HOSTNAME else len(found)
        for node in world.nodes.values():
            if (requires_all and not has_all(node, soft)) or not counts_for(c, pod, node):
                continue
            value = node.metadata.labels.get(c.topology_key, "")
            if value in found:
                found[value] += count(world.pods_on(node.name), selector_of(c, pod), pod.metadata.namespace)
        domains.append(found)
        weights.append(go_log(float(size + 2)))
    raw = {name: _raw(world, pod, name, soft, domains, weights) if name in counting else 0 for name in feasible}
    highest = max((raw[name] for name in counting), default=0)
    lowest = min((raw[name] for name in counting), default=0)
    normalized = {
        name: 0 if name in ignored else 100 if highest == 0 else 100 * (highest + lowest - raw[name]) // highest
        for name in feasible
    }
    return {name: (raw[name], normalized[name]) for name in feasible}


def _raw(
    world: SmallWorld,
    pod: Pod,
    name: str,
    soft: Sequence[TopologySpreadConstraint],
    domains: list[dict[str, int]],
    weights: list[float],
) -> int:
    score = 0.0
    for c, found, weight in zip(soft, domains, weights, strict=True):
        value = world.nodes[name].metadata.labels.get(c.topology_key)
        if value is None:
            continue
        if c.topology_key == HOSTNAME:
            n_pods = count(world.pods_on(name), selector_of(c, pod), pod.metadata.namespace)
        else:
            n_pods = found[value]
        score += n_pods * weight + float(c.max_skew - 1)
    whole = int(score)
    return whole + (score - whole >= 0.5)
