"""Places the pending pods one after another, with preemption."""

from __future__ import annotations

from collections.abc import Iterator

from nodewise.framework.pod_group_plugin import PodGroupInfo
from nodewise.scheduler.scheduler import REASON_SCHEDULER_ERROR, Decision
from nodewise.simulation.placement import REASON_GATED, Placement, failed_placement, not_tried
from nodewise.simulation.pod_groups import not_tried_members, place_group
from nodewise.simulation.session import Session, pods_of
from nodewise.state.pod_info import PodInfo

__all__ = ["REASON_GATED", "Placement", "simulate"]


def simulate(session: Session, *, with_best: bool = True) -> Iterator[Placement]:
    """Try every pending pod once, in queue order; victims disappear at once and the preemptor is placed.

    Yields
    ------
    Placement
        As soon as it is decided, so that an interrupted run keeps what it has.
    """
    entities = session.queue_order()
    positions = {pod.uid: position for position, pod in enumerate(pods_of(entities))}
    # kube-scheduler asks when a group comes into the queue; a member evicted later does not take it out again
    waiting = {
        entity.key: not_tried_members(session, entity) for entity in entities if isinstance(entity, PodGroupInfo)
    }
    for entity in entities:
        if isinstance(entity, PodGroupInfo):
            yield from place_group(session, entity, positions, waiting[entity.key], with_best=with_best)
        elif not session.is_left_out(entity):
            yield _try(session, entity, positions[entity.uid], with_best=with_best)


def _try(session: Session, pod: PodInfo, position: int, *, with_best: bool) -> Placement:
    scheduler = session.scheduler
    status = scheduler.pre_enqueue(pod)
    if not status.is_success:
        return not_tried(pod, status)
    decision = scheduler.schedule(pod, with_best=with_best)
    if decision.node_name is not None:
        status = session.place(pod, decision.node_name, position)
        if not status.is_success:
            return failed_placement(pod, status.message)
        return Placement(pod.key, decision.node_name, decision.best)
    if decision.reason == REASON_SCHEDULER_ERROR:
        return failed_placement(pod, decision.message)
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
        return failed_placement(pod, status.message)
    return Placement(pod.key, second.node_name, second.best, victims, message=decision.message)


def _try_nominated(session: Session, pod: PodInfo, node_name: str, *, with_best: bool) -> Decision:
    """Try a pod once more after its victims are gone, its nominated node first."""
    nominations = session.scheduler.nominations
    before = nominations.node_of(pod.uid)
    nominations.add(pod, node_name)
    decision = session.scheduler.schedule(pod, with_best=with_best, with_post_filter=False)
    nominations.add(pod, before)
    return decision
