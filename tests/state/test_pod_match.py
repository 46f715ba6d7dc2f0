from random import Random

from hypothesis import given, strategies as st

from nodewise.api.objects import LabelSelector, Namespace, ObjectMeta
from nodewise.api.selectors import EVERYTHING, NOTHING, Selector
from nodewise.state.affinity_terms import AffinityTerm
from nodewise.state.domain_counts import DomainCounts
from nodewise.state.pod_match import PodsOfTerms, PodsWithLabels, resolve_namespaces
from nodewise.testing.builders import make_pod
from tests.plugins.small_world import KEYS, SmallWorld, random_selector

WEB = Selector.from_map({"app": "web"})
TEAM = Selector.from_map({"team": "x"})


def term(selector: Selector = WEB, *namespaces: str, namespace_selector: Selector = NOTHING) -> AffinityTerm:
    return AffinityTerm(frozenset(namespaces), namespace_selector, selector, "zone")


def test_pods_with_labels_are_of_one_namespace() -> None:
    match = PodsWithLabels("default", WEB, skips_terminating=True)
    assert match.matches("default", {"app": "web"})
    assert not match.matches("other", {"app": "web"})
    assert not match.matches("default", {"app": "db"})
    assert match == PodsWithLabels("default", WEB, skips_terminating=True)
    assert match.equality_pairs == (("app", "web"),)


def test_pods_of_terms_match_every_term_and_no_terms_match_no_pod() -> None:
    both = PodsOfTerms((term(WEB, "default"), term(Selector.from_map({"tier": "front"}), "default", "other")))
    assert both.matches("default", {"app": "web", "tier": "front"})
    assert not both.matches("default", {"app": "web"})
    assert not both.matches("other", {"app": "web", "tier": "front"})
    assert not PodsOfTerms(()).matches("default", {})
    assert set(both.equality_pairs) == {("app", "web"), ("tier", "front")}


def test_a_namespace_selector_is_resolved_to_names_and_an_empty_one_stays() -> None:
    namespaces = {
        "x1": Namespace(ObjectMeta("x1", labels={"team": "x"})),
        "y": Namespace(ObjectMeta("y", labels={"team": "y"})),
    }
    resolved = resolve_namespaces(term(WEB, "default", namespace_selector=TEAM), namespaces)
    assert resolved == AffinityTerm(frozenset({"default", "x1"}), NOTHING, WEB, "zone")
    everywhere = term(WEB, namespace_selector=EVERYTHING)
    assert resolve_namespaces(everywhere, namespaces) is everywhere
    assert PodsOfTerms((everywhere,)).matches("unheard-of", {"app": "web"})


@given(st.randoms(use_true_random=False))
def test_live_sums_by_domain_are_those_of_a_count_from_scratch(rng: Random) -> None:
    world = SmallWorld(rng)
    selector = Selector.from_label_selector(random_selector(rng) or LabelSelector())
    match = PodsWithLabels("default", selector, skips_terminating=True)
    key, weight = rng.choice(KEYS), rng.choice((1, -3))
    live = DomainCounts(key, ((world.snapshot.pods.label_counts(match), weight),))
    version = -1
    for _ in range(8):
        columns = world.snapshot.columns
        if version != columns.node_version:
            version = columns.node_version
            live.rebuild(columns)
        for _ in range(rng.choice((1, 1, 1, 200))):
            live.refresh()
        expected: dict[str, int] = {}
        for pod in world.pods.values():
            value = world.nodes[pod.spec.node_name].metadata.labels.get(key)
            if (
                value is not None
                and not pod.is_terminating
                and match.matches(pod.metadata.namespace, pod.metadata.labels)
            ):
                expected[value] = expected.get(value, 0) + weight
        found = dict(zip(columns.label_values(key), live.table.tolist()[:-1], strict=True))
        assert {value: amount for value, amount in found.items() if amount} == expected
        assert live.n_nonzero() == len(expected)
        world.change(make_pod("?", labels={"app": "web"}))
