from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nodewise.api.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    ObjectMeta,
    OwnerReference,
    Pod,
    ReplicaSet,
    ReplicationController,
    ReplicationControllerSpec,
    Service,
    ServiceSpec,
    StatefulSet,
    TopologySpreadConstraint,
    WorkloadSpec,
    replace,
)
from nodewise.config.arguments import PodTopologySpreadArgs
from nodewise.framework.plugin import PodsChange
from nodewise.framework.status import Code
from nodewise.plugins.go_log import go_log
from nodewise.plugins.pod_topology_spread import IS_TOO_SKEWED, LACKS_LABEL, PodTopologySpread
from nodewise.plugins.spread_constraints import SYSTEM_DEFAULTS
from nodewise.state.columns import ALL_ROWS
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo
from nodewise.state.what_if import WhatIfColumns
from nodewise.testing.builders import FakeHandle, make_node, make_pod, make_snapshot
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import failures
from tests.plugins.small_world import HOSTNAME, KEYS, ZONE, SmallWorld, random_labels, random_selector
from tests.plugins.spread_reference import filter_codes, scores, soft_scores

WEB = LabelSelector(match_labels={"app": "web"})
NODES = [make_node("a1", labels={ZONE: "a"}), make_node("b1", labels={ZONE: "b"}), make_node("no-zone")]


def spread(**fields: object) -> TopologySpreadConstraint:
    given_fields = {"max_skew": 1, "topology_key": ZONE, "when_unsatisfiable": "DoNotSchedule", "label_selector": WEB}
    return TopologySpreadConstraint(**{**given_fields, **fields})  # type: ignore[arg-type]


def web(name: str = "web", node: str = "", *constraints: TopologySpreadConstraint) -> Pod:
    return make_pod(name, labels={"app": "web"}, node=node, topology_spread_constraints=constraints)


def plugin_for(world: SmallWorld, args: PodTopologySpreadArgs | None = None) -> PodTopologySpread:
    return PodTopologySpread(args, FakeHandle(world.snapshot))


def random_pod(rng: Random) -> Pod:
    constraints = tuple(
        TopologySpreadConstraint(
            max_skew=rng.randint(1, 3),
            topology_key=rng.choice(KEYS),
            when_unsatisfiable=rng.choice(("DoNotSchedule", "ScheduleAnyway")),
            label_selector=random_selector(rng),
            min_domains=rng.choice((None, None, 1, 3)),
            node_affinity_policy=rng.choice((None, "Honor", "Ignore")),
            node_taints_policy=rng.choice((None, "Honor", "Ignore")),
            match_label_keys=rng.choice(((), (), ("track",))),
        )
        for _ in range(rng.randint(1, 4))
    )
    return make_pod(
        "pending",
        labels=random_labels(rng),
        node_selector={"disk": "ssd"} if rng.random() < 0.3 else None,
        tolerations=["dedicated"] if rng.random() < 0.3 else (),
        topology_spread_constraints=constraints,
    )


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(PodTopologySpread, args=PodTopologySpreadArgs())


@given(st.randoms(use_true_random=False))
def test_verdicts_and_scores_are_those_of_the_rule_while_the_cluster_changes(rng: Random) -> None:
    world = SmallWorld(rng)
    plugin, pod = plugin_for(world), random_pod(rng)
    kept = plugin.compile(pod, world.snapshot)
    assert kept is not None
    for _ in range(6):
        columns = world.snapshot.columns
        rows = {name: columns.rows[name] for name in world.nodes}
        feasible = [name for name in world.nodes if rng.random() < 0.8]
        mask = np.zeros(columns.n_rows, bool)
        mask[[rows[name] for name in feasible]] = True
        fresh = plugin.compile(pod, world.snapshot)
        assert fresh is not None
        for state in (kept, fresh):
            codes = plugin.filter(state, columns, ALL_ROWS)
            assert {name: codes[row] for name, row in rows.items()} == filter_codes(world, pod)
            found = plugin.pre_score(state, columns, mask)
            expected = scores(world, pod, feasible)
            assert (found is None) == (expected is None)
            if found is None or expected is None:
                continue
            raw = plugin.score(found, columns, ALL_ROWS)
            normalized = dict(zip(np.flatnonzero(mask), plugin.normalize(found, raw[mask]), strict=True))
            assert {name: (raw[rows[name]], normalized[rows[name]]) for name in feasible} == expected
        world.change(pod)


@given(st.randoms(use_true_random=False))
def test_a_what_if_adds_and_takes_away_pods_of_one_node(rng: Random) -> None:
    world = SmallWorld(rng)
    plugin, pod = plugin_for(world), random_pod(rng)
    state = plugin.compile(pod, world.snapshot)
    assert state is not None
    for name in world.nodes:
        row = world.snapshot.columns.rows[name]
        removed, added = world.random_change_of(name, pod)
        change = PodsChange(row, tuple(map(PodInfo, removed)), tuple(map(PodInfo, added)))
        changed = plugin.with_pods(state, world.snapshot.columns, change)
        expected = filter_codes(world, pod, (name, removed, added))
        assert plugin.filter(changed, WhatIfColumns(world.snapshot.columns, row), ALL_ROWS) == [expected[name]]
        codes = plugin.filter(changed, world.snapshot.columns, ALL_ROWS)
        assert {name: codes[world.snapshot.columns.rows[name]] for name in world.nodes} == expected


@given(st.randoms(use_true_random=False))
def test_a_what_if_takes_away_pods_of_other_nodes_too(rng: Random) -> None:
    world = SmallWorld(rng)
    plugin, pod = plugin_for(world), random_pod(rng)
    columns = world.snapshot.columns
    state = plugin.compile(pod, world.snapshot)
    assert state is not None
    for name in world.nodes:
        removed, added = world.random_change_of(name, pod)
        others = world.random_removals_but_of(name)
        elsewhere = tuple((columns.rows[other], PodInfo(gone)) for other, pods, _ in others for gone in pods)
        infos = tuple(map(PodInfo, removed)), tuple(map(PodInfo, added))
        changed = plugin.with_pods(state, columns, PodsChange(columns.rows[name], *infos, elsewhere))
        expected = filter_codes(world, pod, (name, removed, added), *others)
        codes = plugin.filter(changed, columns, ALL_ROWS)
        assert {name: codes[columns.rows[name]] for name in world.nodes} == expected
    plain = plugin.filter(state, columns, ALL_ROWS)
    assert {name: plain[columns.rows[name]] for name in world.nodes} == filter_codes(world, pod)


@given(st.randoms(use_true_random=False))
def test_system_defaults_score_nodes_that_lack_a_zone_too(rng: Random) -> None:
    listers = Listers()
    listers.fill([Service(ObjectMeta("web", namespace="default"), ServiceSpec({"app": "web"}))])
    world = SmallWorld(rng, listers)
    plugin, pod = plugin_for(world), make_pod("pending", labels={"app": "web"})
    state = plugin.compile(pod, world.snapshot)
    assert state is not None
    assert state.hard is None
    soft = [replace(c, label_selector=WEB) for c in SYSTEM_DEFAULTS]
    for _ in range(4):
        columns = world.snapshot.columns
        found = plugin.pre_score(state, columns, columns.alive)
        assert found is not None
        raw = plugin.score(found, columns, ALL_ROWS)
        normalized = dict(zip(np.flatnonzero(columns.alive), plugin.normalize(found, raw[columns.alive]), strict=True))
        got = {name: (raw[row], normalized[row]) for name, row in columns.rows.items()}
        assert got == soft_scores(world, pod, soft, list(world.nodes), requires_all=False)
        world.change(pod)


@given(st.randoms(use_true_random=False))
def test_pods_with_equal_class_keys_get_equal_verdicts(rng: Random) -> None:
    world = SmallWorld(rng)
    plugin, pod = plugin_for(world), random_pod(rng)
    other = replace(pod, metadata=replace(pod.metadata, labels=random_labels(rng) | {"pod-index": "3"}))
    if plugin.class_key(pod) == plugin.class_key(other):
        assert filter_codes(world, pod) == filter_codes(world, other)
        assert scores(world, pod, list(world.nodes)) == scores(world, other, list(world.nodes))


def test_a_unique_label_that_no_selector_reads_makes_no_class_of_its_own() -> None:
    plugin = PodTopologySpread(None, FakeHandle())
    pod = web("web", "", spread())
    numbered = replace(pod, metadata=replace(pod.metadata, labels={"app": "web", "pod-index": "3"}))
    assert plugin.class_key(pod) == plugin.class_key(numbered)


def test_reasons_are_those_of_kube_scheduler() -> None:
    found = failures(PodTopologySpread, web("new", "", spread()), NODES, [web("w1", "a1")])
    assert found == {"a1": IS_TOO_SKEWED, "no-zone": LACKS_LABEL}
    assert (IS_TOO_SKEWED.code, LACKS_LABEL.code) == (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


def test_an_empty_selector_counts_no_pods_but_the_pod_itself() -> None:
    everything = spread(label_selector=LabelSelector())
    assert set(failures(PodTopologySpread, web("new", "", everything), NODES, [web("w1", "a1")])) == {"no-zone"}


def test_too_few_domains_make_the_lowest_count_zero() -> None:
    pods = [web("w1", "a1"), web("w2", "b1")]
    assert set(failures(PodTopologySpread, web("n", "", spread(min_domains=3)), NODES, pods)) == {"a1", "b1", "no-zone"}
    assert set(failures(PodTopologySpread, web("n", "", spread(min_domains=2)), NODES, pods)) == {"no-zone"}


def test_a_hard_selector_that_cannot_be_read_is_an_error_before_any_node_is_looked_at() -> None:
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("a", "Near", ()),))
    pod, snapshot = web("new", "", spread(label_selector=bad)), make_snapshot(NODES)
    plugin = PodTopologySpread(None, FakeHandle(snapshot))
    state = plugin.compile(pod, snapshot)
    assert state is not None
    status = plugin.pre_filter(state).status
    assert status is not None
    assert status.code is Code.ERROR
    assert status.message == (
        "get constraints from pod: obtaining pod's hard topology spread constraints: "
        '"Near" is not a valid label selector operator'
    )


@pytest.mark.parametrize(
    ("kind", "api_version", "counts"),
    [
        ("ReplicationController", "v1", True),
        ("ReplicaSet", "apps/v1", True),
        ("StatefulSet", "apps/v1", True),
        ("Job", "batch/v1", False),
    ],
)
def test_default_constraints_find_siblings_by_the_controller(kind: str, api_version: str, *, counts: bool) -> None:
    meta = ObjectMeta("web", namespace="default")
    listers = Listers()
    listers.fill(
        [ReplicationController(meta, ReplicationControllerSpec(selector={"app": "web"}))],
        [ReplicaSet(meta, WorkloadSpec(selector=WEB))],
        [StatefulSet(meta, WorkloadSpec(selector=WEB))],
    )
    snapshot = make_snapshot(NODES, [web("w1", "a1")], listers)
    plugin = PodTopologySpread(None, FakeHandle(snapshot))
    pod = web()
    owner = OwnerReference(api_version=api_version, kind=kind, name="web", controller=True)
    pod = replace(pod, metadata=replace(pod.metadata, owner_references=(owner,)))
    assert (plugin.compile(pod, snapshot) is not None) == counts
    assert (plugin.class_key(pod) is not None) == counts


def test_default_constraints_follow_services_as_they_come() -> None:
    snapshot = make_snapshot(NODES)
    plugin = PodTopologySpread(None, FakeHandle(snapshot))
    assert plugin.class_key(web()) is None
    snapshot.listers.fill([Service(ObjectMeta("s", namespace="default"), ServiceSpec({"app": "web"}))])
    assert plugin.class_key(web()) is not None
    assert plugin.class_key(make_pod("db", labels={"app": "db"})) is None


def test_listed_default_constraints_can_be_hard() -> None:
    listers = Listers()
    listers.fill([Service(ObjectMeta("s", namespace="default"), ServiceSpec({"app": "web"}))])
    snapshot = make_snapshot(NODES, [web("w1", "a1")], listers)
    args = PodTopologySpreadArgs("List", (spread(label_selector=None),))
    plugin = PodTopologySpread(args, FakeHandle(snapshot))
    state = plugin.compile(web(), snapshot)
    assert state is not None
    codes = plugin.filter(state, snapshot.columns, ALL_ROWS)
    assert {name: codes[row] for name, row in snapshot.columns.rows.items()} == {"a1": 2, "b1": 0, "no-zone": 1}


def test_nodes_without_the_key_get_nothing_even_as_the_feasible_nodes_change() -> None:
    pod, snapshot = web("n", "", spread(when_unsatisfiable="ScheduleAnyway")), make_snapshot(NODES)
    plugin = PodTopologySpread(None, FakeHandle(snapshot))
    state = plugin.compile(pod, snapshot)
    assert state is not None
    for names, expected in ((("a1", "b1"), [100, 100]), (("a1", "b1", "no-zone"), [100, 100, 0])):
        rows = [snapshot.columns.rows[name] for name in names]
        mask = np.zeros(3, bool)
        mask[rows] = True
        found = plugin.pre_score(state, snapshot.columns, mask)
        assert found is not None
        normalized = np.zeros(3, int)
        normalized[mask] = plugin.normalize(found, found.raw[mask])
        assert normalized[rows].tolist() == expected


def test_hostname_is_a_domain_like_any_other_for_hard_constraints() -> None:
    pods = [web("w1", "a1"), web("w2", "b1")]
    assert set(failures(PodTopologySpread, web("n", "", spread(topology_key=HOSTNAME)), NODES, pods)) == {"a1", "b1"}


@pytest.mark.parametrize(
    ("x", "expected"),
    # what Go's math.Log gives on amd64; for 14 the C library gives another last bit
    [
        (2, "0x1.62e42fefa39efp-1"),
        (3, "0x1.193ea7aad030ap+0"),
        (14, "0x1.51cca16d7bba8p+1"),
        (5002, "0x1.10901f6dc84b9p+3"),
    ],
)
def test_logarithms_are_those_of_go_to_the_bit(x: int, expected: str) -> None:
    assert go_log(float(x)) == float.fromhex(expected)
