"""Which devices claims get on a node, and in which order they are tried."""

from pathlib import Path
from typing import Any

import pytest

from tests.devices.world import (
    DRIVER,
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

CANNOT = "1 cannot allocate all claims"


def given(tmp_path: Path, *items: Json) -> list[str] | str:
    """Place pod p with claim c on node n1; its devices, or the message."""
    session = open_cluster(tmp_path, node("n1"), device_class(), *items, pod("p", "c"))
    placement = place_all(session)["p"]
    return devices_of(session, "c") if placement.node else placement.message


def numbered(n_devices: int, **fields: Any) -> list[Json]:
    """Make devices d0, d1 and so on."""
    return [device(f"d{index}", **fields) for index in range(n_devices)]


def test_devices_are_taken_in_the_order_of_their_slice(tmp_path: Path) -> None:
    assert given(tmp_path, slice_of("n1", *numbered(4)), claim("c", exactly(count=2))) == ["n1/d0", "n1/d1"]


def test_slices_are_tried_by_name_and_pools_by_driver_and_name(tmp_path: Path) -> None:
    pool = {"name": "z", "generation": 1, "resourceSliceCount": 2}
    items = (
        slice_of("n1", device("b0"), pool=pool, name="b"),
        slice_of("n1", device("a0"), pool=pool, name="a"),
        slice_of("n1", device("first"), pool={"name": "a", "generation": 1, "resourceSliceCount": 1}),
        slice_of("n1", device("before"), driver="aaa.example.com"),
        device_class("any", ""),
        claim("c", exactly("r", "any", count=4)),
    )
    assert given(tmp_path, *items) == ["n1/before", "a/first", "z/a0", "z/b0"]


def test_pools_whose_devices_must_get_ready_first_come_last(tmp_path: Path) -> None:
    slow = device("slow", bindingConditions=["ready"])
    items = (
        slice_of("n1", slow, pool={"name": "a", "generation": 1, "resourceSliceCount": 1}),
        slice_of("n1", device("d")),
    )
    assert given(tmp_path, *items, claim("c", exactly())) == ["n1/d"]


def test_a_device_belongs_to_one_claim_only(tmp_path: Path) -> None:
    items = (node("n1"), device_class(), slice_of("n1", *numbered(1)))
    placed = place(tmp_path, *items, claim("c", exactly()), claim("d", exactly()), pod("p", "c"), pod("q", "d"))
    assert placed["p"].node == "n1"
    assert CANNOT in placed["q"].message


def test_pods_can_share_a_claim(tmp_path: Path) -> None:
    items = (node("n1"), node("n2"), device_class(), slice_of("n2", *numbered(1)), claim("c", exactly()))
    session = open_cluster(tmp_path, *items, pod("p", "c"), pod("q", "c"))
    placed = place_all(session)
    assert [placed[name].node for name in "pq"] == ["n2", "n2"]
    status = session.listers.devices.claims["default", "c"].status
    assert [reference.name for reference in status.reserved_for] == ["p", "q"]


def test_the_search_goes_back_when_a_later_request_finds_nothing(tmp_path: Path) -> None:
    devices = [device("d0", attributes={"model": "a"}), device("d1")]
    wants_a = exactly("r1", "gpu", f'device.attributes["{DRIVER}"].?model.orValue("") == "a"')
    assert given(tmp_path, slice_of("n1", *devices), claim("c", exactly("r0"), wants_a)) == ["n1/d1", "n1/d0"]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [("matchAttribute", ["n1/d0", "n1/d2"]), ("distinctAttribute", ["n1/d0", "n1/d1"])],
)
def test_constraints_compare_an_attribute_across_devices(tmp_path: Path, constraint: str, expected: list[str]) -> None:
    devices = [device(f"d{n}", attributes={"model": model}) for n, model in enumerate("aba")]
    asked = claim("c", exactly(count=2), constraints=[{constraint: f"{DRIVER}/model"}])
    assert given(tmp_path, slice_of("n1", *devices), asked) == expected


def test_a_constraint_leaves_other_requests_alone_and_refuses_devices_without_the_attribute(tmp_path: Path) -> None:
    devices = [device("d0"), device("d1", attributes={"model": "a"})]
    constraint = {"requests": ["r1"], "matchAttribute": f"{DRIVER}/model"}
    asked = claim("c", exactly("r0"), exactly("r1"), constraints=[constraint])
    assert given(tmp_path, slice_of("n1", *devices), asked) == ["n1/d0", "n1/d1"]


def test_all_devices_means_every_matching_one_and_at_least_one(tmp_path: Path) -> None:
    everything = claim("c", exactly(allocationMode="All"))
    assert given(tmp_path, slice_of("n1", *numbered(3)), everything) == ["n1/d0", "n1/d1", "n1/d2"]
    assert CANNOT in given(tmp_path, everything)


def test_all_devices_of_a_pool_that_is_being_updated_is_an_error(tmp_path: Path) -> None:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
    placed = place(
        tmp_path,
        node("n1"),
        device_class(),
        slice_of("n1", *numbered(1), pool=pool),
        claim("c", exactly(allocationMode="All")),
        pod("p", "c"),
    )
    assert placed["p"].reason == "SchedulerError"
    assert placed["p"].message == (
        'running "DynamicResources" filter plugin: claim default/c, request r: asks for all devices, '
        f"but resource pool {DRIVER}/n1 is currently being updated"
    )


def test_nothing_is_taken_from_incomplete_pools_and_old_generations(tmp_path: Path) -> None:
    old = slice_of("n1", device("old"), name="old")
    new = slice_of("n1", device("new"), name="new", pool={"name": "n1", "generation": 2, "resourceSliceCount": 1})
    assert given(tmp_path, old, new, claim("c", exactly())) == ["n1/new"]
    half = slice_of("n1", device("half"), pool={"name": "n1", "generation": 1, "resourceSliceCount": 2})
    assert CANNOT in given(tmp_path, half, claim("c", exactly()))


def test_a_pool_with_two_devices_of_one_name_is_invalid(tmp_path: Path) -> None:
    twice = slice_of("n1", device("d"), device("d"))
    assert "1 invalid resource pools were encountered" in given(tmp_path, twice, claim("c", exactly()))


def test_the_first_alternative_that_can_be_had_is_taken_and_scores_by_its_place(tmp_path: Path) -> None:
    wants_b = [{"cel": {"expression": f'device.attributes["{DRIVER}"].?model.orValue("") == "b"'}}]
    alternatives = [
        {"name": "best", "deviceClassName": "gpu", "selectors": wants_b},
        {"name": "good", "deviceClassName": "gpu"},
    ]
    items = (
        node("n1"),
        node("n2"),
        device_class(),
        slice_of("n1", device("d0", attributes={"model": "a"})),
        slice_of("n2", device("d0", attributes={"model": "b"})),
        claim("c", {"name": "r", "firstAvailable": alternatives}),
        claim("d", {"name": "r", "firstAvailable": alternatives}),
    )
    session = open_cluster(tmp_path, *items, pod("p", "c"), pod("q", "d"))
    placed = place_all(session)
    assert [placed[name].node for name in "pq"] == ["n2", "n1"]
    found = session.listers.devices.claims["default", "d"].status.allocation
    assert found is not None
    assert found.devices.results[0].request == "r/good"


def test_admin_access_takes_devices_that_are_in_use(tmp_path: Path) -> None:
    items = (node("n1"), device_class(), slice_of("n1", *numbered(1)), claim("c", exactly()))
    watching = claim("w", exactly(adminAccess=True))
    session = open_cluster(tmp_path, *items, watching, pod("p", "c"), pod("q", "w"))
    assert [placement.node for placement in place_all(session).values()] == ["n1", "n1"]
    assert devices_of(session, "w") == devices_of(session, "c")


@pytest.mark.parametrize(
    ("tolerations", "fits"),
    [
        ([], False),
        ([{"key": "worn", "operator": "Exists"}], True),
        ([{"key": "worn", "operator": "Equal", "value": "no"}], False),
        ([{"operator": "Exists", "effect": "NoExecute"}], False),
    ],
)
def test_taints_keep_devices_from_requests_that_do_not_tolerate_them(
    tmp_path: Path, tolerations: list[Json], *, fits: bool
) -> None:
    worn = device("d", taints=[{"key": "worn", "value": "yes", "effect": "NoSchedule"}])
    found = given(tmp_path, slice_of("n1", worn), claim("c", exactly(tolerations=tolerations)))
    assert (found == ["n1/d"]) is fits


def test_a_taint_without_a_known_effect_keeps_nobody_away(tmp_path: Path) -> None:
    marked = device("d", taints=[{"key": "worn", "effect": "None"}])
    assert given(tmp_path, slice_of("n1", marked), claim("c", exactly())) == ["n1/d"]


def test_a_rule_taints_the_devices_that_it_selects(tmp_path: Path) -> None:
    spec = {"deviceSelector": {"pool": "n1", "device": "d0"}, "taint": {"key": "x", "effect": "NoExecute"}}
    rule = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "x"}, "spec": spec}
    assert given(tmp_path, slice_of("n1", *numbered(2)), rule, claim("c", exactly())) == ["n1/d1"]


def test_partitions_take_from_shared_counters(tmp_path: Path) -> None:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
    counters = [{"name": "card", "counters": {"memory": {"value": "40Gi"}}}]

    def partition(name: str, memory: str) -> Json:
        return device(name, consumesCounters=[{"counterSet": "card", "counters": {"memory": {"value": memory}}}])

    partitions = [partition("half", "20Gi"), partition("whole", "40Gi"), partition("other", "20Gi")]
    items = (
        slice_of("n1", pool=pool, name="counters", sharedCounters=counters),
        slice_of("n1", *partitions, pool=pool, name="devices"),
    )
    assert given(tmp_path, *items, claim("c", exactly(count=2))) == ["n1/half", "n1/other"]


def test_requests_share_a_device_until_its_capacity_is_used_up(tmp_path: Path) -> None:
    link = device(
        "link",
        allowMultipleAllocations=True,
        capacity={
            "bandwidth": {"value": "10", "requestPolicy": {"default": "1", "validRange": {"min": "1", "step": "3"}}}
        },
    )

    def wants(bandwidth: str) -> Json:
        return exactly(capacity={"requests": {"bandwidth": bandwidth}})

    items = (node("n1"), device_class(), slice_of("n1", link), claim("c", wants("5")), claim("d", wants("2")))
    session = open_cluster(tmp_path, *items, pod("p", "c"), pod("q", "d"))
    placed = place_all(session)
    assert placed["p"].node == "n1"
    assert CANNOT in placed["q"].message  # 5 is rounded up to 7, and 2 to 4
    found = session.listers.devices.claims["default", "c"].status.allocation
    assert found is not None
    assert found.devices.results[0].consumed_capacity == {"bandwidth": "7"}


def test_devices_can_say_themselves_which_nodes_may_use_them(tmp_path: Path) -> None:
    devices = [device("d0", nodeName="n2"), device("d1", allNodes=True)]
    everywhere = slice_of(None, *devices, perDeviceNodeSelection=True)
    assert given(tmp_path, everywhere, claim("c", exactly())) == ["pool/d1"]


def test_a_claim_remembers_where_its_devices_can_be_used(tmp_path: Path) -> None:
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}
    items = (
        node("n1", {"zone": "a"}),
        node("n2", {"zone": "b"}),
        device_class(),
        slice_of(None, device("d"), nodeSelector=selector),
    )
    session = open_cluster(tmp_path, *items, claim("c", exactly()), pod("p", "c"))
    assert place_all(session)["p"].node == "n1"
    found = session.listers.devices.claims["default", "c"].status.allocation
    assert found is not None
    assert found.node_selector is not None
    (term,) = found.node_selector.node_selector_terms
    assert [(r.key, r.values) for r in term.match_expressions] == [("zone", ("a",))]


def test_more_devices_than_a_claim_can_hold_are_an_error(tmp_path: Path) -> None:
    placed = place(tmp_path, node("n1"), device_class(), claim("c", exactly(count=33)), pod("p", "c"))
    assert placed["p"].message == (
        'running "DynamicResources" filter plugin: claim default/c, request r: adding 33 devices exceeds the claim '
        "limit of 32, with 0 already accounted for"
    )
