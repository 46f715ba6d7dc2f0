"""Orders the queue: higher priority first, then who waits longest."""

from __future__ import annotations

from typing import ClassVar

from nodewise.api.objects import Pod
from nodewise.framework.plugin import Handle


class PrioritySort:
    """Plugin PrioritySort."""

    name: ClassVar[str] = "PrioritySort"

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def sort_key(self, pod: Pod) -> int:
        """Return the negated priority; pods with equal keys go by queue time (PrioritySort.Less)."""
        return -pod.priority
