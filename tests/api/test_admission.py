"""Defaults and admission: what an API server adds to objects, seen through small pods."""

import json
from typing import Any

import pytest

from nodewise.api.admission import SYSTEM_PRIORITY_CLASSES, create_pod, identified, made_up_uid
from nodewise.api.decoding import decode_object
from nodewise.api.defaults import default_object, default_pod
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.kinds import KINDS
from nodewise.api.objects import Namespace, Node, ObjectMeta, Pod, PodDisruptionBudget, PriorityClass


def decode(kind: str, **fields: Any) -> Any:
    return decode_object(
        json.dumps({"metadata": {"name": "x", "labels": {"app": "a"}}, **fields}).encode(), KINDS[kind]
    )


def pod_with(**spec: Any) -> Pod:
    return default_pod(decode("Pod", spec={"containers": [{"name": "c", "image": "i"}], **spec}))


def created(classes: dict[str, PriorityClass] | None = None, **spec: Any) -> Pod:
    return create_pod(pod_with(**spec), {**SYSTEM_PRIORITY_CLASSES, **(classes or {})})


def test_requests_come_from_limits_by_name_in_containers_and_init_containers() -> None:
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}
    pod = pod_with(
        containers=[{"name": "c", "resources": resources}], initContainers=[{"name": "i", "resources": resources}]
    )
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        assert container.resources.requests == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("written", "stored"),
    [("0.0001", "1m"), ("100u", "1m"), ("1500u", "2m"), ("100m", "100m"), (1, "1"), (2.5, "2.5"), (None, "0")],
)
def test_amounts_are_rounded_up_to_milli_units(written: Any, stored: str) -> None:
    pod = pod_with(containers=[{"name": "c", "resources": {"requests": {"cpu": written}}}])
    assert pod.spec.containers[0].resources.requests == {"cpu": stored}


def test_an_amount_that_is_no_quantity_is_refused_with_its_field() -> None:
    with pytest.raises(InvalidFieldError) as caught:
        pod_with(containers=[{"name": "c", "resources": {"limits": {"cpu": "one"}}}])
    assert caught.value.field == "spec.containers[0].resources.limits[cpu]"


def test_host_network_gives_every_port_its_host_port_and_ports_are_tcp() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 82, "protocol": "UDP"}]
    (container,) = pod_with(hostNetwork=True, containers=[{"name": "c", "ports": ports}]).spec.containers
    assert [(port.host_port, port.protocol) for port in container.ports] == [(80, "TCP"), (82, "UDP")]


def test_a_node_without_allocatable_offers_its_capacity() -> None:
    node = default_object(decode("Node", status={"capacity": {"cpu": "4"}}))
    assert isinstance(node, Node)
    assert node.status.allocatable == {"cpu": "4"}


def test_a_namespace_carries_its_name_as_a_label() -> None:
    namespace = default_object(decode("Namespace"))
    assert isinstance(namespace, Namespace)
    assert namespace.metadata.labels == {"app": "a", "kubernetes.io/metadata.name": "x"}


@pytest.mark.parametrize(("api_version", "matches_all"), [("policy/v1", True), ("policy/v1beta1", False)])
def test_an_empty_budget_selector_matches_no_pod_in_the_old_version(api_version: str, matches_all: bool) -> None:
    budget = default_object(decode("PodDisruptionBudget", spec={"selector": {}}), api_version)
    assert isinstance(budget, PodDisruptionBudget)
    assert budget.spec.selector is not None
    assert (not budget.spec.selector.match_expressions) is matches_all


def test_priority_and_policy_come_from_the_named_class() -> None:
    polite = PriorityClass(ObjectMeta(name="polite"), 7, preemption_policy="Never")
    pod = created({"polite": polite}, priorityClassName="polite")
    assert (pod.spec.priority, pod.spec.preemption_policy) == (7, "Never")


def test_the_lowest_global_default_class_serves_pods_that_name_none() -> None:
    classes = {
        name: PriorityClass(ObjectMeta(name=name), value, global_default=True) for name, value in (("a", 9), ("b", 3))
    }
    assert created(classes).spec.priority_class_name == "b"
    assert created(classes).spec.priority == 3


def test_a_priority_without_a_class_is_kept() -> None:
    assert created(priority=12).spec.priority == 12


def test_an_unknown_priority_class_is_refused() -> None:
    with pytest.raises(InvalidFieldError, match='no PriorityClass with name "nope"'):
        created(priorityClassName="nope")


def test_both_default_tolerations_are_added_unless_tolerated_already() -> None:
    assert [t.toleration_seconds for t in created().spec.tolerations] == [300, 300]
    assert len(created(tolerations=[{"operator": "Exists"}]).spec.tolerations) == 1
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    assert [t.key for t in created(tolerations=[own]).spec.tolerations] == [
        own["key"],
        "node.kubernetes.io/unreachable",
    ]


def test_label_keys_are_merged_into_selectors_that_exist() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "z",
        "whenUnsatisfiable": "DoNotSchedule",
        "matchLabelKeys": ["app", "no"],
    }
    term = {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["app"], "mismatchLabelKeys": ["app"]}
    pod = created(
        topologySpreadConstraints=[{**constraint, "labelSelector": {}}, {**constraint, "topologyKey": "y"}],
        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    )
    merged, unmerged = pod.spec.topology_spread_constraints
    assert merged.label_selector is not None
    assert [(e.key, e.operator, e.values) for e in merged.label_selector.match_expressions] == [("app", "In", ("a",))]
    assert unmerged.label_selector is None
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.pod_anti_affinity is not None
    (own,) = pod.spec.affinity.pod_anti_affinity.required
    assert own.label_selector is not None
    assert [e.operator for e in own.label_selector.match_expressions] == ["In", "NotIn"]


def test_a_gated_pod_is_stored_with_its_condition_and_a_running_one_with_its_status() -> None:
    gated = created(schedulingGates=[{"name": "g"}])
    assert [c.reason for c in gated.status.conditions] == ["SchedulingGated"]
    running = default_pod(decode("Pod", spec={"containers": []}, status={"phase": "Running"}))
    assert create_pod(running, SYSTEM_PRIORITY_CLASSES).status is running.status


def test_pod_level_requests_are_filled_in_from_containers_and_limits() -> None:
    pod = created(
        resources={"limits": {"cpu": "4", "memory": "2Gi"}},
        containers=[{"name": n, "image": "i", "resources": {"requests": {"cpu": "1"}}} for n in ("a", "b")],
    )
    assert pod.spec.resources is not None
    assert pod.spec.resources.requests == {"cpu": "2", "memory": "2Gi"}


def test_identity_is_made_of_kind_name_and_position_only_where_it_is_missing() -> None:
    made = identified(ObjectMeta(name="a", namespace="b"), "Pod", 3)
    assert made.uid == made_up_uid("Pod", "b", "a")
    assert made.creation_timestamp is not None
    assert made.creation_timestamp.isoformat() == "2026-01-01T00:00:03+00:00"
    assert identified(made, "Pod", 9) is made


def test_pod_level_resources_of_a_pod_without_containers_stay_as_written() -> None:
    pod = created(resources={"requests": {"cpu": "1"}}, containers=[])
    assert pod.spec.resources is not None
    assert (pod.spec.resources.requests, pod.spec.resources.limits) == ({"cpu": "1"}, {})
