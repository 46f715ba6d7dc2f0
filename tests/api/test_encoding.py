"""Pods and nodes as JSON, as Go writes them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from nodewise.api.decoding import decode_object
from nodewise.api.encoding import node_tree, pod_tree
from nodewise.api.kinds import KINDS
from nodewise.api.objects import Node, ObjectMeta, Pod, PodSpec, replace
from nodewise.testing.builders import make_node, make_pod

Json = dict[str, Any]


def read(kind: str, document: Json) -> Any:
    return decode_object(msgspec.json.encode(document), KINDS[kind])


def test_empty_fields_are_left_out_but_for_the_required_ones() -> None:
    assert pod_tree(Pod()) == {"metadata": {}, "spec": {"containers": None}, "status": {}}


def test_a_node_always_tells_of_its_system() -> None:
    status = node_tree(Node())["status"]

    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    assert status["nodeInfo"]["kubeletVersion"] == ""
    assert len(status["nodeInfo"]) == 10


def test_pointers_to_zero_are_written() -> None:
    tree = pod_tree(Pod(spec=PodSpec(priority=0, host_users=False, preemption_policy=None)))

    assert tree["spec"] == {"containers": None, "priority": 0, "hostUsers": False}


@pytest.mark.parametrize(
    ("given", "written"), [(0.5, "500m"), ("1000m", "1"), ("1024Mi", "1Gi"), (2, "2"), ("1e3", "1e3")]
)
def test_quantities_are_written_in_their_canonical_form(given: Any, written: str) -> None:
    node = read("Node", {"metadata": {"name": "a"}, "status": {"capacity": {"cpu": given}}})

    assert node_tree(node)["status"]["capacity"] == {"cpu": written}


def test_times_are_written_in_utc_and_seconds() -> None:
    moment = datetime(2026, 1, 2, 5, 4, 5, 999, tzinfo=timezone(timedelta(hours=2)))

    tree = pod_tree(Pod(ObjectMeta(creation_timestamp=moment, deletion_timestamp=moment.astimezone(UTC))))

    assert tree["metadata"] == dict.fromkeys(["creationTimestamp", "deletionTimestamp"], "2026-01-02T03:04:05Z")


def test_what_the_struct_does_not_know_comes_from_the_document() -> None:
    document: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "finalizers": ["f"], "managedFields": [{}], "generateName": None},
        "spec": {
            "dnsPolicy": "ClusterFirst",
            "nodeName": None,
            "tolerations": [],
            "containers": [{"name": "c", "image": "i", "args": ["x"], "env": [{"name": "A", "value": None}]}],
        },
    }

    assert pod_tree(read("Pod", document), document) == {
        "metadata": {"name": "p", "finalizers": ["f"]},
        "spec": {
            "dnsPolicy": "ClusterFirst",
            "containers": [{"name": "c", "image": "i", "args": ["x"], "env": [{"name": "A"}], "resources": {}}],
        },
        "status": {},
    }


def test_what_the_struct_knows_comes_from_the_struct() -> None:
    document: Json = {"metadata": {"name": "p", "labels": {"a": "old"}}, "spec": {"nodeName": "old", "priority": 1}}
    pod = read("Pod", document)
    changed = replace(pod, metadata=ObjectMeta(name="p"), spec=replace(pod.spec, node_name="new", priority=5))

    tree = pod_tree(changed, document)

    assert tree["metadata"] == {"name": "p"}
    assert tree["spec"] == {"nodeName": "new", "priority": 5, "containers": None}


@pytest.mark.parametrize("tree_of", [lambda: pod_tree(make_pod("p", "1")), lambda: node_tree(make_node("n"))])
def test_a_tree_is_read_as_the_same_object_again(tree_of: Any) -> None:
    tree = tree_of()
    kind = "Pod" if "containers" in tree["spec"] else "Node"

    again = read(kind, tree)

    assert (pod_tree if kind == "Pod" else node_tree)(again) == tree
