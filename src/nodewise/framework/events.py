"""What can happen in a cluster that may let a pending pod fit, and what a plugin says about it (queueing hints)."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from nodewise.api.objects import Pod


class ActionType(enum.IntFlag):
    """What happened to an object; kube-scheduler's bits, in its order."""

    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    UPDATE_NODE_TAINT = enum.auto()
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_NODE_PREEMPTION_POLICY = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_SCALE_UP = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = enum.auto()

    UPDATE = 32764
    """Every kind of update."""
    ALL = 32767

    @property
    def text(self) -> str:
        """The action in labels of events, such as `UpdateNodeLabel`; "" for a mixture that has no name."""
        if self in (ActionType.UPDATE, ActionType.ALL) or self in _SINGLE_ACTIONS:
            return "".join(part.capitalize() for part in str(self.name).split("_"))
        return ""


_SINGLE_ACTIONS = frozenset(action for action in ActionType if action.value.bit_count() == 1)


class EventResource(enum.Enum):
    """What kind of object an event is about; pods by what they are to the pod that waits."""

    POD = "Pod"
    """A pod of any of the next three."""
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"
    """The waiting pod itself."""
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    COMPOSITE_POD_GROUP = "scheduling.k8s.io/CompositePodGroup"
    WILDCARD = "*"


_POD_KINDS = frozenset({EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD})


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Something that happened, or that a plugin wants to hear of.

    Attributes
    ----------
    resource : EventResource
    actions : ActionType
    custom_label : str
        Stands for the event in logs and metrics instead of resource and action.
    """

    resource: EventResource
    actions: ActionType
    custom_label: str = ""

    @property
    def label(self) -> str:
        """The event in logs and metrics, such as `AssignedPodAdd`."""
        return self.custom_label or f"{self.resource.value}{self.actions.text}"

    @property
    def is_wildcard(self) -> bool:
        """Whether the event is about everything (ClusterEventIsWildCard)."""
        return self.resource is EventResource.WILDCARD and self.actions == ActionType.ALL

    def matches(self, incoming: ClusterEvent) -> bool:
        """Tell whether an event that happened is one of those that this one registers (MatchClusterEvents)."""
        return self.is_wildcard or (
            self._covers(incoming.resource)
            and bool(self.actions & incoming.actions)
            and incoming.actions.value <= self.actions.value
        )

    def _covers(self, resource: EventResource) -> bool:
        if self.resource is EventResource.POD and resource in _POD_KINDS:
            return True
        return self.resource in (EventResource.WILDCARD, resource)


ASSIGNED_POD_ADD = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD)
UNSCHEDULED_POD_DELETE = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.DELETE)
TARGET_POD_UPDATE = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE)
UNSCHEDULABLE_TIMEOUT = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(EventResource.WILDCARD, ActionType.ALL, "ForceActivate")


class QueueingHint(enum.Enum):
    """What a plugin says about an event for a pod that it rejected."""

    QUEUE = "Queue"
    """The pod may fit now."""
    SKIP = "QueueSkip"


Hint = Callable[[Pod, Any, Any], QueueingHint]
"""Takes the waiting pod, and the object of the event as it was and as it is (None where there is none)."""


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """An event that a plugin registers; without a hint, every such event is worth another try."""

    event: ClusterEvent
    hint: Hint | None = None


@runtime_checkable
class EnqueueExtensions(Protocol):
    """A plugin that says which events may let pods fit that it rejected.

    A plugin without it that can reject pods hears of everything.
    """

    name: str

    def events_to_register(self) -> Sequence[ClusterEventWithHint]: ...


QUEUE, SKIP = QueueingHint.QUEUE, QueueingHint.SKIP


def always_queue(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Find every such event worth another try, as no hint would; the metrics of hints know this one."""
    return QUEUE


def always_skip(pod: Pod, old: Any, new: Any) -> QueueingHint:
    """Find no such event worth another try: registered for pods that the plugin keeps out of the queue."""
    return SKIP


def register(resource: EventResource, actions: ActionType, hint: Hint | None = None) -> ClusterEventWithHint:
    """Return an event to hear of, for a plugin's `events_to_register`.

    >>> register(EventResource.NODE, ActionType.ADD).event.label
    'NodeAdd'
    """
    return ClusterEventWithHint(ClusterEvent(resource, actions), hint)
