"""Binds a pod through the API."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import ClassVar, Protocol

from nodewise.framework.cycle_state import CycleState
from nodewise.framework.plugin import Handle
from nodewise.framework.status import Status
from nodewise.state.pod_info import PodInfo


class BindHandle(Handle, Protocol):
    """A handle that can bind."""

    def bind(self, pod: PodInfo, node_name: str) -> Awaitable[Status]:
        """Create the Binding of a pod to a node."""
        ...


class DefaultBinder:
    """Plugin DefaultBinder."""

    name: ClassVar[str] = "DefaultBinder"

    def __init__(self, args: object, handle: BindHandle) -> None:
        self._handle = handle

    def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Awaitable[Status]:
        """Bind the pod (DefaultBinder.Bind)."""
        return self._handle.bind(pod, node_name)
