"""Volumes for the pods of a benchmark cluster, as in the CSI workloads of kube-scheduler's own benchmark."""

from __future__ import annotations

import copy
from typing import Any

DRIVER = "csi.example.com"
VOLUMES_PER_NODE = 39

Json = dict[str, Any]


def with_csi_volumes(cluster: Json) -> Json:
    """Return a copy in which every pod has a claim bound to a CSI volume of its own, and every node a limit."""
    changed = copy.deepcopy(cluster)
    added: list[Json] = [_csi_node(item) for item in changed["items"] if item["kind"] == "Node"]
    for pod in changed["items"]:
        if pod["kind"] == "Pod":
            added += _bound_claim(pod)
    changed["items"] = added + changed["items"]
    return changed


def _csi_node(node: Json) -> Json:
    name = node["metadata"]["name"]
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": [], "allocatable": {"count": VOLUMES_PER_NODE}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def _claim(pod: Json, **spec: Any) -> Json:
    """Let a pod use a claim of its own, and return that."""
    metadata = pod["metadata"]
    name = f"claim-{metadata['name']}"
    pod["spec"].setdefault("volumes", []).append({"name": "data", "persistentVolumeClaim": {"claimName": name}})
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": metadata["namespace"], "uid": f"uid-{metadata['namespace']}-{name}"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec},
    }


def _bound_claim(pod: Json) -> list[Json]:
    volume = f"vol-{pod['metadata']['namespace']}-{pod['metadata']['name']}"
    claim = _claim(pod, volumeName=volume, storageClassName="")
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "true"}
    claim["status"] = {"phase": "Bound"}
    ref = {key: claim["metadata"][key] for key in ("namespace", "name", "uid")}
    return [
        claim,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **ref},
                "csi": {"driver": DRIVER, "volumeHandle": volume},
            },
            "status": {"phase": "Bound"},
        },
    ]
