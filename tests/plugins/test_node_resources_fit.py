import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nodewise.api.objects import Container, Pod, ResourceRequirements, replace
from nodewise.config.arguments import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatioParam,
    ResourceSpec,
    ScoringStrategy,
    UtilizationShapePoint,
)
from nodewise.errors import NodewiseError
from nodewise.framework.status import Code, Status
from nodewise.plugins.node_resources_fit import NodeResourcesFit
from nodewise.state.columns import ALL_ROWS
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.testing.builders import FakeHandle, make_cache, make_node, make_pod, make_snapshot
from nodewise.testing.check_plugin import check_plugin
from tests.plugins.answers import failures, scores

GPU, FPGA = "example.com/gpu", "vendor.test/fpga"
SHAPE = ((0, 3), (33, 10), (80, 0), (95, 1))
Amounts = Mapping[str, int]


def args_for(kind: str, *resources: tuple[str, int], shape: tuple[tuple[int, int], ...] = ()) -> NodeResourcesFitArgs:
    ratio = RequestedToCapacityRatioParam(tuple(UtilizationShapePoint(*point) for point in shape)) if shape else None
    specs = tuple(ResourceSpec(*resource) for resource in resources)
    return NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(kind, specs, ratio))


STRATEGIES = (
    args_for("LeastAllocated", ("cpu", 1), ("memory", 1)),
    args_for("LeastAllocated", ("memory", 7), (GPU, 3), ("ephemeral-storage", 2), ("pods", 5)),
    args_for("MostAllocated", ("cpu", 3), ("memory", 2), (GPU, 5)),
    args_for("RequestedToCapacityRatio", ("cpu", 3), (GPU, 2), ("memory", 1), shape=SHAPE),
    args_for("MostAllocated", ("cpu", 3), ("memory", 2)),
    args_for("RequestedToCapacityRatio", ("cpu", 3), ("memory", 1), shape=SHAPE),
)


@pytest.mark.parametrize("args", STRATEGIES)
def test_it_keeps_to_the_contract_of_plugins(args: NodeResourcesFitArgs) -> None:
    check_plugin(NodeResourcesFit, args=args)


# --- filter -----------------------------------------------------------------------------------------------------------


def test_every_resource_that_is_lacking_is_named() -> None:
    nodes = [make_node("n1", "2", "1Gi", pods=1, resources={GPU: "1"})]
    running = [make_pod("old", "1500m", "1Gi", node="n1", resources={GPU: "1"})]
    pod = make_pod("new", "1", "1Gi", resources={GPU: "1"})
    reasons = ("Too many pods", "Insufficient cpu", "Insufficient memory", f"Insufficient {GPU}")
    assert failures(NodeResourcesFit, pod, nodes, running) == {"n1": Status.unschedulable(*reasons)}


def test_an_amount_beyond_int64_wraps_around_as_in_go_and_has_room() -> None:
    nodes = [make_node("n1", "7Ei", "1Gi"), make_node("n2", "2", "1Gi")]
    running = [make_pod("old", "1500m", "1Gi", node="n1")]
    pod = make_pod("new", "1", "1Mi")
    assert failures(NodeResourcesFit, pod, nodes, running) == {"n1": Status.unschedulable("Insufficient memory")}


def test_a_request_beyond_the_node_itself_makes_the_whole_rejection_unresolvable() -> None:
    nodes = [make_node("n1", "2", "4Gi")]
    running = [make_pod("old", memory="3Gi", node="n1")]
    pod = make_pod("new", "3", "2Gi")
    expected = Status.unresolvable("Insufficient cpu", "Insufficient memory")
    assert failures(NodeResourcesFit, pod, nodes, running) == {"n1": expected}


def test_what_is_out_of_reach_changes_with_the_node() -> None:
    cache, snapshot = make_cache([make_node("n1", "2"), make_node("n2", "4")]), Snapshot()
    snapshot.update(cache)
    cache.add_pod(PodInfo(make_pod("old", "2", node="n2")))
    plugin = NodeResourcesFit(None, FakeHandle(snapshot))
    snapshot.update(cache)
    state = plugin.compile(make_pod("new", "3"), snapshot)

    def codes() -> list[Code]:
        snapshot.update(cache)
        found = plugin.filter(state, snapshot.columns, ALL_ROWS).tolist()
        assert found == [plugin.filter_row(state, snapshot.columns, row) for row in range(2)]
        return [plugin.rejection(state, code).code for code in found]

    assert codes() == [Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.UNSCHEDULABLE]
    cache.update_node(make_node("n1", "3"))
    cache.add_pod(PodInfo(make_pod("other", "1", node="n1")))
    assert codes() == [Code.UNSCHEDULABLE, Code.UNSCHEDULABLE]
    cache.update_node(make_node("n2", "2"))
    assert codes() == [Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE]


def test_more_resources_than_a_byte_has_bits_are_told_apart() -> None:
    names = [f"example.com/r{number}" for number in range(9)]
    node = make_node("n1", "1", "1Gi", resources=dict.fromkeys(names[:8], "2"))
    running = [make_pod("old", node="n1", resources=dict.fromkeys(names[::2], "2"))]
    pod = make_pod("new", resources=dict.fromkeys(names, "1"))
    expected = Status.unresolvable(*[f"Insufficient {name}" for name in names[::2]])
    assert failures(NodeResourcesFit, pod, [node], running) == {"n1": expected}


def test_a_request_of_zero_fits_an_overcommitted_node() -> None:
    nodes = [make_node("n1", "1", "1Gi")]
    running = [make_pod("old", "2", "2Gi", node="n1", resources={"ephemeral-storage": "1Gi"})]
    pod = make_pod("new", "0", "0", resources={"ephemeral-storage": "0", GPU: "0"})
    assert failures(NodeResourcesFit, pod, nodes, running) == {}


def test_a_pod_without_requests_still_needs_a_free_place() -> None:
    nodes = [make_node("full", pods=1), make_node("free", pods=2)]
    running = [make_pod("a", node="full"), make_pod("b", node="free")]
    expected = {"full": Status.unschedulable("Too many pods")}
    assert failures(NodeResourcesFit, make_pod("new"), nodes, running) == expected


def test_ignored_resources_are_extended_ones_by_name_or_group() -> None:
    args = NodeResourcesFitArgs(ignored_resources=(GPU, "hugepages-2Mi"), ignored_resource_groups=("vendor.test",))
    pod = make_pod("new", resources={GPU: "1", FPGA: "1", "hugepages-2Mi": "2Mi", "other.test/x": "1"})
    expected = Status.unresolvable("Insufficient hugepages-2Mi", "Insufficient other.test/x")
    assert failures(NodeResourcesFit, pod, [make_node("n1")], args=args) == {"n1": expected}


def test_names_that_no_node_keeps_are_not_filtered_by() -> None:
    pod = make_pod("new", resources={"storage": "1Gi", "pods": "5"})
    assert failures(NodeResourcesFit, pod, [make_node("n1")]) == {}


amounts = st.fixed_dictionaries(
    {},
    optional={name: st.integers(0, 6) for name in ("cpu", "memory", "ephemeral-storage", GPU, FPGA, "hugepages-2Mi")},
)
RESOURCES = ("cpu", "memory", "ephemeral-storage", GPU, FPGA, "hugepages-2Mi")


def texts(amounts: Amounts) -> dict[str, str]:
    return {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in amounts.items()}


@given(st.lists(st.tuples(amounts, amounts, st.integers(0, 2)), min_size=1, max_size=6), amounts)
def test_a_node_passes_when_everything_fits_beside_its_pods(
    nodes: list[tuple[Amounts, Amounts, int]], wanted: Amounts
) -> None:
    expected: dict[str, tuple[Code, set[str]]] = {}
    for index, (there, used, room) in enumerate(nodes):
        short = {n for n in RESOURCES if wanted.get(n, 0) > max(0, there.get(n, 0) - used.get(n, 0))}
        hopeless = {n for n in short if wanted[n] > there.get(n, 0)}
        reasons = {f"Insufficient {n}" for n in short} | ({"Too many pods"} if room < 2 else set())
        if reasons:
            code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
            expected[f"n{index}"] = code, reasons
    made = [
        make_node(f"n{index}", pods=room, resources={"cpu": "0", "memory": "0", **texts(there)})
        for index, (there, _, room) in enumerate(nodes)
    ]
    running = [
        make_pod(f"p{index}", node=f"n{index}", resources=texts(used)) for index, (_, used, _) in enumerate(nodes)
    ]
    found = failures(NodeResourcesFit, make_pod("new", resources=texts(wanted)), made, running)
    assert {name: (status.code, set(status.reasons)) for name, status in found.items()} == expected


# --- score ------------------------------------------------------------------------------------------------------------


def raw_scores(pod: Pod, nodes: list[tuple[str, str]], args: NodeResourcesFitArgs | None = None) -> list[int]:
    made = [make_node(f"n{index}", cpu, memory) for index, (cpu, memory) in enumerate(nodes)]
    found = scores(NodeResourcesFit, pod, made, args=args)
    assert found is not None
    return list(found[0].values())


def test_each_resource_is_truncated_before_the_mean_is() -> None:
    # cpu 2/3 free: 66, memory 1/3 free: 33, together 99 // 2
    assert raw_scores(make_pod("new", "1", "2"), [("3", "3")]) == [49]


def test_containers_that_ask_for_nothing_count_with_the_defaults() -> None:
    containers = (
        Container(name="a"),
        Container(name="b", resources=ResourceRequirements(requests={"cpu": "0", "memory": "0"})),
    )
    # 100m of 1 and 200Mi of 1000Mi: an explicit 0 stays 0
    assert raw_scores(make_pod("new", containers=containers), [("1", "1000Mi")]) == [(90 + 80) // 2]


def test_pod_level_requests_count_for_the_filter_and_not_for_the_score() -> None:
    pod = make_pod("new", "1", "1Gi")
    pod_level = ResourceRequirements(requests={"cpu": "3", "memory": "3Gi"})
    with_level = replace(pod, spec=replace(pod.spec, resources=pod_level))
    assert raw_scores(with_level, [("4", "4Gi")]) == raw_scores(pod, [("4", "4Gi")]) == [75]
    assert failures(NodeResourcesFit, with_level, [make_node("n1", "2", "4Gi")]).keys() == {"n1"}


def test_a_resource_the_node_lacks_does_not_count() -> None:
    args = args_for("LeastAllocated", ("cpu", 1), ("memory", 1))
    assert raw_scores(make_pod("new", "1", "1Gi"), [("4", "0"), ("0", "0")], args) == [75, 0]


def test_an_unlisted_or_unrequested_scalar_resource_does_not_count() -> None:
    args = args_for("MostAllocated", ("cpu", 1), (GPU, 9))
    node = make_node("n1", "4", resources={GPU: "4"})
    for wanted, expected in (({}, 25), ({GPU: "4"}, (25 + 900) // 10)):
        found = scores(NodeResourcesFit, make_pod("new", "1", resources=wanted), [node], args=args)
        assert found is not None
        assert found[0] == {"n1": expected}


def test_a_falling_segment_of_the_shape_truncates_towards_zero() -> None:
    args = args_for("RequestedToCapacityRatio", ("cpu", 1), shape=((0, 10), (3, 0)))
    assert raw_scores(make_pod("new", "10m"), [("1", "1Gi")], args) == [67]  # 100 - 33, not 100 - 34


def test_the_ratio_mean_is_rounded_half_away_from_zero() -> None:
    args = args_for("RequestedToCapacityRatio", ("cpu", 1), ("memory", 1), shape=((0, 0), (100, 10)))
    assert raw_scores(make_pod("new", "10m", "1"), [("1", "50")], args) == [2]  # 10 % and 2 %: 1.5


def reference_score(args: NodeResourcesFitArgs, used: Amounts, there: Amounts, requested: Amounts) -> int:
    strategy = args.scoring_strategy
    assert strategy is not None
    total = weights = 0
    for spec in strategy.resources:
        is_scalar = "/" in spec.name
        capacity = there.get(spec.name, 0)
        if spec.name == "pods" or capacity == 0 or (is_scalar and not requested.get(spec.name, 0)):
            continue
        taken = used.get(spec.name, 0) + requested.get(spec.name, 0)
        if strategy.type == "LeastAllocated":
            part = 0 if taken > capacity else (capacity - taken) * 100 // capacity
        elif strategy.type == "MostAllocated":
            part = min(taken, capacity) * 100 // capacity
        else:
            part = on_line(100 if taken > capacity else taken * 100 // capacity)
            if part == 0:
                continue
        total += part * spec.weight
        weights += spec.weight
    if not weights:
        return 0
    return math.floor(total / weights + 0.5) if strategy.type.startswith("Requested") else total // weights


def on_line(utilization: int) -> int:
    left_x, left_y = SHAPE[0]
    for x, y in SHAPE:
        if utilization <= x:
            if x == SHAPE[0][0]:
                return y * 10
            return left_y * 10 + math.trunc((y - left_y) * 10 * (utilization - left_x) / (x - left_x))
        left_x, left_y = x, y
    return SHAPE[-1][1] * 10


quantities = st.one_of(st.integers(0, 50), st.integers(0, 2**42))
full = st.fixed_dictionaries(dict.fromkeys(("cpu", "memory", "ephemeral-storage", GPU), quantities))


@given(st.sampled_from(STRATEGIES), st.lists(st.tuples(full, full), min_size=1, max_size=5), full)
def test_scores_are_those_of_the_strategies(
    args: NodeResourcesFitArgs, nodes: list[tuple[Amounts, Amounts]], requested: Amounts
) -> None:
    made = [make_node(f"n{index}", resources=texts(there)) for index, (there, _) in enumerate(nodes)]
    running = [make_pod(f"p{index}", node=f"n{index}", resources=texts(used)) for index, (_, used) in enumerate(nodes)]
    pod = make_pod("new", resources=texts(requested))
    found = scores(NodeResourcesFit, pod, made, running, args=args)
    assert found is not None
    expected = {f"n{index}": reference_score(args, used, there, requested) for index, (there, used) in enumerate(nodes)}
    assert found[0] == expected


def test_amounts_too_large_for_exact_floats_are_divided_as_integers() -> None:
    huge = 2**56
    nodes = [make_node("n1", "1", str(huge)), make_node("n2", "1", str(huge - 1))]
    args = args_for("MostAllocated", ("memory", 1))
    pod = make_pod("new", memory=str(huge // 2 - 1))
    found = scores(NodeResourcesFit, pod, nodes, args=args)
    assert found is not None
    assert found[0] == {"n1": 49, "n2": (huge // 2 - 1) * 100 // (huge - 1)}
    snapshot = make_snapshot(nodes)
    plugin = NodeResourcesFit(args, FakeHandle(snapshot))
    state = plugin.compile(pod, snapshot)
    rows = [plugin.score_row(state, snapshot.columns, row) for row in range(2)]
    assert rows == plugin.score(state, snapshot.columns, ALL_ROWS).tolist() == list(found[0].values())


# --- classes ----------------------------------------------------------------------------------------------------------


def test_pods_share_a_class_when_filter_and_score_see_the_same_amounts() -> None:
    plugin = NodeResourcesFit(None, FakeHandle())
    one, same = make_pod("a", "1", "1Gi"), make_pod("b", "1000m", "1024Mi", labels={"x": "y"})
    assert plugin.class_key(one) == plugin.class_key(same)
    defaulted, explicit = make_pod("c"), make_pod("d", "0", "0")
    assert plugin.class_key(defaulted) != plugin.class_key(explicit)
    assert plugin.class_key(one) != plugin.class_key(make_pod("e", "1", "1Gi", resources={GPU: "1"}))


def test_rows_may_be_an_array() -> None:
    snapshot = make_snapshot([make_node(f"n{index}", str(index)) for index in range(5)])
    plugin = NodeResourcesFit(STRATEGIES[1], FakeHandle(snapshot))
    state = plugin.compile(make_pod("new", "2", "1Gi", resources={GPU: "1"}), snapshot)
    rows = np.array([4, 0], np.intp)
    assert (
        plugin.filter(state, snapshot.columns, rows) == plugin.filter(state, snapshot.columns, ALL_ROWS)[rows]
    ).all()


def test_an_unknown_strategy_is_refused() -> None:
    for strategy in (None, ScoringStrategy(""), ScoringStrategy("RequestedToCapacityRatio")):
        with pytest.raises(NodewiseError, match="expected type LeastAllocated"):
            NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=strategy), FakeHandle())
