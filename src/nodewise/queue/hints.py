"""Which plugin wants to hear of which event, by profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nodewise.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EnqueueExtensions,
    EventResource,
    Hint,
)
from nodewise.framework.extender import EXTENDER
from nodewise.framework.plugin import FilterPlugin, PermitPlugin, PreEnqueuePlugin, PreFilterPlugin, ReservePlugin

_POD_RESOURCES = (EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD)
_EVERY_RESOURCE = (
    *_POD_RESOURCES,
    EventResource.NODE,
    EventResource.PERSISTENT_VOLUME,
    EventResource.PERSISTENT_VOLUME_CLAIM,
    EventResource.CSI_NODE,
    EventResource.CSI_DRIVER,
    EventResource.CSI_STORAGE_CAPACITY,
    EventResource.STORAGE_CLASS,
    EventResource.RESOURCE_CLAIM,
    EventResource.DEVICE_CLASS,
)
"""What a plugin hears of that does not say; kube-scheduler leaves out VolumeAttachment and ResourceSlice."""

_REJECTING = (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin)


@dataclass(frozen=True, slots=True)
class RegisteredHint:
    """What a plugin says about an event; without a hint it always says Queue."""

    plugin: str
    hint: Hint | None


class HintMap:
    """The events that the plugins of one profile registered, with their hints (QueueingHintMap).

    >>> from nodewise.framework.events import ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE
    >>> hints = HintMap([("NodePorts", [ClusterEventWithHint(ASSIGNED_POD_DELETE)])])
    >>> [hint.plugin for hint in hints.matching(ASSIGNED_POD_DELETE)], hints.matching(ASSIGNED_POD_ADD)
    (['NodePorts'], ())
    """

    def __init__(self, registrations: Iterable[tuple[str, Sequence[ClusterEventWithHint]]] = ()) -> None:
        self._by_event: dict[ClusterEvent, list[RegisteredHint]] = {}
        for plugin, events in registrations:
            for registered in events:
                hint = RegisteredHint(plugin, registered.hint)
                for event in _unrolled(registered.event):
                    self._by_event.setdefault(event, []).append(hint)

    def matching(self, event: ClusterEvent) -> tuple[RegisteredHint, ...]:
        """Return the hints for an event that happened, in the order they were registered."""
        found = (hints for registered, hints in self._by_event.items() if registered.matches(event))
        return tuple(hint for hints in found for hint in hints)

    def events_of(self, plugin: str) -> tuple[ClusterEvent, ...]:
        """Return the events that a plugin registered."""
        return tuple(event for event, hints in self._by_event.items() if any(hint.plugin == plugin for hint in hints))


def build_hint_map(plugins: Iterable[Any], *, has_extenders: bool = False, has_pod_groups: bool = False) -> HintMap:
    """Ask a profile's plugins what they want to hear of (buildQueueingHintMap).

    A plugin that can reject pods and has no `events_to_register` hears of everything, and so do extenders.

    Parameters
    ----------
    plugins : Iterable
        Those of one profile; ones that cannot reject pods are passed over, each name counts once.
    has_extenders : bool
        Whether the profile has extenders, which reject pods as the plugin `Extender`.
    has_pod_groups : bool
        Feature gate GenericWorkload.

    Raises
    ------
    PluginError
        When a plugin's `events_to_register` fails.
    """
    everything = _everything(has_pod_groups=has_pod_groups)
    registrations: dict[str, Sequence[ClusterEventWithHint]] = {}
    if has_extenders:
        registrations[EXTENDER] = everything
    for plugin in plugins:
        if plugin.name in registrations or not isinstance(plugin, _REJECTING):
            continue
        says_which: object = plugin
        if isinstance(says_which, EnqueueExtensions):
            registrations[plugin.name] = says_which.events_to_register()
        else:
            registrations[plugin.name] = everything
    return HintMap(registrations.items())


def _everything(*, has_pod_groups: bool) -> tuple[ClusterEventWithHint, ...]:
    resources = (*_EVERY_RESOURCE, EventResource.POD_GROUP) if has_pod_groups else _EVERY_RESOURCE
    return tuple(ClusterEventWithHint(ClusterEvent(resource, ActionType.ALL)) for resource in resources)


def _unrolled(event: ClusterEvent) -> tuple[ClusterEvent, ...]:
    """Return an event about pods as three, one for each kind of pod (UnrollPodEvent)."""
    if event.resource is not EventResource.POD:
        return (event,)
    return tuple(ClusterEvent(resource, event.actions) for resource in _POD_RESOURCES)
