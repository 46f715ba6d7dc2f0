"""All NodeInfos in the order of their last change."""

from __future__ import annotations

from collections.abc import Iterator

from nodewise.state.node_info import NodeInfo
from nodewise.state.pod_info import PodInfo


class NodeInfoList:
    """A doubly linked list, newest change first, and the counter that numbers the changes.

    Attributes
    ----------
    head : NodeInfo | None
        What changed last.
    generation : int
        The number of the last change; a number never comes twice, not even for a node that goes and comes again.
    """

    __slots__ = ("generation", "head")

    def __init__(self) -> None:
        self.head: NodeInfo | None = None
        self.generation = 0

    def __iter__(self) -> Iterator[NodeInfo]:
        info = self.head
        while info is not None:
            yield info
            info = info.older

    def touch(self, info: NodeInfo, appended: PodInfo | None, removed: PodInfo | None) -> None:
        """Number a change of a NodeInfo and move it to the front; the pods are those that came and went with it."""
        self.generation += 1
        info.previous_generation = info.generation
        info.generation = self.generation
        info.appended = appended
        info.removed = removed
        head = self.head
        if head is info:
            return
        if info.newer is not None:
            self.unlink(info)
        info.older = head
        if head is not None:
            head.newer = info
        self.head = info

    def unlink(self, info: NodeInfo) -> None:
        """Take a NodeInfo out."""
        if info.newer is not None:
            info.newer.older = info.older
        if info.older is not None:
            info.older.newer = info.newer
        if self.head is info:
            self.head = info.older
        info.newer = info.older = None
