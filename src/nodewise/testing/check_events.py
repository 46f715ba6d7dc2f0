"""Checks what a plugin registers for, and that its hints answer, on objects of every kind of event."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nodewise.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from nodewise.api.meta import ObjectMeta
from nodewise.api.objects import Pod, replace
from nodewise.api.pod_groups import CompositePodGroup, PodGroup
from nodewise.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from nodewise.framework.events import ActionType, ClusterEventWithHint, EventResource, QueueingHint
from nodewise.testing.plugin_check_error import PluginCheckError
from nodewise.testing.samples import sample_node, sample_running_pod

_OTHER_KINDS: dict[EventResource, Callable[..., Any]] = {
    EventResource.PERSISTENT_VOLUME: PersistentVolume,
    EventResource.PERSISTENT_VOLUME_CLAIM: PersistentVolumeClaim,
    EventResource.CSI_NODE: CSINode,
    EventResource.CSI_DRIVER: CSIDriver,
    EventResource.VOLUME_ATTACHMENT: VolumeAttachment,
    EventResource.CSI_STORAGE_CAPACITY: CSIStorageCapacity,
    EventResource.STORAGE_CLASS: StorageClass,
    EventResource.RESOURCE_CLAIM: ResourceClaim,
    EventResource.RESOURCE_SLICE: ResourceSlice,
    EventResource.DEVICE_CLASS: DeviceClass,
    EventResource.POD_GROUP: PodGroup,
    EventResource.COMPOSITE_POD_GROUP: CompositePodGroup,
}
Change = tuple[Any, Any]
"""An object before and after; None: it was not there, or is gone."""


def check_events(plugin: Any, pods: Iterable[Pod]) -> None:
    """Check a plugin's `events_to_register`, and ask each hint about each of some waiting pods.

    Raises
    ------
    PluginCheckError
        When it is no list of events, or when a hint fails or does not answer with a QueueingHint.
    """
    events = plugin.events_to_register()
    if not isinstance(events, list | tuple) or not all(isinstance(event, ClusterEventWithHint) for event in events):
        raise PluginCheckError(
            f"{plugin.name}: events_to_register returned {events!r}, expected a list of ClusterEventWithHint"
        )
    for event in events:
        if event.hint is not None:
            for pod in pods:
                for old, new in sample_changes(event.event.resource, event.event.actions, pod):
                    _check_hint(plugin, event, pod, old, new)


def _check_hint(plugin: Any, event: ClusterEventWithHint, pod: Pod, old: Any, new: Any) -> None:
    assert event.hint is not None
    where = f"{plugin.name}: the hint for {event.event.resource.value} {event.event.actions!r}, asked about {pod.key}"
    try:
        answer = event.hint(pod, old, new)
    except Exception as error:
        raise PluginCheckError(f"{where}, raised {error!r} when {old!r} became {new!r}") from error
    if not isinstance(answer, QueueingHint):
        raise PluginCheckError(f"{where}, returned {answer!r}, expected a QueueingHint")


def sample_changes(resource: EventResource, actions: ActionType, pod: Pod) -> Iterator[Change]:
    """Yield objects as a hint for these actions may get them; of the pod itself when that is what the event is about.

    Of resources that nodewise knows nothing about there are none.
    """
    old, new = _samples(resource, pod)
    if new is not None:
        if actions & ActionType.ADD:
            yield None, new
        if actions & ActionType.UPDATE:
            yield old, new
            yield new, new
        if actions & ActionType.DELETE:
            yield old, None


def _samples(resource: EventResource, pod: Pod) -> Change:
    if resource is EventResource.TARGET_POD:
        return pod, replace(pod, metadata=replace(pod.metadata, labels={**pod.metadata.labels, "new": "label"}))
    rng = random.Random(0)
    if resource is EventResource.UNSCHEDULED_POD:
        return sample_running_pod(rng, "other", ""), sample_running_pod(rng, "other", "")
    if resource in (EventResource.ASSIGNED_POD, EventResource.POD):
        return sample_running_pod(rng, "other", "node-0"), sample_running_pod(rng, "other", "node-0")
    if resource is EventResource.NODE:
        return sample_node(rng, "node-0"), sample_node(rng, "node-0")
    make = _OTHER_KINDS.get(resource)
    if make is None:
        return None, None
    meta = ObjectMeta(name="sample", namespace="default", uid="sample")
    return make(metadata=meta), make(metadata=replace(meta, annotations={"note": "changed"}))
