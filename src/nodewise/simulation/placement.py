"""What a simulation says of one pending pod."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodewise.framework.status import Status
from nodewise.scheduler.scheduler import REASON_SCHEDULER_ERROR, REASON_UNSCHEDULABLE
from nodewise.state.pod_info import PodInfo

REASON_GATED = "SchedulingGated"
_PLUGINS_THAT_WAIT = frozenset({"DynamicResources", "GangScheduling"})
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
        Pods evicted for it; those of a group stand at the first of its pods.
    reason : str | None
        Why it has no node: Unschedulable, SchedulingGated, SchedulerError.
    message : str
        What the PodScheduled condition says; also set when preemption made room.
    detail : str
        What the condition does not say: gates, which pods of the group were short of what, or why preemption did not
        help in the end.
    error : str
        What went wrong in a plugin, "" for nothing.
    pod_group : str
        `namespace/name` of the group it was tried with, "" for none.
    waited_s : float | None
        How long it waited for its node; None where time stands still, and for a pod that has none.
    """

    pod: str
    node: str | None
    best: Sequence[str] = ()
    victims: tuple[str, ...] = ()
    reason: str | None = None
    message: str = ""
    detail: str = ""
    error: str = ""
    pod_group: str = ""
    waited_s: float | None = None


def not_tried(pod: PodInfo, status: Status) -> Placement:
    """Return what is said of a pod that a PreEnqueue plugin keeps out of the queue."""
    if not status.code.is_rejection:
        return failed_placement(pod, status.message)
    if status.plugin in _PLUGINS_THAT_WAIT:
        return Placement(pod.key, None, reason=REASON_UNSCHEDULABLE, message=status.message)
    return Placement(pod.key, None, reason=REASON_GATED, detail=status.message)


def failed_placement(pod: PodInfo, message: str) -> Placement:
    """Return what is said of a pod whose cycle ended with an error."""
    return Placement(pod.key, None, reason=REASON_SCHEDULER_ERROR, message=message, error=message)
