"""A plugin over columns: one NumPy expression for all nodes."""

from typing import Any

import numpy as np

from nodewise.api.objects import Pod
from nodewise.api.resources import requested
from nodewise.framework.plugin import Handle, Rejections
from nodewise.framework.status import Status
from nodewise.state.columns import CPU_ROW, Columns, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot


class KeepHeadroom:
    """Leaves part of every node's cpu unrequested: ten percent, or as much as `pluginConfig` says."""

    name = "KeepHeadroom"
    reads = Reads.RESOURCES | Reads.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        self.percent = int((args or {}).get("percent", 10))

    def class_key(self, pod: Pod) -> int:
        return requested(pod).get("cpu", 0)

    def compile(self, pod: Pod, snapshot: Snapshot) -> int | None:
        return self.class_key(pod) or None

    def filter(self, state: int, columns: Columns, rows: Rows) -> Rejections:
        usable_milli = columns.allocatable[CPU_ROW, rows] * (100 - self.percent) // 100
        return (columns.requested[CPU_ROW, rows] + state > usable_milli).astype(np.int64)

    def rejection(self, state: int, code: int) -> Status:
        return Status.unschedulable(f"node(s) would have less than {self.percent}% of their cpu left")
