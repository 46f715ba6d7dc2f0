"""Small clusters and pods with a bit of everything that plugins look at, for conformance checks."""

from __future__ import annotations

import random
from dataclasses import dataclass

from nodewise.api.objects import (
    Affinity,
    ContainerImage,
    LabelSelector,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
    replace,
)
from nodewise.testing.builders import make_node, make_pod

ZONES = ("a", "b", "c")
DISKS = ("ssd", "hdd")
APPS = ("web", "db", "batch")
IMAGES = ("app:1", "db:2", "tool:latest")
GPU = "example.com/gpu"
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Cluster:
    """Nodes, and pods that run on them."""

    nodes: tuple[Node, ...]
    pods: tuple[Pod, ...] = ()


def sample_clusters(seed: int = 0) -> list[Cluster]:
    """Return clusters of 0, 1, 7 and 23 nodes."""
    rng = random.Random(seed)
    return [_cluster(rng, n_nodes) for n_nodes in (0, 1, 7, 23)]


def _cluster(rng: random.Random, n_nodes: int) -> Cluster:
    nodes = tuple(sample_node(rng, f"node-{index}") for index in range(n_nodes))
    pods = tuple(sample_running_pod(rng, f"running-{index}", rng.choice(nodes).name) for index in range(3 * n_nodes))
    return Cluster(nodes, pods)


def sample_node(rng: random.Random, name: str) -> Node:
    """Return a node with some labels, taints, images, features and devices."""
    labels = {"topology.kubernetes.io/zone": rng.choice(ZONES), "rank": str(rng.randrange(5))}
    if rng.random() < 0.7:
        labels["disk"] = rng.choice(DISKS)
    taints = [f"dedicated={rng.choice(APPS)}:{effect}" for effect in ("NoSchedule", "PreferNoSchedule")]
    return make_node(
        name,
        cpu=rng.choice(("1", "4", "7500m")),
        memory=rng.choice(("2Gi", "8Gi")),
        pods=rng.choice((3, 110)),
        labels=labels,
        annotations={"note": rng.choice(APPS)},
        taints=[taint for taint in taints if rng.random() < 0.3],
        unschedulable=rng.random() < 0.15,
        resources={GPU: str(rng.randrange(1, 5))} if rng.random() < 0.3 else {},
        images=tuple(
            ContainerImage(names=(image,), size_bytes=rng.randrange(1, 900) * MEBIBYTE)
            for image in IMAGES
            if rng.random() < 0.4
        ),
        declared_features=("UserNamespacesHostNetworkSupport",) if rng.random() < 0.5 else (),
    )


def sample_running_pod(rng: random.Random, name: str, node_name: str) -> Pod:
    """Return a pod that runs on a node, with requests, perhaps host ports and affinity terms."""
    affinity = None
    if rng.random() < 0.3:
        term = _affinity_term(rng.choice(APPS))
        affinity = Affinity(
            pod_affinity=PodAffinity(preferred=(WeightedPodAffinityTerm(rng.randrange(1, 100), term),)),
            pod_anti_affinity=PodAffinity(required=(term,) if rng.random() < 0.3 else ()),
        )
    return make_pod(
        name,
        cpu=rng.choice((None, "100m", "1")),
        memory=rng.choice((None, "64Mi", "1Gi")),
        node=node_name,
        labels={"app": rng.choice(APPS)},
        host_ports=[rng.choice((80, 8080))] if rng.random() < 0.3 else (),
        affinity=affinity,
        priority=rng.choice((None, 0, 100)),
    )


def sample_pods() -> list[Pod]:
    """Return pending pods, each with one wish or several."""
    in_ssd = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement("disk", "In", ("ssd",)),))
    high_rank = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement("rank", "Gt", ("2",)),))
    named = NodeSelectorTerm(match_fields=(NodeSelectorRequirement("metadata.name", "In", ("node-0",)),))
    spread = TopologySpreadConstraint(
        max_skew=1,
        topology_key="topology.kubernetes.io/zone",
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels={"app": "web"}),
    )
    softly = replace(spread, when_unsatisfiable="ScheduleAnyway")
    term = _affinity_term("web")
    return [
        make_pod("plain"),
        make_pod("small", "100m", "64Mi", labels={"app": "web"}, image="app:1"),
        make_pod("large", "3", "6Gi", priority=10),
        make_pod("gpu", "1", resources={GPU: "2"}),
        make_pod("tolerant", tolerations=["*"]),
        make_pod("dedicated", tolerations=["dedicated=web:NoSchedule", "node.kubernetes.io/unschedulable"]),
        make_pod("selecting", node_selector={"disk": "ssd"}, image="tool"),
        make_pod("affine", affinity=_node_affinity(in_ssd, high_rank)),
        make_pod("named", affinity=_node_affinity(named)),
        make_pod("ported", "50m", host_ports=[80]),
        make_pod("featured", host_network=True, host_users=False),
        make_pod("spread", labels={"app": "web"}, topology_spread_constraints=(spread,)),
        make_pod("spread-softly", labels={"app": "web"}, topology_spread_constraints=(softly,)),
        make_pod("near", affinity=Affinity(pod_affinity=PodAffinity(required=(term,)))),
        make_pod("apart", labels={"app": "db"}, affinity=Affinity(pod_anti_affinity=PodAffinity(required=(term,)))),
        make_pod("gated", namespace="team-a", labels={"app": "batch"}, preemption_policy="Never"),
    ]


def variants(pod: Pod) -> list[Pod]:
    """Return pods that differ from one in a single thing each, for checks of class keys."""
    meta, spec = pod.metadata, pod.spec
    renamed = replace(meta, name=f"{meta.name}-2", uid=f"{meta.uid}-2")
    first = spec.containers[0]
    specs = [
        replace(spec, priority=(spec.priority or 0) + 1),
        replace(spec, tolerations=(*spec.tolerations, *make_pod("x", tolerations=["dedicated"]).spec.tolerations)),
        replace(spec, node_selector={**(spec.node_selector or {}), "disk": "hdd"}),
        replace(spec, containers=(replace(first, image="db:2"),)),
        replace(spec, containers=make_pod("x", "2", "3Gi").spec.containers),
        replace(spec, containers=make_pod("x", host_ports=[8080]).spec.containers),
        replace(spec, host_network=True, host_users=False),
        replace(spec, affinity=None),
        replace(spec, topology_spread_constraints=()),
    ]
    metas = [
        renamed,
        replace(meta, labels={**meta.labels, "pod-index": "7"}),
        replace(meta, labels={**meta.labels, "app": "db"}),
        replace(meta, annotations={"note": "db"}),
        replace(meta, namespace="team-b"),
    ]
    changed: list[Pod] = [replace(pod, spec=spec) for spec in specs]
    changed += [replace(pod, metadata=meta) for meta in metas]
    return changed


def _affinity_term(app: str) -> PodAffinityTerm:
    return PodAffinityTerm(
        label_selector=LabelSelector(match_labels={"app": app}), topology_key="topology.kubernetes.io/zone"
    )


def _node_affinity(required: NodeSelectorTerm, preferred: NodeSelectorTerm | None = None) -> Affinity:
    soft = None if preferred is None else (PreferredSchedulingTerm(5, preferred), PreferredSchedulingTerm(1, required))
    return Affinity(node_affinity=NodeAffinity(required=NodeSelector((required,)), preferred=soft))
