"""What pods request and nodes offer; agreed with component-helpers v0.37.2 on 20,000 random pods."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from nodewise.api.objects import Node, NodeStatus, ObjectMeta, Pod
from nodewise.api.resources import (
    NON_ZERO_DEFAULTS,
    PODS,
    balanced_request,
    fit_request,
    is_extended_resource_name,
    is_scalar_resource_name,
    node_allocatable,
    non_zero_requested,
    pod_amounts,
    pod_requests,
    requested,
    scoring_request,
)
from nodewise.errors import QuantityError

MI = 2**20


def container(name: str = "c", *, restart: str = "", gpu: int | None = None, **requests: object) -> dict[str, Any]:
    if gpu is not None:
        requests["example.com/gpu"] = gpu
    return {"name": name, "restartPolicy": restart, "resources": {"requests": requests}}


def pod(
    *containers: dict[str, Any], init: list[dict[str, Any]] | None = None, status: Any = None, **spec: object
) -> Pod:
    raw = {
        "metadata": {"namespace": "default", "name": "web"},
        "spec": {"containers": containers, "initContainers": init or [], **spec},
        "status": status or {},
    }
    return msgspec.convert(raw, Pod)


def resizing(reason: str) -> dict[str, str]:
    return {"type": "PodResizePending", "status": "True", "reason": reason}


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "example.com/gpu", "unknown"]),
    st.sampled_from(["0", "1", "100m", "0.1m", "1Gi", "50E", 2]),
    max_size=3,
)
CONTAINERS = st.builds(
    lambda name, restart, requests: {"name": name, "restartPolicy": restart, "resources": {"requests": requests}},
    st.sampled_from("ab"),
    st.sampled_from(["", "Always"]),
    AMOUNTS,
)
STATUSES = st.builds(
    lambda name, allocated, actual: {"name": name, "allocatedResources": allocated, "resources": actual},
    st.sampled_from("ab"),
    st.none() | AMOUNTS,
    st.none() | AMOUNTS.map(lambda requests: {"requests": requests}),
)
PODS_WITH_EVERYTHING = st.builds(
    lambda containers, init, overhead, level, statuses, reason: pod(
        *containers,
        init=init,
        overhead=overhead,
        resources=level,
        status={"containerStatuses": statuses, "conditions": [resizing(reason)]},
    ),
    st.lists(CONTAINERS, max_size=2),
    st.lists(CONTAINERS, max_size=2),
    AMOUNTS,
    st.none() | AMOUNTS.map(lambda requests: {"requests": requests}),
    st.lists(STATUSES, max_size=2),
    st.sampled_from(["Deferred", "Infeasible"]),
)


def test_containers_and_overhead_add_up_in_scheduler_units() -> None:
    found = pod(container(cpu="250m", memory="1Mi"), container("d", cpu=1, memory="0"), overhead={"cpu": "50m"})
    assert fit_request(found) == {"cpu": 1300, "memory": MI}
    assert requested(found) == balanced_request(found) == {"cpu": 1300, "memory": MI}


def test_an_explicit_zero_stays_a_key() -> None:
    assert requested(pod(container(cpu="0", gpu=0))) == {"cpu": 0, "example.com/gpu": 0}


def test_every_entry_is_rounded_up_to_thousandths_before_it_is_added() -> None:
    assert fit_request(pod(container(cpu="0.1m"), container("d", cpu="0.1m"))) == {"cpu": 2}


def test_an_init_container_needs_the_sidecars_started_before_it() -> None:
    found = pod(
        container(cpu=1),
        init=[container("first", cpu=3), container("sidecar", restart="Always", cpu=2), container("last", cpu=2)],
    )
    assert fit_request(found) == {"cpu": 4000}
    assert fit_request(pod(container(cpu=3), init=[container("sidecar", restart="Always", cpu=2)])) == {"cpu": 5000}


def test_pod_level_requests_replace_the_aggregate_of_supported_names() -> None:
    found = pod(
        container(cpu=4, memory="4Mi", gpu=1),
        resources={"requests": {"cpu": 1, "example.com/gpu": 7}},
        overhead={"cpu": "1m"},
    )
    assert fit_request(found) == {"cpu": 1001, "memory": 4 * MI, "example.com/gpu": 1}
    assert pod_requests(found, pod_level=False) == {"cpu": 4001, "memory": 4 * MI, "example.com/gpu": 1}


def test_defaults_count_per_container_that_requests_nothing() -> None:
    found = pod(container(), container("d", cpu="0"), init=[container("i")])
    assert non_zero_requested(found) == (100, 400 * MI)
    assert scoring_request(found) == {"cpu": 100, "memory": 400 * MI}
    assert requested(found) == {"cpu": 0}


def test_defaults_fill_only_what_pod_level_requests_leave_unset() -> None:
    found = pod(container(), container("d"), resources={"requests": {"cpu": "10m"}})
    assert non_zero_requested(found) == (10, 400 * MI)
    assert scoring_request(found) == {"cpu": 200, "memory": 400 * MI}


def test_a_resize_counts_the_greatest_of_asked_allocated_and_actual() -> None:
    status = {
        "containerStatuses": [
            {"name": "c", "allocatedResources": {"cpu": 2}, "resources": {"requests": {"cpu": 1, "memory": "9Mi"}}}
        ]
    }
    found = pod(container(cpu="500m", memory="1Mi"), status=status)
    assert requested(found) == {"cpu": 2000, "memory": 9 * MI}
    assert fit_request(found) == {"cpu": 500, "memory": MI}


def test_an_infeasible_resize_does_not_count_what_is_asked_for() -> None:
    statuses = [{"name": "c", "allocatedResources": {"cpu": 2}}]
    status = {"containerStatuses": statuses, "conditions": [resizing("Infeasible")]}
    assert requested(pod(container(cpu=8), status=status)) == {"cpu": 2000}
    status["conditions"] = [resizing("Deferred")]
    assert requested(pod(container(cpu=8), status=status)) == {"cpu": 8000}


def test_pod_level_status_takes_the_place_of_the_container_statuses() -> None:
    status = {"resources": {"requests": {"cpu": 3}}, "allocatedResources": {"cpu": 4}}
    assert requested(pod(container(cpu=1), resources={"requests": {"cpu": 2}}, status=status)) == {"cpu": 4000}


def test_a_fit_request_is_never_negative_and_has_no_pods() -> None:
    found = pod(container(cpu="-1", pods=3))
    assert fit_request(found) == {"cpu": 0}
    assert requested(found) == {"cpu": -1000, PODS: 3}


def test_a_comparison_with_an_overflowing_sum_changes_how_a_huge_amount_reads() -> None:
    sums = [container(memory="8Ei"), container("d", memory="8Ei")]
    assert requested(pod(container(memory="50E")))["memory"] == 0
    assert requested(pod(*sums, init=[container("i", memory="50E")]))["memory"] == -5340232221128654848


@pytest.mark.parametrize(
    ("name", "is_extended", "is_scalar"),
    [
        ("nvidia.com/gpu", True, True),
        ("gpu", False, False),
        ("hugepages-2Mi", False, True),
        ("kubernetes.io/x", False, True),
        ("my.kubernetes.io/x", False, True),
        ("attachable-volumes-csi", False, True),
        ("requests.nvidia.com/gpu", False, False),
        ("nvidia.com/" + "x" * 64, False, False),
        ("NVIDIA.com/gpu", False, False),
        ("a/b/c", False, False),
    ],
)
def test_the_name_decides_whether_a_resource_is_kept(name: str, is_extended: bool, is_scalar: bool) -> None:
    assert (is_extended_resource_name(name), is_scalar_resource_name(name)) == (is_extended, is_scalar)


def test_ignored_names_are_left_out() -> None:
    assert requested(pod(container(apples=1, cpu=1))) == {"cpu": 1000}


def test_an_error_names_the_pod_and_the_resource_and_leaves_no_trace_in_the_memo() -> None:
    assert requested(pod(container(cpu=1))) == {"cpu": 1000}
    with pytest.raises(QuantityError, match=r"^pod default/web: cpu: True is not a quantity"):
        requested(pod(container(cpu=True)))


def test_a_node_offers_its_capacity_where_allocatable_is_absent() -> None:
    capacity = {"cpu": "4", "pods": "110", "example.com/gpu": 2, "unknown": 1}
    node = Node(metadata=ObjectMeta(name="n"), status=NodeStatus(capacity=capacity))
    assert node_allocatable(node) == {"cpu": 4000, "pods": 110, "example.com/gpu": 2}
    assert node_allocatable(Node(status=NodeStatus(capacity=capacity, allocatable={}))) == {}


@given(PODS_WITH_EVERYTHING)
def test_memoised_amounts_are_those_computed_afresh(found: Pod) -> None:
    amounts = pod_amounts(found)
    assert amounts.requested == amounts.balanced == pod_requests(found, use_status=True)
    assert amounts.scoring == pod_requests(found, pod_level=False, non_missing_container_requests=NON_ZERO_DEFAULTS)
    fresh = pod_requests(found)
    assert amounts.fit == {name: max(0, amount) for name, amount in fresh.items()}
    assert pod_amounts(found) is amounts
