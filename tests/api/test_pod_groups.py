"""What an API server makes of pod groups on create, and what it refuses."""

from typing import Any

import pytest

from nodewise.api.admission_pod_groups import create_pod_group
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.meta import ObjectMeta
from nodewise.api.objects import PriorityClass, replace
from nodewise.api.pod_groups import (
    CompositePodGroup,
    DisruptionMode,
    PodGroup,
    PodGroupObject,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
    SchedulingConstraints,
    TopologyConstraint,
    WorkloadReference,
)
from nodewise.api.validation_pod_groups import check_pod_group, check_scheduling_group
from nodewise.testing.group_builders import make_group, make_group_of_groups

CLASSES = {
    "high": PriorityClass(ObjectMeta(name="high"), value=1000),
    "never": PriorityClass(ObjectMeta(name="never"), value=500, preemption_policy="Never"),
    "base": PriorityClass(ObjectMeta(name="base"), value=7, global_default=True),
    "other": PriorityClass(ObjectMeta(name="other"), value=9, global_default=True),
}


def with_spec(group: Any, **spec: Any) -> Any:
    return replace(group, spec=replace(group.spec, **spec))


def created(group: PodGroupObject, *gates: str, classes: dict[str, PriorityClass] | None = None) -> Any:
    return create_pod_group(group, CLASSES if classes is None else classes, lambda gate: gate in gates).spec


# --- create -----------------------------------------------------------------------------------------------------------


def test_the_minimum_of_a_group_is_that_of_its_gang_else_one() -> None:
    assert [make_group("g", 5).min_count, make_group("g").min_count] == [5, 1]
    assert [make_group_of_groups("t", 2).min_count, make_group_of_groups("t").min_count] == [2, 1]


@pytest.mark.parametrize("group", [make_group("g"), make_group_of_groups("t")])
def test_a_group_gets_the_priority_of_its_class_or_the_lowest_default(group: PodGroupObject) -> None:
    without = with_spec(group, priority=None)
    assert created(with_spec(without, priority_class_name="high")).priority == 1000
    spec = created(without)
    assert (spec.priority, spec.priority_class_name) == (7, "base")
    assert created(without, classes={}).priority == 0
    assert created(group).priority == 0


def test_a_class_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidFieldError, match='no PriorityClass with name "none" was found') as raised:
        created(with_spec(make_group("g"), priority_class_name="none"))
    assert raised.value.field == "spec.priorityClassName"


def test_the_preemption_policy_of_a_group_is_dropped_without_its_gate() -> None:
    group = with_spec(make_group("g"), preemption_policy="Never")
    assert created(group).preemption_policy is None
    assert created(group, "PodGroupPreemptionPolicy").preemption_policy == "Never"
    assert created(make_group("g"), "PodGroupPreemptionPolicy").preemption_policy == "PreemptLowerPriority"


def test_a_group_with_a_class_has_to_name_the_policy_of_the_class() -> None:
    group = with_spec(make_group("g"), priority_class_name="never")
    with pytest.raises(InvalidFieldError, match="computed Never from the given PriorityClass name"):
        created(group, "PodGroupPreemptionPolicy")
    agreeing = with_spec(group, preemption_policy="Never")
    assert created(agreeing, "PodGroupPreemptionPolicy").preemption_policy == "Never"


@pytest.mark.parametrize(
    ("gate", "field", "value", "empty"),
    [
        (
            "TopologyAwareWorkloadScheduling",
            "scheduling_constraints",
            SchedulingConstraints((TopologyConstraint("zone"),)),
            None,
        ),
        ("DRAWorkloadResourceClaims", "resource_claims", (PodGroupResourceClaim("c", "claim"),), ()),
        ("CompositePodGroup", "parent_composite_pod_group_name", "t", None),
    ],
)
def test_fields_of_features_that_are_off_are_dropped(gate: str, field: str, value: Any, empty: Any) -> None:
    group = with_spec(make_group("g"), **{field: value})
    assert getattr(created(group), field) == empty
    assert getattr(created(group, gate), field) == value


def test_a_group_of_groups_keeps_its_constraints() -> None:
    tree = make_group_of_groups("t", topology="zone")
    assert created(tree).scheduling_constraints == tree.spec.scheduling_constraints


# --- refusals ---------------------------------------------------------------------------------------------------------

REFERENCE = WorkloadReference("w", "t")
TWO_KEYS = SchedulingConstraints((TopologyConstraint("a"), TopologyConstraint("b")))


def refused(group: PodGroup | CompositePodGroup) -> list[str]:
    return [f"{error.field}: {error.message}" for error in check_pod_group(group)]


@pytest.mark.parametrize(
    "group",
    [
        make_group("g"),
        make_group("g", 3, topology="topology.kubernetes.io/zone", goes_whole=True),
        with_spec(make_group("g", parent="t"), workload_ref=REFERENCE, priority_class_name="high"),
        with_spec(make_group_of_groups("t", 2), workload_ref=REFERENCE, preemption_policy="Never"),
        with_spec(make_group("g"), resource_claims=(PodGroupResourceClaim("c", "claim"),)),
    ],
)
def test_groups_that_are_as_they_should_be_are_taken(group: PodGroup | CompositePodGroup) -> None:
    assert refused(group) == []


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"scheduling_policy": PodGroupSchedulingPolicy()}, "spec.schedulingPolicy: Invalid value"),
        (
            {"scheduling_policy": replace(make_group("g", 2).spec.scheduling_policy, basic={})},
            "must specify exactly one of: `basic`, `gang`",
        ),
        ({"scheduling_policy": make_group("g", 0).spec.scheduling_policy}, "spec.schedulingPolicy.gang.minCount: Req"),
        ({"scheduling_policy": make_group("g", -1).spec.scheduling_policy}, "must be greater than or equal to 1"),
        ({"scheduling_constraints": TWO_KEYS}, "spec.schedulingConstraints.topology: Too many"),
        ({"scheduling_constraints": SchedulingConstraints((TopologyConstraint(),))}, "topology[0].key: Required value"),
        ({"scheduling_constraints": SchedulingConstraints((TopologyConstraint("a b"),))}, "topology[0].key: Invalid"),
        ({"disruption_mode": DisruptionMode()}, "spec.disruptionMode: Invalid value"),
        ({"disruption_mode": DisruptionMode({}, {})}, "must specify exactly one of: `single`, `all`"),
        ({"priority": 1_000_000_001}, "spec.priority: Invalid value"),
        ({"priority_class_name": "No Class"}, "spec.priorityClassName: Invalid value"),
        ({"preemption_policy": "Sometimes"}, "spec.preemptionPolicy: Unsupported value"),
        ({"parent_composite_pod_group_name": "t"}, "spec.workloadRef: Required value"),
        ({"parent_composite_pod_group_name": "-"}, "spec.parentCompositePodGroupName: Invalid value"),
        ({"workload_ref": WorkloadReference()}, "spec.workloadRef.workloadName: Required value"),
        ({"workload_ref": WorkloadReference("w", "T")}, "spec.workloadRef.templateName: Invalid value"),
        ({"resource_claims": (PodGroupResourceClaim("c"),)}, "spec.resourceClaims[0]: Invalid value"),
        ({"resource_claims": (PodGroupResourceClaim("c", "x"),) * 2}, "spec.resourceClaims[1]: Duplicate value"),
        ({"resource_claims": (PodGroupResourceClaim("", "x"),)}, "spec.resourceClaims[0].name: Required value"),
        ({"resource_claims": tuple(PodGroupResourceClaim(n, "x") for n in "abcde")}, "spec.resourceClaims: Too many"),
    ],
)
def test_what_is_wrong_with_a_group_is_named(spec: dict[str, Any], text: str) -> None:
    assert any(text in line for line in refused(with_spec(make_group("g"), **spec)))


def test_a_group_of_groups_has_to_be_part_of_a_workload() -> None:
    assert refused(make_group_of_groups("t")) == ["spec.workloadRef: Required value"]
    tree = with_spec(make_group_of_groups("t", 0), workload_ref=REFERENCE)
    assert refused(tree) == ["spec.schedulingPolicy.gang.minGroupCount: Required value"]


def test_a_pod_has_to_name_its_group_properly() -> None:
    assert check_scheduling_group("g", "spec.schedulingGroup") == []
    [missing] = check_scheduling_group(None, "spec.schedulingGroup")
    assert (missing.field, "must specify one of" in missing.message) == ("spec.schedulingGroup.podGroupName", True)
    [wrong] = check_scheduling_group("No Group", "spec.schedulingGroup")
    assert wrong.message.startswith("Invalid value")
