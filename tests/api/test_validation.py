"""What an API server would refuse, by field."""

import json
from typing import Any

import pytest

from nodewise.api.admission import SYSTEM_PRIORITY_CLASSES, create_pod
from nodewise.api.decoding import decode_object
from nodewise.api.defaults import default_object
from nodewise.api.kinds import KINDS
from nodewise.api.objects import Pod
from nodewise.api.validation import validate_object

TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SPREAD = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}


def problems(kind: str, fields: dict[str, Any]) -> list[str]:
    """Return the errors of an object that goes the way of every input object."""
    data = {"metadata": {"name": "x", "namespace": "default", "labels": {"app": "a"}}, **fields}
    obj = default_object(decode_object(json.dumps(data).encode(), KINDS[kind]))
    if isinstance(obj, Pod):
        obj = create_pod(obj, SYSTEM_PRIORITY_CLASSES)
    return [str(error) for error in validate_object(obj)]


def pod_problems(**spec: Any) -> list[str]:
    return problems("Pod", {"spec": {"containers": [{"name": "c", "image": "i"}], **spec}})


def container_problems(**fields: Any) -> list[str]:
    return pod_problems(containers=[{"name": "c", "image": "i", **fields}])


def test_a_plain_pod_is_accepted() -> None:
    assert pod_problems() == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": ""}, "spec.containers[0].name: Required value"),
        ({"name": "A"}, 'spec.containers[0].name: Invalid value: "A": a lowercase RFC 1123 label must consist'),
        ({"image": ""}, "spec.containers[0].image: Required value"),
        ({"ports": [{}]}, "spec.containers[0].ports[0].containerPort: Required value"),
        (
            {"ports": [{"containerPort": 65536}]},
            "spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive",
        ),
        (
            {"ports": [{"containerPort": 1, "protocol": "ICMP"}]},
            'spec.containers[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        ),
        (
            {"ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]},
            'spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//5"',
        ),
        (
            {"resources": {"requests": {"cpu": "-1"}}},
            'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
            'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        (
            {"resources": {"requests": {"x.test/gpu": "1"}}},
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            {"resources": {"limits": {"x.test/gpu": "1500m"}}},
            'spec.containers[0].resources.limits[x.test/gpu]: Invalid value: "1500m": must be an integer',
        ),
        (
            {"resources": {"limits": {"hugepages-2Mi": "2Mi"}}},
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
        ),
        (
            {"resources": {"requests": {"gpu": "1"}}},
            'resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers',
        ),
        ({"volumeMounts": [{"name": "v", "mountPath": "/"}]}, 'volumeMounts[0].name: Not found: "v"'),
        ({"restartPolicy": "Sometimes"}, 'restartPolicy: Unsupported value: "Sometimes"'),
    ],
)
def test_a_bad_container_is_refused(fields: dict[str, Any], expected: str) -> None:
    assert any(expected in problem for problem in container_problems(**fields))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": []}, "spec.containers: Required value"),
        ({"initContainers": [{"name": "c", "image": "i"}]}, 'spec.initContainers[0].name: Duplicate value: "c"'),
        ({"nodeSelector": {"a b": "c"}}, 'spec.nodeSelector: Invalid value: "a b"'),
        ({"nodeName": "A"}, 'spec.nodeName: Invalid value: "A"'),
        ({"restartPolicy": "No"}, 'spec.restartPolicy: Unsupported value: "No"'),
        ({"preemptionPolicy": "No"}, 'spec.preemptionPolicy: Unsupported value: "No"'),
        ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, 'spec.schedulingGates[1]: Duplicate value: "a"'),
        ({"schedulingGates": [{"name": "a"}], "nodeName": "n"}, "spec.nodeName: Forbidden: cannot be set until"),
        ({"overhead": {"cpu": "-1"}}, "spec.overhead.limits[cpu]: Invalid value"),
        ({"tolerations": [{"key": "a", "operator": "In"}]}, 'spec.tolerations[0].operator: Unsupported value: "In"'),
        ({"tolerations": [{"value": "a"}]}, "spec.tolerations[0].operator: Invalid value"),
        ({"tolerations": [{"key": "a", "effect": "No"}]}, 'spec.tolerations[0].effect: Unsupported value: "No"'),
        (
            {"tolerations": [{"key": "a", "tolerationSeconds": 1}]},
            "effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
        ({"topologySpreadConstraints": [{**SPREAD, "maxSkew": 0}]}, "maxSkew: Invalid value: 0: must be greater than"),
        ({"topologySpreadConstraints": [{**SPREAD, "topologyKey": ""}]}, "topologyKey: Required value"),
        ({"topologySpreadConstraints": [{**SPREAD, "minDomains": 0}]}, "minDomains: Invalid value: 0"),
        (
            {"topologySpreadConstraints": [{**SPREAD, "nodeTaintsPolicy": "X"}]},
            'nodeTaintsPolicy: Unsupported value: "X"',
        ),
        ({"topologySpreadConstraints": [{**SPREAD, "matchLabelKeys": ["a"]}]}, "matchLabelKeys: Forbidden"),
        ({"topologySpreadConstraints": [SPREAD, SPREAD]}, 'Duplicate value: "{z, DoNotSchedule}"'),
        (
            {"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2}]},
            "minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule",
        ),
        (
            {"resources": {"requests": {"cpu": "1"}, "limits": {"ephemeral-storage": "1"}}},
            'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage"',
        ),
    ],
)
def test_a_bad_pod_is_refused(spec: dict[str, Any], expected: str) -> None:
    assert any(expected in problem for problem in pod_problems(**spec))


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ({"key": "a", "operator": "In"}, "values: Required value"),
        ({"key": "a", "operator": "Exists", "values": ["b"]}, "values: Forbidden"),
        (
            {"key": "a", "operator": "Gt", "values": ["1", "2"]},
            "values: Required value: must be specified single value",
        ),
        ({"key": "a", "operator": "Near"}, 'operator: Invalid value: "Near": not a valid selector operator'),
        ({"key": "", "operator": "Exists"}, "key: Invalid value"),
    ],
)
def test_a_bad_node_affinity_requirement_is_refused(requirement: dict[str, Any], expected: str) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
    assert any(p.startswith(f"{path}.matchExpressions[0].{expected}") for p in pod_problems(affinity=affinity))


@pytest.mark.parametrize("weight", [0, 101])
def test_weights_lie_between_1_and_100(weight: int) -> None:
    term = {"topologyKey": "z", "labelSelector": {}}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": term}]}
    assert any("must be in the range 1-100" in p for p in pod_problems(affinity={"podAffinity": preferred}))


@pytest.mark.parametrize("operator", ["Lt", "Gt"])
def test_a_toleration_that_compares_numbers_is_accepted_whatever_the_feature_gate(operator: str) -> None:
    assert pod_problems(tolerations=[{"key": "a", "operator": operator, "value": "5", "effect": "NoSchedule"}]) == []


def test_a_pod_affinity_term_needs_a_topology_key() -> None:
    required: dict[str, Any] = {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}
    assert any("topologyKey: Required value" in p for p in pod_problems(affinity={"podAffinity": required}))


def test_a_stored_pod_may_ask_for_label_values_that_no_node_can_have() -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}]}
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}},
    }
    assert problems("Pod", {"spec": spec})
    assert problems("Pod", {"metadata": {"name": "x", "uid": "1"}, "spec": spec}) == []


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("Node", {"spec": {"taints": [{"key": "a"}]}}, "spec.taints[0].effect: Required value"),
        ("Node", {"spec": {"taints": [{"key": "a", "effect": "No"}]}}, "spec.taints[0].effect: Unsupported value"),
        (
            "Node",
            {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}] * 2}},
            "taints must be unique by key and effect",
        ),
        ("Node", {"status": {"capacity": {"cpu": "-1"}}}, "status.capacity.cpu: Invalid value"),
        ("Node", {"metadata": {"name": "A"}}, 'metadata.name: Invalid value: "A"'),
        ("Node", {"metadata": {"name": "a", "labels": {"a": "b c"}}}, 'metadata.labels: Invalid value: "b c"'),
        (
            "PriorityClass",
            {"value": 1_000_000_001},
            "value: Forbidden: maximum allowed value of a user defined priority",
        ),
        ("PriorityClass", {"metadata": {"name": "system-mine"}}, "metadata.name: Forbidden: priority class names with"),
        ("PriorityClass", {"preemptionPolicy": "No"}, "preemptionPolicy: Unsupported value"),
        (
            "PodDisruptionBudget",
            {"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}}},
            "spec.selector.matchExpressions[0].operator: Invalid value",
        ),
        ("Service", {"spec": {"selector": {"": "a"}}}, "spec.selector: Invalid value"),
        ("Deployment", {"spec": {"template": TEMPLATE}}, "spec.selector: Required value"),
        ("Deployment", {"spec": {"selector": {}, "template": TEMPLATE}}, "empty selector is invalid for deployment"),
        (
            "ReplicaSet",
            {"spec": {"selector": {"matchLabels": {"a": "c"}}, "template": TEMPLATE}},
            '{"a": "b"}: `selector` does not match template `labels`',
        ),
        (
            "StatefulSet",
            {"spec": {"replicas": -1, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}},
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        ),
        ("Job", {"spec": {"template": TEMPLATE}}, "spec.template.spec.restartPolicy: Required value"),
        ("ReplicationController", {"spec": {}}, "spec.template: Required value"),
    ],
)
def test_other_bad_objects_are_refused(kind: str, fields: dict[str, Any], expected: str) -> None:
    assert any(expected in problem for problem in problems(kind, fields))


def test_a_system_priority_class_with_its_own_value_is_accepted() -> None:
    assert problems("PriorityClass", {"metadata": {"name": "system-node-critical"}, "value": 2_000_001_000}) == []
