"""`explain`, `simulate` and `dump` on a running cluster, which they only read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import nodewise
from tests.live.api_server import ApiServer
from tests.live.deployments import kubectl

NAMESPACE = "live-input"
LABELS = {"live-input": "yes"}
ROOM = {"cpu": "4", "memory": "8Gi", "pods": "10"}


def node(name: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": {**LABELS, "kubernetes.io/hostname": name}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": ROOM, "capacity": ROOM}}


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": cpu}}
    environment = [{"name": "PASSWORD", "value": "hunter2"}]
    container = {"name": "c", "image": "registry.acme.test/web:1", "resources": resources, "env": environment}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"team": "acme-payments"}}
    spec = {"containers": [container], "nodeSelector": LABELS, "schedulerName": "live-input", **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


OBJECTS = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
    node("live-input-a"),
    node("live-input-b"),
    pod("running", "3", nodeName="live-input-a"),
    pod("waiting", "2"),
    pod("huge", "64"),
    pod("ended", "1", nodeName="live-input-b"),
)


@pytest.fixture(scope="module")
def cluster(api_server: ApiServer) -> ApiServer:
    """Give a server with two nodes and some pods of another scheduler."""
    objects = json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS})
    kubectl("apply", "--server-side", "-f", "-", server=api_server, stdin=objects)
    ended = json.dumps({"status": {"phase": "Succeeded"}})
    kubectl("patch", "pod", "ended", "-n", NAMESPACE, "--subresource=status", "-p", ended, server=api_server)
    return api_server


@pytest.fixture
def profile(tmp_path: Path) -> str:
    """Give a configuration for the pods of the tests here."""
    path = tmp_path / "scheduler.yaml"
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    path.write_text(yaml.safe_dump({**kind, "profiles": [{"schedulerName": "live-input"}]}))
    return str(path)


def explained(cluster: ApiServer, name: str, *flags: str) -> dict[str, Any]:
    flags = ("-n", NAMESPACE, "--kubeconfig", cluster.kubeconfig, "-o", "json", *flags)
    (answer,) = nodewise("explain", name, *flags).json()["pods"]
    return dict(answer)


def changed_kubeconfig(text: str, path: Path, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        text = text.replace(old, new)
    path.write_text(text)
    return str(path)


def test_a_waiting_pod_is_explained_whichever_scheduler_it_waits_for(cluster: ApiServer) -> None:
    answer = explained(cluster, "waiting")
    assert answer["feasible"] == ["live-input-b"]
    (full,) = [node for node in answer["nodes"] if node["name"] == "live-input-a"]
    assert full["filters"]["NodeResourcesFit"]["reasons"] == ["Insufficient cpu"]


def test_a_running_pod_is_explained_as_if_it_were_not_there(cluster: ApiServer) -> None:
    answer = explained(cluster, "running")
    assert answer["feasible"] == ["live-input-a", "live-input-b"]
    assert answer["placedOn"] == "live-input-a"


def test_a_context_names_the_cluster_too(cluster: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", cluster.kubeconfig)
    completed = nodewise("explain", f"{NAMESPACE}/huge", "--context", "local")
    assert completed.exit_code == 1
    assert "Insufficient cpu" in completed.stdout


def test_kubectl_nodewise_reads_the_current_context(cluster: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", cluster.kubeconfig)
    monkeypatch.setattr("sys.argv", ["/usr/bin/kubectl-nodewise"])
    (answer,) = nodewise("explain", "waiting", "-n", NAMESPACE, "-o", "json").json()["pods"]
    assert answer["feasible"] == ["live-input-b"]


def test_pending_pods_are_simulated_and_nothing_is_bound(cluster: ApiServer, profile: str) -> None:
    flags = ("--kubeconfig", cluster.kubeconfig, "--config", profile, "-n", NAMESPACE)
    placed = nodewise("simulate", *flags, "-o", "json").json()["pods"]
    assert {line["pod"]: line["node"] for line in placed} == {
        f"{NAMESPACE}/waiting": "live-input-b",
        f"{NAMESPACE}/huge": None,
    }
    node_name = "{.spec.nodeName}"
    bound = kubectl("get", "pod", "waiting", "-n", NAMESPACE, "-o", f"jsonpath={node_name}", server=cluster)
    assert bound == ""


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_a_dump_is_judged_as_the_cluster_is(cluster: ApiServer, tmp_path: Path, output: str) -> None:
    dumped = nodewise("dump", "--kubeconfig", cluster.kubeconfig, "-o", output)
    assert (dumped.exit_code, dumped.stderr) == (0, "")
    path = tmp_path / f"cluster.{output}"
    path.write_text(dumped.stdout)
    for name in ("waiting", "huge", "running"):
        completed = nodewise("explain", str(path), f"{NAMESPACE}/{name}", "-o", "json")
        (answer,) = [_ours(pod) for pod in completed.json()["pods"]]
        assert answer == _ours(explained(cluster, name))


def _ours(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out the nodes of other tests, which come and go."""
    nodes = [node for node in answer["nodes"] if node["name"].startswith("live-input")]
    return {"feasible": answer["feasible"], "nodes": nodes}


def test_a_dump_has_what_scheduling_reads_and_no_more(cluster: ApiServer) -> None:
    items = nodewise("dump", "--kubeconfig", cluster.kubeconfig).json()["items"]
    ours = {item["metadata"]["name"]: item for item in items if item["metadata"].get("namespace") == NAMESPACE}
    assert {"running", "waiting", "huge"} <= set(ours)
    assert "ended" not in ours
    assert {"Node", "Namespace", "PriorityClass"} <= {item["kind"] for item in items}
    assert not {"Secret", "ConfigMap", "ServiceAccount"} & {item["kind"] for item in items}
    assert all("managedFields" not in item["metadata"] for item in items)


def test_an_anonymous_dump_is_judged_alike_and_names_nobody(cluster: ApiServer, tmp_path: Path) -> None:
    dumped = nodewise("dump", "--anonymize", "--kubeconfig", cluster.kubeconfig)
    assert (dumped.exit_code, dumped.stderr) == (0, "")
    for word in ("live-input", "acme", "hunter2", "PASSWORD", "waiting", "running", "registry"):
        assert word not in dumped.stdout
    path = tmp_path / "cluster.json"
    path.write_text(dumped.stdout)
    items = dumped.json()["items"]
    waiting = [item for item in items if item["kind"] == "Pod" and "nodeName" not in item["spec"]]
    pods = {
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]: pod["metadata"]
        for pod in waiting
        # pods of other tests are selected by the name of their node
        if "kubernetes.io/hostname" not in pod["spec"].get("nodeSelector", {"kubernetes.io/hostname": ""})
    }
    for cpu, n_feasible in (("2", 1), ("64", 0)):
        name = f"{pods[cpu]['namespace']}/{pods[cpu]['name']}"
        (answer,) = nodewise("explain", str(path), name, "-o", "json").json()["pods"]
        assert len(answer["feasible"]) == n_feasible


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--kubeconfig", "BAD"], "cannot list .*: .* does not know who asks"),
        (["--kubeconfig", "GONE"], "nobody listens at https://127.0.0.1:1 "),
        (["--kubeconfig", "GOOD", "--context", "elsewhere"], "contexts has no 'elsewhere'"),
        (["--kubeconfig", "nowhere"], "kubeconfig nowhere: no such file"),
    ],
)
def test_a_cluster_that_cannot_be_read_is_one_line(
    cluster: ApiServer, tmp_path: Path, argv: list[str], message: str
) -> None:
    good = Path(cluster.kubeconfig).read_text()
    url = yaml.safe_load(good)["clusters"][0]["cluster"]["server"]
    files = {
        "GOOD": cluster.kubeconfig,
        "BAD": changed_kubeconfig(good, tmp_path / "bad", {"admin-token": "another"}),
        "GONE": changed_kubeconfig(good, tmp_path / "gone", {url: "https://127.0.0.1:1"}),
    }
    for verb in (["explain", "waiting"], ["simulate"], ["dump"]):
        completed = nodewise(*verb, *(files.get(word, word) for word in argv))
        assert completed.exit_code == 2
        assert completed.stdout == ""
        (line,) = completed.stderr.splitlines()
        assert line.startswith("nodewise: ")
        assert re.search(message, line)


def test_what_may_not_be_listed_is_named_and_the_rest_is_done(cluster: ApiServer) -> None:
    kubeconfig = str(Path(cluster.kubeconfig).with_name("scheduler.kubeconfig"))  # has the rights of kube-scheduler
    completed = nodewise("dump", "--kubeconfig", kubeconfig)
    assert completed.exit_code == 2
    assert any(item["kind"] == "Node" for item in completed.json()["items"])
    refused = completed.stderr.splitlines()
    assert len(refused) == 3
    assert (
        "PriorityClass: cannot be listed and is left out: priorityclasses.scheduling.k8s.io is forbidden" in refused[0]
    )
