"""Feature gates that change decisions: on and off, as kube-scheduler decides with them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.command import nodewise

WITHOUT_POD_LEVEL = ",".join(
    f"{gate}=false"
    for gate in (
        "PodLevelResources",
        "PodLevelResourcesFixDefaulting",
        "PodLevelResourcesFixKubeletQOSClass",
        "InPlacePodLevelResourcesVerticalScaling",
    )
)
WITHOUT_LABEL_KEYS = "MatchLabelKeysInPodTopologySpread=false,MatchLabelKeysInPodTopologySpreadSelectorMerge=false"


def node(name: str, **spec: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "zone": name}
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": status,
    }


def pod(name: str, labels: dict[str, str] | None = None, status: Any = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    meta: dict[str, Any] = {"name": name, "labels": labels or {}}
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container], **spec}}
    if status:  # which only a stored pod has
        meta["uid"], whole["status"] = name, status
    return whole


def storage(kind: str, name: str, version: str = "storage.k8s.io/v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def claim(name: str, size: str, storage_class: str) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage_class,
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def volume(name: str, size: str, node_name: str) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [node_name]}]}
    spec = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "local",
        "local": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    whole = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
    return {**whole, "status": {"phase": "Available"}}


def using(name: str, claim_name: str) -> dict[str, Any]:
    return pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}])


NUMBERED = [{"key": "level", "value": "5", "effect": "NoSchedule"}]
SOFT = [{"key": "level", "value": "5", "effect": "PreferNoSchedule"}]
BELOW = [{"key": "level", "operator": "Lt", "value": "7"}]
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "a"}},
    "matchLabelKeys": ["version"],
    "nodeTaintsPolicy": "Honor",
}
WAITING = {"volumeBindingMode": "WaitForFirstConsumer"}
LOCAL_CLASS = storage("StorageClass", "local", provisioner="kubernetes.io/no-provisioner", **WAITING)
CSI_CLASS = storage("StorageClass", "csi", provisioner="csi.example.com", **WAITING)
NEEDED_DRIVER = storage("CSIDriver", "csi.example.com", spec={"preventPodSchedulingIfMissing": True})
WITH_DRIVER = storage("CSINode", "n1", spec={"drivers": [{"name": "csi.example.com", "nodeID": "n1"}]})
WITHOUT_DRIVER = storage("CSINode", "n2", spec={"drivers": []})
NODES = [node("n1"), node("n2")]

# Gates, objects, and the pod that decides otherwise.
CASES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "a toleration that compares": (
        "TaintTolerationComparisonOperators=true",
        [node("n1", taints=NUMBERED), node("n2", taints=NUMBERED), pod("p", tolerations=BELOW)],
    ),
    "a soft taint that is compared": (
        "TaintTolerationComparisonOperators=true",
        [node("n1", taints=SOFT), node("n2", taints=[{**SOFT[0], "value": "9"}]), pod("p", tolerations=BELOW)],
    ),
    "spreading over nodes whose taints are tolerated by comparison": (
        "TaintTolerationComparisonOperators=true",
        [
            node("n1", taints=NUMBERED),
            node("n2"),
            pod("r", {"app": "a", "version": "1"}, nodeName="n2"),
            pod("p", {"app": "a", "version": "1"}, tolerations=BELOW, topologySpreadConstraints=[SPREAD]),
        ],
    ),
    "label keys of spread constraints": (
        WITHOUT_LABEL_KEYS,
        [
            *NODES,
            pod("r", {"app": "a", "version": "old"}, nodeName="n1"),
            pod("p", {"app": "a", "version": "new"}, topologySpreadConstraints=[SPREAD]),
        ],
    ),
    "resources of a pod": (
        WITHOUT_POD_LEVEL,
        [*NODES, pod("p", resources={"requests": {"cpu": "6"}})],
    ),
    "resources of a running pod": (
        WITHOUT_POD_LEVEL,
        [
            *NODES,
            pod("r", nodeName="n1", resources={"requests": {"cpu": "4"}}),
            pod("s", nodeName="n2", resources={"requests": {"cpu": "2"}}),
            pod("p"),
        ],
    ),
    "resources in the status of a pod": (
        "InPlacePodLevelResourcesVerticalScaling=false",
        [
            *NODES,
            pod(
                "r",
                nodeName="n1",
                resources={"requests": {"cpu": "1"}},
                status={"resources": {"requests": {"cpu": "4"}}, "allocatedResources": {"cpu": "4"}},
            ),
            pod("p"),
        ],
    ),
    "storage as a score": (
        "StorageCapacityScoring=false",
        [
            *NODES,
            LOCAL_CLASS,
            volume("v1", "10Gi", "n1"),
            volume("v2", "5Gi", "n2"),
            claim("c", "4Gi", "local"),
            using("p", "c"),
        ],
    ),
    "nodes without a driver": (
        "VolumeLimitScaling=false",
        [*NODES, CSI_CLASS, NEEDED_DRIVER, WITH_DRIVER, WITHOUT_DRIVER, claim("c", "4Gi", "csi"), using("p", "c")],
    ),
}


def judged(found: dict[str, Any]) -> Any:
    """Give what there is to compare: feasible nodes, and every filter and score on every node."""
    return (
        found.get("feasible") or [],
        found.get("best") or [],
        {
            entry["name"]: (
                {name: (status["code"], status["reasons"]) for name, status in (entry.get("filters") or {}).items()},
                entry.get("scores") or {},
            )
            for entry in found.get("nodes") or []
        },
    )


def own(cluster: Path, *flags: str) -> Any:
    lines = nodewise("explain", "--all", "-o", "jsonl", "--workloads", "ignore", *flags, str(cluster)).json_lines()
    return judged(next(line for line in lines if line["pod"].endswith("/p")))


def upstream(oracle: Path, cluster: Path, *flags: str) -> Any:
    output = subprocess.run([oracle, "evaluate", *flags, cluster], capture_output=True, check=True, text=True).stdout
    return judged(next(found for line in output.splitlines() if (found := json.loads(line))["pod"].endswith("/p")))


@pytest.mark.parametrize("case", CASES)
def test_a_gate_changes_decisions_as_in_kube_scheduler(oracle: Path, tmp_path: Path, case: str) -> None:
    gates, objects = CASES[case]
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    flags = ("--feature-gates", gates)

    with_default, switched = own(cluster), own(cluster, *flags)

    assert with_default == upstream(oracle, cluster)
    assert switched == upstream(oracle, cluster, *flags)
    assert with_default != switched


@pytest.mark.parametrize("gates", ["DRADeviceTaintRules=false", "DRADeviceTaints=false,DRADeviceTaintRules=false"])
def test_devices_are_given_as_in_kube_scheduler_without_taints(oracle: Path, tmp_path: Path, gates: str) -> None:
    cluster = tmp_path / "cluster.json"
    sizes = ("--nodes", "8", "--pods", "10", "--pending", "20")
    with cluster.open("wb") as file:
        subprocess.run([oracle, "generate", "--profile", "dra", "--seed", "3", *sizes], stdout=file, check=True)
    output = subprocess.run(
        [oracle, "evaluate", "--feature-gates", gates, cluster], capture_output=True, check=True, text=True
    ).stdout
    wanted = {found["pod"]: judged(found) for found in map(json.loads, output.splitlines())}
    lines = nodewise(
        "explain", "--all", "-o", "jsonl", "--workloads", "ignore", "--feature-gates", gates, str(cluster)
    ).json_lines()

    assert {found["pod"]: judged(found) for found in lines} == wanted
