import random
from datetime import UTC, datetime
from typing import Any

import pytest

from nodewise.api.objects import ObjectMeta, Pod, PodCondition, PodStatus, replace
from nodewise.config.arguments import DefaultPreemptionArgs
from nodewise.framework.status import Code, Status
from nodewise.plugins.default_preemption import DefaultPreemption
from nodewise.testing.builders import make_node, make_pod
from tests.preemption.clusters import evaluate, names, preempt, refused, running

EVICTED = (PodCondition("DisruptionTarget", "True", "PreemptionByScheduler"),)


def boss(cpu: str = "1", priority: int = 100, **more: Any) -> Pod:
    return make_pod("boss", cpu, priority=priority, **more)


def terminating(pod: Pod) -> Pod:
    metadata: ObjectMeta = replace(pod.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    changed: Pod = replace(pod, metadata=metadata)
    return changed


def test_a_pod_of_lower_priority_is_evicted() -> None:
    result = preempt(boss(), [make_node("n1", "1")], [running("low", "n1")])
    message = "preemption: found a potential placement for pod on node n1, preempting 1 victims"
    assert result.status == Status(Code.SUCCESS, (message,))
    assert names(result) == ("n1", ["low"])


def test_a_pod_that_never_preempts_keeps_its_nomination() -> None:
    result = preempt(boss(preemption_policy="Never"), [make_node("n1", "1")], [running("low", "n1")])
    assert result.status == refused("not eligible due to preemptionPolicy=Never.")
    assert result.nominated_node is None


def test_equal_priority_is_not_evicted_and_the_nomination_is_cleared() -> None:
    result = preempt(boss(priority=7), [make_node("n1", "1")], [running("peer", "n1", 7)])
    text = "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    assert result.status == refused(text)
    assert names(result) == ("", [])


def test_nodes_that_evictions_cannot_help_are_counted_as_such() -> None:
    nodes = [
        make_node("small", "1"),
        make_node("tainted", "4", taints=["dedicated=db:NoSchedule"]),
        make_node("busy", "3"),
        make_node("peers", "3"),
    ]
    pods = [running("a", "busy", 100, "2"), running("b", "busy", 1, "1"), running("c", "peers", 100, "3")]
    result = preempt(boss("2"), nodes, pods)
    assert result.status == refused(
        "0/4 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling."
    )


def test_without_any_node_to_try_all_nodes_are_counted_as_not_helpful() -> None:
    result = preempt(boss("9"), [make_node("n1"), make_node("n2")], [running("low", "n1")])
    assert result.status == refused("0/2 nodes are available: 2 Preemption is not helpful for scheduling.")
    assert result.nominated_node == ""


# --- a nomination from an earlier preemption --------------------------------------------------------------------------


def test_it_waits_for_a_victim_that_is_still_terminating_on_the_nominated_node() -> None:
    pod = boss(status=PodStatus(nominated_node_name="n1"))
    nodes = [make_node("n1", "1"), make_node("n2", "1")]
    others = [running("low", "n2")]
    leaving = terminating(running("leaving", "n1", conditions=EVICTED))
    result = preempt(pod, nodes, [leaving, *others])
    assert result.status == refused("not eligible due to a terminating pod on the nominated node.")
    assert result.nominated_node is None
    for other in (
        running("leaving", "n1", conditions=EVICTED),
        terminating(running("leaving", "n1")),
        terminating(running("leaving", "n1", conditions=(PodCondition("DisruptionTarget", "False"), *EVICTED))),
    ):
        assert preempt(pod, nodes, [other, *others]).status.is_success


def test_it_does_not_wait_when_no_eviction_can_make_the_nominated_node_fit() -> None:
    pod = boss(status=PodStatus(nominated_node_name="n1"))
    nodes = [make_node("n1", "1", taints=["node.kubernetes.io/disk-pressure:NoSchedule"]), make_node("n2", "1")]
    pods = [terminating(running("leaving", "n1", conditions=EVICTED)), running("low", "n2")]
    assert names(preempt(pod, nodes, pods)) == ("n2", ["low"])


def test_pods_nominated_to_the_node_with_no_lower_priority_keep_their_room() -> None:
    nodes = [make_node("n1", "2"), make_node("n2", "2")]
    pods = [running("a", "n1", 0, "2"), running("b", "n2", 1, "2")]
    promised = make_pod("promised", "1", priority=100, status=PodStatus(nominated_node_name="n1"))
    assert names(preempt(boss("2"), nodes, pods, nominated=[promised])) == ("n2", ["b"])


def test_pods_of_lower_priority_lose_their_nomination_to_the_node() -> None:
    nominated = [
        make_pod("lower", "1", priority=99, status=PodStatus(nominated_node_name="n1")),
        make_pod("equal", "0", priority=100, status=PodStatus(nominated_node_name="n1")),
    ]
    result = preempt(boss(), [make_node("n1", "1")], [running("low", "n1")], nominated=nominated)
    assert [pod.pod.metadata.name for pod in result.yielding] == ["lower"]
    leaving = preempt(boss(), [make_node("n1", "1")], [terminating(running("low", "n1"))], nominated=nominated)
    assert leaving.yielding == ()  # nobody has to be evicted any more


# --- how many nodes are looked at -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percentage", "absolute", "n_nodes", "expected"),
    [(10, 100, 5000, 500), (10, 100, 50, 50), (10, 100, 500, 100), (33, 0, 10, 3), (0, 1, 10, 1), (100, 0, 7, 7)],
)
def test_the_share_of_nodes_has_a_floor(percentage: int, absolute: int, n_nodes: int, expected: int) -> None:
    _, handle = evaluate(boss(), [make_node("n1")], [], [], [])
    plugin = DefaultPreemption(DefaultPreemptionArgs(percentage, absolute), handle)
    assert plugin.n_candidates(n_nodes) == expected


def test_with_a_generator_nodes_are_sampled_from_a_random_one_on() -> None:
    nodes = [make_node(f"n{index}", "1") for index in range(10)]
    pods = [running(f"low{index}", f"n{index}", index) for index in range(10)]
    args = DefaultPreemptionArgs(0, 2)
    chosen = {preempt(boss(), nodes, pods, args=args, random=random.Random(seed)).nominated_node for seed in range(60)}
    assert chosen == {f"n{index}" for index in range(9)}  # the better of two neighbours, n9 and n0 among them
    assert preempt(boss(), nodes, pods, args=args).nominated_node == "n0"
