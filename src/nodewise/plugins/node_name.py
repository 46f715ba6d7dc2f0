"""Keeps a pod that names its node to that node."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.framework.events import ActionType, ClusterEventWithHint, EventResource, register
from nodewise.framework.plugin import Handle, PreFilterResult, Rejections
from nodewise.framework.status import Status
from nodewise.state.columns import Columns, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

OTHER_NODE = Status.unresolvable("node(s) didn't match the requested node name")


class NodeName:
    """Plugin NodeName; the state is spec.nodeName."""

    name: ClassVar[str] = "NodeName"
    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def class_key(self, pod: Pod) -> Hashable:
        return pod.spec.node_name

    def compile(self, pod: Pod, snapshot: Snapshot) -> str | None:
        return pod.spec.node_name or None

    def pre_filter(self, state: str) -> PreFilterResult:
        """Leave only the named node (NodeName.PreFilter)."""
        return PreFilterResult(node_names=frozenset((state,)))

    def filter(self, state: str, columns: Columns, rows: Rows) -> Rejections:
        """Reject every other node (NodeName.Filter)."""
        codes = np.ones(columns.n_rows, np.int64)
        row = columns.row_of(state)
        if row is not None:
            codes[row] = 0
        return codes[rows]

    def rejection(self, state: str, code: int) -> Status:
        return OTHER_NODE

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [register(EventResource.NODE, ActionType.ADD)]
