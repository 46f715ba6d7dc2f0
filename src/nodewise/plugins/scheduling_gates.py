"""Keeps pods with scheduling gates out of the active queue."""

from __future__ import annotations

from typing import ClassVar

from nodewise.api.objects import Pod
from nodewise.framework.events import ActionType, ClusterEventWithHint, EventResource, always_queue, register
from nodewise.framework.plugin import Handle
from nodewise.framework.status import SUCCESS, Status


class SchedulingGates:
    """Plugin SchedulingGates."""

    name: ClassVar[str] = "SchedulingGates"

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def pre_enqueue(self, pod: Pod) -> Status:
        """Reject a pod that has gates, naming them in the order of its spec."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return SUCCESS
        return Status.unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [register(EventResource.TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, always_queue)]
