import pytest
from hypothesis import given, strategies as st

from nodewise.api.objects import (
    Affinity,
    NodeAffinity as Spec,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
)
from nodewise.config.arguments import NodeAffinityArgs
from nodewise.errors import PluginError
from nodewise.framework.plugin import PreFilterResult
from nodewise.framework.status import Status
from nodewise.plugins.node_affinity import NodeAffinity
from nodewise.testing.builders import FakeHandle, make_node, make_pod, make_snapshot
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import failures, scores

ENFORCED = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
OWN = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
NODES = [make_node("n1", labels={"disk": "ssd", "zone": "a"}), make_node("n2", labels={"disk": "ssd"}), make_node("n3")]


def has(key: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((NodeSelectorRequirement(key, "In", values),))


def named(*value_lists: tuple[str, ...]) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_fields=tuple(NodeSelectorRequirement("metadata.name", "In", values) for values in value_lists)
    )


def pod_with(*required: NodeSelectorTerm, preferred: tuple[tuple[int, NodeSelectorTerm], ...] | None = None) -> Pod:
    soft = None if preferred is None else tuple(PreferredSchedulingTerm(weight, term) for weight, term in preferred)
    return make_pod("p", affinity=Affinity(Spec(NodeSelector(required) if required else None, soft)))


def pre_filter(pod: Pod) -> PreFilterResult:
    snapshot = make_snapshot(NODES)
    plugin = NodeAffinity(NodeAffinityArgs(), FakeHandle(snapshot))
    state = plugin.compile(pod, snapshot)
    assert state is not None
    return plugin.pre_filter(state)


def test_it_keeps_to_the_contract_of_plugins() -> None:
    added = Spec(NodeSelector((has("disk", "ssd"),)), (PreferredSchedulingTerm(3, has("rank", "1")),))
    check_plugin(NodeAffinity, args=NodeAffinityArgs())
    check_plugin(NodeAffinity, args=NodeAffinityArgs(added))


def test_a_pod_that_wants_nothing_is_skipped() -> None:
    assert NodeAffinity(None, FakeHandle()).compile(make_pod("p"), make_snapshot(NODES)) is None


def test_terms_are_ored_and_the_node_selector_is_anded() -> None:
    assert failures(NodeAffinity, pod_with(has("zone", "a"), has("zone", "b")), NODES) == {"n2": OWN, "n3": OWN}
    assert failures(NodeAffinity, make_pod("p", node_selector={"disk": "ssd"}), NODES) == {"n3": OWN}


def test_added_affinity_is_enforced_before_the_pods_own() -> None:
    args = NodeAffinityArgs(Spec(NodeSelector((has("disk", "ssd"),))))
    assert failures(NodeAffinity, pod_with(has("zone", "a")), NODES, args=args) == {"n2": OWN, "n3": ENFORCED}
    assert failures(NodeAffinity, make_pod("p"), NODES, args=args) == {"n3": ENFORCED}


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ((named(("n1", "n2")),), {"n1", "n2"}),
        ((named(("n1", "n2"), ("n2", "n3")),), {"n2"}),
        ((named(("n1",)), named(("n3",))), {"n1", "n3"}),
        ((named(("n1",), ("n2",)), named(("n3",))), {"n3"}),
        ((named(("n1",)), has("disk", "ssd")), None),
    ],
)
def test_names_in_every_term_narrow_the_nodes(terms: tuple[NodeSelectorTerm, ...], names: set[str] | None) -> None:
    assert pre_filter(pod_with(*terms)) == PreFilterResult(node_names=None if names is None else frozenset(names))


def test_conflicting_names_reject_the_pod() -> None:
    conflict = PreFilterResult(Status.unresolvable("pod affinity terms conflict"))
    assert pre_filter(pod_with(named(("n1",), ("n2",)))) == conflict


def test_a_multi_value_name_list_narrows_but_matches_nothing() -> None:
    pod = pod_with(named(("n1", "n2")))
    assert set(failures(NodeAffinity, pod, NODES)) == {"n1", "n2", "n3"}


def test_weights_of_matching_terms_add_up_and_scale_to_the_best() -> None:
    pod = pod_with(
        preferred=((2, has("disk", "ssd")), (1, has("zone", "a")), (0, has("disk")), (7, NodeSelectorTerm()))
    )
    assert scores(NodeAffinity, pod, NODES) == ({"n1": 3, "n2": 2, "n3": 0}, {"n1": 100, "n2": 66, "n3": 0})


def test_no_preferred_list_takes_the_plugin_out_of_scoring_but_an_empty_one_does_not() -> None:
    assert scores(NodeAffinity, pod_with(has("disk", "ssd")), NODES) is None
    assert scores(NodeAffinity, pod_with(preferred=()), NODES) == (dict.fromkeys(("n1", "n2", "n3"), 0),) * 2


def test_an_unreadable_preferred_term_is_an_error() -> None:
    pod = pod_with(preferred=((1, has("disk")),))
    with pytest.raises(PluginError, match=r"\[0\]\.matchExpressions\[0\]\.values: Invalid value"):
        NodeAffinity(None, FakeHandle()).compile(pod, make_snapshot(NODES))


@given(
    st.lists(
        st.tuples(st.integers(1, 100), st.sampled_from(("disk", "zone")), st.sampled_from(("ssd", "a"))), max_size=4
    ),
    st.lists(st.dictionaries(st.sampled_from(("disk", "zone")), st.sampled_from(("ssd", "a"))), min_size=1, max_size=4),
)
def test_scores_are_what_each_node_adds_up_to(
    preferred: list[tuple[int, str, str]], labels: list[dict[str, str]]
) -> None:
    nodes = [make_node(f"n{index}", labels=own) for index, own in enumerate(labels)]
    pod = pod_with(preferred=tuple((weight, has(key, value)) for weight, key, value in preferred))
    raw = {node.name: sum(w for w, k, v in preferred if node.metadata.labels.get(k) == v) for node in nodes}
    most = max(raw.values())
    assert scores(NodeAffinity, pod, nodes) == (raw, {n: 100 * v // most if most else 0 for n, v in raw.items()})
