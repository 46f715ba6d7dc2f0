"""Updates of pods and nodes become the events that kube-scheduler makes of them, in its order."""

from __future__ import annotations

from typing import Any

import pytest

from nodewise.api.devices import PodResourceClaimStatus
from nodewise.api.objects import (
    ContainerExtendedResourceRequest,
    ContainerStatus,
    Node,
    NodeCondition,
    NodePodPreemptionPolicy,
    Pod,
    PodCondition,
    PodExtendedResourceClaimStatus,
    PodSchedulingGate,
    PodStatus,
    ResourceRequirements,
    replace,
)
from nodewise.framework.events import ActionType, ClusterEvent, EventResource
from nodewise.framework.object_events import node_update_events, pod_resource, pod_update_events
from nodewise.testing.builders import make_node, make_pod

LABEL, DOWN, UP = ActionType.UPDATE_POD_LABEL, ActionType.UPDATE_POD_SCALE_DOWN, ActionType.UPDATE_POD_SCALE_UP
GATES, TOLERATION = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, ActionType.UPDATE_POD_TOLERATION
CLAIM, PLAIN = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM, ActionType.UPDATE
TAINT, ALLOCATABLE = ActionType.UPDATE_NODE_TAINT, ActionType.UPDATE_NODE_ALLOCATABLE
NODE_LABEL, CONDITION = ActionType.UPDATE_NODE_LABEL, ActionType.UPDATE_NODE_CONDITION
ANNOTATION, FEATURE = ActionType.UPDATE_NODE_ANNOTATION, ActionType.UPDATE_NODE_DECLARED_FEATURE
POLICY = ActionType.UPDATE_NODE_PREEMPTION_POLICY


def pod_actions(old: Pod, new: Pod) -> list[ActionType]:
    return [event.actions for event in pod_update_events(new, old, EventResource.TARGET_POD)]


def node_actions(old: Node, new: Node) -> list[ActionType]:
    events = node_update_events(new, old)
    assert all(event.resource is EventResource.NODE for event in events)
    return [event.actions for event in events]


def gated(*names: str) -> Pod:
    return make_pod("p", scheduling_gates=tuple(PodSchedulingGate(name) for name in names))


def with_status(**status: Any) -> Pod:
    return make_pod("p", "1", status=PodStatus(**status))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (make_pod("p"), make_pod("p"), [PLAIN]),
        (make_pod("p"), make_pod("p", annotations={"a": "b"}), [PLAIN]),
        (make_pod("p"), make_pod("p", labels={"a": "b"}), [LABEL]),
        (make_pod("p", labels={"a": "b"}), make_pod("p", labels={"a": "c"}), [LABEL]),
        (make_pod("p", "2"), make_pod("p", "1"), [DOWN]),
        (make_pod("p", "1"), make_pod("p", "2"), [UP]),
        (make_pod("p", "1"), make_pod("p", "1000m"), [PLAIN]),
        (make_pod("p", "2", "1Gi"), make_pod("p", "1", "2Gi"), [DOWN, UP]),
        (make_pod("p", "1"), make_pod("p"), [DOWN]),
        (make_pod("p"), make_pod("p", "0"), [UP]),  # a request of nothing is a request
        (make_pod("p", "0"), make_pod("p"), [DOWN]),
        (make_pod("p", resources={"odd": "2"}), make_pod("p", resources={"odd": "1"}), [DOWN]),  # scheduling or not
        (gated("a"), gated(), [GATES]),
        (gated("a", "b"), gated("b"), [PLAIN]),
        (gated(), gated("a"), [PLAIN]),
        (make_pod("p"), make_pod("p", tolerations=["a"]), [TOLERATION]),
        (make_pod("p", tolerations=["a"]), make_pod("p"), [TOLERATION]),
        (make_pod("p", tolerations=["a"]), make_pod("p", tolerations=["b"]), [PLAIN]),  # only their number counts
        (make_pod("p", "1"), make_pod("p", "2", labels={"a": "b"}, tolerations=["a"]), [LABEL, UP, TOLERATION]),
    ],
)
def test_what_changed_in_a_pod_is_told_one_by_one(old: Pod, new: Pod, expected: list[ActionType]) -> None:
    assert pod_actions(old, new) == expected


MAPPING = ContainerExtendedResourceRequest("c", "example.com/gpu", "r")
EXTENDED = PodExtendedResourceClaimStatus((MAPPING,), "claim")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {"resource_claim_statuses": (PodResourceClaimStatus("gpu", "claim"),)}),
        (
            {"resource_claim_statuses": (PodResourceClaimStatus("gpu", "claim"),)},
            {"resource_claim_statuses": (PodResourceClaimStatus("gpu"),)},
        ),
        ({}, {"extended_resource_claim_status": EXTENDED}),
        (
            {"extended_resource_claim_status": EXTENDED},
            {"extended_resource_claim_status": replace(EXTENDED, request_mappings=())},
        ),
    ],
)
def test_new_claims_of_a_pod_are_told(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert pod_actions(with_status(**old), with_status(**new)) == [CLAIM]


def test_a_resize_counts_when_the_node_says_so() -> None:
    def running(cpu: str) -> ContainerStatus:
        return ContainerStatus("c", {"cpu": cpu}, ResourceRequirements(requests={"cpu": cpu}))

    before, after = (with_status(container_statuses=(running(cpu),)) for cpu in ("2", "1"))
    assert pod_actions(before, after) == [DOWN]
    infeasible = PodCondition("PodResizePending", "True", "Infeasible")
    wanting = make_pod("p", "3", status=PodStatus(container_statuses=(running("1"),)))
    refused = replace(wanting, status=replace(wanting.status, conditions=(infeasible,)))
    assert pod_actions(wanting, refused) == [DOWN]


def test_a_pod_with_a_node_is_assigned_and_others_are_the_target_or_not() -> None:
    assert pod_resource(make_pod("p", node="n"), is_target=True) is EventResource.ASSIGNED_POD
    assert pod_resource(make_pod("p"), is_target=True) is EventResource.TARGET_POD
    assert pod_resource(make_pod("p"), is_target=False) is EventResource.UNSCHEDULED_POD
    event = ClusterEvent(EventResource.UNSCHEDULED_POD, PLAIN)
    assert pod_update_events(make_pod("p"), make_pod("p"), EventResource.UNSCHEDULED_POD) == [event]


READY, NOT_READY = NodeCondition("Ready", "True"), NodeCondition("Ready", "False")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (make_node("n"), make_node("n"), []),
        (make_node("n", unschedulable=True), make_node("n"), [TAINT]),
        (make_node("n"), make_node("n", unschedulable=True), []),
        (make_node("n"), make_node("n", "8"), [ALLOCATABLE]),
        (make_node("n", "4"), make_node("n", "4000m"), []),
        (make_node("n"), make_node("n", resources={"odd": "1"}), [ALLOCATABLE]),  # scheduling or not
        (make_node("n"), make_node("n", capacity={"cpu": "64"}), []),
        (make_node("n"), make_node("n", labels={"a": "b"}), [NODE_LABEL]),
        (make_node("n"), make_node("n", taints=["a:NoSchedule"]), [TAINT]),
        (make_node("n", unschedulable=True), make_node("n", taints=["a:NoSchedule"]), [TAINT, TAINT]),
        (make_node("n"), make_node("n", conditions=(READY,)), [CONDITION]),
        (make_node("n", conditions=(READY,)), make_node("n", conditions=(NOT_READY,)), [CONDITION]),
        (make_node("n", conditions=(NOT_READY, READY)), make_node("n", conditions=(READY,)), []),  # the last one counts
        (make_node("n"), make_node("n", annotations={"a": "b"}), [ANNOTATION]),
        (make_node("n"), make_node("n", declared_features=("F",)), [FEATURE]),
        (make_node("n", declared_features=("F", "G")), make_node("n", declared_features=("G", "F")), [FEATURE]),
        (
            make_node("n", unschedulable=True, taints=["a:NoSchedule"]),
            make_node(
                "n", "8", labels={"a": "b"}, annotations={"a": "b"}, conditions=(READY,), declared_features=("F",)
            ),
            [TAINT, ALLOCATABLE, NODE_LABEL, TAINT, CONDITION, ANNOTATION, FEATURE],
        ),
    ],
)
def test_what_changed_in_a_node_is_told_one_by_one(old: Node, new: Node, expected: list[ActionType]) -> None:
    assert node_actions(old, new) == expected


def test_the_preemption_policy_of_a_node_is_told() -> None:
    node = make_node("n")
    policy = NodePodPreemptionPolicy(disable_resize_preemption=("autoscaler",))
    assert node_actions(node, replace(node, spec=replace(node.spec, pod_preemption_policy=policy))) == [POLICY]


def test_a_node_without_allocatable_amounts_has_its_capacity() -> None:
    node = make_node("n")
    assert node_actions(node, replace(node, status=replace(node.status, allocatable=None))) == []
