"""Which sets of nodes come into question for a group, and what they are worth."""

import numpy as np
import pytest

from nodewise.api.objects import Pod, ResourceRequirements, replace
from nodewise.config.arguments import ResourceSpec
from nodewise.framework.pod_group_plugin import Placement, PodGroupInfo, Proposal
from nodewise.framework.status import Code, Status
from nodewise.plugins.node_resources_fit import NodeResourcesFit
from nodewise.plugins.placement_fullness import placement_fullness
from nodewise.plugins.pod_group_pods_count import PodGroupPodsCount
from nodewise.plugins.topology_placement_generator import TopologyPlacementGenerator
from nodewise.state.pod_groups import PodGroupStates, key_of
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.testing.builders import FakeHandle, make_node, make_pod, make_snapshot
from nodewise.testing.group_builders import make_group, make_group_of_groups, make_member

NODES = [
    make_node("a1", cpu="4", memory="8Gi", labels={"zone": "a"}),
    make_node("b1", cpu="4", memory="8Gi", labels={"zone": "b"}),
    make_node("n1", cpu="4", memory="8Gi"),
    make_node("b2", cpu="4", memory="8Gi", labels={"zone": "b"}),
]
GROUP = make_group("g", 2, topology="zone")
INFO = PodGroupInfo(key_of(GROUP), GROUP)


def handle_with(*on_nodes: tuple[str, str], snapshot: Snapshot | None = None) -> FakeHandle:
    """Make a handle whose group has pods on nodes, given by name and node."""
    handle = FakeHandle(snapshot or make_snapshot(NODES))
    handle.pod_groups = PodGroupStates()
    handle.pod_groups.put_group(GROUP)
    for name, node in on_nodes:
        handle.pod_groups.add_pod(PodInfo(make_member(name, "g", node=node)))
    return handle


def placement_of(snapshot: Snapshot, nodes: str) -> Placement:
    """Make a placement of nodes given by name."""
    return Placement(nodes, np.array([snapshot.columns.rows[name] for name in nodes.split()]))


def everywhere(handle: FakeHandle) -> Placement:
    return Placement("", handle.snapshot.order)


def generated(handle: FakeHandle, group: PodGroupInfo = INFO) -> dict[str, list[str]] | Status:
    found = TopologyPlacementGenerator(None, handle).generate_placements(group, everywhere(handle))
    if isinstance(found, Status):
        return found
    names = handle.snapshot.columns.names
    return {placement.name: [names[row] for row in placement.rows.tolist()] for placement in found}


# --- TopologyPlacementGenerator ---------------------------------------------------------------------------------------


def test_every_value_of_the_label_is_a_placement_and_nodes_without_it_are_in_none() -> None:
    assert generated(handle_with()) == {"a": ["a1"], "b": ["b1", "b2"]}


def test_a_group_without_constraint_may_go_anywhere() -> None:
    group = make_group("g", 2)
    assert generated(handle_with(), PodGroupInfo(key_of(group), group)) == {"": ["a1", "b1", "n1", "b2"]}


def test_there_are_no_placements_outside_the_parent() -> None:
    handle = handle_with()
    parent = placement_of(handle.snapshot, "a1 n1")
    placements = TopologyPlacementGenerator(None, handle).generate_placements(INFO, parent)
    assert not isinstance(placements, Status)
    [found] = placements
    assert (found.name, found.rows.tolist()) == ("a", [handle.snapshot.columns.rows["a1"]])


def test_a_label_that_no_node_has_gives_no_placement() -> None:
    group = make_group("g", 2, topology="rack")
    assert generated(handle_with(), PodGroupInfo(key_of(group), group)) == {}


def test_members_on_nodes_leave_only_their_own_domain() -> None:
    assert generated(handle_with(("p", "b1"), ("q", "b2"))) == {"b": ["b1", "b2"]}


@pytest.mark.parametrize(
    ("on_nodes", "says"),
    [
        ([("p", "a1"), ("q", "b1")], "more than 1 domain found for pod group: a, b"),
        ([("p", "n1")], "no topology domain found for pod default/p"),
        ([("p", "gone")], 'getting node for pod default/p: nodeinfo not found for node name "gone"'),
    ],
)
def test_members_in_no_single_domain_are_an_error(on_nodes: list[tuple[str, str]], says: str) -> None:
    found = generated(handle_with(*on_nodes))
    assert found == Status.error(f"cannot determine domain for already scheduled pods: {says}")


# --- PodGroupPodsCount ------------------------------------------------------------------------------------------------


def proposals(*names: str) -> list[Proposal]:
    return [Proposal(PodInfo(make_member(name, "g")), "b1") for name in names]


def test_pods_that_would_get_a_node_and_those_that_have_one_count() -> None:
    handle = handle_with(("old", "b1"))
    plugin = PodGroupPodsCount(None, handle)
    assert plugin.score_placement(INFO, everywhere(handle), proposals("p", "q")) == 3


def test_counts_are_percentages_of_the_highest() -> None:
    plugin = PodGroupPodsCount(None, handle_with())
    found = plugin.normalize_placements(INFO, np.array([1, 3, 2]))
    assert not isinstance(found, Status)
    assert found.tolist() == [33, 100, 66]


def test_placements_without_any_pod_are_an_error() -> None:
    found = PodGroupPodsCount(None, handle_with()).normalize_placements(INFO, np.array([0, 0]))
    assert isinstance(found, Status)
    assert found.code is Code.ERROR


def test_a_tree_that_cannot_be_walked_is_an_error() -> None:
    handle = handle_with()
    handle.pod_groups = PodGroupStates(has_composites=True)
    root = make_group_of_groups("t")
    handle.pod_groups.put_group(root)
    handle.pod_groups.put_group(make_group_of_groups("u", parent="t"))
    handle.pod_groups.put_group(make_group_of_groups("v", parent="u"))
    handle.pod_groups.put_group(make_group_of_groups("w", parent="v"))
    handle.pod_groups.put_group(make_group("g", parent="w"))
    found = PodGroupPodsCount(None, handle).score_placement(PodGroupInfo(key_of(root), root), everywhere(handle), [])
    assert isinstance(found, Status)
    assert "exceeded maximum hierarchy depth" in found.message


# --- NodeResourcesFit as a score of placements ------------------------------------------------------------------------

CPU_AND_MEMORY = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))


def fullness(specs: tuple[ResourceSpec, ...], snapshot: Snapshot, nodes: str, *pods: Pod) -> int:
    return placement_fullness(specs, snapshot.columns, placement_of(snapshot, nodes), pods)


def test_a_placement_is_worth_how_full_its_nodes_are_together() -> None:
    snapshot = make_snapshot(NODES, [make_pod("old", "2", "2Gi", node="b1")])
    new = make_pod("new", "2", "2Gi")
    assert fullness(CPU_AND_MEMORY, snapshot, "b1 b2", new) == (50 + 25) // 2
    assert fullness(CPU_AND_MEMORY, snapshot, "a1", new) == (50 + 25) // 2
    assert fullness(CPU_AND_MEMORY, snapshot, "b1", new) == (100 + 50) // 2


def test_weights_count_and_more_than_full_is_full() -> None:
    snapshot = make_snapshot(NODES, [make_pod("old", "6", "2Gi", node="b1")])
    assert fullness((ResourceSpec("cpu", 3), ResourceSpec("memory", 1)), snapshot, "b1") == (3 * 100 + 25) // 4


def test_a_scalar_resource_counts_only_when_a_pod_asks_for_it() -> None:
    node = make_node("n", cpu="4", memory="8Gi", resources={"example.com/gpu": "4"})
    snapshot = make_snapshot([node], [make_pod("old", "4", "8Gi", node="n")])
    specs = (ResourceSpec("cpu", 1), ResourceSpec("example.com/gpu", 1))
    assert fullness(specs, snapshot, "n", make_pod("p")) == 100
    assert fullness(specs, snapshot, "n", make_pod("p", resources={"example.com/gpu": "1"})) == (100 + 25) // 2


def test_pods_without_requests_count_as_small_ones_and_what_whole_pods_ask_for_does_not_count() -> None:
    snapshot = make_snapshot([make_node("n", cpu="1", memory="8Gi")])
    cpu = (ResourceSpec("cpu", 1),)
    assert fullness(cpu, snapshot, "n", make_pod("p")) == 10
    asking = ResourceRequirements(requests={"cpu": "800m"})
    plain = make_pod("p", "200m")
    assert fullness(cpu, snapshot, "n", replace(plain, spec=replace(plain.spec, resources=asking))) == 20


def test_no_resource_to_look_at_is_worth_nothing() -> None:
    snapshot = make_snapshot([make_node("n", cpu="1")])
    assert fullness((ResourceSpec("example.com/gpu", 1),), snapshot, "n", make_pod("p")) == 0


def test_node_resources_fit_scores_placements_by_its_resources() -> None:
    handle = handle_with(snapshot=make_snapshot(NODES, [make_pod("old", "2", "4Gi", node="b1")]))
    plugin = NodeResourcesFit(None, handle)
    assert plugin.score_placement(INFO, placement_of(handle.snapshot, "b1 b2"), []) == 25
