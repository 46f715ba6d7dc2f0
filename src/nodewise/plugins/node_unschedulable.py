"""Keeps pods off cordoned nodes."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Node, Pod, Taint, Toleration
from nodewise.api.tolerations import untolerated_taint
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
from nodewise.state.columns import Columns, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

CORDON_TAINT = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
CORDONED = Status.unresolvable("node(s) were unschedulable")


class NodeUnschedulable:
    """Plugin NodeUnschedulable; taints of the Node object do not matter to it, only spec.unschedulable does."""

    name: ClassVar[str] = "NodeUnschedulable"
    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        self._tolerates = lru_cache(maxsize=4096)(_tolerates_cordon)

    def class_key(self, pod: Pod) -> bool:
        """Tell whether the pod tolerates the taint that stands for the cordon."""
        return self._tolerates(pod.spec.tolerations)

    def compile(self, pod: Pod, snapshot: Snapshot) -> bool | None:
        return None if self.class_key(pod) else True

    def filter(self, state: bool, columns: Columns, rows: Rows) -> Rejections:
        """Reject cordoned nodes (NodeUnschedulable.Filter)."""
        return columns.unschedulable[rows].astype(np.int64)

    def filter_row(self, state: bool, columns: Columns, row: int) -> int:
        return int(columns.unschedulable[row])

    def rejection(self, state: bool, code: int) -> Status:
        return CORDONED

    def events_to_register(self) -> list[ClusterEventWithHint]:
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_TAINT
        return [
            register(EventResource.NODE, node_changes, after_node_change),
            register(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION, self._after_toleration_change),
        ]

    def _after_toleration_change(self, pod: Pod, old: Pod, new: Pod) -> QueueingHint:
        """Queue when the pod tolerates the cordon now."""
        return QUEUE if self.class_key(new) else SKIP


def after_node_change(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
    """Queue when the node came without a cordon, or lost it."""
    was_shut = old is None or old.spec.unschedulable
    return QUEUE if was_shut and not new.spec.unschedulable else SKIP


def _tolerates_cordon(tolerations: tuple[Toleration, ...]) -> bool:
    return untolerated_taint(tolerations, (CORDON_TAINT,)) is None
