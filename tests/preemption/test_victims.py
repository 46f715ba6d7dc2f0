from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from nodewise.api.objects import PodDisruptionBudget
from nodewise.framework.status import Status
from nodewise.preemption.pdb import BudgetIndex, split_by_budget
from nodewise.preemption.victims import Victims, select_victims
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_node, make_pod
from tests.preemption.clusters import NOW, make_budget, names, preempt, running

APP = {"app": "web"}


def test_the_more_important_pods_are_spared() -> None:
    pods = [
        running("old", "n1", 5, started_s=90),
        running("young", "n1", 5, started_s=10),
        running("starting", "n1", 5, started_s=None),
        running("high", "n1", 6, started_s=1),
    ]
    for cpu, victims in (("1", ["starting"]), ("2", ["young", "starting"]), ("3", ["old", "young", "starting"])):
        assert names(preempt(make_pod("boss", cpu, priority=9), [make_node("n1", "4")], pods)) == ("n1", victims)


def test_a_pod_too_large_to_be_put_back_does_not_keep_smaller_ones_out() -> None:
    pods = [running("large", "n1", 5, "3"), running("small", "n1", 1, "1")]
    assert names(preempt(make_pod("boss", "2", priority=9), [make_node("n1", "4")], pods)) == ("n1", ["large"])


def test_of_two_pods_without_a_start_time_the_later_one_goes() -> None:
    pods = [running(name, "n1", started_s=None) for name in ("b", "a")]
    assert names(preempt(make_pod("boss", "1", priority=9), [make_node("n1", "2")], pods)) == ("n1", ["a"])


# --- disruption budgets -----------------------------------------------------------------------------------------------


def test_a_protected_pod_is_spared_even_when_it_is_less_important() -> None:
    pods = [running("high", "n1", 5), running("low", "n1", 1, labels=APP)]
    nodes = [make_node("n1", "2")]
    pod = make_pod("boss", "1", priority=9)
    assert names(preempt(pod, nodes, pods, budgets=[make_budget(APP)])) == ("n1", ["high"])
    assert names(preempt(pod, nodes, pods, budgets=[make_budget(APP, 1)])) == ("n1", ["low"])


def test_victims_of_both_kinds_are_listed_by_importance() -> None:
    pods = [
        running("middle", "n1", 3, labels=APP),
        running("low", "n1", 1),
        running("high", "n1", 5),
    ]
    pod = make_pod("boss", "3", priority=9)
    result = preempt(pod, [make_node("n1", "3")], pods, budgets=[make_budget(APP)])
    assert names(result) == ("n1", ["high", "middle", "low"])


def split(budgets: Sequence[PodDisruptionBudget], *pods: PodInfo) -> list[str]:
    listers = Listers()
    listers.fill(budgets)
    violating, others = split_by_budget(pods, BudgetIndex(listers))
    assert {*violating, *others} == {*pods}
    return [pod.pod.metadata.name for pod in violating]


def info(name: str, namespace: str = "default", **labels: str) -> PodInfo:
    return PodInfo(make_pod(name, namespace=namespace, labels=labels, node="n1"))


def test_a_budget_is_used_up_by_the_more_important_pods() -> None:
    assert split([make_budget(APP, 1)], info("a", app="web"), info("b"), info("c", app="web")) == ["c"]


@pytest.mark.parametrize(
    "budget",
    [
        make_budget({}),
        make_budget(None),
        make_budget(APP, namespace="elsewhere"),
        make_budget(APP, disrupted=["a"]),
        make_budget({"not a key": "x"}),
    ],
    ids=["empty selector", "no selector", "other namespace", "already disrupted", "invalid selector"],
)
def test_these_budgets_protect_nothing(budget: PodDisruptionBudget) -> None:
    assert split([budget], info("a", app="web")) == []


def test_a_pod_without_labels_is_never_protected() -> None:
    assert split([make_budget(APP)], info("a")) == []


def test_an_exhausted_budget_leaves_those_after_it_untouched() -> None:
    budgets = [make_budget(APP, 0, name="first"), make_budget({"tier": "x"}, 1, name="second")]
    assert split(budgets, info("a", app="web", tier="x"), info("b", tier="x"), info("c", tier="x")) == ["a", "c"]


def test_a_pod_already_disrupted_does_not_use_up_the_budget() -> None:
    assert split([make_budget(APP, 1, disrupted=["a"])], info("a", app="web"), info("b", app="web")) == []


def test_budgets_are_read_anew_when_they_change() -> None:
    listers = Listers()
    index = BudgetIndex(listers)
    pod = info("a", app="web")
    assert split_by_budget([pod], index) == ([], [pod])
    listers.fill([make_budget(APP)])
    assert split_by_budget([pod], index) == ([pod], [])


# --- the rules as such ------------------------------------------------------------------------------------------------


class Room:
    """A node with so much room; pods are as large as their priority says."""

    def __init__(self, room: int, pods: Sequence[PodInfo], wanted: int) -> None:
        self.room, self.pods, self.wanted = room, pods, wanted

    def failure(self, removed: Sequence[PodInfo], elsewhere: Sequence[tuple[int, PodInfo]] = ()) -> Status | None:
        taken = sum(pod.requests.get("cpu", 0) for pod in self.pods if pod not in removed)
        return None if taken + self.wanted <= self.room else Status.unschedulable("no room")


def test_no_victim_at_all_is_an_error() -> None:
    pod = PodInfo(running("low", "n1"))
    found = select_victims(
        PodInfo(make_pod("boss", priority=9)),
        [pod],
        Room(9000, [pod], 0),
        budgets=BudgetIndex(Listers()),
        now=NOW,
        node_name="n1",
    )
    assert found == Status.error('expected at least one victim pod on node "n1"')


some_pods = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 9), st.one_of(st.none(), st.integers(0, 3)), st.booleans()),
    min_size=1,
    max_size=12,
)


@given(some_pods, st.integers(0, 60), st.integers(1, 20), st.integers(0, 3))
def test_no_victim_could_be_spared_when_its_turn_comes(
    pods: list[tuple[int, int, int | None, bool]], room: int, wanted: int, allowed: int
) -> None:
    infos = [
        PodInfo(running(f"p{index}", "n1", priority, f"{size}m", started_s=start, labels=APP if protected else {}))
        for index, (priority, size, start, protected) in enumerate(pods)
    ]
    node = Room(room, infos, wanted)
    listers = Listers()
    listers.fill([make_budget(APP, allowed)])
    boss = PodInfo(make_pod("boss", priority=10))
    later = NOW + timedelta(minutes=1)  # than every start time
    found = select_victims(boss, infos, node, budgets=BudgetIndex(listers), now=later, node_name="n1")

    # The simplest reading of the rules, on lists.
    lower = [pod for pod in infos if pod.priority < 10]
    lower.sort(key=lambda pod: (-pod.priority, pod.start_time or datetime.max.replace(tzinfo=UTC)))
    budget = allowed
    protected = []
    for pod in lower:
        if pod.pod.metadata.labels:
            budget -= 1
            if budget < 0:
                protected.append(pod)
    removed = list(lower)
    victims = []
    if not lower:
        assert found == Status.unresolvable("No preemption victims found for incoming pod")
        return
    if node.failure(removed) is not None:
        assert found == Status.unschedulable("no room")
        return
    for pod in protected + [pod for pod in lower if pod not in protected]:
        removed.remove(pod)
        if node.failure(removed) is not None:
            removed.append(pod)
            victims.append(pod)
    if not victims:
        assert isinstance(found, Status)
        return
    assert isinstance(found, Victims)
    assert set(found.pods) == set(victims)
    assert [pod.priority for pod in found.pods] == sorted((pod.priority for pod in victims), reverse=True)
    assert found.n_pdb_violations == sum(pod in protected for pod in victims)
