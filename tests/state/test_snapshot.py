"""The incremental snapshot equals one made from nothing, whatever happened before."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nodewise.api.objects import (
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
    LabelSelector,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    ResourceRequirements,
    Taint,
)
from nodewise.api.selectors import Selector
from nodewise.state.affinity_terms import TermRole
from nodewise.state.cache import SchedulerCache
from nodewise.state.pod_info import PodInfo
from nodewise.state.pod_match import PodsWithLabels
from nodewise.state.snapshot import Snapshot

NODE_NAMES = [f"n{i}" for i in range(6)]
ZONE = "topology.kubernetes.io/zone"
APPS = ["web", "db"]
ANTI_AFFINITY = Affinity(
    pod_anti_affinity=PodAffinity(
        required=(PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": "web"}), topology_key=ZONE),)
    )
)


def make_node(name: str, zone: str, cpu: int, tainted: bool) -> Node:
    return Node(
        metadata=ObjectMeta(name=name, labels={ZONE: zone, "kubernetes.io/hostname": name}),
        spec=NodeSpec(taints=(Taint("k", "v", "NoSchedule"),) if tainted else (), unschedulable=tainted),
        status=NodeStatus(
            allocatable={"cpu": cpu, "memory": "8Gi", "pods": 10, "example.com/gpu": cpu // 2},
            images=(ContainerImage((f"img-{zone}",), 100), ContainerImage(("img",), 50 + cpu)),
        ),
    )


def make_pod(uid: str, node_name: str, app: str, cpu: int, port: int, repels: bool) -> PodInfo:
    requests = {"cpu": f"{cpu}m", "example.com/gpu": cpu % 2}
    container = Container(
        name="c",
        ports=(ContainerPort(container_port=port, host_port=port),) if port else (),
        resources=ResourceRequirements(requests=requests),
    )
    spec = PodSpec(containers=(container,), node_name=node_name, affinity=ANTI_AFFINITY if repels else None)
    return PodInfo(Pod(ObjectMeta(name=uid, namespace="ns", uid=uid, labels={"app": app}), spec))


def facts(snapshot: Snapshot) -> dict[str, Any]:
    """Return everything a plugin could read, by node name."""
    columns = snapshot.columns
    labels = {key: columns.label(key) for key in (ZONE, "kubernetes.io/hostname", "absent")}
    images = {name: columns.image(name) for name in ("img", "img-a", "img-b")}
    web = snapshot.pods.label_counts(PodsWithLabels("ns", Selector.from_map({"app": "web"}), True))
    out: dict[str, Any] = {}
    for name, row in columns.rows.items():
        out[name] = {
            "alive": bool(columns.alive[row]),
            "allocatable": {r: int(columns.allocatable[columns.resource_row(r), row]) for r in RESOURCES},
            "requested": {r: int(columns.requested[columns.resource_row(r), row]) for r in RESOURCES},
            "non_zero": columns.non_zero[:, row].tolist(),
            "taints": columns.taint_sets.values[columns.taint_set[row]],
            "unschedulable": bool(columns.unschedulable[row]),
            "labels": {
                key: columns.label_values(key)[ids[row]] if ids[row] >= 0 else None for key, ids in labels.items()
            },
            "images": {image: (int(c.size_bytes[row]), int(c.n_nodes[row])) for image, c in images.items()},
            "ports": sorted(columns.row_ports.get(row, ())),
            "pods": sorted(snapshot.pods_on(row)),
            "web": int(web.by_row(columns.n_rows)[row]),
            "min_priority": int(columns.min_priority[row]),
            "rank": int(columns.name_rank[row]),
        }
    return out


RESOURCES = ("cpu", "memory", "pods", "example.com/gpu")


class SnapshotMachine(RuleBasedStateMachine):
    """Random events on one cache, watched by one snapshot that is updated now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = SchedulerCache()
        self.snapshot = Snapshot()
        self.pods: dict[str, PodInfo] = {}
        self.nodes: dict[str, Node] = {}
        self.counter = 0
        self.zone_order: list[str] = []
        self.watched: list[Any] = []

    @rule(name=st.sampled_from(NODE_NAMES), zone=st.sampled_from("ab"), cpu=st.integers(1, 8), tainted=st.booleans())
    def set_node(self, name: str, zone: str, cpu: int, tainted: bool) -> None:
        self.nodes[name] = make_node(name, zone, cpu, tainted)
        self.cache.add_node(self.nodes[name])

    @rule(name=st.sampled_from(NODE_NAMES))
    def remove_node(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            self.cache.remove_node(name)

    @rule(
        name=st.sampled_from(NODE_NAMES),
        app=st.sampled_from(APPS),
        cpu=st.integers(0, 5),
        port=st.sampled_from([0, 0, 80, 81]),
        repels=st.booleans(),
        assumed=st.booleans(),
    )
    def add_pod(self, name: str, app: str, cpu: int, port: int, repels: bool, assumed: bool) -> None:
        self.counter += 1
        info = make_pod(f"p{self.counter}", name, app, cpu, port, repels)
        if assumed:
            self.cache.assume_pod(info)
        else:
            self.cache.add_pod(info)
        self.pods[info.uid] = info

    @rule(data=st.data(), app=st.sampled_from(APPS), name=st.sampled_from(NODE_NAMES))
    def change_pod(self, data: st.DataObject, app: str, name: str) -> None:
        added = [uid for uid in self.pods if not self.cache.is_assumed_pod(uid)]
        if added:
            old = self.pods[data.draw(st.sampled_from(added))]
            new = make_pod(old.uid, name, app, 3, 0, False)
            self.cache.update_pod(old, new)
            self.pods[old.uid] = new

    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        if self.pods:
            uid = data.draw(st.sampled_from(sorted(self.pods)))
            info = self.pods.pop(uid)
            if self.cache.is_assumed_pod(uid):
                self.cache.forget_pod(info)
            else:
                self.cache.remove_pod(info)

    @rule()
    def update(self) -> None:
        self.snapshot.update(self.cache)
        # Live counts: once asked for, they are kept up to date by later events.
        term = next(
            (t for info in self.pods.values() for t in self.snapshot.pods.terms_of(info).required_anti_affinity), None
        )
        if term is not None and not self.watched:
            self.watched = [self.snapshot.pods.owner_counts((TermRole.REQUIRED_ANTI_AFFINITY, term)), term]

    @invariant()
    def incremental_equals_rebuilt(self) -> None:
        self.snapshot.update(self.cache)
        fresh = Snapshot()
        fresh.update(self.cache)
        mine, theirs = facts(self.snapshot), facts(fresh)
        for entry in (*mine.values(), *theirs.values()):
            for image in list(entry["images"]):
                size, n_nodes = entry["images"][image]
                entry["images"][image] = bool(size and n_nodes)  # counts are frozen per node, as in kube-scheduler
        assert mine == theirs
        order = [self.snapshot.columns.names[row] for row in self.snapshot.order]
        assert order == [fresh.columns.names[row] for row in fresh.order] == self.cache.tree.list()
        assert sorted(order) == sorted(self.nodes)

    @invariant()
    def sums_are_those_of_the_pods(self) -> None:
        for name in self.nodes:
            info = self.cache.node_info(name)
            assert info is not None
            here = [pod for pod in self.pods.values() if pod.node_name == name]
            assert sorted(info.pods) == sorted(pod.uid for pod in here)
            for resource in ("cpu", "example.com/gpu"):
                assert info.requested.get(resource, 0) == sum(pod.requests.get(resource, 0) for pod in here)
            assert info.non_zero_cpu_milli == sum(pod.non_zero[0] for pod in here)

    @invariant()
    def owner_counts_are_live(self) -> None:
        if self.watched:
            self.snapshot.update(self.cache)
            counts, term = self.watched
            rows = counts.by_row(self.snapshot.columns.n_rows)
            for name, row in self.snapshot.columns.rows.items():
                owners = [
                    pod
                    for pod in self.pods.values()
                    if pod.node_name == name and term in self.snapshot.pods.terms_of(pod).required_anti_affinity
                ]
                assert rows[row] == len(owners)

    @invariant()
    def list_order_is_generation_order(self) -> None:
        generations = [info.generation for info in self.cache.newest_first()]
        assert generations == sorted(generations, reverse=True)
        assert len(generations) == self.cache.node_count()

    def teardown(self) -> None:
        for info in self.pods.values():
            self.cache.remove_pod(info)
        for name in list(self.nodes):
            self.cache.remove_node(name)
        assert self.cache.node_count() == self.cache.pod_count() == 0
        assert not self.cache.images
        self.snapshot.update(self.cache)
        assert self.snapshot.n_nodes == 0
        assert not np.any(self.snapshot.columns.alive)


TestSnapshot = SnapshotMachine.TestCase
TestSnapshot.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
