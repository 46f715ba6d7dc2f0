"""Small random clusters with pod groups, and everything that can be told of a session over one."""

from __future__ import annotations

from random import Random
from typing import Any

from nodewise.api.devices import (
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from nodewise.api.meta import ObjectMeta
from nodewise.api.objects import Affinity, LabelSelector, Pod, PodAffinity, PodAffinityTerm, PodResourceClaim
from nodewise.api.pod_groups import PodGroupObject
from nodewise.cluster.object_set import ObjectSet
from nodewise.config.feature_gates import FeatureGates
from nodewise.config.load import default_configuration
from nodewise.plugins import in_tree_registry
from nodewise.runtime.selection import TieBreak
from nodewise.scheduler.assembly import SchedulerOptions
from nodewise.simulation.session import Session, open_session
from nodewise.testing.builders import make_node, make_pod
from nodewise.testing.group_builders import make_group, make_group_of_groups, make_member
from nodewise.testing.storage_builders import claim_volumes, make_claim, make_class, make_volume

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
GENERIC = FeatureGates.of(GenericWorkload=True)
TOPOLOGY = FeatureGates.of(GenericWorkload=True, TopologyAwareWorkloadScheduling=True)
COMPOSITE = FeatureGates.of(GenericWorkload=True, TopologyAwareWorkloadScheduling=True, CompositePodGroup=True)
BY_DEFAULT: dict[str, Any] = {"scheduler_name": "default-scheduler", "preemption_policy": "PreemptLowerPriority"}
APART = Affinity(
    pod_anti_affinity=PodAffinity((PodAffinityTerm(LabelSelector(match_labels={"app": "shy"}), topology_key=HOST),))
)


def session_of(objects: ObjectSet, gates: FeatureGates) -> Session:
    """Open a session over a cluster."""
    options = SchedulerOptions(TieBreak.FIRST, feature_gates=gates)
    return open_session(objects, default_configuration(gates), in_tree_registry(), options)


class GroupWorld:
    """A random cluster: nodes in zones, running pods, groups that wait, volumes and devices.

    Attributes
    ----------
    objects : ObjectSet
    gates : FeatureGates
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.gates = rng.choice((GENERIC, TOPOLOGY, COMPOSITE))
        self.objects = ObjectSet()
        self._n_made = 0
        self._add_nodes()
        self._add_storage_and_devices()
        self._add_running_pods()
        for number in range(rng.randint(1, 3)):
            self._add_group(f"g{number}", 10 * (number + 1))
        for _ in range(rng.randint(0, 2)):
            self.objects.pods.append(make_pod(self._name("alone"), "1", priority=rng.randint(0, 40), **BY_DEFAULT))

    def _name(self, kind: str) -> str:
        self._n_made += 1
        return f"{kind}-{self._n_made}"

    def _add_nodes(self) -> None:
        for number in range(self._rng.randint(1, 4)):
            labels = {ZONE: self._rng.choice("ab")} if self._rng.random() < 0.9 else {}
            self.objects.nodes.append(make_node(f"n{number}", str(self._rng.randint(1, 4)), labels=labels))

    def _add_storage_and_devices(self) -> None:
        self.objects.storage.append(make_class("late"))
        self.objects.device_objects.append(DeviceClass(ObjectMeta(name="gpu")))
        for node in self.objects.nodes:
            self.objects.storage.append(make_volume(f"pv-{node.name}", storage_class="late", nodes={HOST: node.name}))
            self.objects.device_objects.append(_slice_of(node.name, self._rng.randint(0, 2)))

    def _add_running_pods(self) -> None:
        for number in range(self._rng.randint(0, 2)):
            group = make_group(f"r{number}", 1, priority=self._rng.randint(0, 15), goes_whole=self._rng.random() < 0.6)
            self.objects.pod_groups.append(group)
        groups = [group.metadata.name for group in self.objects.pod_groups]
        for _ in range(self._rng.randint(0, 6)):
            node, cpu = self._rng.choice(self.objects.nodes).name, self._rng.choice(("500m", "1"))
            more: dict[str, Any] = {"node": node, "priority": self._rng.randint(0, 15)}
            if groups and self._rng.random() < 0.5:
                pod = make_member(self._name("running"), self._rng.choice(groups), cpu, **more)
            else:
                pod = make_pod(self._name("running"), cpu, **more)
            self.objects.pods.append(pod)

    def _add_group(self, name: str, priority: int) -> None:
        more: dict[str, Any] = {"priority": priority}
        if self._rng.random() < 0.5:
            more["topology"] = ZONE
        if self.gates is COMPOSITE and self._rng.random() < 0.6:
            self._add_tree(name, more)
            return
        self._add_leaf(name, more)

    def _add_tree(self, name: str, more: dict[str, Any]) -> None:
        n_children = self._rng.randint(1, 3)
        minimum = self._rng.choice((None, self._rng.randint(1, n_children)))
        self.objects.pod_groups.append(make_group_of_groups(name, minimum, **more))
        for number in range(n_children):
            self._add_leaf(f"{name}-{number}", {"priority": more["priority"], "parent": name})

    def _add_leaf(self, name: str, more: dict[str, Any]) -> None:
        n_members = self._rng.randint(1, 4)
        minimum = self._rng.choice((None, 1, n_members, n_members, n_members, n_members + 1))
        self.objects.pod_groups.append(make_group(name, minimum, **more))
        shared = self._rng.random() < 0.3
        for number in range(n_members):
            self.objects.pods.append(self._member(name, number, more["priority"], shares=shared))

    def _member(self, group: str, number: int, priority: int, *, shares: bool) -> Pod:
        name, more = f"{group}-p{number}", {"priority": priority, **BY_DEFAULT}
        kind = self._rng.random()
        options: dict[str, Any] = {}
        if shares or kind < 0.2:
            claim = f"{group}-devices" if shares else f"{name}-devices"
            if not shares or number == 0:
                self.objects.device_objects.append(_claim(claim))
            options["resource_claims"] = (PodResourceClaim(name="d", resource_claim_name=claim),)
        elif kind < 0.4:
            self.objects.storage.append(make_claim(f"{name}-data", storage_class="late"))
            options["volumes"] = claim_volumes([f"{name}-data"])
        elif kind < 0.6:
            options.update(labels={"app": "shy"}, affinity=APART)
        elif kind < 0.8:
            options["host_ports"] = [8080]
        return make_member(name, group, self._rng.choice(("500m", "1", "2")), **more, **options)


def _slice_of(node: str, n_devices: int) -> ResourceSlice:
    devices = tuple(Device(name=f"d{number}") for number in range(n_devices))
    pool = ResourcePool(name=node, generation=1, resource_slice_count=1)
    spec = ResourceSliceSpec(driver="gpu.example.com", pool=pool, node_name=node, devices=devices)
    return ResourceSlice(ObjectMeta(name=f"slice-{node}"), spec)


def _claim(name: str) -> ResourceClaim:
    request = DeviceRequest("r", ExactDeviceRequest("gpu", allocation_mode="ExactCount", count=1))
    metadata = ObjectMeta(name=name, namespace="default", uid=f"claim/{name}")
    return ResourceClaim(metadata, ResourceClaimSpec(DeviceClaim((request,))))


def members_of(objects: ObjectSet, group: PodGroupObject) -> list[str]:
    """Return the keys of a group's pods."""
    return [pod.key for pod in objects.pods if pod.spec.pod_group_name == group.metadata.name]


def fingerprint(session: Session) -> dict[str, Any]:
    """Return what a session's caches hold, so that two can be compared."""
    scheduler = session.scheduler
    cache, snapshot = scheduler.cache, scheduler.snapshot
    snapshot.update(cache)
    columns, devices = snapshot.columns, session.listers.devices
    groups = cache.pod_groups
    assert groups is not None
    return {
        "nodes": {
            name: (list(info.pods), {k: amount for k, amount in info.requested.items() if amount}, set(info.used_ports))
            for name, info in cache.nodes.infos.items()
        },
        "rows": {
            name: (
                list(snapshot.pods_on(row)),
                columns.requested[:, row].tolist(),
                columns.free[:, row].tolist(),
                columns.non_zero[:, row].tolist(),
            )
            for name, row in columns.rows.items()
        },
        "nominations": {n: [p.uid for p in pods] for n, pods in scheduler.nominations.nominations().items()},
        "groups": {
            key: (set(s.pods), set(s.unscheduled), set(s.assumed), set(s.assigned)) for key, s in groups.states()
        },
        "claims": dict(devices.claims),
        "pending": set(devices.pending),
        "cycle": groups.cycle,
    }
