"""A queue with a few plugins whose answers a test can set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from nodewise.api.objects import Node, Pod, PodSchedulingGate, PodStatus
from nodewise.framework.events import (
    ASSIGNED_POD_DELETE,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    Hint,
    QueueingHint,
)
from nodewise.framework.object_events import pod_resource, pod_update_events
from nodewise.framework.status import SUCCESS, Status
from nodewise.plugins.priority_sort import PrioritySort
from nodewise.plugins.scheduling_gates import SchedulingGates
from nodewise.queue.hints import HintMap, build_hint_map
from nodewise.queue.metrics import QueueCounts
from nodewise.queue.nominator import Nominations
from nodewise.queue.queued_pod import QueuedPod
from nodewise.queue.scheduling_queue import SchedulingQueue
from nodewise.queue.settings import QueueSettings
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import FakeHandle, make_node, make_pod

PROFILE = "default-scheduler"
START = 1_000_000_000.25
"""Not a whole second, so that it shows what is aligned to whole seconds and what is not."""

NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
NODE_UPDATE = ClusterEvent(EventResource.NODE, ActionType.UPDATE)
CLAIM_ADD = ClusterEvent(EventResource.RESOURCE_CLAIM, ActionType.ADD)


def target_events(new: Pod, old: Pod) -> Sequence[ClusterEvent]:
    return pod_update_events(new, old, pod_resource(new, is_target=True))


@dataclass
class Rejecter:
    """A plugin that takes part in Reserve, which is enough to be asked about events."""

    name: str
    events: tuple[ClusterEventWithHint, ...] = ()

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return self.events

    def reserve(self, state: Any, pod: PodInfo, node_name: str) -> Status:
        return SUCCESS

    def unreserve(self, state: Any, pod: PodInfo, node_name: str) -> None:
        pass


@dataclass
class Gate:
    """A PreEnqueue plugin that holds back the pods whose names are in `closed`."""

    name: str
    events: tuple[ClusterEventWithHint, ...] = ()
    closed: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    status: Status = field(default_factory=lambda: Status.unschedulable("closed"))

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return self.events

    def pre_enqueue(self, pod: Pod) -> Status:
        self.asked.append(pod.metadata.name)
        return self.status if pod.metadata.name in self.closed else SUCCESS


def listening(name: str, *events: ClusterEvent, hint: Hint | None = None) -> Rejecter:
    """Make a plugin that registers events, all with one hint."""
    return Rejecter(name, tuple(ClusterEventWithHint(event, hint) for event in events))


def skip(pod: Pod, old: Any, new: Any) -> QueueingHint:
    return QueueingHint.SKIP


FIT = listening("Fit", ASSIGNED_POD_DELETE, NODE_ADD)
LABELS = listening("Labels", NODE_ADD, NODE_LABEL)


class World:
    """A queue, its metrics, and short ways to do what a scheduler does with it.

    Attributes
    ----------
    now : float
        Goes on only when a test says so.
    pods : dict[str, Pod]
        What the cluster knows, by key; nominations look here.
    """

    def __init__(
        self,
        *plugins: Any,
        gates: Sequence[Any] = (),
        settings: QueueSettings | None = None,
        hints: dict[str, HintMap] | None = None,
        has_pod_groups: bool = False,
        has_composite_pod_groups: bool = False,
    ) -> None:
        self.now = START
        self.counts = QueueCounts()
        self.pods: dict[str, Pod] = {}
        self.queue = SchedulingQueue(
            PrioritySort(None, FakeHandle()).sort_key,
            target_events,
            START,
            pre_enqueue={PROFILE: list(gates)},
            hints={PROFILE: build_hint_map([*plugins, *gates])} if hints is None else hints,
            settings=settings,
            nominations=Nominations(lambda pod: self.pods.get(pod.key)),
            metrics=self.counts,
            has_pod_groups=has_pod_groups,
            has_composite_pod_groups=has_composite_pod_groups,
        )

    def add(self, name: str, priority: int = 0, **spec: Any) -> PodInfo:
        info = PodInfo(pod(name, priority, **spec))
        self.pods[info.key] = info.pod
        self.queue.add(info, self.now)
        return info

    def update(self, old: Pod, change: Callable[[Pod], Pod]) -> Pod:
        new = change(old)
        self.pods[new.key] = new
        self.queue.update(old, PodInfo(new), self.now)
        return new

    def pop(self) -> QueuedPod:
        queued = self.queue.pop_nowait(self.now)
        assert queued is not None, "the queue has nothing to pop"
        return queued

    def names_popped(self) -> list[str]:
        """Pop and be done with pods until there are none."""
        names = []
        while (queued := self.queue.pop_nowait(self.now)) is not None:
            names.append(queued.pod.metadata.name)
            self.queue.done(queued.uid)
        return names

    def fail(self, queued: QueuedPod, *plugins: str, pending: Sequence[str] = ()) -> QueuedPod:
        """Give a pod back: rejected by plugins, or by nobody: failed."""
        queued.rejected_by(plugins, pending)
        self.queue.add_unschedulable_if_not_present(queued, self.now)
        return queued

    def reject(self, name: str, *plugins: str, pending: Sequence[str] = (), priority: int = 0) -> QueuedPod:
        """Add a pod, pop it, and give it back."""
        self.add(name, priority)
        return self.fail(self.pop(), *plugins, pending=pending)

    def event(
        self,
        event: ClusterEvent,
        old: Any = None,
        new: Any = None,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> None:
        self.queue.move_all_to_active_or_backoff(event, old, new, self.now, pre_check=pre_check)

    def places(self) -> dict[str, str]:
        """Return where each pod is, by name."""
        queue = self.queue
        lists = {
            "active": queue.active_pods(),
            "backoff": queue.backoff_pods(),
            "unschedulable": queue.unschedulable_pods(),
            "gated": queue.gated_pods(),
        }
        return {info.pod.metadata.name: place for place, infos in lists.items() for info in infos}

    def place(self, name: str) -> str | None:
        return self.places().get(name)


def pod(
    name: str, priority: int = 0, *, uid: str = "", nominated: str = "", gates: Sequence[str] = (), **spec: Any
) -> Pod:
    spec.setdefault("scheduler_name", PROFILE)
    made = make_pod(
        name,
        priority=priority,
        scheduling_gates=tuple(PodSchedulingGate(gate) for gate in gates),
        status=PodStatus(nominated_node_name=nominated),
        **spec,
    )
    metadata = msgspec.structs.replace(made.metadata, uid=uid or f"uid-of-{name}")
    return msgspec.structs.replace(made, metadata=metadata)


def with_priority(priority: int) -> Callable[[Pod], Pod]:
    return lambda old: msgspec.structs.replace(old, spec=msgspec.structs.replace(old.spec, priority=priority))


def with_labels(**labels: str) -> Callable[[Pod], Pod]:
    return lambda old: msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata, labels=labels))


def without_gates(old: Pod) -> Pod:
    return msgspec.structs.replace(old, spec=msgspec.structs.replace(old.spec, scheduling_gates=()))


def node(name: str, **labels: str) -> Node:
    return make_node(name, labels=labels)


def scheduling_gates() -> SchedulingGates:
    return SchedulingGates(None, FakeHandle())
