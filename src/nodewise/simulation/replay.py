"""Plays a trace in a world: pods come and end, nodes fail and return."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from nodewise.api.objects import Node, Pod, PodStatus
from nodewise.cluster.trace import Arrival, Deletion, NodeDown, NodeUp, Trace, TraceEvent
from nodewise.simulation.history import History
from nodewise.simulation.world import World
from nodewise.state.pod_info import PodInfo

SAMPLES = 288
"""How many samples a trace is divided into; a day's are five minutes apart."""


class Replay:
    """One run of a trace, and what came of it.

    A pod whose duration is over ends. One that is evicted or loses its node is created again under its name, as its
    controller would do it, unless its trace says that it is not; pods that were in the world before come back when
    they have a controller.

    Attributes
    ----------
    history : History
    notes : list[str]
        Events that were of no effect.
    """

    def __init__(self, world: World, trace: Trace, until: datetime | None = None) -> None:
        self.world = world
        self.notes: list[str] = []
        self._trace = trace
        self._until = until
        self._start_s = trace.start.timestamp()
        self._arrivals: dict[str, Arrival] = {}
        self._n_lives: dict[str, int] = {}
        self._returned: set[str] = set()
        self._nodes: dict[str, Node] = {}
        self.n_events = 0
        self.history = History(world.time.now, self.span_s / SAMPLES)
        world.cluster.watch(self.history.on_change)
        world.cluster.watch(self._on_change)
        self._await_next()

    @property
    def span_s(self) -> float:
        """How long the trace is: up to its last event, or as long as it is played."""
        if self._until is not None:
            return max((self._until - self._trace.start).total_seconds(), 1.0)
        events = self._trace.events
        return max(events[-1].at_s if events else 0.0, 1.0)

    def run(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Play until nothing more happens, or until the moment that was given; tell whether it came to that."""
        is_over = self.world.play(self._until, stop)
        self.history.finish()
        return is_over or not stop()

    # --- the trace ----------------------------------------------------------------------------------------------------

    def _await_next(self) -> None:
        if self.n_events < len(self._trace.events):
            event = self._trace.events[self.n_events]
            self.world.time.call_at(self._start_s + event.at_s, self._next)

    def _next(self) -> None:
        event = self._trace.events[self.n_events]
        self.n_events += 1
        self._happen(event)
        self._await_next()

    def _happen(self, event: TraceEvent) -> None:
        cluster = self.world.cluster
        if isinstance(event, Arrival):
            if cluster.get(Pod, event.pod.key) is not None:
                self.notes.append(f"Pod {event.pod.key}: arrives {_at(event)} but is there already; left out")
                return
            self._create(event)
        elif isinstance(event, Deletion):
            found = cluster.get(Pod, event.pod)
            if found is None:
                self.notes.append(f"Pod {event.pod}: deleted {_at(event)} but is not there")
                return
            self._arrivals.pop(found.metadata.uid, None)
            self.world.time.spawn(cluster.delete_pod(PodInfo(found)), name=f"delete {event.pod}")
        elif isinstance(event, NodeDown):
            node = cluster.get(Node, event.node)
            if node is None:
                self.notes.append(f"Node {event.node}: down {_at(event)} but is not there")
                return
            self._fail(node)
        else:
            self._return(event)

    def _create(self, arrival: Arrival) -> None:
        key = arrival.pod.key
        n_lives = self._n_lives[key] = self._n_lives.get(key, 0) + 1
        uid = key if n_lives == 1 else f"{key}~{n_lives}"
        self._arrivals[uid] = arrival
        metadata = replace(arrival.pod.metadata, uid=uid, creation_timestamp=self.world.now())
        self.world.cluster.put(replace(arrival.pod, metadata=metadata))

    def _fail(self, node: Node) -> None:
        """Take a node and its pods away."""
        name = node.metadata.name
        self._nodes[name] = node
        cluster = self.world.cluster
        cluster.remove(Node, name)
        for pod in cluster.list(Pod):
            if pod.spec.node_name == name:
                cluster.remove(Pod, pod.key)
                self._come_back(pod)

    def _return(self, event: NodeUp) -> None:
        node = self._nodes.pop(event.node, None)
        if node is None:
            self.notes.append(f"Node {event.node}: up {_at(event)} but was not down")
            return
        self.world.cluster.put(node)

    # --- what follows -------------------------------------------------------------------------------------------------

    def _on_change(self, old: Any | None, new: Any | None) -> None:
        if isinstance(new, Pod):
            if new.spec.node_name and not (isinstance(old, Pod) and old.spec.node_name):
                self._started(new)
        elif isinstance(old, Pod) and old.is_terminating and self.history.pods[old.metadata.uid].is_evicted:
            self._come_back(old)

    def _started(self, pod: Pod) -> None:
        arrival = self._arrivals.get(pod.metadata.uid)
        if arrival is not None and arrival.duration_s is not None:
            key, uid = pod.key, pod.metadata.uid
            self.world.time.call_at(self.world.time.now() + arrival.duration_s, lambda: self._end(key, uid))

    def _end(self, key: str, uid: str) -> None:
        self._arrivals.pop(uid, None)
        self.world.end_pod(key, uid)

    def _come_back(self, lost: Pod) -> None:
        """Create a pod again that was lost, once."""
        if lost.metadata.uid in self._returned:
            return
        self._returned.add(lost.metadata.uid)
        arrival = self._arrivals.pop(lost.metadata.uid, None)
        if arrival is None:
            owned = any(owner.controller for owner in lost.metadata.owner_references)
            arrival = Arrival(0.0, as_created(lost), restarts=owned)
        if arrival.restarts:
            again = arrival
            self.world.time.call_at(self.world.time.now(), lambda: self._create(again))


def as_created(pod: Pod) -> Pod:
    """Return a pod as it was before anything happened to it."""
    metadata = replace(pod.metadata, uid="", resource_version="", deletion_timestamp=None)
    return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=""), status=PodStatus(phase="Pending"))


def _at(event: TraceEvent) -> str:
    return f"at {timedelta(seconds=event.at_s)}"
