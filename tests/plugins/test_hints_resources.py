"""Hints of NodeResourcesFit."""

from __future__ import annotations

from typing import Any

import pytest

from nodewise.api.devices import DeviceClass, DeviceClassSpec
from nodewise.api.objects import (
    ContainerStatus,
    Node,
    ObjectMeta,
    Pod,
    PodCondition,
    PodStatus,
    ResourceRequirements,
    replace,
)
from nodewise.config.arguments import NodeResourcesFitArgs
from nodewise.config.feature_gates import FeatureGates
from nodewise.framework.events import (
    ASSIGNED_POD_DELETE,
    QUEUE,
    SKIP,
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
)
from nodewise.testing.builders import FakeHandle, make_node, make_pod
from tests.plugins.hints import ask, make_plugin

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_ALLOCATABLE = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_ALLOCATABLE)
SCALE_DOWN = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_DOWN)
OWN_SCALE_DOWN = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_DOWN)
SCALE_UP = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE_POD_SCALE_UP)
OWN_SCALE_UP = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCALE_UP)
CLASS_ADD = ClusterEvent(EventResource.DEVICE_CLASS, ActionType.ADD)
CLASS_UPDATE = ClusterEvent(EventResource.DEVICE_CLASS, ActionType.UPDATE)
GPU = "example.com/gpu"
RESIZES = FeatureGates.of(InPlacePodVerticalScalingSchedulerPreemption=True)
TWO_CORES = make_pod("two-cores", "2", "1Gi")


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        (make_pod("d", node="n1"), QUEUE),
        (make_pod("d", status=PodStatus(nominated_node_name="n1")), QUEUE),
        (make_pod("d", "8"), SKIP),
    ],
)
def test_any_deleted_pod_that_had_or_awaited_room_brings_pods_back(deleted: Pod, expected: QueueingHint) -> None:
    assert ask(make_plugin("NodeResourcesFit"), ASSIGNED_POD_DELETE, TWO_CORES, deleted, None) is expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (make_node("n", "2", "1Gi"), QUEUE),
        (make_node("n", "1999m"), SKIP),
        (make_node("n", "2", "1Mi"), SKIP),
        (make_node("n", pods=0), SKIP),
        (make_node("n", pods=1), QUEUE),
    ],
)
def test_a_new_node_counts_when_the_pod_fits_on_it_alone(node: Node, expected: QueueingHint) -> None:
    assert ask(make_plugin("NodeResourcesFit"), NODE_ADD, TWO_CORES, None, node) is expected


def test_a_pod_that_asks_for_nothing_still_needs_a_place() -> None:
    plugin, pod = make_plugin("NodeResourcesFit"), make_pod("empty")
    assert ask(plugin, NODE_ADD, pod, None, make_node("n", "0", "0")) is QUEUE
    assert ask(plugin, NODE_ADD, pod, None, make_node("n", pods=0)) is SKIP
    assert ask(plugin, NODE_ALLOCATABLE, pod, make_node("n", "1"), make_node("n", "2")) is SKIP
    assert ask(plugin, NODE_ALLOCATABLE, pod, make_node("n", pods=1), make_node("n", pods=2)) is QUEUE


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (make_node("n", "2"), make_node("n", "3"), QUEUE),
        (make_node("n", "3"), make_node("n", "2"), SKIP),
        (make_node("n", "1"), make_node("n", "1500m"), SKIP),  # more, but not enough
        (make_node("n", "4", "2Gi"), make_node("n", "2", "3Gi"), QUEUE),
        (make_node("n", pods=1), make_node("n", pods=2), QUEUE),
        (make_node("n", resources={GPU: "1"}), make_node("n", resources={GPU: "2"}), SKIP),  # not asked for
        (make_node("n"), make_node("n", resources={"ephemeral-storage": "1Gi"}), SKIP),
    ],
)
def test_an_updated_node_counts_when_it_has_more_of_what_the_pod_asks_for(
    old: Node, new: Node, expected: QueueingHint
) -> None:
    assert ask(make_plugin("NodeResourcesFit"), NODE_ALLOCATABLE, TWO_CORES, old, new) is expected


def test_extended_resources_count_like_others_and_a_zero_request_never() -> None:
    plugin = make_plugin("NodeResourcesFit")
    before, after = make_node("n", resources={GPU: "1"}), make_node("n", resources={GPU: "2"})
    assert ask(plugin, NODE_ALLOCATABLE, make_pod("p", resources={GPU: "1"}), before, after) is QUEUE
    assert ask(plugin, NODE_ALLOCATABLE, make_pod("p", resources={GPU: "3"}), before, after) is SKIP
    assert ask(plugin, NODE_ALLOCATABLE, make_pod("p", resources={GPU: "0"}), before, after) is SKIP


def test_ignored_resources_are_not_ignored_by_hints() -> None:
    plugin = make_plugin("NodeResourcesFit", args=NodeResourcesFitArgs(ignored_resources=(GPU,)))
    assert ask(plugin, NODE_ADD, make_pod("p", resources={GPU: "1"}), None, make_node("n")) is SKIP


def handle_with(*classes: DeviceClass) -> FakeHandle:
    handle = FakeHandle()
    handle.listers.fill(classes)
    return handle


def device_class(name: str, resource: str | None = None) -> DeviceClass:
    return DeviceClass(ObjectMeta(name=name), DeviceClassSpec(extended_resource_name=resource))


def test_a_resource_that_devices_stand_for_is_left_to_another_plugin() -> None:
    plugin = make_plugin("NodeResourcesFit", handle_with(device_class("gpu", GPU)))
    pod, node = make_pod("p", resources={GPU: "1"}), make_node("n")
    assert ask(plugin, NODE_ADD, pod, None, node) is QUEUE
    assert ask(plugin, NODE_ALLOCATABLE, pod, node, node) is QUEUE  # it may have devices now
    listed = make_node("n", resources={GPU: "1"})
    assert ask(plugin, NODE_ALLOCATABLE, pod, listed, listed) is SKIP
    assert ask(plugin, NODE_ADD, make_pod("p", resources={GPU: "2"}), None, listed) is SKIP


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, device_class("gpu", GPU), QUEUE),
        (None, device_class("gpu", "example.com/other"), SKIP),
        (None, device_class("gpu"), SKIP),
        (None, device_class("fast"), QUEUE),  # by its implicit name
        (device_class("gpu"), device_class("gpu", GPU), QUEUE),
        (device_class("gpu", GPU), device_class("gpu", GPU), SKIP),
        (device_class("gpu", GPU), device_class("gpu"), SKIP),
        (device_class("fast"), device_class("fast", "example.com/other"), SKIP),  # that name was there before
        (device_class("gpu"), device_class("gpu", ""), SKIP),
    ],
)
def test_a_class_counts_when_it_stands_for_a_resource_of_the_pod_now(
    old: DeviceClass | None, new: DeviceClass, expected: QueueingHint
) -> None:
    pod = make_pod("p", resources={GPU: "1", "deviceclass.resource.kubernetes.io/fast": "1"})
    event = CLASS_ADD if old is None else CLASS_UPDATE
    assert ask(make_plugin("NodeResourcesFit"), event, pod, old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (make_pod("r", "2", node="n"), make_pod("r", "1", node="n"), QUEUE),
        (make_pod("r", "1", node="n"), make_pod("r", "2", node="n"), SKIP),
        (make_pod("r", "2", node="n"), make_pod("r", node="n"), QUEUE),
        (make_pod("r", "2"), make_pod("r", "1"), SKIP),  # it runs nowhere
        (make_pod("r", resources={GPU: "2"}, node="n"), make_pod("r", resources={GPU: "1"}, node="n"), SKIP),
        (make_pod("r", "1", "2Gi", node="n"), make_pod("r", "2", "1Gi", node="n"), QUEUE),
    ],
)
def test_a_running_pod_that_asks_for_less_of_what_the_pod_asks_for_brings_it_back(
    old: Pod, new: Pod, expected: QueueingHint
) -> None:
    assert ask(make_plugin("NodeResourcesFit"), SCALE_DOWN, TWO_CORES, old, new) is expected


def test_a_resize_counts_once_it_is_done() -> None:
    def running(cpu: str) -> ContainerStatus:
        return ContainerStatus("c", {"cpu": cpu}, ResourceRequirements(requests={"cpu": cpu}))

    old = make_pod("r", "1", node="n", status=PodStatus(container_statuses=(running("2"),)))
    new = make_pod("r", "1", node="n", status=PodStatus(container_statuses=(running("1"),)))
    plugin = make_plugin("NodeResourcesFit")
    assert ask(plugin, SCALE_DOWN, TWO_CORES, old, new) is QUEUE
    assert ask(plugin, SCALE_DOWN, TWO_CORES, old, old) is SKIP


def test_a_pod_that_asks_for_less_itself_is_worth_a_try() -> None:
    assert ask(make_plugin("NodeResourcesFit"), OWN_SCALE_DOWN, TWO_CORES, TWO_CORES, make_pod("x", "1")) is QUEUE


# --- pods that wait for a resize --------------------------------------------------------------------------------------

PENDING = PodStatus(conditions=(PodCondition("PodResizePending", "True", "Deferred"),))
RESIZING = make_pod("resizing", "3", node="n1", status=PENDING)


def asked(event: ClusterEvent, pod: Pod, old: Any, new: Any) -> QueueingHint:
    return ask(make_plugin("NodeResourcesFit", gates=RESIZES), event, pod, old, new)


@pytest.mark.parametrize(("node", "expected"), [("n1", QUEUE), ("n2", SKIP)])
def test_only_its_own_node_matters_to_a_pod_that_waits_for_a_resize(node: str, expected: QueueingHint) -> None:
    larger, smaller = make_pod("other", "2", node=node), make_pod("other", "1", node=node)
    assert asked(ASSIGNED_POD_DELETE, RESIZING, larger, None) is expected
    assert asked(SCALE_DOWN, RESIZING, larger, smaller) is expected
    assert asked(SCALE_UP, RESIZING, smaller, larger) is expected
    assert asked(NODE_ADD, RESIZING, None, make_node(node)) is expected


def test_growing_pods_only_matter_to_pods_that_wait_for_a_resize() -> None:
    smaller, larger = make_pod("other", "1", node=""), make_pod("other", "2", node="")
    assert asked(SCALE_UP, TWO_CORES, smaller, larger) is SKIP
    assert asked(OWN_SCALE_UP, TWO_CORES, TWO_CORES, TWO_CORES) is SKIP
    assert asked(OWN_SCALE_UP, RESIZING, RESIZING, RESIZING) is QUEUE


def test_without_the_feature_gate_a_deferred_resize_is_nothing_special() -> None:
    deleted = make_pod("other", node="n2")
    assert ask(make_plugin("NodeResourcesFit"), ASSIGNED_POD_DELETE, RESIZING, deleted, None) is QUEUE
    infeasible = replace(PENDING, conditions=(PodCondition("PodResizePending", "True", "Infeasible"),))
    assert asked(ASSIGNED_POD_DELETE, replace(RESIZING, status=infeasible), deleted, None) is QUEUE
