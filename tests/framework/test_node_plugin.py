"""A plugin that looks at one node at a time works as one over columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nodewise.api.objects import Pod
from nodewise.errors import PluginError
from nodewise.framework.events import ActionType, ClusterEventWithHint, EventResource, register
from nodewise.framework.node_plugin import NodeView, adapt
from nodewise.framework.plugin import EXTENSION_POINTS, PodsChange
from nodewise.framework.status import SUCCESS, Status
from nodewise.state.columns import ALL_ROWS, IntArray
from nodewise.state.dirty_log import ROW, Reads
from nodewise.state.what_if import WhatIfColumns
from nodewise.testing.builders import make_node, make_pod, make_snapshot
from nodewise.testing.check_plugin import check_plugin

FULL = Status.unschedulable("node(s) had enough pods")


class AtMostTwoPods:
    name = "AtMostTwoPods"

    def filter(self, pod: Pod, node: NodeView) -> Status | None:
        return FULL if len(node.pods) >= 2 else None


class PreferFreeCpu:
    name = "PreferFreeCpu"
    reads = Reads.RESOURCES

    def score(self, pod: Pod, node: NodeView) -> int:
        return max(0, node.free("cpu"))

    def normalize(self, pod: Pod, scores: IntArray) -> IntArray:
        return scores * 100 // max(1, int(scores.max(initial=0)))

    def permit(self, state: object, pod: object, node_name: str) -> tuple[Status, float]:
        return SUCCESS, 0.0


class ReadsAnnotations:
    name = "ReadsAnnotations"
    reads_identity = True

    def filter(self, pod: Pod, node: NodeView) -> Status | None:
        wanted = pod.metadata.annotations.get("note")
        return None if wanted in (None, node.annotations["note"]) else Status.unresolvable(f"note is not {wanted}")


class Listening(AtMostTwoPods):
    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [register(EventResource.ASSIGNED_POD, ActionType.DELETE)]


def test_an_adapter_registers_the_events_of_its_plugin_where_it_has_some() -> None:
    assert adapt(Listening()).events_to_register() == Listening().events_to_register()
    assert not hasattr(adapt(AtMostTwoPods()), "events_to_register")


def points(plugin: object) -> set[str]:
    return {point for point, protocol in EXTENSION_POINTS.items() if isinstance(plugin, protocol)}


@pytest.mark.parametrize("plugin", [AtMostTwoPods(), PreferFreeCpu(), ReadsAnnotations()])
def test_an_adapted_plugin_keeps_to_the_contract_of_plugins(plugin: Any) -> None:
    check_plugin(plugin)


def test_it_takes_part_exactly_where_its_plugin_does() -> None:
    assert points(adapt(AtMostTwoPods())) == {"filter"}
    assert points(adapt(PreferFreeCpu())) == {"score", "permit"}
    assert adapt(PreferFreeCpu()).permit(None, None, "n1") == (SUCCESS, 0.0)


def test_it_reads_its_own_node_unless_the_plugin_says_otherwise() -> None:
    assert adapt(AtMostTwoPods()).reads == ROW
    assert adapt(PreferFreeCpu()).reads == Reads.RESOURCES


def test_a_view_shows_all_of_the_node() -> None:
    seen: dict[str, object] = {}

    class Looks:
        name = "Looks"

        def filter(self, pod: Pod, node: NodeView) -> Status | None:
            seen.update(
                name=node.name,
                labels=node.labels["disk"],
                annotations=dict(node.annotations),
                taints=[taint.key for taint in node.taints],
                cordoned=node.unschedulable,
                cpu=(node.allocatable("cpu"), node.requested("cpu"), node.free("cpu")),
                gpu=(node.allocatable("example.com/gpu"), node.free("example.com/none")),
                pods=[info.key for info in node.pods],
                object=node.node.status.declared_features,
            )
            return None

    node = make_node(
        "n1",
        cpu="2",
        labels={"disk": "ssd"},
        annotations={"a": "b"},
        taints=["t:NoSchedule"],
        unschedulable=True,
        resources={"example.com/gpu": "3"},
        declared_features=("F",),
    )
    snapshot = make_snapshot([node], [make_pod("old", "1500m", node="n1")])
    plugin = adapt(Looks())
    plugin.filter(plugin.compile(make_pod("p"), snapshot), snapshot.columns, ALL_ROWS)
    assert seen == {
        "name": "n1",
        "labels": "ssd",
        "annotations": {"a": "b"},
        "taints": ["t"],
        "cordoned": True,
        "cpu": (2000, 1500, 500),
        "gpu": (3, 0),
        "pods": ["default/old"],
        "object": ("F",),
    }


def test_equal_statuses_share_a_code() -> None:
    pods = [make_pod(f"p{i}", node=f"n{i % 2}") for i in range(4)]
    snapshot = make_snapshot([make_node("n0"), make_node("n1"), make_node("n2")], pods)
    plugin = adapt(AtMostTwoPods())
    state = plugin.compile(make_pod("p"), snapshot)
    rows = np.array([snapshot.columns.row_of(name) for name in ("n0", "n1", "n2")], np.intp)
    assert plugin.filter(state, snapshot.columns, rows).tolist() == [1, 1, 0]
    assert plugin.filter(state, snapshot.columns, rows[::-1]).tolist() == [0, 1, 1]
    assert plugin.rejection(state, 1) == FULL


def test_a_what_if_shows_the_pods_as_they_would_be() -> None:
    snapshot = make_snapshot([make_node("n0")], [make_pod(f"p{i}", node="n0") for i in range(2)])
    plugin = adapt(AtMostTwoPods())
    state = plugin.compile(make_pod("p"), snapshot)
    victim = next(iter(snapshot.pods_on(0).values()))
    columns = WhatIfColumns(snapshot.columns, 0)
    without = plugin.with_pods(state, snapshot.columns, PodsChange(0, removed=(victim,)))
    assert plugin.filter(without, columns, ALL_ROWS).tolist() == [0]
    again = plugin.with_pods(without, snapshot.columns, PodsChange(0, added=(victim,)))
    assert plugin.filter(again, columns, ALL_ROWS).tolist() == [1]
    assert plugin.filter(state, columns, ALL_ROWS).tolist() == [1]


def test_identity_is_part_of_the_class_only_when_asked_for() -> None:
    one, other = make_pod("a"), make_pod("b")
    assert adapt(AtMostTwoPods()).class_key(one) == adapt(AtMostTwoPods()).class_key(other)
    assert adapt(ReadsAnnotations()).class_key(one) != adapt(ReadsAnnotations()).class_key(other)


def test_an_answer_of_the_wrong_kind_is_an_error_that_names_the_node() -> None:
    class Wrong:
        name = "Wrong"

        def filter(self, pod: Pod, node: NodeView) -> Any:
            return True

        def score(self, pod: Pod, node: NodeView) -> Any:
            return 0.5

    snapshot = make_snapshot([make_node("n0")])
    plugin = adapt(Wrong())
    state = plugin.compile(make_pod("p"), snapshot)
    with pytest.raises(PluginError, match="Wrong: filter returned True for default/p on node n0"):
        plugin.filter(state, snapshot.columns, ALL_ROWS)
    with pytest.raises(PluginError, match=r"Wrong: score returned 0\.5 for default/p on node n0"):
        plugin.score(state, snapshot.columns, ALL_ROWS)


def test_a_plugin_over_columns_without_compile_is_told_what_is_missing() -> None:
    class NoCompile:
        name = "NoCompile"

        def filter(self, state: Any, columns: Any, rows: Any) -> Any: ...

    with pytest.raises(PluginError, match=r"does not take \(pod, node\); a plugin over columns has `compile`"):
        adapt(NoCompile())
