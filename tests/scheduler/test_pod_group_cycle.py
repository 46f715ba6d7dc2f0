"""A group is tried as a whole, and a try leaves nothing behind."""

from typing import Any

from hypothesis import given, settings, strategies as st

from nodewise.api.pod_groups import CompositePodGroup, PodGroup
from nodewise.cli.structured import explanation_document
from nodewise.framework.pod_group_plugin import PodGroupInfo
from nodewise.scheduler.pod_group_cycle import GroupOutcome, PodGroupCycle
from nodewise.simulation.explain import explain_all
from nodewise.simulation.session import Session
from nodewise.simulation.simulate import simulate
from nodewise.state.columns import CPU_ROW, PODS_ROW
from tests.scheduler.group_worlds import ZONE, GroupWorld, fingerprint, members_of, session_of

worlds = st.randoms(use_true_random=False).map(GroupWorld)


def explained(session: Session) -> list[dict[str, Any]]:
    """Return what every plugin says of every pending pod."""
    return [explanation_document(explanation) for explanation in explain_all(session)]


def run(session: Session, *, with_post_filter: bool = True) -> list[GroupOutcome]:
    """Try every group once."""
    cycle = PodGroupCycle(session.scheduler, session.feature_gates)
    roots = [entry for entry in session.queue_order() if isinstance(entry, PodGroupInfo)]
    return [cycle.run(root, with_post_filter=with_post_filter) for root in roots]


@settings(max_examples=60)
@given(worlds)
def test_trying_groups_leaves_everything_as_it_was(world: GroupWorld) -> None:
    session = session_of(world.objects, world.gates)
    before = fingerprint(session)
    first = run(session)
    assert fingerprint(session) == before
    assert [(o.status, [(m.node_name, m.message) for m in o.members]) for o in run(session)] == [
        (o.status, [(m.node_name, m.message) for m in o.members]) for o in first
    ]
    assert explained(session) == explained(session_of(world.objects, world.gates))


@settings(max_examples=100)
@given(worlds)
def test_groups_are_placed_whole_or_not_at_all_and_nothing_is_taken_twice(world: GroupWorld) -> None:
    session = session_of(world.objects, world.gates)
    placements = {placement.pod: placement for placement in simulate(session)}
    evicted = {victim for placement in placements.values() for victim in placement.victims}
    node_of = {pod.key: pod.spec.node_name for pod in world.objects.pods if pod.spec.node_name}
    node_of |= {pod: placement.node for pod, placement in placements.items() if placement.node is not None}
    node_of = {pod: node for pod, node in node_of.items() if pod not in evicted}
    for group in world.objects.pod_groups:
        if isinstance(group, PodGroup):
            check_group(world, group, placements, node_of)
        else:
            check_tree(world, group, placements, node_of)
    check_nodes(session)
    assert not session.listers.devices.pending


def check_group(world: GroupWorld, group: PodGroup, placements: Any, node_of: dict[str, str]) -> None:
    members = members_of(world.objects, group)
    placed = [pod for pod in members if pod in placements and placements[pod].node is not None]
    if not placed:
        return
    assert sum(pod in node_of for pod in members) >= group.min_count
    constraints = group.spec.scheduling_constraints
    if constraints is not None and world.gates.enabled("TopologyAwareWorkloadScheduling"):
        zones = {node.name: node.metadata.labels.get(ZONE) for node in world.objects.nodes}
        assert len({zones[node_of[pod]] for pod in placed}) == 1


def check_tree(world: GroupWorld, tree: CompositePodGroup, placements: Any, node_of: dict[str, str]) -> None:
    children = [
        child
        for child in world.objects.pod_groups
        if child.spec.parent_composite_pod_group_name == tree.metadata.name and isinstance(child, PodGroup)
    ]
    n_placed = {child.metadata.name: sum(p in node_of for p in members_of(world.objects, child)) for child in children}
    whole = [child for child in children if n_placed[child.metadata.name] >= child.min_count]
    pods = [pod for child in children for pod in members_of(world.objects, child)]
    if any(placements[pod].node is not None for pod in pods if pod in placements):
        assert len(whole) >= tree.min_count


def check_nodes(session: Session) -> None:
    """Check that no node holds more than it has room for beyond what ran there before."""
    snapshot = session.scheduler.snapshot
    snapshot.update(session.scheduler.cache)
    columns = snapshot.columns
    for row in columns.rows.values():
        pods = list(snapshot.pods_on(row).values())
        placed = [pod for pod in pods if pod.start_time is not None]
        if placed:
            for resource in (CPU_ROW, PODS_ROW):
                assert columns.requested[resource, row] <= columns.allocatable[resource, row]
        ports = [port for pod in pods for port in pod.host_ports]
        assert len(ports) == len(set(ports))
    devices = [
        (result.pool, result.device)
        for claim in session.listers.devices.claims.values()
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    ]
    assert len(devices) == len(set(devices))
