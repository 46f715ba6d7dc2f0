import math
from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st

from nodewise.config.arguments import NodeResourcesBalancedAllocationArgs, ResourceSpec
from nodewise.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from nodewise.testing.builders import FakeHandle, make_node, make_pod
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import scores

GPU = "example.com/gpu"
Amounts = Mapping[str, int]


def args_for(*names: str) -> NodeResourcesBalancedAllocationArgs:
    return NodeResourcesBalancedAllocationArgs(tuple(ResourceSpec(name, 1) for name in names))


CONFIGURATIONS = (
    args_for("cpu", "memory"),
    args_for("memory", GPU),
    args_for("cpu", "memory", GPU),
    args_for("memory", "ephemeral-storage", "cpu", GPU, "hugepages-2Mi"),
    args_for("cpu"),
)


@pytest.mark.parametrize("args", CONFIGURATIONS)
def test_it_keeps_to_the_contract_of_plugins(args: NodeResourcesBalancedAllocationArgs) -> None:
    check_plugin(NodeResourcesBalancedAllocation, args=args)


def score(pod_cpu: str, pod_memory: str, used_cpu: str, used_memory: str) -> int:
    nodes = [make_node("n1", "10", "10")]
    running = [make_pod("old", used_cpu, used_memory, node="n1")]
    found = scores(NodeResourcesBalancedAllocation, make_pod("new", pod_cpu, pod_memory), nodes, running)
    assert found is not None
    return found[0]["n1"]


def test_a_pod_that_leaves_the_balance_as_it_is_scores_75() -> None:
    assert score("1", "1", "3", "3") == 75


def test_mending_the_balance_scores_more_and_upsetting_it_less() -> None:
    assert score("10", "0", "0", "10") == 100
    assert score("10", "0", "0", "0") == 50


def test_used_amounts_beyond_the_node_count_as_all_of_it() -> None:
    assert score("5", "5", "20", "30") == 75


def test_a_pod_without_requests_is_not_scored() -> None:
    nodes = [make_node("n1")]
    assert scores(NodeResourcesBalancedAllocation, make_pod("new"), nodes) is None
    assert scores(NodeResourcesBalancedAllocation, make_pod("new", "0", "0"), nodes) is None
    assert scores(NodeResourcesBalancedAllocation, make_pod("new", resources={GPU: "1"}), nodes) is None


def test_the_defaults_for_containers_without_requests_do_not_count() -> None:
    nodes = [make_node("n1", "1", "1Gi")]
    found = scores(NodeResourcesBalancedAllocation, make_pod("new", "1"), nodes)
    assert found is not None
    assert found[0] == {"n1": 50}  # cpu 1, memory 0


def test_pods_share_a_class_when_they_ask_for_the_same_of_the_balanced_resources() -> None:
    plugin = NodeResourcesBalancedAllocation(None, FakeHandle())
    one = make_pod("a", "1", "1Gi", resources={GPU: "1"})
    assert plugin.class_key(one) == plugin.class_key(make_pod("b", "1000m", "1Gi"))
    assert plugin.class_key(one) != plugin.class_key(make_pod("c", "1", "2Gi"))


def evenness(fractions: list[float]) -> int:
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        total = 0.0
        for fraction in fractions:  # sum() compensates for rounding, Go's loop does not
            total += fraction
        mean = total / len(fractions)
        squares = 0.0
        for fraction in fractions:
            squares = squares + (fraction - mean) * (fraction - mean)
        deviation = math.sqrt(squares / len(fractions))
    return math.trunc((1 - deviation) * 100)


def reference_score(
    args: NodeResourcesBalancedAllocationArgs, there: Amounts, used: Amounts, requested: Amounts
) -> int:
    with_pod: list[float] = []
    without_pod: list[float] = []
    for spec in args.resources:
        is_scalar = spec.name not in ("cpu", "memory", "ephemeral-storage")
        capacity = there.get(spec.name, 0)
        if capacity == 0 or (is_scalar and not requested.get(spec.name, 0)):
            continue
        taken = used.get(spec.name, 0)
        without_pod.append(min(1.0, float(taken) / float(capacity)))
        with_pod.append(min(1.0, float(taken + requested.get(spec.name, 0)) / float(capacity)))
    return 50 + (50 + evenness(with_pod) - evenness(without_pod)) // 2


names = ("cpu", "memory", "ephemeral-storage", GPU, "hugepages-2Mi")
quantities = st.one_of(st.integers(0, 3), st.integers(0, 100), st.integers(0, 2**60))
amounts = st.fixed_dictionaries(dict.fromkeys(names, quantities))


def texts(amounts: Amounts) -> dict[str, str]:
    # Millicores of cpu are limited, so that sums stay amounts that Kubernetes can hold.
    return {name: f"{amount % 2**50}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


@given(st.sampled_from(CONFIGURATIONS), st.lists(st.tuples(amounts, amounts), min_size=1, max_size=5), amounts)
def test_scores_are_those_of_the_formula(
    args: NodeResourcesBalancedAllocationArgs, nodes: list[tuple[Amounts, Amounts]], requested: Amounts
) -> None:
    made = [make_node(f"n{index}", resources=texts(there)) for index, (there, _) in enumerate(nodes)]
    running = [make_pod(f"p{index}", node=f"n{index}", resources=texts(used)) for index, (_, used) in enumerate(nodes)]
    found = scores(
        NodeResourcesBalancedAllocation, make_pod("new", resources=texts(requested)), made, running, args=args
    )
    bounded = [
        tuple({**part, "cpu": part["cpu"] % 2**50} for part in (there, used, requested)) for there, used in nodes
    ]
    if not any(bounded[0][2][spec.name] for spec in args.resources):
        assert found is None
        return
    assert found is not None
    assert list(found[0].values()) == [reference_score(args, *parts) for parts in bounded]
