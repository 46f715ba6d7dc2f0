"""What is sent to an extender is what kube-scheduler sends."""

import json
from pathlib import Path

import pytest

from nodewise.api.objects import replace
from nodewise.cluster.http_extender import HttpExtender
from nodewise.cluster.object_documents import ObjectDocuments
from nodewise.config.model import Extender
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_node, make_pod
from tests.command import nodewise
from tests.extenders.conftest import Serve, WriteConfig
from tests.extenders.record import RECORDED, agreeable, unique
from tests.extenders.server import Json

VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "preemptVerb": "preempt", "weight": 1}


@pytest.fixture(scope="module")
def recorded() -> Json:
    document: Json = json.loads(RECORDED.read_text(encoding="utf-8"))
    return document


@pytest.mark.parametrize("mode", ["names", "nodes"])
def test_filter_prioritize_and_preempt_are_asked_with_kube_schedulers_bodies(
    serve: Serve, write_config: WriteConfig, tmp_path: Path, recorded: Json, mode: str
) -> None:
    server = serve(agreeable())
    config = write_config({"urlPrefix": server.url, "nodeCacheCapable": mode == "names", **VERBS})
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps(recorded["cluster"]), encoding="utf-8")

    nodewise("explain", str(cluster), "--all", "-o", "jsonl", "--config", config)

    assert unique(server.requests) == recorded[mode]


def test_bind_is_asked_with_kube_schedulers_body(serve: Serve, recorded: Json) -> None:
    server = serve(agreeable())
    body = recorded["bind"][0]
    extender = HttpExtender(Extender(url_prefix=server.url, bind_verb="bind"), ObjectDocuments())
    pod = make_pod(body["PodName"], namespace=body["PodNamespace"])
    pod = replace(pod, metadata=replace(pod.metadata, uid=body["PodUID"]))

    extender.bind(PodInfo(pod), body["Node"])

    assert server.bodies("bind") == recorded["bind"]


def test_a_request_is_a_post_of_json(serve: Serve) -> None:
    server = serve(agreeable())
    extender = HttpExtender(Extender(url_prefix=server.url, bind_verb="bind"), ObjectDocuments())

    extender.bind(PodInfo(make_pod("p")), "n")

    assert server.headers[0]["content-type"] == "application/json"


@pytest.mark.parametrize("prefix", ["", "/", "/api", "/api//"])
def test_the_verb_follows_the_prefix_after_one_slash(serve: Serve, prefix: str) -> None:
    server = serve(agreeable())
    extender = HttpExtender(Extender(url_prefix=server.url + prefix, bind_verb="bind"), ObjectDocuments())

    extender.bind(PodInfo(make_pod("p")), "n")

    assert [path for path, _ in server.requests] == [f"{prefix.rstrip('/')}/bind"]


def test_a_connection_is_used_again(serve: Serve) -> None:
    server = serve(agreeable())
    extender = HttpExtender(Extender(url_prefix=server.url, filter_verb="filter"), ObjectDocuments())

    for number in range(5):
        extender.filter(PodInfo(make_pod(f"p{number}")), [make_node("n")])

    assert len(server.requests) == 5
    assert len(server.connections) == 1


def test_a_pod_of_a_controller_is_sent_with_all_that_its_template_says(
    serve: Serve, write_config: WriteConfig, tmp_path: Path
) -> None:
    server = serve(agreeable())
    config = write_config({"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True})
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(
        """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: i, args: [--fast], env: [{name: A, value: b}]}]}
---
apiVersion: v1
kind: Node
metadata: {name: node-a}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}
""",
        encoding="utf-8",
    )

    nodewise("simulate", str(cluster), "--config", config)

    (body,) = server.bodies("filter")
    (container,) = body["Pod"]["spec"]["containers"]
    assert container["args"] == ["--fast"]
    assert container["env"] == [{"name": "A", "value": "b"}]
    assert body["Pod"]["metadata"]["labels"]["app"] == "web"


def test_victims_are_sent_where_the_simulation_has_put_them(
    serve: Serve, write_config: WriteConfig, tmp_path: Path
) -> None:
    server = serve(agreeable())
    config = write_config({"urlPrefix": server.url, "preemptVerb": "preempt"})
    cluster = tmp_path / "cluster.yaml"
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: %s, uid: %s, creationTimestamp: "2026-01-01T00:00:0%dZ"}
spec: {priority: %d, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}
---
"""
    node = (
        "apiVersion: v1\nkind: Node\nmetadata: {name: node-a}\nstatus: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}\n"
    )
    # The queue takes the higher priority first, so the victim has to be running when the other one comes.
    running = (pod % ("low", "u1", 1, 5)).replace("spec: {", "spec: {nodeName: node-a, ")
    cluster.write_text(running + pod % ("high", "u2", 2, 10) + node, encoding="utf-8")

    done = nodewise("simulate", str(cluster), "--config", config, "-o", "json")

    (body,) = server.bodies("preempt")
    (victim,) = body["NodeNameToVictims"]["node-a"]["Pods"]
    assert victim["spec"]["nodeName"] == "node-a"
    assert body["Pod"]["metadata"]["name"] == "high"
    assert done.json()["pods"][0]["victims"] == ["default/low"]
