"""Random clusters in which everything of dynamic resource allocation occurs, small enough to read."""

import json
import random
from typing import Any

Json = dict[str, Any]

DRIVER, SHARED, PARTS = "gpu.example.com", "shared.example.com", "parts.example.com"
RESOURCE = "resource.k8s.io/v1"
ZONE = "topology.kubernetes.io/zone"
EXPRESSIONS = (
    'device.driver == "gpu.example.com"',
    'device.attributes["gpu.example.com"].model == "a"',
    'device.attributes["gpu.example.com"].?numa.orValue(0) == 1',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("20Gi")) >= 0',
    'device.attributes["gpu.example.com"].version.isGreaterThan(semver("1.5.0"))',
    'cel.bind(g, device.attributes["gpu.example.com"], has(g.numa) && g.numa < 2)',
    'device.driver.startsWith("gpu") || device.allowMultipleAllocations',
)
FAILING = (
    'device.attributes["gpu.example.com"].nothing == 1',
    "device.driver == 3",
    'device.attributes["gpu.example.com"].model > 1',
)


class DeviceClusters:
    """Makes one cluster of a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._items: list[Json] = []

    def make(self, *, with_failures: bool = False) -> bytes:
        """Return a v1 List; with failures also selectors that do not compile or fail at run time."""
        self._failures = with_failures
        self._nodes = [f"n{index}" for index in range(self._random.randint(2, 6))]
        for name in self._nodes:
            self._add_node(name)
        self._add_classes()
        for name in self._nodes:
            self._add_node_slices(name)
        self._add_shared_slices()
        self._add_rules()
        for index in range(self._random.randint(3, 14)):
            self._add_pod(index)
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": self._items}).encode()

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _pick(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _add(self, api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> None:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        self._items.append({"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields})

    def _add_node(self, name: str) -> None:
        amounts = {"cpu": self._pick("1", "4"), "memory": "8Gi", "pods": "20"}
        if self._chance(0.2):
            amounts["example.com/gpu"] = self._pick("0", "1", "2")
        self._add("v1", "Node", name, status={"allocatable": amounts, "capacity": amounts})
        self._items[-1]["metadata"]["labels"] = {ZONE: self._pick("a", "b"), "kubernetes.io/hostname": name}

    # --- what there is ------------------------------------------------------------------------------------------------

    def _selectors(self, probability: float) -> list[Json]:
        found = [{"cel": {"expression": self._pick(*EXPRESSIONS)}}] if self._chance(probability) else []
        if self._failures and self._chance(0.15):
            found.append({"cel": {"expression": self._pick(*FAILING)}})
        return found

    def _add_classes(self) -> None:
        gpu: Json = {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}, *self._selectors(0.2)]}
        if self._chance(0.7):
            gpu["extendedResourceName"] = "example.com/gpu"
        self._add(RESOURCE, "DeviceClass", "gpu", spec=gpu)
        for name, driver in (("shared", SHARED), ("parts", PARTS)):
            self._add(
                RESOURCE,
                "DeviceClass",
                name,
                spec={"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
            )
        other: Json = {"extendedResourceName": "example.com/gpu"} if self._chance(0.3) else {}
        self._add(RESOURCE, "DeviceClass", "any", spec=other)

    def _device(self, index: int) -> Json:
        device: Json = {"name": f"d{index}", "attributes": {}, "capacity": {}}
        device["attributes"]["model"] = {"string": self._pick("a", "b")}
        device["attributes"]["version"] = {"version": self._pick("1.0.0", "1.6.0", "2.0.0-rc.1")}
        if self._chance(0.7):
            device["attributes"]["numa"] = {"int": self._random.randint(0, 2)}
        if self._chance(0.5):
            device["attributes"]["other.com/rack"] = {"string": self._pick("r1", "r2")}
        device["capacity"]["memory"] = {"value": self._pick("10Gi", "20Gi", "40Gi")}
        if self._chance(0.15):
            effect = self._pick("NoSchedule", "NoExecute", "None")
            device["taints"] = [{"key": "worn", "value": self._pick("yes", "no"), "effect": effect}]
        return device

    def _slice(self, name: str, driver: str, pool: Json, **spec: Any) -> None:
        self._add(RESOURCE, "ResourceSlice", name, spec={"driver": driver, "pool": pool, **spec})

    def _add_node_slices(self, node: str) -> None:
        if self._chance(0.8):
            devices = [self._device(index) for index in range(self._random.randint(1, 4))]
            if self._chance(0.07):
                devices.append(dict(devices[0]))
            n_slices = 2 if len(devices) > 1 and self._chance(0.3) else 1
            generation = self._random.randint(1, 2)
            pool = {"name": node, "generation": generation, "resourceSliceCount": n_slices}
            if n_slices == 2:
                self._slice(f"gpu-{node}-b", DRIVER, pool, nodeName=node, devices=devices[1:])
                if not self._chance(0.15):
                    self._slice(f"gpu-{node}-a", DRIVER, pool, nodeName=node, devices=devices[:1])
            else:
                self._slice(f"gpu-{node}", DRIVER, pool, nodeName=node, devices=devices)
            if self._chance(0.15):
                # Never of the same generation: which of two counts holds then depends on the order of a Go map.
                old = {**pool, "generation": generation + self._pick(-1, 1), "resourceSliceCount": 1}
                self._slice(f"gpu-{node}-old", DRIVER, old, nodeName=node, devices=[self._device(9)])
        if self._chance(0.5):
            self._add_shared_capacity(node)
        if self._chance(0.5):
            self._add_partitions(node)

    def _add_shared_capacity(self, node: str) -> None:
        device: Json = {"name": "s0", "allowMultipleAllocations": True, "capacity": {}}
        device["capacity"]["bandwidth"] = {"value": self._pick("10", "100"), "requestPolicy": self._policy()}
        if self._chance(0.3):
            device["capacity"]["slots"] = {"value": "4"}
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        self._slice(f"shared-{node}", SHARED, pool, nodeName=node, devices=[device])

    def _policy(self) -> Json:
        return self._pick(  # type: ignore[no-any-return]
            {"default": "2"},
            {"default": "2", "validValues": ["2", "4", "8"]},
            {"default": "1", "validRange": {"min": "1", "step": "3"}},
            {"default": "1", "validRange": {"min": "500m", "max": "7", "step": "500m"}},
        )

    def _add_partitions(self, node: str) -> None:
        counters = {"memory": {"value": self._pick("40Gi", "80Gi")}, "engines": {"value": "4"}}
        pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
        self._slice(
            f"parts-{node}-counters",
            PARTS,
            pool,
            nodeName=node,
            sharedCounters=[{"name": "card", "counters": counters}],
        )
        devices = []
        for index in range(self._random.randint(1, 4)):
            used = {"memory": {"value": self._pick("10Gi", "20Gi", "40Gi")}, "engines": {"value": self._pick("1", "2")}}
            name = "gone" if self._chance(0.05) else "card"
            devices.append({"name": f"p{index}", "consumesCounters": [{"counterSet": name, "counters": used}]})
        self._slice(f"parts-{node}-devices", PARTS, pool, nodeName=node, devices=devices)

    def _add_shared_slices(self) -> None:
        if self._chance(0.4):
            pool = {"name": "everywhere", "generation": 1, "resourceSliceCount": 1}
            self._slice("everywhere", DRIVER, pool, allNodes=True, devices=[self._device(0)])
        if self._chance(0.4):
            terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [self._pick("a", "b")]}]}]
            pool = {"name": "zone", "generation": 1, "resourceSliceCount": 1}
            self._slice("zone", DRIVER, pool, nodeSelector={"nodeSelectorTerms": terms}, devices=[self._device(0)])
        if self._chance(0.4):
            devices = [self._device(index) for index in range(3)]
            devices[0]["nodeName"] = self._pick(*self._nodes)
            devices[1]["allNodes"] = True
            terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [self._pick("a", "b")]}]}]
            devices[2]["nodeSelector"] = {"nodeSelectorTerms": terms}
            if self._chance(0.3):
                devices[1]["bindsToNode"] = True
            pool = {"name": "each", "generation": 1, "resourceSliceCount": 1}
            self._slice("each", DRIVER, pool, perDeviceNodeSelection=True, devices=devices)

    def _add_rules(self) -> None:
        if self._chance(0.3):
            selector: Json = {"driver": DRIVER}
            if self._chance(0.5):
                selector["pool"] = self._pick(*self._nodes)
            if self._chance(0.5):
                selector["device"] = "d0"
            taint = {"key": "ruled", "value": "yes", "effect": self._pick("NoSchedule", "NoExecute")}
            self._add(RESOURCE, "DeviceTaintRule", "rule", spec={"deviceSelector": selector, "taint": taint})

    # --- what is asked for --------------------------------------------------------------------------------------------

    def _wanted(self) -> Json:
        kind = self._pick("gpu", "gpu", "gpu", "shared", "parts", "any", "missing" if self._chance(0.1) else "gpu")
        wanted: Json = {"deviceClassName": kind, "selectors": self._selectors(0.4 if kind == "gpu" else 0.0)}
        if self._chance(0.12):
            wanted["allocationMode"] = "All"
        elif self._chance(0.3):
            wanted |= {"allocationMode": "ExactCount", "count": self._random.randint(1, 3)}
        if self._chance(0.25):
            wanted["tolerations"] = [
                self._pick(
                    {"key": "worn", "operator": "Exists"},
                    {"key": "worn", "operator": "Equal", "value": "yes"},
                    {"operator": "Exists"},
                    {"key": "ruled", "operator": "Exists", "effect": "NoSchedule"},
                )
            ]
        if kind == "shared" and self._chance(0.7):
            wanted["capacity"] = {"requests": {"bandwidth": self._pick("1", "2500m", "3", "5", "9")}}
        return wanted

    def _request(self, name: str) -> Json:
        if self._chance(0.2):
            alternatives = [{"name": f"s{index}", **self._wanted()} for index in range(self._random.randint(1, 3))]
            return {"name": name, "firstAvailable": alternatives}
        wanted = self._wanted()
        if self._chance(0.1):
            wanted["adminAccess"] = True
        return {"name": name, "exactly": wanted}

    def _claim_spec(self) -> Json:
        requests = [self._request(f"r{index}") for index in range(self._random.randint(1, 2))]
        devices: Json = {"requests": requests}
        if self._chance(0.25):
            attribute = self._pick(f"{DRIVER}/numa", f"{DRIVER}/model", "other.com/rack")
            constraint = {self._pick("matchAttribute", "distinctAttribute"): attribute}
            if self._chance(0.5):
                constraint["requests"] = ["r0"]
            devices["constraints"] = [constraint]
        return {"devices": devices}

    def _add_pod(self, index: int) -> None:
        name = f"p{index:02}"
        spec: Json = {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "100m"}}}]}
        spec["priority"] = self._random.randint(0, 2)
        if self._chance(0.25):
            self._ask_for_resources(spec)
        else:
            spec["resourceClaims"] = []
            for number in range(2 if self._chance(0.2) else 1):
                claim = f"c{index:02}-{number}"
                if index and self._chance(0.15):
                    claim = f"c{index - 1:02}-0"
                else:
                    self._add(RESOURCE, "ResourceClaim", claim, "default", spec=self._claim_spec())
                spec["resourceClaims"].append({"name": f"x{number}", "resourceClaimName": claim})
        self._add("v1", "Pod", name, "default", spec=spec)

    def _ask_for_resources(self, spec: Json) -> None:
        names = ["example.com/gpu", "deviceclass.resource.kubernetes.io/parts"]
        spec["containers"].append({"name": "second", "image": "i"})
        if self._chance(0.5):
            spec["initContainers"] = [
                {"name": "first", "image": "i"},
                {"name": "side", "image": "i", "restartPolicy": "Always"},
            ]
        for container in (*spec.get("initContainers", []), *spec["containers"]):
            if self._chance(0.6):
                amounts = {self._pick(*names): str(self._random.randint(0, 2))}
                container["resources"] = {"requests": amounts, "limits": amounts}
