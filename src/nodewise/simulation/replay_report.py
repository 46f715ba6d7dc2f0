"""Figures of a replay: how long pods waited, how full the cluster was, how many were evicted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from nodewise.simulation.history import History, PodHistory, Sample
from nodewise.simulation.replay import Replay

_SHARES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))


def waiting_times(pods: Sequence[PodHistory]) -> dict[str, float | int]:
    """Return mean, percentiles and maximum of the seconds that bound pods waited, and how many pods these are."""
    waited = sorted(pod.waited_s for pod in pods if pod.waited_s is not None)
    if not waited:
        return {"pods": 0}
    figures: dict[str, float | int] = {"pods": len(waited), "mean": _rounded(sum(waited) / len(waited))}
    for name, share in _SHARES:
        # the nearest rank: the smallest value that so many are not above
        figures[name] = _rounded(waited[max(0, -int(-share * len(waited) // 1) - 1)])
    figures["max"] = _rounded(waited[-1])
    return figures


def utilisation(history: History) -> dict[str, dict[str, float]]:
    """Return, by resource, which share of the room was requested: on average over time, and in the fullest sample."""
    found: dict[str, dict[str, float]] = {}
    for name, room in sorted(history.room_seconds.items()):
        if room <= 0:
            continue
        shares = [sample.used.get(name, 0) / sample.room[name] for sample in history.samples if sample.room.get(name)]
        mean = history.used_seconds.get(name, 0.0) / room
        found[name] = {"mean": round(mean, 4), "max": round(max(shares, default=0.0), 4)}
    return found


def summary(replay: Replay) -> dict[str, Any]:
    """Return the `summary` of a replay's document."""
    history, world = replay.history, replay.world
    pods = list(history.pods.values())
    by_priority: dict[int, list[PodHistory]] = {}
    for pod in pods:
        by_priority.setdefault(pod.priority, []).append(pod)
    return {
        "start": _time(history.started_s),
        "end": _time(world.time.now()),
        "nodes": history.n_nodes,
        "created": len(pods),
        "placed": sum(pod.bound_s is not None for pod in pods),
        "ended": sum(pod.ended_s is not None for pod in pods),
        "running": history.n_running,
        "waiting": history.n_waiting,
        "evicted": history.n_evicted,
        "attempts": world.loop.cycle.n_attempts,
        "waitingSeconds": waiting_times(pods),
        "waitingSecondsByPriority": {
            str(priority): waiting_times(group) for priority, group in sorted(by_priority.items(), reverse=True)
        },
        "utilisation": utilisation(history),
    }


def pod_documents(history: History) -> Iterator[dict[str, Any]]:
    """Yield each pod's way, in the order of creation."""
    for pod in history.pods.values():
        yield {
            "pod": pod.key,
            "priority": pod.priority,
            "created": _time(pod.created_s),
            "bound": None if pod.bound_s is None else _time(pod.bound_s),
            "ended": None if pod.ended_s is None else _time(pod.ended_s),
            "waitedSeconds": None if pod.waited_s is None else _rounded(pod.waited_s),
            "node": pod.node or None,
            "evicted": pod.is_evicted,
        }


def series(history: History) -> list[dict[str, Any]]:
    """Return the cluster over time."""
    return [_sample(sample) for sample in history.samples]


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "at": _time(sample.at_s),
        "nodes": sample.n_nodes,
        "running": sample.n_running,
        "waiting": sample.n_waiting,
        "evicted": sample.n_evicted,
        "requested": sample.used,
        "allocatable": sample.room,
    }


def _time(at_s: float) -> str:
    moment = datetime.fromtimestamp(round(at_s, 3), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
