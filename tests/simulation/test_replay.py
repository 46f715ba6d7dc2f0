"""Replays: what arrivals, endings, failures and evictions make of a cluster."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pytest

from nodewise.api.objects import Node, Pod
from nodewise.cluster.trace import Arrival, Deletion, NodeDown, NodeUp, Trace, TraceEvent
from nodewise.simulation.history import PodHistory
from nodewise.simulation.replay import Replay
from nodewise.simulation.replay_report import pod_documents, summary, waiting_times
from nodewise.testing.builders import make_node, make_pod
from tests.scheduler.worlds import START, make_world, ours
from tests.seeds import derived_seed


def arrival(at_s: float, name: str, cpu: str = "1", duration_s: float | None = None, **fields: object) -> Arrival:
    restarts = bool(fields.pop("restarts", True))
    return Arrival(at_s, ours(make_pod(name, cpu=cpu, **fields)), duration_s, restarts)  # type: ignore[arg-type]


def replay(nodes: list[Node], *events: TraceEvent, pods: list[Pod] | None = None, hours: float = 24) -> Replay:
    run = Replay(make_world(nodes, pods or []), Trace(START, list(events)), START + timedelta(hours=hours))
    run.run()
    return run


def way(run: Replay, name: str) -> list[tuple[float, float | None, float | None, str]]:
    """Return when each pod of a name was created, bound and ended, in seconds from the start, and its node."""
    start = START.timestamp()

    def since(at_s: float | None) -> float | None:
        return None if at_s is None else round(at_s - start, 3)

    found = [pod for pod in run.history.pods.values() if pod.key == f"default/{name}"]
    return [(pod.created_s - start, since(pod.bound_s), since(pod.ended_s), pod.node) for pod in found]


def test_a_pod_runs_for_its_duration_from_the_moment_it_is_bound() -> None:
    run = replay([make_node("n1", cpu="1")], arrival(10, "a", duration_s=100), arrival(20, "b", duration_s=50))
    assert way(run, "a") == [(10, 10, 110, "n1")]
    (created, bound, ended, node) = way(run, "b")[0]
    assert (created, bound, ended, node) == (20, 110, 160, "n1")


def test_a_node_that_fails_loses_its_pods_which_come_back_elsewhere() -> None:
    nodes = [make_node("n1", cpu="1"), make_node("n2", cpu="1")]
    run = replay(nodes, arrival(0, "a", duration_s=500), NodeDown(100, "n1"), NodeUp(200, "n1"))
    assert way(run, "a") == [(0, 0, 100, "n1"), (100, 100, 600, "n2")]
    assert run.history.n_nodes == 2


def test_a_pod_that_does_not_restart_is_lost_with_its_node() -> None:
    run = replay([make_node("n1")], arrival(0, "a", duration_s=500, restarts=False), NodeDown(100, "n1"))
    assert way(run, "a") == [(0, 0, 100, "n1")]


def test_a_pod_waits_while_every_node_is_down() -> None:
    run = replay([make_node("n1")], NodeDown(10, "n1"), arrival(20, "a"), NodeUp(1000, "n1"))
    ((created, bound, _, node),) = way(run, "a")
    assert (created, node) == (20, "n1")
    assert bound is not None
    assert 1000 <= bound <= 1012  # whatever is left of its backoff


def test_an_evicted_pod_comes_back_and_waits_for_room() -> None:
    low = arrival(0, "low", duration_s=1000, termination_grace_period_seconds=10)
    run = replay([make_node("n1", cpu="1")], low, arrival(100, "high", duration_s=50, priority=5))
    assert way(run, "high") == [(100, 110, 160, "n1")]
    assert way(run, "low") == [(0, 0, 110, "n1"), (110, 160, 1160, "n1")]
    assert run.history.n_evicted == 1


def test_a_deleted_pod_ends_after_its_grace_period_and_does_not_come_back() -> None:
    pod = arrival(0, "a", termination_grace_period_seconds=7)
    run = replay([make_node("n1")], pod, Deletion(50, "default/a"))
    assert way(run, "a") == [(0, 0, 57, "n1")]


def test_events_without_effect_are_noted() -> None:
    run = replay(
        [make_node("n1")], arrival(0, "a"), arrival(1, "a"), Deletion(2, "default/b"), NodeDown(3, "x"), NodeUp(4, "n1")
    )
    assert run.notes == [
        "Pod default/a: arrives at 0:00:01 but is there already; left out",
        "Pod default/b: deleted at 0:00:02 but is not there",
        "Node x: down at 0:00:03 but is not there",
        "Node n1: up at 0:00:04 but was not down",
    ]


def test_utilisation_is_weighed_by_time() -> None:
    run = replay([make_node("n1", cpu="4")], arrival(0, "a", cpu="2", duration_s=3600), hours=4)
    assert summary(run)["utilisation"]["cpu"] == {"mean": 0.125, "max": 0.5}


def test_waiting_times_are_nearest_ranks() -> None:
    pods = [PodHistory(f"p{n}", 0, 0.0, bound_s=float(n)) for n in range(1, 101)]
    assert waiting_times(pods) == {"pods": 100, "mean": 50.5, "p50": 50.0, "p90": 90.0, "p99": 99.0, "max": 100.0}
    assert waiting_times([PodHistory("p", 0, 0.0)]) == {"pods": 0}
    assert waiting_times(pods[:1]) == {"pods": 1, "mean": 1.0, "p50": 1.0, "p90": 1.0, "p99": 1.0, "max": 1.0}


def random_trace(rng: random.Random) -> list[TraceEvent]:
    events: list[TraceEvent] = [
        arrival(
            rng.uniform(0, 3600),
            f"p{number}",
            cpu=rng.choice(["500m", "1", "2"]),
            duration_s=rng.choice([None, rng.uniform(1, 2000)]),
            priority=rng.choice([0, 0, 0, 10]),
            restarts=rng.random() < 0.8,
        )
        for number in range(60)
    ]
    for name in ("n1", "n2"):
        events += [NodeDown(rng.uniform(0, 1800), name), NodeUp(rng.uniform(1800, 3600), name)]
    return sorted(events, key=lambda event: event.at_s)


@pytest.mark.parametrize("number", range(4))
def test_sums_equal_a_recount_and_the_same_trace_gives_the_same_story(number: int) -> None:
    seed = derived_seed("replay", number)
    nodes = [make_node(f"n{index}", cpu="4") for index in range(1, 5)]
    first, second = (replay(nodes, *random_trace(random.Random(seed)), hours=3) for _ in range(2))
    assert list(pod_documents(first.history)) == list(pod_documents(second.history))
    assert summary(first) == summary(second)
    history, cluster = first.history, first.world.cluster
    pods = cluster.list(Pod)
    assert history.n_running == sum(bool(pod.spec.node_name) for pod in pods)
    assert history.n_waiting == sum(not pod.spec.node_name for pod in pods)
    assert first.world.loop.scheduler.cache.pod_count() == history.n_running
    running = [pod for pod in history.pods.values() if pod.bound_s is not None and pod.ended_s is None]
    assert len(running) == history.n_running
    used: Counter[str] = Counter()
    for pod in pods:
        if pod.spec.node_name:
            used[pod.spec.node_name] += {"500m": 500, "1": 1000, "2": 2000}[
                pod.spec.containers[0].resources.requests["cpu"]
            ]
    assert sum(used.values()) == history.used["cpu"]
    assert all(amount <= 4000 for amount in used.values())
    sizes = first.world.loop.queue.sizes()
    assert sizes.active + sizes.backoff + sizes.unschedulable + sizes.gated == history.n_waiting
    assert sizes.in_flight == 0
