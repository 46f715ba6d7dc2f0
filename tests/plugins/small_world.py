"""Small random clusters that change: for plugins that count pods over domains."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

from nodewise.api.objects import LabelSelector, LabelSelectorRequirement, Node, Pod, replace
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.testing.builders import make_cache, make_node, make_pod

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
RACK = "rack"
KEYS = (HOSTNAME, ZONE, RACK)
NAMESPACES = ("default", "other")
DELETED_AT = datetime(2026, 1, 1, tzinfo=UTC)


def random_node(rng: Random, name: str) -> Node:
    """Give a node that may lack labels; its hostname need not be its own."""
    labels = {}
    if rng.random() < 0.85:
        labels[ZONE] = rng.choice(("a", "b", "c", ""))
    if rng.random() < 0.7:
        labels[RACK] = rng.choice("12")
    if rng.random() < 0.5:
        labels["disk"] = "ssd"
    node = make_node(name, labels=labels, taints=["dedicated=db:NoSchedule"] if rng.random() < 0.3 else ())
    if rng.random() < 0.15:
        hostname = {} if rng.random() < 0.5 else {HOSTNAME: "shared"}
        node = replace(node, metadata=replace(node.metadata, labels={**labels, **hostname}))
    return node


def random_labels(rng: Random) -> dict[str, str]:
    labels = {"app": rng.choice(("web", "db"))} if rng.random() < 0.9 else {}
    return labels | ({"track": rng.choice("xy")} if rng.random() < 0.5 else {})


def random_selector(rng: Random) -> LabelSelector | None:
    """Give a selector: of one app mostly, and also none, one for everything, and expressions."""
    kind = rng.random()
    if kind < 0.1:
        return None
    if kind < 0.2:
        return LabelSelector()
    if kind < 0.4:
        return LabelSelector(
            match_expressions=(LabelSelectorRequirement("track", rng.choice(("Exists", "DoesNotExist"))),)
        )
    return LabelSelector(match_labels={"app": rng.choice(("web", "db"))})


class SmallWorld:
    """A snapshot kept up to date by events, and the plain objects it is made of."""

    def __init__(self, rng: Random, listers: Listers | None = None) -> None:
        self.rng = rng
        self._n_made = 0
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.cache = make_cache(())
        self.snapshot = Snapshot(listers)
        for _ in range(rng.randint(1, 6)):
            self.add_node()
        for _ in range(rng.randint(0, 10)):
            self.add_pod(make_pod("?", labels=random_labels(rng)))
        self.snapshot.update(self.cache)

    def _name(self, kind: str) -> str:
        self._n_made += 1
        return f"{kind}-{self._n_made}"

    def add_node(self) -> None:
        node = random_node(self.rng, self._name("node"))
        self.nodes[node.name] = node
        self.cache.add_node(node)

    def placed(self, pod: Pod, node_name: str) -> Pod:
        """Give a pod like this one that runs on a node, perhaps in another namespace, perhaps ending."""
        name = self._name("pod")
        meta = replace(
            pod.metadata,
            name=name,
            uid=name,
            namespace=self.rng.choice((pod.metadata.namespace, *NAMESPACES)),
            deletion_timestamp=DELETED_AT if self.rng.random() < 0.2 else None,
        )
        return Pod(metadata=meta, spec=replace(pod.spec, node_name=node_name))

    def add_pod(self, pod: Pod) -> None:
        made = self.placed(pod, self.rng.choice(sorted(self.nodes)))
        self.pods[made.metadata.uid] = made
        self.cache.add_pod(PodInfo(made))

    def remove_pod(self) -> None:
        uid = self.rng.choice(sorted(self.pods))
        self.cache.remove_pod(PodInfo(self.pods.pop(uid)))

    def remove_node(self) -> None:
        name = self.rng.choice(sorted(self.nodes))
        for uid in [uid for uid, pod in self.pods.items() if pod.spec.node_name == name]:
            self.cache.remove_pod(PodInfo(self.pods.pop(uid)))
        del self.nodes[name]
        self.cache.remove_node(name)

    def change_node(self) -> None:
        name = self.rng.choice(sorted(self.nodes))
        self.nodes[name] = random_node(self.rng, name)
        self.cache.update_node(self.nodes[name])

    def change(self, pod: Pod) -> None:
        """Let something happen; pods that come are like the given one."""
        kind = self.rng.random()
        if kind < 0.5:
            self.add_pod(pod if self.rng.random() < 0.7 else make_pod("?", labels=random_labels(self.rng)))
        elif kind < 0.75 and self.pods:
            self.remove_pod()
        elif kind < 0.85:
            self.change_node()
        elif kind < 0.93:
            self.add_node()
        elif len(self.nodes) > 1:
            self.remove_node()
        self.snapshot.update(self.cache)

    def pods_on(self, name: str) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.spec.node_name == name]

    def random_change_of(self, name: str, like: Pod) -> tuple[list[Pod], list[Pod]]:
        """Give pods to take from a node and pods to put there instead."""
        removed = [pod for pod in self.pods_on(name) if self.rng.random() < 0.5]
        added = [self.placed(like, name) for _ in range(self.rng.randint(0, 2))]
        return removed, added

    def random_removals_but_of(self, name: str) -> list[tuple[str, list[Pod], list[Pod]]]:
        """Give pods to take from all other nodes, by node."""
        others = [other for other in self.nodes if other != name]
        return [(other, [pod for pod in self.pods_on(other) if self.rng.random() < 0.5], []) for other in others]
