"""Keeps pods off nodes where a host port they want is taken."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.framework.plugin import Handle, Rejections
from nodewise.framework.status import Status
from nodewise.state.columns import Columns, Rows, ports_conflict
from nodewise.state.dirty_log import Reads
from nodewise.state.pod_info import HostPort, host_ports
from nodewise.state.snapshot import Snapshot

TAKEN = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")


class NodePorts:
    """Plugin NodePorts; the state is the wanted host ports. Ports within the pod itself are not compared."""

    name: ClassVar[str] = "NodePorts"
    reads: ClassVar[Reads] = Reads.PODS

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def class_key(self, pod: Pod) -> Hashable:
        return host_ports(pod)

    def compile(self, pod: Pod, snapshot: Snapshot) -> tuple[HostPort, ...] | None:
        return host_ports(pod) or None

    def filter(self, state: tuple[HostPort, ...], columns: Columns, rows: Rows) -> Rejections:
        """Reject nodes where a wanted port is in use (NodePorts.Filter)."""
        return columns.has_port_conflict(state)[rows].astype(np.int64)

    def filter_row(self, state: tuple[HostPort, ...], columns: Columns, row: int) -> int:
        return int(columns.has_port_conflict_on(row, state))

    def rejection(self, state: tuple[HostPort, ...], code: int) -> Status:
        return TAKEN

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [
            register(EventResource.ASSIGNED_POD, ActionType.DELETE, after_pod_deletion),
            register(EventResource.NODE, ActionType.ADD),
        ]


def after_pod_deletion(pod: Pod, old: Pod, new: None) -> QueueingHint:
    """Queue when the deleted pod had, or was to have, a port that this one wants."""
    if not old.is_assigned_or_nominated:
        return SKIP
    return QUEUE if ports_conflict(host_ports(pod), host_ports(old)) else SKIP
