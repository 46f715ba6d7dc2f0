"""DynamicResources: what keeps pods with claims off nodes, and what a decision does to their claims."""

from pathlib import Path
from typing import Any

import pytest

from nodewise.framework.plugin import EXTENSION_POINTS
from nodewise.framework.status import SUCCESS
from nodewise.plugins.dynamic_resources import DynamicResources
from nodewise.scheduler.tasks import run_without_waiting
from nodewise.simulation.explain import explain
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import FakeHandle, make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from tests.devices.world import (
    Json,
    claim,
    device,
    device_class,
    devices_of,
    exactly,
    node,
    open_cluster,
    place,
    place_all,
    pod,
    slice_of,
)
from tests.plugins.answers import failures, scores

GPU: tuple[Json, ...] = (device_class(), slice_of("n1", device("d0")), slice_of("n2", device("d0")))
HELPLESS = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."


def allocated(name: str, node_name: str, *reserved_for: str) -> Json:
    """Make a claim that has a device of a node."""
    selector = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node_name]}]}
    result = {"request": "r", "driver": "gpu.example.com", "pool": node_name, "device": "d0"}
    status = {
        "allocation": {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [selector]}},
        "reservedFor": [{"resource": "pods", "name": uid, "uid": uid} for uid in reserved_for],
    }
    return claim(name, exactly(), status=status)


def deleted(name: str) -> Json:
    """Make a claim that is on its way out."""
    made = claim(name, exactly())
    made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return made


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(DynamicResources)


def test_it_takes_part_where_kube_schedulers_does() -> None:
    made = DynamicResources(None, FakeHandle())
    points = {point for point, protocol in EXTENSION_POINTS.items() if isinstance(made, protocol)}
    expected = {"preEnqueue", "preFilter", "filter", "postFilter", "podGroupPostFilter", "score", "reserve", "preBind"}
    assert points == expected


def test_pods_without_claims_pass_and_score_zero_everywhere() -> None:
    assert failures(DynamicResources, make_pod("p"), [make_node("n1")]) == {}
    assert scores(DynamicResources, make_pod("p"), [make_node("n1")]) == ({"n1": 0}, {"n1": 0})


def test_a_pod_goes_where_there_are_devices(tmp_path: Path) -> None:
    items = (node("n0"), node("n2"), *GPU, claim("c", exactly()))
    session = open_cluster(tmp_path, *items, pod("p", "c"))
    assert place_all(session)["p"].node == "n2"
    assert devices_of(session, "c") == ["n2/d0"]


def test_a_pod_goes_where_the_devices_of_its_claim_are(tmp_path: Path) -> None:
    placed = place(tmp_path, node("n1"), node("n2"), *GPU, allocated("c", "n2"), pod("p", "c"))
    assert placed["p"].node == "n2"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ((), 'could not find ResourceClaim "default/c"'),
        ((deleted("c"),), 'resourceclaim "c" is being deleted'),
    ],
)
def test_a_pod_waits_until_its_claims_can_be_used(tmp_path: Path, items: Any, message: str) -> None:
    placement = place(tmp_path, node("n1"), *GPU, *items, pod("p", "c"))["p"]
    assert (placement.reason, placement.message) == ("Unschedulable", message)


def test_a_class_that_does_not_exist_refuses_the_pod_before_any_node(tmp_path: Path) -> None:
    placed = place(tmp_path, node("n1"), node("n2"), claim("c", exactly("r", "gone")), pod("p", "c"))
    assert placed["p"].message == f"0/2 nodes are available: request r: device class gone does not exist. {HELPLESS}"


def test_a_claim_for_one_pod_only_gives_its_devices_back_when_they_are_of_no_use(tmp_path: Path) -> None:
    items = (node("n1"), node("n2"), *GPU, allocated("c", "n1"))
    session = open_cluster(tmp_path, *items, pod("p", "c", nodeSelector={"kubernetes.io/hostname": "gone"}))
    before = place_all(session)["p"]
    assert before.message == f"0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. {HELPLESS}"
    items = (node("n0"), *GPU, allocated("c", "n1"))
    session = open_cluster(tmp_path, *items, pod("p", "c"))
    message = place_all(session)["p"].message
    assert "1 resourceclaim not available on the node. deallocation of ResourceClaim completed, preemption:" in message
    assert session.listers.devices.claims["default", "c"].status.allocation is None


def test_a_claim_that_others_use_keeps_its_devices(tmp_path: Path) -> None:
    session = open_cluster(tmp_path, node("n0"), *GPU, allocated("c", "n1", "other"), pod("p", "c"))
    assert "deallocation" not in place_all(session)["p"].message
    assert session.listers.devices.claims["default", "c"].status.allocation is not None


def test_explaining_a_pod_gives_nothing_back(tmp_path: Path) -> None:
    session = open_cluster(tmp_path, node("n0"), *GPU, allocated("c", "n1"), pod("p", "c"))
    assert "deallocation of ResourceClaim completed" in explain(session, session.pending[0]).message
    assert session.listers.devices.claims["default", "c"].status.allocation is not None


def test_it_is_not_found_when_an_earlier_pre_filter_ended_the_cycle(tmp_path: Path) -> None:
    selector = {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]} for name in ("a",)
        ]
    }
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
    selector["nodeSelectorTerms"][0]["matchFields"].append({"key": "metadata.name", "operator": "In", "values": ["b"]})
    placed = place(tmp_path, node("a"), node("b"), *GPU, claim("c", exactly()), pod("p", "c", affinity=affinity))
    assert placed["p"].message == "0/2 nodes are available: pod affinity terms conflict. not found"


def plugin_and_pod(tmp_path: Path, *items: Json) -> tuple[DynamicResources, PodInfo, Any]:
    """Open a cluster with one pending pod; the plugin, the pod and the claims."""
    session = open_cluster(tmp_path, node("n1"), *GPU, *items)
    (framework,) = session.scheduler.frameworks.values()
    plugin = next(found for found in framework.reserving if found.name == "DynamicResources")
    assert isinstance(plugin, DynamicResources)
    session.scheduler.evaluate(session.pending[0])
    return plugin, session.pending[0], session.listers.devices


def test_reserved_devices_are_taken_and_given_back(tmp_path: Path) -> None:
    plugin, info, devices = plugin_and_pod(tmp_path, claim("c", exactly()), pod("p", "c"))
    before = devices.claims["default", "c"]
    assert plugin.reserve(None, info, "n1") == SUCCESS  # type: ignore[arg-type]
    assert devices.claims["default", "c"].status.allocation is not None
    assert set(devices.pending) == {before.metadata.uid}
    plugin.unreserve(None, info, "n1")  # type: ignore[arg-type]
    assert devices.claims["default", "c"] == before
    assert not devices.pending


def test_a_claim_whose_allocation_is_not_written_yet_keeps_other_pods_waiting(tmp_path: Path) -> None:
    session = open_cluster(tmp_path, node("n1"), *GPU, claim("c", exactly()), pod("p", "c"), pod("q", "c"))
    first, second = session.pending
    session.scheduler.evaluate(first)
    reservation = session.scheduler.reservation(first, "n1")
    reservation.reserve()
    message = session.scheduler.schedule(second).message
    assert "resource claim default/c is in the process of being allocated" in message
    run_without_waiting(reservation.pre_bind())
    assert session.scheduler.schedule(second).node_name == "n1"


def test_the_claim_for_extended_resources_is_gone_after_unreserve(tmp_path: Path) -> None:
    asks = {"name": "main", "image": "i", "resources": {"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}}}
    asks["resources"]["limits"] = asks["resources"]["requests"]  # type: ignore[index]
    plugin, info, devices = plugin_and_pod(tmp_path, pod("p", containers=[asks]))
    assert plugin.reserve(None, info, "n1") == SUCCESS  # type: ignore[arg-type]
    assert len(devices.claims) == 1
    plugin.unreserve(None, info, "n1")  # type: ignore[arg-type]
    assert not devices.claims


def test_devices_that_failed_to_get_ready_make_their_claim_unavailable(tmp_path: Path) -> None:
    failed = allocated("c", "n1")
    (result,) = failed["status"]["allocation"]["devices"]["results"]
    result |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    place_of = {key: result[key] for key in ("driver", "pool", "device")}
    failed["status"]["devices"] = [{**place_of, "conditions": [{"type": "broken", "status": "True"}]}]
    placed = place(tmp_path, node("n1"), *GPU, failed, pod("p", "c"))
    assert "1 resourceclaim not available on the node" in placed["p"].message


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((claim("c", exactly(count=2)),), "claim default/c, request r: wants 2 of class gpu, 1 here match"),
        ((allocated("c", "n2"),), "claim default/c has gpu.example.com/n2/d0, which cannot be used here"),
    ],
)
def test_an_explanation_names_claim_request_and_devices(tmp_path: Path, items: Any, expected: str) -> None:
    session = open_cluster(tmp_path, node("n1"), *GPU, *items, pod("p", "c"))
    (on_node,) = explain(session, session.pending[0]).nodes
    assert on_node.details == {"DynamicResources": expected}


def test_an_explanation_survives_a_selector_that_only_counting_comes_to(tmp_path: Path) -> None:
    requests = exactly("r"), exactly("s", "gpu", "device.driver == 3")  # the only device is taken before s looks at it
    session = open_cluster(tmp_path, node("n1"), *GPU, claim("c", *requests), pod("p", "c"))
    (on_node,) = explain(session, session.pending[0]).nodes
    assert on_node.filters["DynamicResources"].reasons == ("cannot allocate all claims",)
    assert "selector #0: CEL compile error" in on_node.details["DynamicResources"]


def test_fit_scores_count_devices_where_the_node_does_not_list_the_resource(tmp_path: Path) -> None:
    configuration = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: LeastAllocated, resources: [{name: example.com/card, weight: 1}]}
"""
    asks = {
        "name": "main",
        "image": "i",
        "resources": {"requests": {"example.com/card": "1"}, "limits": {"example.com/card": "1"}},
    }
    items = (
        node("n1"),
        node("n2"),
        device_class(extendedResourceName="example.com/card"),
        slice_of("n1", *[device(f"d{n}") for n in range(2)]),
        slice_of("n2", *[device(f"d{n}") for n in range(4)]),
        pod("p", containers=[asks]),
    )
    session = open_cluster(tmp_path, *items, configuration=configuration)
    nodes = {found.name: found.scores["NodeResourcesFit"].raw for found in explain(session, session.pending[0]).nodes}
    assert nodes == {"n1": 50, "n2": 75}
