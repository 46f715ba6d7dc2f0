from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nodewise.api.objects import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    WeightedPodAffinityTerm,
    replace,
)
from nodewise.config.arguments import InterPodAffinityArgs
from nodewise.framework.plugin import PodsChange
from nodewise.framework.status import Code
from nodewise.plugins.inter_pod_affinity import REJECTIONS, InterPodAffinity
from nodewise.state.columns import ALL_ROWS
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo
from nodewise.state.what_if import WhatIfColumns
from nodewise.testing.builders import FakeHandle, make_node, make_pod, make_snapshot
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.affinity_reference import filter_codes, scores
from tests.plugins.answers import failures
from tests.plugins.small_world import HOSTNAME, KEYS, ZONE, SmallWorld, random_labels, random_selector

WEB = LabelSelector(match_labels={"app": "web"})
NODES = [make_node("a1", labels={ZONE: "a"}), make_node("a2", labels={ZONE: "a"}), make_node("b1", labels={ZONE: "b"})]
NEAR, TOO_NEAR, UNWELCOME = (REJECTIONS[code] for code in (1, 2, 3))


def term(key: str = ZONE, selector: LabelSelector | None = WEB, **fields: object) -> PodAffinityTerm:
    return PodAffinityTerm(label_selector=selector, topology_key=key, **fields)  # type: ignore[arg-type]


def near(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_affinity=PodAffinity(required=terms))


def apart(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_anti_affinity=PodAffinity(required=terms))


def random_term(rng: Random) -> PodAffinityTerm:
    return PodAffinityTerm(
        label_selector=random_selector(rng),
        topology_key=rng.choice(KEYS),
        namespaces=rng.choice(((), (), ("other",))),
        namespace_selector=rng.choice(
            (
                None,
                None,
                LabelSelector(),
                LabelSelector(match_labels={"team": "x"}),
                LabelSelector(match_expressions=(LabelSelectorRequirement("team", "DoesNotExist"),)),
            )
        ),
    )


def random_affinity(rng: Random) -> Affinity | None:
    def terms() -> PodAffinity | None:
        if rng.random() < 0.4:
            return None
        required = tuple(random_term(rng) for _ in range(rng.choice((0, 0, 1, 2))))
        preferred = [WeightedPodAffinityTerm(rng.randint(1, 100), random_term(rng)) for _ in range(rng.randint(0, 2))]
        if required and rng.random() < 0.2:
            required = (*required, required[0])
        return PodAffinity(required, tuple(preferred))

    return Affinity(pod_affinity=terms(), pod_anti_affinity=terms()) if rng.random() < 0.85 else None


def random_pod(rng: Random) -> Pod:
    return make_pod("pending", labels=random_labels(rng), affinity=random_affinity(rng))


def world_of(rng: Random) -> SmallWorld:
    """Give a world in which only some namespaces have objects, and some pods have terms."""
    listers = Listers()
    if rng.random() < 0.7:
        labels = {"team": "x"} if rng.random() < 0.5 else {}
        listers.fill([Namespace(ObjectMeta(rng.choice(("default", "other")), labels=labels))])
    world = SmallWorld(rng, listers)
    for _ in range(rng.randint(0, 5)):
        world.add_pod(random_pod(rng))
    world.snapshot.update(world.cache)
    return world


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(InterPodAffinity, args=InterPodAffinityArgs())
    check_plugin(InterPodAffinity, args=InterPodAffinityArgs(0, ignore_preferred_terms_of_existing_pods=True))


@given(st.randoms(use_true_random=False), st.sampled_from((0, 1, 7)), st.booleans())
def test_verdicts_and_scores_are_those_of_the_rule_while_the_cluster_changes(
    rng: Random, hard_weight: int, ignores_existing: bool
) -> None:
    world, pod = world_of(rng), random_pod(rng)
    args = InterPodAffinityArgs(hard_weight, ignores_existing)
    plugin = InterPodAffinity(args, FakeHandle(world.snapshot))
    kept, key = plugin.compile(pod, world.snapshot), plugin.class_key(pod)
    for _ in range(6):
        if plugin.class_key(pod) != key:
            kept, key = plugin.compile(pod, world.snapshot), plugin.class_key(pod)
        columns = world.snapshot.columns
        feasible = [name for name in world.nodes if rng.random() < 0.8]
        mask = np.zeros(columns.n_rows, bool)
        mask[[columns.rows[name] for name in feasible]] = True
        for state in (kept, plugin.compile(pod, world.snapshot)):
            codes = np.zeros(columns.n_rows, int) if state is None else plugin.filter(state, columns, ALL_ROWS)
            assert {name: codes[columns.rows[name]] for name in world.nodes} == filter_codes(world, pod)
            found = None if state is None else plugin.pre_score(state, columns, mask)
            expected = scores(world, pod, feasible, hard_weight=hard_weight, ignores_existing=ignores_existing)
            if found is None or expected is None:
                assert found is None
                assert expected is None
                continue
            raw = plugin.score(found, columns, ALL_ROWS)
            normalized = dict(zip(np.flatnonzero(mask), plugin.normalize(found, raw[mask]), strict=True))
            rows = {name: columns.rows[name] for name in feasible}
            assert {name: (raw[row], normalized[row]) for name, row in rows.items()} == expected
        world.change(random_pod(rng))


def test_opposite_preferences_that_cancel_out_score_0_instead_of_taking_the_plugin_out() -> None:
    preferred = PodAffinity(preferred=(WeightedPodAffinityTerm(5, term()),))
    torn = make_pod("torn", node="a1", affinity=Affinity(pod_affinity=preferred, pod_anti_affinity=preferred))
    snapshot = make_snapshot(NODES, [torn])
    plugin = InterPodAffinity(None, FakeHandle(snapshot))
    state = plugin.compile(make_pod("new", labels={"app": "web"}), snapshot)
    assert state is not None
    found = plugin.pre_score(state, snapshot.columns, snapshot.columns.alive)
    assert found is not None
    assert not plugin.score(found, snapshot.columns, ALL_ROWS).any()


@given(st.randoms(use_true_random=False))
def test_a_what_if_adds_and_takes_away_pods_of_one_node(rng: Random) -> None:
    world, pod = world_of(rng), random_pod(rng)
    plugin = InterPodAffinity(None, FakeHandle(world.snapshot))
    state = plugin.compile(pod, world.snapshot)
    columns = world.snapshot.columns
    for name in world.nodes if state is not None else ():
        assert state is not None
        row = columns.rows[name]
        removed, added = world.random_change_of(name, random_pod(rng))
        change = PodsChange(row, tuple(map(PodInfo, removed)), tuple(map(PodInfo, added)))
        changed = plugin.with_pods(state, columns, change)
        expected = filter_codes(world, pod, (name, removed, added))
        assert plugin.filter(changed, WhatIfColumns(columns, row), ALL_ROWS) == [expected[name]]
        codes = plugin.filter(changed, columns, ALL_ROWS)
        assert {name: codes[columns.rows[name]] for name in world.nodes} == expected
        assert [plugin.filter_row(changed, columns, row) for row in range(columns.n_rows)] == codes.tolist()


@given(st.randoms(use_true_random=False))
def test_a_what_if_takes_away_pods_of_other_nodes_too(rng: Random) -> None:
    world, pod = world_of(rng), random_pod(rng)
    plugin = InterPodAffinity(None, FakeHandle(world.snapshot))
    state = plugin.compile(pod, world.snapshot)
    columns = world.snapshot.columns
    for name in world.nodes if state is not None else ():
        assert state is not None
        row = columns.rows[name]
        removed, added = world.random_change_of(name, random_pod(rng))
        others = world.random_removals_but_of(name)
        elsewhere = tuple((columns.rows[other], PodInfo(gone)) for other, pods, _ in others for gone in pods)
        change = PodsChange(row, tuple(map(PodInfo, removed)), tuple(map(PodInfo, added)), elsewhere)
        changed = plugin.with_pods(state, columns, change)
        expected = filter_codes(world, pod, (name, removed, added), *others)
        codes = plugin.filter(changed, columns, ALL_ROWS)
        assert {name: codes[columns.rows[name]] for name in world.nodes} == expected
    plain = plugin.filter(state, columns, ALL_ROWS) if state is not None else np.zeros(columns.n_rows, np.int64)
    assert {name: plain[columns.rows[name]] for name in world.nodes} == filter_codes(world, pod)


@given(st.randoms(use_true_random=False))
def test_pods_with_equal_class_keys_get_equal_verdicts(rng: Random) -> None:
    world, pod = world_of(rng), random_pod(rng)
    plugin = InterPodAffinity(None, FakeHandle(world.snapshot))
    other = replace(pod, metadata=replace(pod.metadata, labels=random_labels(rng) | {"pod-index": "3"}))
    if plugin.class_key(pod) == plugin.class_key(other):
        assert filter_codes(world, pod) == filter_codes(world, other)
        assert scores(world, pod, list(world.nodes)) == scores(world, other, list(world.nodes))


def test_reasons_are_those_of_kube_scheduler() -> None:
    web = make_pod("w1", labels={"app": "web"}, node="a1")
    assert failures(InterPodAffinity, make_pod("p", affinity=near(term())), NODES, [web]) == {"b1": NEAR}
    assert failures(InterPodAffinity, make_pod("p", affinity=apart(term())), NODES, [web]) == dict.fromkeys(
        ("a1", "a2"), TOO_NEAR
    )
    shy = make_pod("s", node="b1", affinity=apart(term()))
    assert failures(InterPodAffinity, make_pod("p", labels={"app": "web"}), NODES, [shy]) == {"b1": UNWELCOME}
    assert [s.code for s in (NEAR, TOO_NEAR, UNWELCOME)] == [
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        Code.UNSCHEDULABLE,
        Code.UNSCHEDULABLE,
    ]


def test_the_first_pod_of_a_series_needs_no_other_but_the_node_needs_every_key() -> None:
    first = make_pod("p", labels={"app": "web"}, affinity=near(term(), term("rack")))
    racked = make_node("r", labels={ZONE: "a", "rack": "1"})
    assert failures(InterPodAffinity, first, [*NODES, racked]) == dict.fromkeys(("a1", "a2", "b1"), NEAR)
    # a matching pod anywhere with one of the keys ends this
    other = make_pod("w", labels={"app": "web"}, node="b1")
    assert "r" in failures(InterPodAffinity, first, [*NODES, racked], [other])


def test_one_pod_must_match_all_terms() -> None:
    both = near(term(HOSTNAME), term(HOSTNAME, LabelSelector(match_labels={"tier": "front"})))
    pods = [make_pod("w", labels={"app": "web"}, node="a1"), make_pod("f", labels={"tier": "front"}, node="a1")]
    assert set(failures(InterPodAffinity, make_pod("p", affinity=both), NODES, pods)) == {"a1", "a2", "b1"}


def test_terms_that_cannot_be_read_reject_the_pod_before_any_node_is_looked_at() -> None:
    bad = LabelSelector(match_expressions=(LabelSelectorRequirement("a", "Near", ()),))
    pod, snapshot = make_pod("p", affinity=apart(term(selector=bad))), make_snapshot(NODES)
    plugin = InterPodAffinity(None, FakeHandle(snapshot))
    state = plugin.compile(pod, snapshot)
    assert state is not None
    status = plugin.pre_filter(state).status
    assert status is not None
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.message == 'parsing pod: requiredAntiAffinityTerms: "Near" is not a valid label selector operator'


def test_a_unique_label_that_no_term_reads_makes_no_class_of_its_own() -> None:
    snapshot = make_snapshot(NODES, [make_pod("s", node="b1", affinity=apart(term()))])
    plugin = InterPodAffinity(None, FakeHandle(snapshot))
    one, two = (make_pod(f"w{i}", labels={"app": "web", "pod-index": str(i)}) for i in range(2))
    assert plugin.class_key(one) == plugin.class_key(two) != plugin.class_key(make_pod("d", labels={"app": "db"}))


@pytest.mark.parametrize(("weight", "expected"), [(1, [0, 0, 100]), (0, None)])
def test_required_affinity_of_other_pods_attracts_by_the_configured_weight(
    weight: int, expected: list[int] | None
) -> None:
    snapshot = make_snapshot(NODES, [make_pod("s", node="b1", affinity=near(term()))])
    plugin = InterPodAffinity(InterPodAffinityArgs(weight), FakeHandle(snapshot))
    state = plugin.compile(make_pod("w", labels={"app": "web"}), snapshot)
    found = None if state is None else plugin.pre_score(state, snapshot.columns, snapshot.columns.alive)
    assert expected == (None if found is None else plugin.normalize(found, found.raw).tolist())
