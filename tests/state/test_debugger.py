"""The debugger writes kube-scheduler's texts, and the comparer finds what one side lacks."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import cast

import pytest

from nodewise.state.cache import SchedulerCache
from nodewise.state.comparer import CacheMismatch
from nodewise.state.debugger import CacheDebugger, node_text
from nodewise.state.log_message import LogMessage
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_cache
from tests.state.cache_world import small_node, small_pod


class SmallQueue:
    """A queue that holds what it is given."""

    def __init__(self, pending: Sequence[PodInfo] = (), nominated: Sequence[PodInfo] = ()) -> None:
        self.pending = pending
        self.nominated = nominated

    def pending_pods(self) -> tuple[Sequence[PodInfo], str]:
        return self.pending, f"activeQ:{len(self.pending)}; backoffQ:0; unschedulableEntities:0"

    def nominated_pods_for_node(self, node_name: str) -> Sequence[PodInfo]:
        return self.nominated if node_name == "n0" else ()


def small_cache() -> SchedulerCache:
    cache = make_cache([small_node("n0", cpu=4), small_node("n1", cpu=2)])
    cache.add_pod(small_pod("p", "n0", cpu=5, port=80, claim="data", phase="Running"))
    cache.assume_pod(small_pod("q", "n0", cpu=2))
    cache.add_pod(small_pod("r", "ghost"))
    return cache


def test_a_node_s_block_is_kube_scheduler_s() -> None:
    assert node_text(small_cache().get_node("n0"), [small_pod("w", "")]) == (
        "Node name: n0\n"
        "Deleted: false\n"
        "Requested Resources: &{MilliCPU:7 Memory:0 EphemeralStorage:0 AllowedPodNumber:0 "
        "ScalarResources:map[example.com/gpu:1]}\n"
        "Allocatable Resources:&{MilliCPU:4000 Memory:8589934592 EphemeralStorage:0 AllowedPodNumber:10 "
        "ScalarResources:map[example.com/gpu:2]}\n"
        "Scheduled Pods(number: 2):\n"
        "name: p, namespace: ns, uid: p, phase: Running, nominated node: \n"
        "name: q, namespace: ns, uid: q, phase: , nominated node: \n"
        "Nominated Pods(number: 1):\n"
        "name: w, namespace: ns, uid: w, phase: , nominated node: \n"
    )


def test_nodes_come_by_name_with_a_blank_line_between_them() -> None:
    text = CacheDebugger(small_cache(), SmallQueue(), list, list).nodes_text()
    blocks = text.split("\n\n\n")  # a block ends with a line break of its own
    assert [block.splitlines()[:2] for block in blocks] == [
        ["Node name: ghost", "Deleted: true"],
        ["Node name: n0", "Deleted: false"],
        ["Node name: n1", "Deleted: false"],
    ]
    assert blocks[0].splitlines()[3] == (
        "Allocatable Resources:&{MilliCPU:0 Memory:0 EphemeralStorage:0 AllowedPodNumber:0 ScalarResources:map[]}"
    )


def test_the_comparer_names_what_the_cache_misses_and_what_it_has_too_much() -> None:
    nodes = [small_node("n0"), small_node("n2")]
    pods = [small_pod(uid).pod for uid in ("p", "waiting", "unseen")]
    queue = SmallQueue([small_pod("waiting", ""), small_pod("stale", "")])
    mismatch = CacheDebugger(small_cache(), queue, lambda: nodes, lambda: pods).compare()
    assert mismatch == CacheMismatch(
        missed_nodes=("n2",),
        redundant_nodes=("ghost", "n1"),
        missed_pods=("unseen",),
        redundant_pods=("q", "r", "stale"),
    )


def test_a_pod_that_is_cached_and_waits_as_well_is_once_too_much() -> None:
    queue = SmallQueue([small_pod("p", "")])
    cache = make_cache([small_node("n0")])
    cache.add_pod(small_pod("p", "n0"))
    pods = [small_pod("p").pod]
    mismatch = CacheDebugger(cache, queue, lambda: [small_node("n0")], lambda: pods).compare()
    assert mismatch == CacheMismatch(redundant_pods=("p",))


def test_a_run_writes_differences_nodes_and_queue_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    cache = small_cache()
    queue = SmallQueue([small_pod("w", "")])
    pods = [small_pod(uid).pod for uid in "pqrw"]
    debugger = CacheDebugger(cache, queue, lambda: [small_node("n0"), small_node("n1")], lambda: pods)
    with caplog.at_level(logging.DEBUG, "nodewise.state"):
        debugger.run()
    messages = [(record.levelname, cast(LogMessage, record.msg)) for record in caplog.records]
    assert [(level, message.text, message.fields) for level, message in messages] == [
        ("DEBUG", "Cache comparer started", {}),
        ("INFO", "Cache mismatch", {"missedNodes": (), "redundantNodes": ("ghost",)}),
        ("DEBUG", "Cache comparer finished", {}),
        ("INFO", "Dump of cached NodeInfo", {"nodes": debugger.nodes_text()}),
        (
            "INFO",
            "Dump of scheduling queue",
            {
                "summary": "activeQ:1; backoffQ:0; unschedulableEntities:0",
                "pods": "name: w, namespace: ns, uid: w, phase: , nominated node: \n",
            },
        ),
    ]


def test_nothing_is_said_when_nothing_differs(caplog: pytest.LogCaptureFixture) -> None:
    cache = make_cache([small_node("n0")], [small_pod("p", "n0").pod])
    debugger = CacheDebugger(cache, SmallQueue(), lambda: [small_node("n0")], lambda: [small_pod("p", "n0").pod])
    with caplog.at_level(logging.INFO, "nodewise.state"):
        assert not debugger.compare()
    assert caplog.records == []


def test_the_same_can_be_had_as_json() -> None:
    queue = SmallQueue([small_pod("w", "")], [small_pod("v", "")])
    shown = json.loads(json.dumps(CacheDebugger(small_cache(), queue, list, list).as_json()))
    assert [node["name"] for node in shown["nodes"]] == ["ghost", "n0", "n1"]
    ghost, node, _ = shown["nodes"]
    assert ghost["deleted"] is True
    assert node["requested"] == {"cpu": 7, "example.com/gpu": 1}
    assert node["usedPorts"] == [{"protocol": "TCP", "hostIP": "0.0.0.0", "hostPort": 80}]
    assert node["pvcRefCounts"] == {"ns/data": 1}
    assert [(pod["uid"], pod["assumed"]) for pod in node["pods"]] == [("p", False), ("q", True)]
    assert [pod["uid"] for pod in node["nominatedPods"]] == ["v"]
    assert shown["queue"]["summary"] == "activeQ:1; backoffQ:0; unschedulableEntities:0"
    assert [pod["name"] for pod in shown["queue"]["pods"]] == ["w"]
