"""Pods with volumes through the command line: what is told of claims, and what happens when a filter fails."""

import json
from pathlib import Path
from typing import Any

from tests.cli.small_clusters import node, write
from tests.command import Completed, nodewise

WAIT = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
"""


def claim(name: str, size: str = "1Gi", storage_class: str = "local") -> str:
    return f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: {storage_class}, resources: {{requests: {{storage: {size}}}}}}}
---
"""


def disk(name: str, zone: str, size: str = "1Gi") -> str:
    return f"""
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {name}}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: local
  capacity: {{storage: {size}}}
  local: {{path: /x}}
  nodeAffinity:
    required:
      nodeSelectorTerms:
        - matchExpressions: [{{key: topology.kubernetes.io/zone, operator: In, values: [{zone}]}}]
status: {{phase: Available}}
---
"""


def pod(name: str, **volumes: Any) -> str:
    listed = [{"name": key, **source} for key, source in volumes.items()]
    spec = {"containers": [{"name": "c", "image": "i"}], "volumes": listed}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}) + "\n---\n"


def using(name: str, *claims: str) -> str:
    return pod(name, **{f"v{i}": {"persistentVolumeClaim": {"claimName": c}} for i, c in enumerate(claims)})


def run(verb: str, path: Path, text: str, *argv: str) -> Completed:
    return nodewise(verb, write(path / "cluster.yaml", text), *argv)


def test_a_volume_goes_to_the_first_pod_that_takes_it(tmp_path: Path) -> None:
    cluster = WAIT + node("n1", "a") + node("n2", "b") + disk("d", "b")
    cluster += claim("one") + claim("two") + using("first", "one") + using("second", "two")
    placed = run("simulate", tmp_path, cluster, "-o", "json").json()["pods"]
    assert [(line["pod"], line["node"]) for line in placed] == [("default/first", "n2"), ("default/second", None)]
    assert "2 node(s) didn't find available persistent volumes to bind" in placed[1]["message"]


def test_the_explanation_names_the_claim_on_the_node(tmp_path: Path) -> None:
    cluster = WAIT + node("n1", "a") + node("n2", "b") + disk("d", "b") + claim("data") + using("p", "data")
    (line,) = run("explain", tmp_path, cluster, "--all", "-o", "jsonl").json_lines()
    there = {judged["name"]: judged["filters"] for judged in line["nodes"]}
    assert there["n2"] == {}
    detail = "claim data (class local, 1Gi) finds no volume, and none can be made for it here"
    assert there["n1"]["VolumeBinding"]["detail"] == detail


def test_the_explanation_names_the_claim_that_rejects_the_pod(tmp_path: Path) -> None:
    cluster = node() + claim("data", storage_class="gone") + using("p", "data")
    (line,) = run("explain", tmp_path, cluster, "--all", "-o", "jsonl").json_lines()
    assert line["prefilter"]["reasons"] == ["pod has unbound immediate PersistentVolumeClaims"]
    expected = "claim data (class gone, 1Gi) is not bound and its class does not wait for a pod"
    assert line["prefilter"]["detail"] == expected


def test_a_filter_that_fails_fails_the_pod_unless_another_filter_speaks_first(tmp_path: Path) -> None:
    csi_node = "\n".join(
        f"apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {{name: {name}}}\nspec: {{drivers: []}}\n---"
        for name in ("n1", "n2")
    )
    azure = {"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/s/resourcegroups/r/providers/x/disks/d"}}
    cluster = node("n1") + node("n2") + csi_node + "\n" + pod("p", d=azure)
    text = 'running "NodeVolumeLimits" filter plugin: converting volume(d) from inline to csi: '
    text += "kind(Shared) is not supported in csi migration"
    (placed,) = run("simulate", tmp_path, cluster, "-o", "json").json()["pods"]
    assert (placed["node"], placed["reason"], placed["message"]) == (None, "SchedulerError", text)
    cordoned = cluster.replace("status:", "spec: {unschedulable: true}\nstatus:")
    (placed,) = run("simulate", tmp_path, cordoned, "-o", "json").json()["pods"]
    assert placed["reason"] == "Unschedulable"
