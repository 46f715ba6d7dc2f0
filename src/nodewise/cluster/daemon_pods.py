"""Which nodes a DaemonSet runs on, and what its pods have beside their template."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.api.objects import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    Toleration,
    replace,
)
from nodewise.api.tolerations import untolerated_taint

_NO_EXECUTE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NO_SCHEDULE_TAINTS = (
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
)
_HOST_NETWORK_TAINT = "node.kubernetes.io/network-unavailable"


def with_daemon_tolerations(spec: PodSpec) -> PodSpec:
    """Add the tolerations that every daemon pod has (AddOrUpdateDaemonPodTolerations)."""
    added = [Toleration(key=key, operator="Exists", effect="NoExecute") for key in _NO_EXECUTE_TAINTS]
    no_schedule = _NO_SCHEDULE_TAINTS + ((_HOST_NETWORK_TAINT,) if spec.host_network else ())
    added += [Toleration(key=key, operator="Exists", effect="NoSchedule") for key in no_schedule]
    tolerations = list(spec.tolerations)
    for toleration in added:
        for index, old in enumerate(tolerations):
            if (old.key, old.effect, old.operator, old.value) == (toleration.key, toleration.effect, "Exists", ""):
                tolerations[index] = toleration
                break
        else:
            tolerations.append(toleration)
    return replace(spec, tolerations=tuple(tolerations))


def pinned_to(spec: PodSpec, node_name: str) -> PodSpec:
    """Pin a daemon pod to its node, in place of the template's required node affinity."""
    pin = NodeSelectorTerm(match_fields=(NodeSelectorRequirement("metadata.name", "In", (node_name,)),))
    affinity = spec.affinity or Affinity()
    node_affinity = replace(affinity.node_affinity or NodeAffinity(), required=NodeSelector((pin,)))
    return replace(spec, affinity=replace(affinity, node_affinity=node_affinity))


def pinned_node(spec: PodSpec) -> str:
    """Return the node that a daemon pod is on or pinned to, empty when it is neither."""
    if spec.node_name or spec.affinity is None or spec.affinity.node_affinity is None:
        return spec.node_name
    required = spec.affinity.node_affinity.required
    for term in required.node_selector_terms if required is not None else ():
        for requirement in term.match_fields:
            if requirement.key == "metadata.name" and len(requirement.values) == 1:
                return requirement.values[0]
    return ""


def should_run(spec: PodSpec, node: Node) -> bool:
    """Tell whether a daemon pod with this spec (tolerations added) belongs on the node (NodeShouldRunDaemonPod)."""
    if spec.node_name not in ("", node.name):
        return False
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in (spec.node_selector or {}).items()):
        return False
    node_affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    if node_affinity is not None and node_affinity.required is not None:
        terms = node_affinity.required.node_selector_terms
        if not any(_term_matches(term, node.name, labels) for term in terms):
            return False
    return untolerated_taint(spec.tolerations, node.spec.taints) is None


def _term_matches(term: NodeSelectorTerm, node_name: str, labels: Mapping[str, str]) -> bool:
    """Tell whether every requirement holds; a term without any matches no node."""
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {"metadata.name": node_name}
    return all(_meets(r, labels) for r in term.match_expressions) and all(_meets(r, fields) for r in term.match_fields)


def _meets(requirement: NodeSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(requirement, value)
    return False


def _compares(requirement: NodeSelectorRequirement, value: str) -> bool:
    try:
        found, bound = int(value), int(requirement.values[0])
    except (ValueError, IndexError):
        return False
    return found > bound if requirement.operator == "Gt" else found < bound
