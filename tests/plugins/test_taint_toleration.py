from hypothesis import given, strategies as st

from nodewise.api.objects import Taint, Toleration
from nodewise.framework.status import Status
from nodewise.plugins.taint_toleration import TaintToleration
from nodewise.testing.builders import make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import failures, scores

UNTOLERATED = Status.unresolvable("node(s) had untolerated taint(s)")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")

taints = st.builds(Taint, st.sampled_from("ab"), st.sampled_from(("", "x")), st.sampled_from(EFFECTS))
tolerations = st.builds(
    Toleration,
    key=st.sampled_from(("", "a", "b")),
    operator=st.sampled_from(("", "Equal", "Exists", "Lt")),
    value=st.sampled_from(("", "x")),
    effect=st.sampled_from(("", *EFFECTS)),
)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)


def test_it_keeps_to_the_contract_of_plugins() -> None:
    check_plugin(TaintToleration)


@given(st.lists(st.lists(taints, max_size=3), min_size=1, max_size=4), st.lists(tolerations, max_size=3))
def test_it_says_of_each_node_what_the_rules_say(
    taint_sets: list[list[Taint]], pod_tolerations: list[Toleration]
) -> None:
    nodes = [make_node(f"n{index}", taints=own) for index, own in enumerate(taint_sets)]
    pod = make_pod("p", tolerations=pod_tolerations)
    rejected, raw = {}, {}
    for node in nodes:
        open_taints = [t for t in node.spec.taints if not any(tolerates(own, t) for own in pod_tolerations)]
        if any(taint.effect != "PreferNoSchedule" for taint in open_taints):
            rejected[node.name] = UNTOLERATED
        raw[node.name] = sum(taint.effect == "PreferNoSchedule" for taint in open_taints)
    most = max(raw.values())
    normalized = {name: 100 - 100 * value // most if most else 100 for name, value in raw.items()}
    assert failures(TaintToleration, pod, nodes) == rejected
    assert scores(TaintToleration, pod, nodes) == (raw, normalized)


def test_a_pod_without_tolerations_prefers_nodes_without_soft_taints() -> None:
    nodes = [make_node("n1", taints=["a:PreferNoSchedule", "b:PreferNoSchedule"]), make_node("n2")]
    assert scores(TaintToleration, make_pod("p"), nodes) == ({"n1": 2, "n2": 0}, {"n1": 0, "n2": 100})
