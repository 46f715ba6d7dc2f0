"""Random changes to a generated cluster: odd but valid objects that the generator does not make."""

import copy
import random
from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]
Change = Callable[[random.Random, Json, "Parts"], None]

HUGE = ("8Ei", "9E", "50E", "7Ei", "9223372036854775807", "1e18", "4Pi")
SMALL = ("0", "1", "1m", "100u", "1500m", "0.5", "1e3", "12e-1", "3Mi", "1.5Gi")
KEYS = ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack", "disk", "nowhere")
SKEWS = ("DoNotSchedule", "ScheduleAnyway")


class Parts:
    """The objects of a cluster by kind, in place: what is changed here is changed in the cluster."""

    def __init__(self, cluster: Mapping[str, Any]) -> None:
        items: list[Json] = cluster["items"]
        self.items = items
        self.nodes = [item for item in items if item["kind"] == "Node"]
        self.pods = [item for item in items if item["kind"] == "Pod"]
        self.running = [pod for pod in self.pods if pod["spec"].get("nodeName")]
        self.pending = [pod for pod in self.pods if not pod["spec"].get("nodeName")]
        self.node_names = [node["metadata"]["name"] for node in self.nodes]


def mutated(cluster: Mapping[str, Any], seed: int, n_changes: int) -> Json:
    """Return a copy with so many random changes."""
    generator = random.Random(seed)
    changed = copy.deepcopy(dict(cluster))
    parts = Parts(changed)
    groups = [(parts.nodes, NODE_CHANGES), (parts.running, RUNNING_CHANGES), (parts.pending, PENDING_CHANGES)]
    groups += [(parts.pods, POD_CHANGES)]
    for _ in range(n_changes):
        objects, changes = generator.choice([group for group in groups if group[0]])
        generator.choice(changes)(generator, generator.choice(objects), parts)
    return changed


# --- nodes ------------------------------------------------------------------------------------------------------------


def drop_a_label(generator: random.Random, obj: Json, parts: Parts) -> None:
    labels = obj["metadata"].get("labels")
    if labels:
        del labels[generator.choice(sorted(labels))]


def set_a_node_label(generator: random.Random, node: Json, parts: Parts) -> None:
    value = generator.choice(["", "zone-a", "zone-z", "4", generator.choice(parts.node_names)])
    node["metadata"].setdefault("labels", {})[generator.choice(KEYS)] = value


def drop_allocatable(generator: random.Random, node: Json, parts: Parts) -> None:
    for field in generator.choice([["allocatable"], ["allocatable", "capacity"]]):
        node["status"].pop(field, None)


def drop_or_change_an_amount(generator: random.Random, node: Json, parts: Parts) -> None:
    allocatable: Json = node["status"].get("allocatable", {})
    if not allocatable:
        return
    name = generator.choice([*sorted(allocatable), "pods", "cpu"])
    if generator.random() < 0.5:
        allocatable.pop(name, None)
    elif name == "pods" or "/" in name:
        allocatable[name] = generator.choice(["0", "1", "3", "1e2"])
    elif not name.startswith("hugepages-"):
        # 7Ei of cpu would be beyond int64 in millicores; kube-scheduler then counts with whatever is left of it
        allocatable[name] = generator.choice([*SMALL, "2", "4Gi", "8P" if name == "cpu" else "7Ei"])


def taint_or_cordon(generator: random.Random, node: Json, parts: Parts) -> None:
    if generator.random() < 0.3:
        node["spec"]["unschedulable"] = True
        return
    effect = generator.choice(["NoSchedule", "NoExecute", "PreferNoSchedule"])
    key = generator.choice(["spot", "odd", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"])
    taint = {"key": key, "effect": effect, "value": generator.choice(["", "true", "5"])}
    taints: list[Json] = node["spec"].setdefault("taints", [])
    if all((old["key"], old["effect"]) != (key, effect) for old in taints):
        taints.append(taint)


# --- any pod ----------------------------------------------------------------------------------------------------------


def set_a_pod_label(generator: random.Random, pod: Json, parts: Parts) -> None:
    other = generator.choice(parts.pods)["metadata"].get("labels") or {"app": "web"}
    key = generator.choice(sorted(other))
    pod["metadata"].setdefault("labels", {})[key] = other[key]


def forget_pod_level_amounts(pod: Json) -> None:
    """Pod-level requests must be no less than those of the containers together."""
    pod["spec"].pop("resources", None)


def drop_requests(generator: random.Random, pod: Json, parts: Parts) -> None:
    forget_pod_level_amounts(pod)
    for container in pod["spec"]["containers"]:
        container["resources"] = {}


def request_a_strange_amount(generator: random.Random, pod: Json, parts: Parts) -> None:
    forget_pod_level_amounts(pod)
    name = generator.choice(["cpu", "memory", "ephemeral-storage"])
    containers = pod["spec"]["containers"]
    if generator.random() < 0.6 or pod in parts.running:
        generator.choice(containers)["resources"] = {"requests": {name: generator.choice(SMALL)}}
        return
    # alone: a sum beyond int64 wraps around, and the oracle scores even where the scheduler does not
    pod["spec"].pop("initContainers", None)
    pod["spec"].pop("overhead", None)
    del containers[1:]
    containers[0]["resources"] = {"requests": {name: "4Pi" if name == "cpu" else generator.choice(HUGE)}}


def ask_at_pod_level(generator: random.Random, pod: Json, parts: Parts) -> None:
    pod["spec"].pop("initContainers", None)
    for container in pod["spec"]["containers"]:
        container["resources"] = {"requests": {"cpu": "10m", "ephemeral-storage": "1Gi"}}
    requests = {"cpu": generator.choice(["500m", "1", "3"]), "memory": generator.choice(["64Mi", "2Gi"])}
    pod["spec"]["resources"] = {"requests": requests}


def add_init_containers(generator: random.Random, pod: Json, parts: Parts) -> None:
    if pod["spec"].get("initContainers"):
        return
    forget_pod_level_amounts(pod)
    pod["spec"]["initContainers"] = [
        {
            "name": f"init-{index}",
            "image": "images.example/other:1",
            "resources": {"requests": {"cpu": generator.choice(["100m", "1", "2500m"]), "memory": "64Mi"}},
            **generator.choice([{}, {"restartPolicy": "Always"}]),
            **generator.choice([{}, {"ports": [{"containerPort": 9000, "hostPort": 9000}]}]),
        }
        for index in range(generator.randint(1, 3))
    ]


def add_host_ports(generator: random.Random, pod: Json, parts: Parts) -> None:
    protocol = generator.choice(["TCP", "UDP", "SCTP"])
    number = generator.choice([80, 8080, 9000])
    port = {"containerPort": number, "hostPort": number, "protocol": protocol}
    if generator.random() < 0.4:
        port["hostIP"] = generator.choice(["10.0.0.1", "0.0.0.0", "127.0.0.1"])
    pod["spec"]["containers"][0]["ports"] = [port]


def repeat_terms(generator: random.Random, pod: Json, parts: Parts) -> None:
    affinity = pod["spec"].get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        for terms in (affinity.get(kind) or {}).values():
            terms.extend(copy.deepcopy(terms[: generator.randint(0, 2)]))


def prefer_and_avoid_alike(generator: random.Random, pod: Json, parts: Parts) -> None:
    weight = generator.choice([1, 50, 100])
    labels = generator.choice(parts.pods)["metadata"].get("labels") or {"app": "web"}
    term: Json = {
        "labelSelector": {"matchLabels": labels} if generator.random() < 0.8 else {},
        "topologyKey": generator.choice(KEYS),
    }
    if generator.random() < 0.3:
        term["namespaceSelector"] = generator.choice([{}, {"matchLabels": {"env": "prod"}}])
    affinity = pod["spec"].setdefault("affinity", {})
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity.setdefault(kind, {}).setdefault("preferredDuringSchedulingIgnoredDuringExecution", []).append(
            {"weight": weight, "podAffinityTerm": copy.deepcopy(term)}
        )


def give_a_priority(generator: random.Random, pod: Json, parts: Parts) -> None:
    pod["spec"].pop("priorityClassName", None)
    pod["spec"].pop("preemptionPolicy", None)
    pod["spec"]["priority"] = generator.choice([-(2**31), -5, 0, 10, 10, 1000, 1_000_000_000])


# --- running pods -----------------------------------------------------------------------------------------------------


def move_to_a_node_that_does_not_exist(generator: random.Random, pod: Json, parts: Parts) -> None:
    pod["spec"]["nodeName"] = generator.choice(["gone-1", "gone-2"])


def pile_on(generator: random.Random, pod: Json, parts: Parts) -> None:
    forget_pod_level_amounts(pod)
    pod["spec"]["nodeName"] = generator.choice(parts.node_names)
    for container in pod["spec"]["containers"]:
        container["resources"] = {"requests": {"cpu": "20", "memory": "40Gi", "ephemeral-storage": "30Gi"}}


def set_a_start_time(generator: random.Random, pod: Json, parts: Parts) -> None:
    status = pod.setdefault("status", {})
    status["phase"] = "Running"
    status.pop("startTime", None)
    if generator.random() < 0.8:
        status["startTime"] = f"2026-01-0{generator.randint(1, 3)}T00:00:0{generator.randint(0, 3)}Z"


def finish_or_delete(generator: random.Random, pod: Json, parts: Parts) -> None:
    status = pod.setdefault("status", {})
    if generator.random() < 0.3:
        status["phase"] = generator.choice(["Succeeded", "Failed"])
        return
    pod["metadata"]["deletionTimestamp"] = "2026-05-01T00:00:00Z"
    pod["metadata"]["deletionGracePeriodSeconds"] = 30
    if generator.random() < 0.6:
        reason = generator.choice(["PreemptionByScheduler", "EvictionByEvictionAPI"])
        status["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": reason}]


def resize(generator: random.Random, pod: Json, parts: Parts) -> None:
    forget_pod_level_amounts(pod)
    status = pod.setdefault("status", {})
    status["phase"] = "Running"
    statuses = []
    for container in pod["spec"]["containers"]:
        requests = (container.get("resources") or {}).get("requests")
        if not requests:
            container["resources"] = {"requests": {"cpu": "100m", "memory": "64Mi"}}
        amounts = {"cpu": generator.choice(["50m", "1", "1500m"]), "memory": generator.choice(["32Mi", "3Gi"])}
        entry: Json = {"name": container["name"], "image": "", "imageID": "", "ready": True, "restartCount": 0}
        if generator.random() < 0.7:
            entry["allocatedResources"] = amounts
        if generator.random() < 0.7:
            entry["resources"] = {"requests": {**amounts, "cpu": "300m"}}
        statuses.append(entry)
    status["containerStatuses"] = statuses
    if generator.random() < 0.4:
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]


# --- pending pods -----------------------------------------------------------------------------------------------------


def nominate(generator: random.Random, pod: Json, parts: Parts) -> None:
    names = [*parts.node_names[:3], generator.choice(parts.node_names), "gone-1"]
    pod.setdefault("status", {})["nominatedNodeName"] = generator.choice(names)


def name_a_node(generator: random.Random, pod: Json, parts: Parts) -> None:
    field = {
        "key": "metadata.name",
        "operator": generator.choice(["In", "NotIn"]),
        "values": [generator.choice([*parts.node_names, "gone-1"])],
    }
    terms: list[Json] = [{"matchFields": [field]}]
    if generator.random() < 0.4:
        terms[0]["matchExpressions"] = [{"key": "disk", "operator": generator.choice(["Exists", "DoesNotExist"])}]
    if generator.random() < 0.3:
        terms.append({})
    affinity = pod["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}


def tolerate_more(generator: random.Random, pod: Json, parts: Parts) -> None:
    toleration: Json = {"operator": "Exists"}
    if generator.random() < 0.7:
        toleration = {"key": generator.choice(["spot", "odd"]), "operator": "Equal", "value": "true"}
    if generator.random() < 0.5:
        toleration["effect"] = generator.choice(["NoSchedule", "PreferNoSchedule"])
    elif generator.random() < 0.5:
        toleration.update(effect="NoExecute", tolerationSeconds=generator.choice([0, -1, 60]))
    pod["spec"].setdefault("tolerations", []).append(toleration)


def spread(generator: random.Random, pod: Json, parts: Parts) -> None:
    labels = generator.choice(parts.pods)["metadata"].get("labels") or {"app": "web"}
    constraint: Json = {
        "maxSkew": generator.choice([1, 1, 2, 5]),
        "topologyKey": generator.choice(KEYS),
        "whenUnsatisfiable": generator.choice(SKEWS),
        "labelSelector": generator.choice([{"matchLabels": labels}, {"matchLabels": labels}, {}]),
    }
    if generator.random() < 0.1:
        del constraint["labelSelector"]
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if generator.random() < 0.4:
            constraint[policy] = generator.choice(["Honor", "Ignore"])
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and generator.random() < 0.3:
        constraint["minDomains"] = generator.choice([1, 3, 9])
    if "labelSelector" in constraint and generator.random() < 0.2:
        key = generator.choice(["track", "tier", "absent"])
        if key not in constraint["labelSelector"].get("matchLabels", {}):
            constraint["matchLabelKeys"] = [key]
    constraints: list[Json] = pod["spec"].setdefault("topologySpreadConstraints", [])
    same = (constraint["topologyKey"], constraint["whenUnsatisfiable"])
    if all((old["topologyKey"], old["whenUnsatisfiable"]) != same for old in constraints):
        constraints.append(constraint)


NODE_CHANGES: list[Change] = [
    drop_a_label,
    set_a_node_label,
    drop_allocatable,
    drop_or_change_an_amount,
    drop_or_change_an_amount,
    taint_or_cordon,
]
POD_CHANGES: list[Change] = [
    drop_a_label,
    set_a_pod_label,
    drop_requests,
    request_a_strange_amount,
    ask_at_pod_level,
    add_init_containers,
    add_host_ports,
    repeat_terms,
    prefer_and_avoid_alike,
    prefer_and_avoid_alike,
    give_a_priority,
]
RUNNING_CHANGES: list[Change] = [
    move_to_a_node_that_does_not_exist,
    pile_on,
    set_a_start_time,
    finish_or_delete,
    finish_or_delete,
    resize,
]
PENDING_CHANGES: list[Change] = [nominate, nominate, name_a_node, tolerate_more, spread, spread]
