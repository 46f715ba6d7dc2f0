"""Hints of the plugins about gates, cordons, taints, node affinity, ports, features and preemption."""

from __future__ import annotations

from typing import Any

import pytest

from nodewise.api.objects import (
    Affinity,
    Container,
    ContainerPort,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodStatus,
)
from nodewise.config.arguments import NodeAffinityArgs
from nodewise.config.feature_gates import FeatureGates
from nodewise.errors import SelectorError
from nodewise.framework.events import (
    ASSIGNED_POD_DELETE,
    QUEUE,
    SKIP,
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from nodewise.framework.status import SUCCESS, Code
from nodewise.preemption.ongoing import OngoingPreemptions
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import FakeHandle, make_node, make_pod
from tests.plugins.hints import ask, make_plugin

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
NODE_FEATURE = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_DECLARED_FEATURE)
OWN_TOLERATION = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION)
PLAIN = make_pod("plain")
NEW_NODE = make_node("n")


def test_losing_the_last_gate_brings_a_pod_back() -> None:
    event = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    assert ask(make_plugin("SchedulingGates"), event, PLAIN, PLAIN, PLAIN) is QUEUE


# --- cordons ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, make_node("n"), QUEUE),
        (None, make_node("n", unschedulable=True), SKIP),
        (make_node("n", unschedulable=True), make_node("n"), QUEUE),
        (make_node("n"), make_node("n"), SKIP),
        (make_node("n"), make_node("n", unschedulable=True), SKIP),
        (make_node("n", unschedulable=True), make_node("n", unschedulable=True), SKIP),
    ],
)
def test_a_node_without_a_cordon_that_is_new_or_had_one_brings_pods_back(
    old: Node | None, new: Node, expected: QueueingHint
) -> None:
    event = NODE_ADD if old is None else NODE_TAINT
    assert ask(make_plugin("NodeUnschedulable"), event, PLAIN, old, new) is expected


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ("node.kubernetes.io/unschedulable:NoSchedule", QUEUE),
        ("*", QUEUE),
        ("node.kubernetes.io/unschedulable:NoExecute", SKIP),
        ("dedicated", SKIP),
    ],
)
def test_only_tolerating_the_cordon_helps_a_pod_that_cordons_kept_off(toleration: str, expected: QueueingHint) -> None:
    tolerant = make_pod("plain", tolerations=[toleration])
    assert ask(make_plugin("NodeUnschedulable"), OWN_TOLERATION, tolerant, PLAIN, tolerant) is expected


# --- taints -----------------------------------------------------------------------------------------------------------

TAINTED = make_node("n", taints=["dedicated=db:NoSchedule"])
OTHERWISE_TAINTED = make_node("n", taints=["dedicated=web:NoExecute"])
SOFTLY_TAINTED = make_node("n", taints=["dedicated=db:PreferNoSchedule"])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, NEW_NODE, QUEUE),
        (None, SOFTLY_TAINTED, QUEUE),
        (None, TAINTED, SKIP),
        (TAINTED, NEW_NODE, QUEUE),
        (TAINTED, SOFTLY_TAINTED, QUEUE),
        (TAINTED, OTHERWISE_TAINTED, SKIP),
        (NEW_NODE, SOFTLY_TAINTED, SKIP),
        (NEW_NODE, TAINTED, SKIP),
    ],
)
def test_a_node_whose_taints_are_tolerated_now_but_were_not_brings_pods_back(
    old: Node | None, new: Node, expected: QueueingHint
) -> None:
    event = NODE_ADD if old is None else NODE_TAINT
    assert ask(make_plugin("TaintToleration"), event, PLAIN, old, new) is expected


def test_taints_count_by_the_tolerations_of_the_pod() -> None:
    tolerant = make_pod("tolerant", tolerations=["dedicated=db:NoSchedule"])
    plugin = make_plugin("TaintToleration")
    assert ask(plugin, NODE_TAINT, tolerant, OTHERWISE_TAINTED, TAINTED) is QUEUE
    assert ask(plugin, NODE_TAINT, tolerant, TAINTED, NEW_NODE) is SKIP


def test_any_new_toleration_brings_a_pod_back_that_taints_kept_off() -> None:
    assert ask(make_plugin("TaintToleration"), OWN_TOLERATION, PLAIN, PLAIN, make_pod("x", tolerations=["y"])) is QUEUE


# --- node affinity ----------------------------------------------------------------------------------------------------


def requiring(*terms: NodeSelectorTerm) -> Affinity:
    return Affinity(node_affinity=NodeAffinity(required=NodeSelector(terms)))


def labelled(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key, operator, values),))


def fielded(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=(NodeSelectorRequirement(key, operator, values),))


SSD = make_node("n", labels={"disk": "ssd", "rank": "3"})
HDD = make_node("n", labels={"disk": "hdd"})
ON_SSD = make_pod("on-ssd", node_selector={"disk": "ssd"})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, SSD, QUEUE),
        (None, HDD, SKIP),
        (HDD, SSD, QUEUE),
        (SSD, SSD, SKIP),
        (SSD, HDD, SKIP),
        (HDD, HDD, SKIP),
    ],
)
def test_a_node_that_matches_now_but_did_not_brings_pods_back(
    old: Node | None, new: Node, expected: QueueingHint
) -> None:
    event = NODE_ADD if old is None else NODE_LABEL
    assert ask(make_plugin("NodeAffinity"), event, ON_SSD, old, new) is expected


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (labelled("disk", "In", "ssd", "nvme"), QUEUE),
        (labelled("disk", "NotIn", "ssd"), SKIP),
        (labelled("gpu", "NotIn", "a100"), QUEUE),
        (labelled("disk", "Exists"), QUEUE),
        (labelled("disk", "DoesNotExist"), SKIP),
        (labelled("rank", "Gt", "2"), QUEUE),
        (labelled("rank", "Lt", "2"), SKIP),
        (labelled("disk", "Gt", "2"), SKIP),
        (fielded("metadata.name", "In", "n"), QUEUE),
        (fielded("metadata.name", "NotIn", "n"), SKIP),
        (fielded("metadata.uid", "In", "n"), SKIP),
        (fielded("metadata.uid", "NotIn", "n"), QUEUE),
        (NodeSelectorTerm(), SKIP),
    ],
)
def test_hints_judge_terms_as_the_filter_does(term: NodeSelectorTerm, expected: QueueingHint) -> None:
    pod = make_pod("affine", affinity=requiring(term))
    assert ask(make_plugin("NodeAffinity"), NODE_ADD, pod, None, SSD) is expected


def test_one_matching_term_is_enough_and_unreadable_ones_only_matter_without_it() -> None:
    unreadable = labelled("rank", "Gt", "x")
    plugin = make_plugin("NodeAffinity")
    both = make_pod("affine", affinity=requiring(unreadable, labelled("disk", "Exists")))
    assert ask(plugin, NODE_ADD, both, None, SSD) is QUEUE
    with pytest.raises(SelectorError):
        ask(plugin, NODE_ADD, make_pod("affine", affinity=requiring(unreadable)), None, SSD)


def test_an_update_does_not_help_a_pod_that_requires_nothing() -> None:
    plugin = make_plugin("NodeAffinity")
    assert ask(plugin, NODE_ADD, PLAIN, None, HDD) is QUEUE
    assert ask(plugin, NODE_LABEL, PLAIN, HDD, SSD) is SKIP


def test_added_affinity_keeps_other_nodes_out_but_its_past_does_not_count() -> None:
    added = NodeAffinity(required=NodeSelector((labelled("disk", "In", "ssd"),)))
    plugin = make_plugin("NodeAffinity", args=NodeAffinityArgs(added_affinity=added))
    assert ask(plugin, NODE_ADD, PLAIN, None, HDD) is SKIP
    assert ask(plugin, NODE_ADD, PLAIN, None, SSD) is QUEUE
    assert ask(plugin, NODE_LABEL, PLAIN, HDD, SSD) is SKIP  # though nothing but the added affinity was in the way
    ranked = make_pod("ranked", node_selector={"rank": "3"})
    assert ask(plugin, NODE_LABEL, ranked, HDD, SSD) is QUEUE


# --- host ports -------------------------------------------------------------------------------------------------------


def on_port(host_port: int, host_ip: str = "", protocol: str = "TCP", **more: Any) -> Pod:
    port = ContainerPort(host_port=host_port, host_ip=host_ip, protocol=protocol)
    return make_pod("ported", containers=(Container(name="c", ports=(port,)),), **more)


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        (on_port(80, node="n1"), QUEUE),
        (on_port(80, status=PodStatus(nominated_node_name="n1")), QUEUE),
        (on_port(80), SKIP),
        (on_port(81, node="n1"), SKIP),
        (on_port(80, protocol="UDP", node="n1"), SKIP),
        (on_port(80, "10.0.0.1", node="n1"), QUEUE),
        (make_pod("without", node="n1"), SKIP),
    ],
)
def test_a_deleted_pod_brings_back_those_that_want_its_ports(deleted: Pod, expected: QueueingHint) -> None:
    assert ask(make_plugin("NodePorts"), ASSIGNED_POD_DELETE, on_port(80), deleted, None) is expected


def test_ports_on_different_addresses_are_different() -> None:
    plugin, deleted = make_plugin("NodePorts"), on_port(80, "10.0.0.1", node="n1")
    assert ask(plugin, ASSIGNED_POD_DELETE, on_port(80, "10.0.0.2"), deleted, None) is SKIP
    assert ask(plugin, ASSIGNED_POD_DELETE, on_port(80, "10.0.0.1"), deleted, None) is QUEUE


# --- declared features ------------------------------------------------------------------------------------------------


def test_other_features_of_a_node_bring_pods_back_whatever_they_need() -> None:
    plugin = make_plugin("NodeDeclaredFeatures")
    before, after = make_node("n"), make_node("n", declared_features=("Other",))
    assert ask(plugin, NODE_ADD, PLAIN, None, before) is QUEUE
    assert ask(plugin, NODE_FEATURE, PLAIN, before, after) is QUEUE
    assert ask(plugin, NODE_FEATURE, PLAIN, after, after) is SKIP


@pytest.mark.parametrize("action", [ActionType.UPDATE, ActionType.UPDATE_POD_LABEL, ActionType.UPDATE_POD_SCALE_UP])
def test_any_update_of_the_pod_counts_when_it_needs_other_features_then(action: ActionType) -> None:
    plugin, event = make_plugin("NodeDeclaredFeatures"), ClusterEvent(EventResource.TARGET_POD, action)
    needy = make_pod("needy", host_network=True, host_users=False)
    assert ask(plugin, event, PLAIN, needy, PLAIN) is QUEUE
    assert ask(plugin, event, PLAIN, PLAIN, PLAIN) is SKIP


# --- preemption -------------------------------------------------------------------------------------------------------


def test_a_deletion_only_reopens_the_gate_of_preemption() -> None:
    plugin = make_plugin("DefaultPreemption")
    assert ask(plugin, ASSIGNED_POD_DELETE, PLAIN, make_pod("victim", node="n1"), None) is SKIP


def test_a_preemptor_waits_for_its_last_victim() -> None:
    handle = FakeHandle()
    victim = PodInfo(make_pod("victim", node="n1"))
    ongoing = OngoingPreemptions({victim.key: victim}.get)
    handle.preemptions = ongoing  # type: ignore[attr-defined]
    plugin = make_plugin("DefaultPreemption", handle)
    assert plugin.pre_enqueue(PLAIN) == SUCCESS
    ongoing.start(PLAIN.metadata.uid)
    status = plugin.pre_enqueue(PLAIN)
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.reasons == ("waiting for the preemption for this pod to be finished",)
    assert plugin.pre_enqueue(make_pod("other")) == SUCCESS
    ongoing.wait_for(PLAIN.metadata.uid, victim)
    assert plugin.pre_enqueue(PLAIN) == status
    ongoing.finish(PLAIN.metadata.uid)
    assert plugin.pre_enqueue(PLAIN) == SUCCESS


def test_nobody_waits_without_asynchronous_preemption() -> None:
    plugin = make_plugin("DefaultPreemption", gates=FeatureGates.of(SchedulerAsyncPreemption=False))
    plugin.ongoing.start(PLAIN.metadata.uid)
    assert plugin.pre_enqueue(PLAIN) == SUCCESS
