"""A pod's hold on the node that was chosen for it: what plugins do from Reserve to PostBind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from nodewise.framework.cycle_state import CycleState
from nodewise.framework.plugin import BindPlugin
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.runtime.plugin_timing import PluginTiming
from nodewise.runtime.profile import Framework
from nodewise.state.pod_info import PodInfo

MAX_PERMIT_TIMEOUT_S = 15 * 60.0


@dataclass(slots=True)
class Reservation:
    """One pod, one node, and what the plugins of a profile keep about the two.

    Every step returns the first status that is not a success, with the plugin that gave it; an error's text says which
    plugin was run, as kube-scheduler's does.

    Attributes
    ----------
    framework : Framework
    pod : PodInfo
        As it was when it was decided on.
    node_name : str
    waits : dict[str, float]
        Plugins that Permit has to wait for, and how many seconds each waits at most.
    binders : Sequence[BindPlugin]
        Come before the Bind plugins of the profile: extenders.
    timing : PluginTiming | None
        Times each plugin.
    """

    framework: Framework
    pod: PodInfo
    node_name: str
    waits: dict[str, float] = field(default_factory=dict)
    binders: Sequence[BindPlugin] = ()
    timing: PluginTiming | None = None
    _state: CycleState = field(default_factory=CycleState)

    def reserve(self) -> Status:
        """Let plugins take note of the decision; when one refuses, all take it back (RunReservePluginsReserve)."""
        self._begin()
        for plugin in self.framework.reserving:
            status = plugin.reserve(self._state, self.pod, self.node_name)
            self._lap("Reserve", plugin.name, status)
            if not status.is_success:
                self.unreserve()
                return _first_failure("Reserve", plugin.name, status)
        return SUCCESS

    def unreserve(self) -> None:
        """Let plugins take back what they noted, the last one first (RunReservePluginsUnreserve)."""
        for plugin in reversed(self.framework.reserving):
            plugin.unreserve(self._state, self.pod, self.node_name)

    def permit(self) -> Status:
        """Ask whether the pod may be bound; plugins that want to wait are in `waits` then (RunPermitPlugins)."""
        self._begin()
        for plugin in self.framework.permitting:
            status, timeout_s = plugin.permit(self._state, self.pod, self.node_name)
            self._lap("Permit", plugin.name, status)
            if status.code is Code.WAIT:
                self.waits[plugin.name] = min(timeout_s, MAX_PERMIT_TIMEOUT_S)
            elif not status.is_success:
                return _first_failure("Permit", plugin.name, status)
        return Status(Code.WAIT) if self.waits else SUCCESS

    async def pre_bind(self) -> Status:
        """Let plugins do what must be done before the binding (RunPreBindPlugins)."""
        self._begin()
        for plugin in self.framework.pre_binding:
            answer = plugin.pre_bind(self._state, self.pod, self.node_name)
            status = answer if isinstance(answer, Status) else await answer
            self._lap("PreBind", plugin.name, status)
            if not status.is_success:
                return _first_failure("PreBind", plugin.name, status)
        return SUCCESS

    async def bind(self) -> Status:
        """Let the first extender or else plugin that does not skip bind the pod (Scheduler.bind)."""
        for binder in self.binders:
            answer = binder.bind(self._state, self.pod, self.node_name)
            status = answer if isinstance(answer, Status) else await answer
            if status.code is not Code.SKIP:
                return status
        self._begin()
        for plugin in self.framework.binding:
            answer = plugin.bind(self._state, self.pod, self.node_name)
            status = answer if isinstance(answer, Status) else await answer
            self._lap("Bind", plugin.name, status)
            if status.code is Code.SKIP:
                continue
            return SUCCESS if status.is_success else _first_failure("Bind", plugin.name, status)
        return Status.error("no Bind plugin took the pod")

    def post_bind(self) -> None:
        """Tell plugins that the pod is bound (RunPostBindPlugins)."""
        self._begin()
        for plugin in self.framework.post_binding:
            plugin.post_bind(self._state, self.pod, self.node_name)
            self._lap("PostBind", plugin.name, SUCCESS)

    def _begin(self) -> None:
        if self.timing is not None:
            self.timing.begin()

    def _lap(self, point: str, plugin: str, status: Status) -> None:
        if self.timing is not None:
            self.timing.lap(point, plugin, status.code)


def _first_failure(point: str, plugin: str, status: Status) -> Status:
    if status.code.is_rejection:
        return status.by(plugin)
    return Status(Code.ERROR, (f'running {point} plugin "{plugin}": {status.message}',), plugin)
