"""Random questions to queueing hints: a waiting pod, an event, and an object before and after."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from nodewise.framework.events import ActionType, EventResource
from tests.parity.mutation import mutated
from tests.parity.storage_mutation import with_odd_storage

Json = dict[str, Any]
Change = Callable[[random.Random, Json, "Questions"], None]

NODE_UPDATES = [action for action in ActionType if "NODE" in str(action.name)]
POD_UPDATES = [action for action in ActionType if "POD" in str(action.name)]
ADD, DELETE, UPDATE = ActionType.ADD, ActionType.DELETE, ActionType.UPDATE
ACTIONS: dict[EventResource, tuple[str, list[ActionType]]] = {
    EventResource.NODE: ("Node", [ADD, ADD, DELETE, *NODE_UPDATES]),
    EventResource.ASSIGNED_POD: ("Pod", [ADD, ADD, DELETE, DELETE, DELETE, *POD_UPDATES]),
    EventResource.TARGET_POD: ("Pod", [UPDATE, *POD_UPDATES]),
    EventResource.PERSISTENT_VOLUME_CLAIM: ("PersistentVolumeClaim", [ADD, UPDATE]),
    EventResource.PERSISTENT_VOLUME: ("PersistentVolume", [ADD, UPDATE]),
    EventResource.STORAGE_CLASS: ("StorageClass", [ADD, UPDATE]),
    EventResource.CSI_NODE: ("CSINode", [ADD, UPDATE]),
    EventResource.CSI_DRIVER: ("CSIDriver", [UPDATE]),
    EventResource.CSI_STORAGE_CAPACITY: ("CSIStorageCapacity", [ADD, UPDATE]),
    EventResource.VOLUME_ATTACHMENT: ("VolumeAttachment", [DELETE]),
    EventResource.RESOURCE_CLAIM: ("ResourceClaim", [ADD, UPDATE, DELETE]),
    EventResource.DEVICE_CLASS: ("DeviceClass", [ADD, UPDATE]),
}
"""What can happen to which kind; actions that more hints are about come more often."""


class Questions:
    """Makes questions about the objects of a cluster, in forms that they might have had and might come to have."""

    def __init__(self, cluster: Mapping[str, Any], seed: int) -> None:
        self.rng = random.Random(seed)
        forms = [cluster, *(mutated(cluster, self.rng.getrandbits(31), 60) for _ in range(3))]
        forms += [with_odd_storage(cluster, self.rng.getrandbits(31), 60) for _ in range(2)]
        self._forms: dict[str, dict[str, list[Json]]] = {}
        for form in forms:
            for item in form["items"]:
                meta = item["metadata"]
                if "uid" in meta:
                    by_name = self._forms.setdefault(item["kind"], {})
                    by_name.setdefault(f"{meta.get('namespace', '')}/{meta['name']}", []).append(item)
        self.pods = [pod for found in self._forms["Pod"].values() for pod in found]
        self.nodes = [node for found in self._forms["Node"].values() for node in found]
        waiting = [pod for pod in self.pods if not pod["spec"].get("nodeName")]
        choosy = [
            pod for pod in waiting if pod["spec"].keys() & {"affinity", "topologySpreadConstraints", "nodeSelector"}
        ]
        self._waiting = [*waiting, *choosy, *choosy]
        self._resources = [resource for resource, (kind, _) in ACTIONS.items() if kind in self._forms]

    def one(self) -> Json:
        """Return a question, in the oracle's form."""
        rng = self.rng
        resource = rng.choice(self._resources)
        kind, actions = ACTIONS[resource]
        action = rng.choice(actions)
        waiting = self._changed(rng.choice(self._waiting), probability=0.3)
        if resource is EventResource.TARGET_POD:
            old, new = waiting, self._changed(waiting, probability=0.9)
        else:
            found = rng.choice(list(self._forms[kind].values()))
            old, new = (self._changed(rng.choice(found), probability=0.6) for _ in range(2))
            if rng.random() < 0.4:
                new = self._changed(old, probability=0.9)
            if resource in RELATIONS and rng.random() < 0.6:
                relate = rng.choice(RELATIONS[resource])
                for item in (old, new):
                    if rng.random() < 0.7:
                        relate(rng, waiting, item)
        return {
            "pod": waiting,
            "resource": resource.value,
            "action": int(action),
            "old": None if action is ADD else old,
            "new": None if action is DELETE else new,
        }

    def names_of(self, kind: str) -> list[str]:
        """Return the names of all objects of a kind, and one of none."""
        return [*(key.partition("/")[2] for key in self._forms.get(kind, ())), "none"]

    def _changed(self, item: Json, *, probability: float) -> Json:
        """Return a copy with some of the changes that hints look for."""
        made = copy.deepcopy(item)
        changes = CHANGES.get(item["kind"], [])
        while changes and self.rng.random() < probability:
            self.rng.choice(changes)(self.rng, made, self)
            probability /= 2
        return made


def lines_of(questions: list[Json]) -> str:
    """Return questions as the oracle reads them."""
    return "".join(json.dumps(question) + "\n" for question in questions)


# --- changes ----------------------------------------------------------------------------------------------------------


def take_labels(rng: random.Random, item: Json, questions: Questions) -> None:
    others = questions.pods if item["kind"] == "Pod" else questions.nodes
    item["metadata"]["labels"] = copy.deepcopy(rng.choice(others)["metadata"].get("labels", {}))


def lose_a_label(rng: random.Random, item: Json, questions: Questions) -> None:
    labels = item["metadata"].get("labels", {})
    if labels:
        del labels[rng.choice(sorted(labels))]


def annotate(rng: random.Random, item: Json, questions: Questions) -> None:
    item["metadata"].setdefault("annotations", {})[rng.choice("ab")] = rng.choice("xyz")


def migrate(rng: random.Random, item: Json, questions: Questions) -> None:
    plugins = rng.choice(("", "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd"))
    item["metadata"].setdefault("annotations", {})["storage.alpha.kubernetes.io/migrated-plugins"] = plugins


def take_taints(rng: random.Random, item: Json, questions: Questions) -> None:
    item["spec"]["taints"] = copy.deepcopy(rng.choice(questions.nodes)["spec"].get("taints", []))
    if rng.random() < 0.3:
        item["spec"]["taints"].append({"key": "a", "effect": rng.choice(("NoSchedule", "PreferNoSchedule"))})


def turn_cordon(rng: random.Random, item: Json, questions: Questions) -> None:
    item["spec"]["unschedulable"] = not item["spec"].get("unschedulable", False)


def change_allocatable(rng: random.Random, item: Json, questions: Questions) -> None:
    amounts = item["status"].setdefault("allocatable", {})
    name = rng.choice([*sorted(amounts), "pods", "example.com/gpu", "odd"])
    if rng.random() < 0.2:
        amounts.pop(name, None)
    else:
        amounts[name] = rng.choice(("0", "1", "2", "1000m", "16", "1Gi", "64Gi", "200"))


def change_conditions(rng: random.Random, item: Json, questions: Questions) -> None:
    conditions = [{"type": rng.choice(("Ready", "DiskPressure")), "status": rng.choice(("True", "False"))}]
    item["status"]["conditions"] = conditions * rng.randrange(3)


def change_features(rng: random.Random, item: Json, questions: Questions) -> None:
    features = ["UserNamespacesHostNetworkSupport", "VolumeBindMountOptions"]
    item["status"]["declaredFeatures"] = [feature for feature in features if rng.random() < 0.5]


def disable_resizes(rng: random.Random, item: Json, questions: Questions) -> None:
    item["spec"]["podPreemptionPolicy"] = {"disableResizePreemption": rng.choice(([], ["autoscaler"]))}


def change_requests(rng: random.Random, item: Json, questions: Questions) -> None:
    for container in item["spec"]["containers"]:
        requests = container.setdefault("resources", {}).setdefault("requests", {})
        name = rng.choice(("cpu", "memory", "ephemeral-storage", "example.com/gpu", "odd"))
        if rng.random() < 0.3:
            requests.pop(name, None)
        else:
            requests[name] = rng.choice(("0", "1", "2", "1000m", "100u", "1Gi"))


def resize(rng: random.Random, item: Json, questions: Questions) -> None:
    amounts = {"cpu": rng.choice(("1", "2", "500m")), "memory": rng.choice(("1Gi", "2Gi"))}
    status = item.setdefault("status", {})
    status["containerStatuses"] = [
        {"name": container["name"], "allocatedResources": amounts, "resources": {"requests": amounts}}
        for container in item["spec"]["containers"]
        if rng.random() < 0.8
    ]
    reason = rng.choice(("Deferred", "Infeasible"))
    status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}][rng.randrange(2) :]


def change_tolerations(rng: random.Random, item: Json, questions: Questions) -> None:
    tolerations = item["spec"].setdefault("tolerations", [])
    if tolerations and rng.random() < 0.5:
        tolerations.pop()
    else:
        keys = ("a", "node.kubernetes.io/unschedulable", "dedicated")
        tolerations.append({"key": rng.choice(keys), "operator": "Exists", "effect": rng.choice(("", "NoSchedule"))})


def change_gates(rng: random.Random, item: Json, questions: Questions) -> None:
    item["spec"]["schedulingGates"] = [{"name": name} for name in ("a", "b") if rng.random() < 0.5]


def change_place(rng: random.Random, item: Json, questions: Questions) -> None:
    item["spec"]["nodeName"] = rng.choice(("", rng.choice(questions.nodes)["metadata"]["name"]))
    item.setdefault("status", {})["nominatedNodeName"] = rng.choice(("", "", "n"))


def take_features(rng: random.Random, item: Json, questions: Questions) -> None:
    item["spec"] |= {"hostNetwork": rng.random() < 0.5, "hostUsers": rng.choice((None, True, False))}


def take_a_part(rng: random.Random, item: Json, questions: Questions) -> None:
    """Have what another pod has, so that the two concern each other."""
    other = rng.choice(questions.pods)
    part = rng.choice(("affinity", "topologySpreadConstraints", "volumes", "containers", "nodeSelector", "tolerations"))
    if part in other["spec"]:
        item["spec"][part] = copy.deepcopy(other["spec"][part])
    if rng.random() < 0.5:
        item["metadata"]["namespace"] = other["metadata"]["namespace"]


def change_claim_statuses(rng: random.Random, item: Json, questions: Questions) -> None:
    status = item.setdefault("status", {})
    names = [claim["name"] for claim in item["spec"].get("resourceClaims", [])] or ["claim"]
    status["resourceClaimStatuses"] = [
        {"name": name, **rng.choice(({}, {"resourceClaimName": f"{name}-{rng.randrange(2)}"}))}
        for name in names
        if rng.random() < 0.7
    ]
    if rng.random() < 0.4:
        mapping = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": rng.choice("rs")}
        status["extendedResourceClaimStatus"] = {"requestMappings": [mapping], "resourceClaimName": rng.choice("xy")}


def use_a_driver(rng: random.Random, item: Json, questions: Questions) -> None:
    volume: Json = rng.choice(
        (
            {"csi": {"driver": rng.choice(questions.names_of("CSIDriver"))}},
            {"gcePersistentDisk": {"pdName": "pd"}},
            {"azureDisk": {"diskName": "d", "diskURI": "u", "kind": rng.choice(("Managed", "Shared"))}},
            {"azureFile": {"secretName": "s", "shareName": "f"}},
            {"vsphereVolume": {"volumePath": "v"}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
        )
    )
    item["spec"].setdefault("volumes", []).insert(0, {"name": f"extra-{rng.randrange(1000)}", **volume})


def change_capacity_report(rng: random.Random, item: Json, questions: Questions) -> None:
    item["spec"]["storageCapacity"] = rng.choice((True, False, None))


def change_capacity(rng: random.Random, item: Json, questions: Questions) -> None:
    item[rng.choice(("capacity", "maximumVolumeSize"))] = rng.choice((None, "0", "100m", "1Gi", "50Gi", "1Ti"))


def change_limits(rng: random.Random, item: Json, questions: Questions) -> None:
    for driver in item["spec"].get("drivers", []):
        driver["allocatable"] = rng.choice((None, {}, {"count": rng.randrange(4)}))


def change_topologies(rng: random.Random, item: Json, questions: Questions) -> None:
    zones = {"key": "topology.kubernetes.io/zone", "values": [rng.choice("ab")]}
    item["allowedTopologies"] = rng.choice((None, [], [{"matchLabelExpressions": [zones]}]))
    item["volumeBindingMode"] = rng.choice(("WaitForFirstConsumer", "Immediate"))


def change_zones(rng: random.Random, item: Json, questions: Questions) -> None:
    key = rng.choice(("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"))
    item["metadata"].setdefault("labels", {})[key] = rng.choice(("a", "a__b", "b__a", "a____b", ""))


def change_allocation(rng: random.Random, item: Json, questions: Questions) -> None:
    status = item.setdefault("status", {})
    if rng.random() < 0.5:
        status.pop("allocation", None)
    else:
        status["allocation"] = {"devices": {"results": []}}
    if rng.random() < 0.3:
        data = rng.choice(({}, {"a": 1}))
        status["devices"] = [{"driver": "d", "pool": "p", "device": "x", "conditions": [], "data": data}]


def change_resource(rng: random.Random, item: Json, questions: Questions) -> None:
    names = (None, "example.com/gpu", "example.com/other")
    item["spec"]["extendedResourceName"] = rng.choice(names)


def want_a_class(rng: random.Random, item: Json, questions: Questions) -> None:
    name = rng.choice(questions.names_of("DeviceClass"))
    requests = item["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
    requests[f"deviceclass.resource.kubernetes.io/{name}"] = rng.choice("01")


# --- what makes an object concern a waiting pod -----------------------------------------------------------------------

Relation = Callable[[random.Random, Json, Json], None]


def be_its_neighbour(rng: random.Random, waiting: Json, item: Json) -> None:
    """Run in the namespace of a pod with labels that the pod's constraints and terms are about."""
    item["metadata"]["namespace"] = waiting["metadata"]["namespace"]
    item["spec"]["nodeName"] = "n"
    selectors = [
        *(constraint.get("labelSelector") for constraint in waiting["spec"].get("topologySpreadConstraints", [])),
        *(term.get("labelSelector") for term in _required_terms(waiting)),
    ]
    wanted = [selector for selector in selectors if selector]
    if wanted:
        item["metadata"]["labels"] = dict(rng.choice(wanted).get("matchLabels", {}))


def shun_it(rng: random.Random, waiting: Json, item: Json) -> None:
    """Run and want to be away from a pod."""
    item["metadata"]["namespace"] = waiting["metadata"]["namespace"]
    item["spec"]["nodeName"] = "n"
    selector = {"matchLabels": waiting["metadata"].get("labels", {})}
    term = {"labelSelector": selector, "topologyKey": "rack"}
    item["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def want_what_it_wants(rng: random.Random, waiting: Json, item: Json) -> None:
    """Have the ports and volumes of a pod."""
    item["metadata"]["namespace"] = waiting["metadata"]["namespace"]
    item["spec"]["nodeName"] = rng.choice(("n", ""))
    port = {"containerPort": 80, "hostPort": rng.choice((80, 81)), "hostIP": rng.choice(("", "10.0.0.1", "10.0.0.2"))}
    waiting["spec"]["containers"][0]["ports"] = [{**port, "protocol": rng.choice(("TCP", "UDP")), "hostPort": 80}]
    item["spec"]["containers"][0]["ports"] = [{**port, "protocol": "TCP"}]
    disk = {"name": "disk", "gcePersistentDisk": {"pdName": "pd", "readOnly": rng.random() < 0.5}}
    for pod in (waiting, item):
        pod["spec"]["volumes"] = [*copy.deepcopy(waiting["spec"].get("volumes", [])), disk][: rng.randrange(4)]


def fit_it(rng: random.Random, waiting: Json, item: Json) -> None:
    """Be a node with labels that a pod asks for."""
    labels = item["metadata"].setdefault("labels", {})
    labels |= waiting["spec"].get("nodeSelector") or {}
    affinity = waiting["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in required.get("nodeSelectorTerms", []):
        labels |= {e["key"]: rng.choice(e["values"]) for e in term.get("matchExpressions", []) if e.get("values")}
    keys = [c["topologyKey"] for c in waiting["spec"].get("topologySpreadConstraints", [])]
    keys += [term["topologyKey"] for term in _required_terms(waiting)]
    labels |= {key: rng.choice("ab") for key in keys if rng.random() < 0.6}


def be_its_claim(rng: random.Random, waiting: Json, item: Json) -> None:
    """Be a claim of a pod's volume."""
    item["metadata"]["namespace"] = waiting["metadata"]["namespace"]
    volumes = waiting["spec"].setdefault("volumes", [])
    if not volumes or rng.random() < 0.3:
        volumes.append(
            rng.choice(
                (
                    {"name": "v", "persistentVolumeClaim": {"claimName": "c"}},
                    {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                )
            )
        )
    volume = rng.choice(volumes)
    claim = volume.get("persistentVolumeClaim", {}).get("claimName")
    item["metadata"]["name"] = claim or f"{waiting['metadata']['name']}-{volume['name']}"


def be_its_driver(rng: random.Random, waiting: Json, item: Json) -> None:
    volume = {"name": "inline", "csi": {"driver": item["metadata"]["name"]}}
    waiting["spec"].setdefault("volumes", []).append(volume)


def be_its_device_claim(rng: random.Random, waiting: Json, item: Json) -> None:
    waiting["metadata"]["namespace"] = item["metadata"]["namespace"]
    waiting["spec"]["resourceClaims"] = [{"name": "claim", "resourceClaimName": item["metadata"]["name"]}]


def _required_terms(pod: Json) -> list[Json]:
    affinity = pod["spec"].get("affinity", {})
    return [
        term
        for kind in ("podAffinity", "podAntiAffinity")
        for term in affinity.get(kind, {}).get("requiredDuringSchedulingIgnoredDuringExecution", [])
    ]


RELATIONS: dict[EventResource, list[Relation]] = {
    EventResource.ASSIGNED_POD: [be_its_neighbour, be_its_neighbour, shun_it, want_what_it_wants],
    EventResource.NODE: [fit_it],
    EventResource.PERSISTENT_VOLUME_CLAIM: [be_its_claim],
    EventResource.CSI_DRIVER: [be_its_driver],
    EventResource.RESOURCE_CLAIM: [be_its_device_claim],
}
CHANGES: dict[str, list[Change]] = {
    "Node": [
        *(take_labels, lose_a_label, annotate, take_taints, turn_cordon, change_allocatable),
        *(change_allocatable, change_conditions, change_features, disable_resizes),
    ],
    "Pod": [
        *(take_labels, lose_a_label, annotate, change_requests, resize, change_tolerations, change_gates),
        *(change_place, take_features, take_a_part, take_a_part, change_claim_statuses, use_a_driver, want_a_class),
    ],
    "CSIDriver": [change_capacity_report],
    "CSINode": [migrate, change_limits, annotate],
    "CSIStorageCapacity": [change_capacity],
    "StorageClass": [change_topologies, annotate],
    "PersistentVolume": [change_zones, annotate],
    "PersistentVolumeClaim": [annotate],
    "ResourceClaim": [change_allocation, annotate],
    "DeviceClass": [change_resource, annotate],
}
