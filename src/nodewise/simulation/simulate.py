"""Places the pending pods one after another, with preemption."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nodewise.scheduler.scheduler import REASON_SCHEDULER_ERROR, REASON_UNSCHEDULABLE, Decision
from nodewise.simulation.session import Session
from nodewise.state.pod_info import PodInfo

REASON_GATED = "SchedulingGated"
_PLUGINS_THAT_WAIT = frozenset({"DynamicResources"})
"""Plugins that keep pods out of the queue though nobody gated them: until what they refer to is there."""


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of one pending pod.

    Attributes
    ----------
    pod : str
        `namespace/name`.
    node : str | None
    best : Sequence[str]
        All nodes that shared the top total.
    victims : tuple[str, ...]
        Pods evicted for it.
    reason : str | None
        Why it has no node: Unschedulable, SchedulingGated, SchedulerError.
    message : str
        What the PodScheduled condition says; also set when preemption made room.
    detail : str
        What the condition does not say: gates, or why preemption did not help in the end.
    error : str
        What went wrong in a plugin, "" for nothing.
    """

    pod: str
    node: str | None
    best: Sequence[str] = ()
    victims: tuple[str, ...] = ()
    reason: str | None = None
    message: str = ""
    detail: str = ""
    error: str = ""


def simulate(session: Session, *, with_best: bool = True) -> Iterator[Placement]:
    """Try every pending pod once, in queue order; victims disappear at once and the preemptor is placed.

    Yields
    ------
    Placement
        As soon as it is decided, so that an interrupted run keeps what it has.
    """
    for position, pod in enumerate(session.queue_order()):
        if pod.pod.is_terminating:
            session.notes.append(f"Pod {pod.key}: left out, it is being deleted")
            continue
        yield _try(session, pod, position, with_best=with_best)


def _try(session: Session, pod: PodInfo, position: int, *, with_best: bool) -> Placement:
    scheduler = session.scheduler
    status = scheduler.pre_enqueue(pod)
    if not status.is_success:
        if not status.code.is_rejection:
            return _failed(pod, status.message)
        if status.plugin in _PLUGINS_THAT_WAIT:
            return Placement(pod.key, None, reason=REASON_UNSCHEDULABLE, message=status.message)
        return Placement(pod.key, None, reason=REASON_GATED, detail=status.message)
    decision = scheduler.schedule(pod, with_best=with_best)
    if decision.node_name is not None:
        status = session.place(pod, decision.node_name, position)
        if not status.is_success:
            return _failed(pod, f"reserve: {status.message}")
        return Placement(pod.key, decision.node_name, decision.best)
    if decision.reason == REASON_SCHEDULER_ERROR:
        return _failed(pod, decision.message)
    result = decision.post_filter
    for effect in result.effects if result is not None else ():
        effect()
    if result is None or not result.nominated_node:
        return Placement(pod.key, None, reason=decision.reason, message=decision.message)
    session.evict(result.victims)
    for other in result.yielding:
        scheduler.nominations.remove(other.uid)
    victims = tuple(victim.key for victim in result.victims)
    second = _try_nominated(session, pod, result.nominated_node, with_best=with_best)
    if second.node_name is None:
        return Placement(
            pod.key,
            None,
            victims=victims,
            reason=second.reason,
            message=decision.message,
            detail=f"preemption did not help: {second.message}",
            error=second.message if second.reason == REASON_SCHEDULER_ERROR else "",
        )
    status = session.place(pod, second.node_name, position)
    if not status.is_success:
        return _failed(pod, f"reserve: {status.message}")
    return Placement(pod.key, second.node_name, second.best, victims, message=decision.message)


def _failed(pod: PodInfo, message: str) -> Placement:
    return Placement(pod.key, None, reason=REASON_SCHEDULER_ERROR, message=message, error=message)


def _try_nominated(session: Session, pod: PodInfo, node_name: str, *, with_best: bool) -> Decision:
    """Try a pod once more after its victims are gone, its nominated node first."""
    nominations = session.scheduler.nominations
    before = nominations.node_of(pod.uid)
    nominations.add(pod, node_name)
    decision = session.scheduler.schedule(pod, with_best=with_best, with_post_filter=False)
    nominations.add(pod, before)
    return decision
