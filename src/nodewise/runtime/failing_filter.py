"""A filter that fails on every node: one that runs without its PreFilter."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Pod
from nodewise.framework.plugin import Rejections
from nodewise.framework.status import Status
from nodewise.state.columns import Columns, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

_ERROR = 1


class FailingFilter:
    """Takes the place of a plugin wherever it looks at nodes.

    Parameters
    ----------
    name : str
        The plugin's.
    text : str
        What it says.
    """

    reads: ClassVar[Reads] = Reads.NODE
    first_error_code: ClassVar[int] = _ERROR

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    def class_key(self, pod: Pod) -> Hashable:
        return None

    def compile(self, pod: Pod, snapshot: Snapshot) -> str:
        return self._text

    def filter(self, state: str, columns: Columns, rows: Rows) -> Rejections:
        return np.full(len(columns.alive[rows]), _ERROR, np.int64)

    def rejection(self, state: str, code: int) -> Status:
        return Status.error(state)
