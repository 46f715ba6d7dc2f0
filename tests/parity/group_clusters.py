"""Random clusters with pod groups: those of the oracle's generator, with pods put into groups."""

import json
import random
from dataclasses import dataclass
from typing import Any

from tests.oracle import Oracle

Json = dict[str, Any]
GENERIC = "GenericWorkload=true"
TOPOLOGY = f"{GENERIC},TopologyAwareWorkloadScheduling=true"
COMPOSITE = f"{TOPOLOGY},CompositePodGroup=true"
PROFILES = ("basic", "affinity", "spread", "mixed", "mixed", "dra")
KEYS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/hostname", "disk", "missing")
_VERSIONS = {"PodGroup": "scheduling.k8s.io/v1beta1", "CompositePodGroup": "scheduling.k8s.io/v1alpha3"}


@dataclass(frozen=True, slots=True)
class GroupTrial:
    """What makes one random cluster with groups, and the gates that it is tried with."""

    profile: str
    gates: str
    seed: int
    n_nodes: int
    n_pods: int
    n_pending: int

    def __str__(self) -> str:
        sizes = f"{self.n_nodes} nodes, {self.n_pods} pods, {self.n_pending} pending"
        return f"groups over {self.profile}, seed {self.seed}, {sizes}, {self.gates}"


def group_trial_for(seed: int, gates: str | None = None) -> GroupTrial:
    """Choose profile, gates and sizes by a seed."""
    chooser = random.Random(seed)
    chosen = chooser.choice((GENERIC, TOPOLOGY, COMPOSITE))
    return GroupTrial(
        chooser.choice(PROFILES),
        gates or chosen,
        seed,
        n_nodes=chooser.randint(2, 14),
        n_pods=chooser.randint(0, 50),
        n_pending=chooser.randint(4, 24),
    )


def group_cluster(oracle: Oracle, trial: GroupTrial) -> bytes:
    """Give the cluster of a trial as the JSON text of a v1 List."""
    sizes = {"n_nodes": trial.n_nodes, "n_pods": trial.n_pods, "n_pending": trial.n_pending}
    cluster: Json = json.loads(oracle.generate(trial.profile, seed=trial.seed, **sizes))
    maker = _GroupMaker(random.Random(trial.seed), cluster, has_composites=trial.gates == COMPOSITE)
    maker.put_running_pods_into_groups()
    maker.put_pending_pods_into_groups()
    maker.take_devices_from_pending_groups()
    cluster["items"] = maker.groups + cluster["items"]
    return json.dumps(cluster).encode()


class _GroupMaker:
    """Puts pods into groups; no two things that are tried have the same priority, so that their order is clear."""

    def __init__(self, chooser: random.Random, cluster: Json, *, has_composites: bool) -> None:
        self.groups: list[Json] = []
        self._items: list[Json] = cluster["items"]
        self._random = chooser
        self._has_composites = has_composites
        pods = [item for item in cluster["items"] if item["kind"] == "Pod"]
        self._pending = [pod for pod in pods if not pod["spec"].get("nodeName")]
        self._running = [pod for pod in pods if pod["spec"].get("nodeName")]
        for pod in pods:
            # a victim that goes anyway is not deleted, so the oracle would wait for ever; a pending pod that goes
            # keeps its nomination until kube-scheduler takes it from the queue, which is no matter of groups
            pod["metadata"].pop("deletionTimestamp", None)
        self._priorities = list(range(-3, len(self._pending) + 3))
        chooser.shuffle(self._priorities)

    def put_running_pods_into_groups(self) -> None:
        """Make groups of running pods that may be evicted together."""
        for number in range(self._random.randint(0, 4)):
            namespaces = sorted({"default", *(pod["metadata"]["namespace"] for pod in self._running)})
            namespace = self._random.choice(namespaces)
            members = [
                pod
                for pod in self._running
                if pod["metadata"]["namespace"] == namespace
                and "schedulingGroup" not in pod["spec"]
                and self._random.random() < 0.4
            ]
            group = self._group("PodGroup", namespace, f"running-{number}", self._random.randint(-20, 5))
            for pod in members:
                pod["spec"]["schedulingGroup"] = {"podGroupName": group["metadata"]["name"]}
                if "all" in group["spec"]["disruptionMode"]:
                    # nodes are compared by the first victim's priority, and a group's pods are in an order of chance
                    pod["spec"].pop("priorityClassName", None)
                    pod["spec"].update(priority=group["spec"]["priority"], preemptionPolicy="PreemptLowerPriority")
            self.groups.append(group)

    def put_pending_pods_into_groups(self) -> None:
        """Make groups of pending pods, some of them with a pod that runs already; the rest stays alone."""
        left = list(self._pending)
        self._random.shuffle(left)
        number = 0
        while left and self._random.random() < 0.85:
            number += 1
            members = left[: self._random.randint(1, 6)]
            if any(pod["spec"].keys() & {"volumes", "resourceClaims"} for pod in self._pending):
                # claims are there only in the namespace of their pod
                members = [pod for pod in members if pod["metadata"]["namespace"] == left[0]["metadata"]["namespace"]]
            count = len(members)
            left = [pod for pod in left if pod not in members]
            priority = self._priorities.pop() if self._random.random() < 0.5 else self._priorities.pop() + 50
            if self._has_composites and count > 1 and self._random.random() < 0.6:
                self._tree(f"tree-{number}", members, priority)
            else:
                self._leaf(f"g-{number}", members, priority)
                if self._random.random() < 0.1:
                    _let_never_preempt(members)
        for pod in left:
            pod["spec"].pop("priorityClassName", None)
            policy = "Never" if self._random.random() < 0.2 else "PreemptLowerPriority"
            far = self._random.choice((-100, 0, 100))
            pod["spec"].update(priority=self._priorities.pop() + far, preemptionPolicy=policy)
            # kube-scheduler withdraws the nomination of a single pod that preemption does not help
            pod.get("status", {}).pop("nominatedNodeName", None)

    def take_devices_from_pending_groups(self) -> None:
        """Leave no claim allocated that would be given back for a group.

        That is written while the next plugin looks for victims already; whether it sees the devices is a matter of
        chance.
        """
        names = {
            (pod["metadata"]["namespace"], claim.get("resourceClaimName"))
            for pod in self._pending
            if "schedulingGroup" in pod["spec"]
            for claim in pod["spec"].get("resourceClaims", ())
        }
        for item in self._items:
            metadata = item["metadata"]
            if item["kind"] == "ResourceClaim" and (metadata["namespace"], metadata["name"]) in names:
                item["status"] = {}

    def _tree(self, name: str, members: list[Json], priority: int) -> None:
        namespace = members[0]["metadata"]["namespace"]
        root = self._group("CompositePodGroup", namespace, name, priority)
        self.groups.append(root)
        n_children = self._random.randint(1, min(3, len(members)))
        parts: list[list[Json]] = [[] for _ in range(n_children)]
        for pod in members:
            self._random.choice(parts).append(pod)
        parent = root
        for number, part in enumerate(parts):
            if number and self._random.random() < 0.25:
                parent = self._group("CompositePodGroup", namespace, f"{name}-in-{number}", priority)
                self._put_under(parent, root)
                self.groups.append(parent)
            leaf = self._leaf(f"{name}-{number}", part, priority, namespace)
            self._put_under(leaf, parent)
        if self._random.random() < 0.1:
            _let_never_preempt(members)
        n_direct = sum(g["spec"].get("parentCompositePodGroupName") == name for g in self.groups)
        gang = root["spec"]["schedulingPolicy"].get("gang")
        if gang is not None:
            gang["minGroupCount"] = self._random.randint(1, max(1, n_direct))

    def _put_under(self, child: Json, parent: Json) -> None:
        child["spec"]["parentCompositePodGroupName"] = parent["metadata"]["name"]
        child["spec"].setdefault("workloadRef", {"workloadName": "w", "templateName": "t"})

    def _leaf(self, name: str, members: list[Json], priority: int, namespace: str = "") -> Json:
        namespace = namespace or members[0]["metadata"]["namespace"]
        group = self._group("PodGroup", namespace, name, priority)
        for pod in members:
            pod["metadata"]["namespace"] = namespace
            pod["spec"].pop("priorityClassName", None)
            wrong = self._random.random() < 0.02
            pod["spec"].update(priority=priority + wrong, preemptionPolicy="PreemptLowerPriority")
            pod["spec"]["schedulingGroup"] = {"podGroupName": name}
        gang = group["spec"]["schedulingPolicy"].get("gang")
        if gang is not None:
            gang["minCount"] = self._random.choice([1, max(1, len(members) // 2), *[max(1, len(members))] * 3])
            gang["minCount"] += self._random.random() < 0.05
        if self._random.random() < 0.15:
            for pod in self._running:
                if pod["metadata"]["namespace"] == namespace and "schedulingGroup" not in pod["spec"]:
                    pod["spec"].pop("priorityClassName", None)
                    pod["spec"].update(priority=priority, preemptionPolicy="PreemptLowerPriority")
                    pod["spec"]["schedulingGroup"] = {"podGroupName": name}
                    break
        if self._random.random() < 0.97:
            self.groups.append(group)
        return group

    def _group(self, kind: str, namespace: str, name: str, priority: int) -> Json:
        is_gang = self._random.random() < 0.75
        minimum = "minCount" if kind == "PodGroup" else "minGroupCount"
        spec: Json = {
            "schedulingPolicy": {"gang": {minimum: 1}} if is_gang else {"basic": {}},
            "disruptionMode": {"all" if self._random.random() < 0.6 else "single": {}},
            "priority": priority,
        }
        if kind == "CompositePodGroup":
            spec["workloadRef"] = {"workloadName": "w", "templateName": "t"}
        if self._random.random() < 0.4:
            weights = (8, 3, 2, 1, 1)
            spec["schedulingConstraints"] = {"topology": [{"key": self._random.choices(KEYS, weights)[0]}]}
        metadata = {"name": name, "namespace": namespace}
        return {"apiVersion": _VERSIONS[kind], "kind": kind, "metadata": metadata, "spec": spec}


def _let_never_preempt(members: list[Json]) -> None:
    """Forbid preemption to a whole tree: kube-scheduler names the leaves that disagree in an order of chance."""
    for pod in members:
        pod["spec"]["preemptionPolicy"] = "Never"
