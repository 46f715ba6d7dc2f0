"""Extended resources that device classes stand for."""

from pathlib import Path

import pytest

from tests.devices.world import (
    Json,
    device,
    device_class,
    devices_of,
    node,
    open_cluster,
    place,
    place_all,
    pod,
    slice_of,
)

CARD = "example.com/card"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


def container(name: str, amount: int, resource: str = CARD, **fields: str) -> Json:
    """Make a container that asks for cards."""
    amounts = {resource: str(amount)} if amount else {}
    return {"name": name, "image": "i", "resources": {"requests": amounts, "limits": amounts}, **fields}


def requests_of(tmp_path: Path, init: list[Json], main: list[Json]) -> dict[str, int]:
    """Return the device requests that stand for a pod's containers."""
    items = (node("n1"), device_class(extendedResourceName=CARD), slice_of("n1", *[device(f"d{n}") for n in range(9)]))
    session = open_cluster(tmp_path, *items, pod("p", containers=main, initContainers=init))
    assert place_all(session)["p"].node == "n1"
    (claim,) = session.listers.devices.claims.values()
    return {r.name: r.exactly.count for r in claim.spec.devices.requests if r.exactly is not None}


@pytest.mark.parametrize("resource", [CARD, IMPLICIT])
def test_a_node_with_devices_of_the_class_serves_the_resource(tmp_path: Path, resource: str) -> None:
    items = (
        node("n1"),
        node("n2"),
        device_class(extendedResourceName=CARD),
        slice_of("n2", device("d0"), device("d1")),
    )
    session = open_cluster(tmp_path, *items, pod("p", containers=[container("main", 2, resource)]))
    assert place_all(session)["p"].node == "n2"
    ((_, name),) = session.listers.devices.claims
    assert name.startswith("p-extended-resources-")
    assert devices_of(session, name) == ["n2/d0", "n2/d1"]


def test_a_node_that_lists_the_resource_counts_itself(tmp_path: Path) -> None:
    items = (node("n1", example_com__card="1"), device_class(extendedResourceName=CARD), slice_of("n1", device("d0")))
    items[0]["status"] = {"allocatable": {**items[0]["status"]["capacity"], CARD: "1"}}
    placed = place(tmp_path, *items, *[pod(name, containers=[container("main", 1)]) for name in ("p", "q")])
    assert placed["p"].node == "n1"
    assert "1 Insufficient example.com/card" in placed["q"].message


def test_a_resource_that_no_class_stands_for_is_left_to_the_node(tmp_path: Path) -> None:
    placed = place(tmp_path, node("n1"), device_class(), pod("p", containers=[container("main", 1)]))
    assert "1 Insufficient example.com/card" in placed["p"].message


def test_every_container_that_lasts_gets_a_request_of_its_own(tmp_path: Path) -> None:
    assert requests_of(tmp_path, [], [container("a", 1), container("b", 2)]) == {
        "container-0-request-0": 1,
        "container-1-request-0": 2,
    }


def test_an_init_container_uses_the_devices_of_later_containers(tmp_path: Path) -> None:
    assert requests_of(tmp_path, [container("i", 2)], [container("a", 3)]) == {"container-1-request-0": 3}


def test_the_greediest_init_container_gets_what_it_still_lacks(tmp_path: Path) -> None:
    init = [container("i", 3), container("j", 5), container("side", 1, restartPolicy="Always")]
    assert requests_of(tmp_path, init, [container("a", 1)]) == {
        "container-1-request-0": 3,
        "container-2-request-0": 1,
        "container-3-request-0": 1,
    }


def test_of_two_classes_with_one_resource_the_younger_counts_then_the_first_by_name(tmp_path: Path) -> None:
    def named(name: str, created: str) -> Json:
        made = device_class(name, extendedResourceName=CARD)
        made["metadata"]["creationTimestamp"] = created
        return made

    items = [named("b", "2026-01-01T00:00:00Z"), named("a", "2026-01-01T00:00:00Z"), named("c", "2025-01-01T00:00:00Z")]
    for ordered in (items, items[::-1]):
        found = open_cluster(tmp_path, *ordered).listers.devices.class_of_resource(CARD)
        assert found is not None
        assert found.metadata.name == "a"
