"""Asking the hints that plugins register."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nodewise.api.objects import Pod
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.framework.events import SKIP, ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from nodewise.plugins import in_tree_registry
from nodewise.testing.builders import FakeHandle

Row = tuple[EventResource, ActionType, str, bool]
"""Resource, one action, plugin, and whether there is a hint."""


def make_plugin(
    name: str, handle: FakeHandle | None = None, *, args: Any = None, gates: FeatureGates = DEFAULT_GATES
) -> Any:
    """Make an in-tree plugin."""
    return in_tree_registry().make(name, args, handle or FakeHandle(feature_gates=gates))


def rows_of(plugins: Iterable[Any]) -> set[Row]:
    """Give what plugins register, one row for each action; all updates together are one."""
    return {
        (event.event.resource, action, plugin.name, event.hint is not None)
        for plugin in plugins
        if hasattr(plugin, "events_to_register")
        for event in plugin.events_to_register()
        for action in single_actions(event.event.actions)
    }


def single_actions(actions: ActionType) -> list[ActionType]:
    if actions & ActionType.UPDATE == ActionType.UPDATE:
        return [ActionType.UPDATE, *(actions & ~ActionType.UPDATE)]
    return list(actions)


def ask(plugin: Any, event: ClusterEvent, pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Ask all hints of a plugin for an event that happened; no hint means Queue."""
    found: list[ClusterEventWithHint] = [r for r in plugin.events_to_register() if r.event.matches(event)]
    assert found, f"{plugin.name} does not hear of {event.label}"
    answers = {QueueingHint.QUEUE if r.hint is None else r.hint(pod, old, new) for r in found}
    return QueueingHint.QUEUE if QueueingHint.QUEUE in answers else SKIP
