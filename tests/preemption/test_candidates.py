from hypothesis import given, strategies as st

from nodewise.api.objects import Pod
from nodewise.preemption.candidates import Candidate, dry_run, find_best, pick_candidate
from nodewise.preemption.pdb import BudgetIndex
from nodewise.preemption.victims import Victims
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_node, make_pod
from tests.preemption.clusters import NOW, evaluate, make_budget, running

Shape = tuple[int, float | None]  # priority and seconds since the start


def candidate(name: str, *victims: Shape, violations: int = 0) -> Candidate:
    pods = tuple(
        PodInfo(running(f"{name}-{index}", name, priority, started_s=started_s))
        for index, (priority, started_s) in enumerate(victims)
    )
    return Candidate(name, Victims(pods, violations))


def best(*candidates: Candidate) -> str:
    return pick_candidate(candidates, NOW).node_name


def test_fewer_broken_budgets_come_first() -> None:
    assert best(candidate("a", (1, 0), violations=1), candidate("b", (9, 0), (9, 0))) == "b"


def test_then_the_lower_priority_of_the_most_important_victim() -> None:
    assert best(candidate("a", (3, 0)), candidate("b", (2, 0), (2, 0), (2, 0))) == "b"


def test_then_the_smaller_sum_of_priorities() -> None:
    assert best(candidate("a", (3, 0), (2, 0)), candidate("b", (3, 0), (1, 0))) == "b"


def test_negative_priorities_do_not_make_more_victims_better() -> None:
    assert best(candidate("a", (-1, 0), (-9, 0)), candidate("b", (-1, 0))) == "b"


def test_then_the_later_start_of_the_most_important_victims() -> None:
    assert best(candidate("a", (3, 50), (1, 1)), candidate("b", (3, 40), (1, 99))) == "b"
    assert best(candidate("a", (3, 1), (3, 50)), candidate("b", (3, 2), (3, 40))) == "b"


def test_a_missing_start_time_counts_as_now() -> None:
    assert best(candidate("a", (3, 1)), candidate("b", (3, None))) == "b"


def test_then_the_name() -> None:
    assert best(candidate("b", (3, 1)), candidate("a", (3, 1)), candidate("c", (3, 1))) == "a"


pods_of_node = st.lists(
    st.tuples(st.integers(-2, 3), st.integers(1, 3), st.one_of(st.none(), st.integers(0, 3)), st.booleans()), max_size=4
)


@given(st.lists(pods_of_node, min_size=1, max_size=6), st.integers(1, 4))
def test_leaving_out_nodes_does_not_change_which_is_the_best(
    nodes: list[list[tuple[int, int, int | None, bool]]], wanted: int
) -> None:
    pods: list[Pod] = [
        running(
            f"p{index}-{position}",
            f"n{index}",
            priority,
            str(cpu),
            started_s=started_s,
            labels={"app": "web"} if is_protected else {},
        )
        for index, own in enumerate(nodes)
        for position, (priority, cpu, started_s, is_protected) in enumerate(own)
    ]
    made = [make_node(f"n{index}", str(max(1, sum(cpu for _, cpu, _, _ in own)))) for index, own in enumerate(nodes)]
    boss = make_pod("boss", str(wanted), priority=3)
    evaluation, handle = evaluate(boss, made, pods, [make_budget({"app": "web"}, 1)], [])
    budgets = BudgetIndex(handle.listers)
    rows = sorted(evaluation.resolvable_rows().tolist())
    complete = dry_run(evaluation, rows, budgets, now=NOW, n_wanted=len(rows) + 1)
    quick = find_best(evaluation, rows, budgets, now=NOW)
    if not complete.candidates:
        assert not quick.candidates
        assert quick.statuses == complete.statuses
    else:
        assert pick_candidate(quick.candidates, NOW) == pick_candidate(complete.candidates, NOW)
        assert {found.node_name for found in quick.candidates} <= {found.node_name for found in complete.candidates}


def test_the_search_stops_at_enough_candidates_of_which_one_breaks_no_budget() -> None:
    nodes = [make_node(f"n{index}", "1") for index in range(5)]
    pods = [running(f"p{index}", f"n{index}", labels={"app": "web"} if index < 2 else {}) for index in range(5)]
    boss = make_pod("boss", "1", priority=3)
    evaluation, handle = evaluate(boss, nodes, pods, [make_budget({"app": "web"})], [])
    for n_wanted, expected in ((1, 3), (4, 4), (9, 5)):
        found = dry_run(evaluation, range(5), BudgetIndex(handle.listers), now=NOW, n_wanted=n_wanted)
        assert [c.node_name for c in found.candidates] == [f"n{index}" for index in range(expected)]
