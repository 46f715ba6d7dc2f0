"""What is where in the scheduling queue, for whoever only looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nodewise.queue.in_flight import InFlight
from nodewise.queue.nominator import Nominations
from nodewise.queue.places import Places, pods_of
from nodewise.queue.pod_groups import PodGroupQueue
from nodewise.queue.queued_pod import QueuedEntity, QueuedPod
from nodewise.queue.queued_pod_group import QueuedPodGroup
from nodewise.state.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class QueueSizes:
    """How many pods are where; gated ones are not counted as unschedulable (metric pending_pods)."""

    active: int
    backoff: int
    unschedulable: int
    gated: int
    in_flight: int


class QueueContents:
    """The part of the scheduling queue that changes nothing.

    Attributes
    ----------
    nominations : Nominations
    """

    nominations: Nominations
    _places: Places
    _in_flight: InFlight
    _groups: PodGroupQueue | None

    def find(self, key: str) -> QueuedPod | None:
        """Return the pod that waits alone under `namespace/name`, wherever it does; None for one in flight (GetPod)."""
        entity = self._places.find(key)
        return entity if isinstance(entity, QueuedPod) else None

    def find_group(self, namespace: str, name: str) -> QueuedPodGroup | None:
        """Return the group that waits under the name of its root (GetPodGroup)."""
        entity = self._places.find(f"podgroup/{namespace}/{name}")
        return entity if isinstance(entity, QueuedPodGroup) else None

    def pending_group_pods(self) -> list[PodInfo]:
        """Return the pods that wait for their group to come back from being tried."""
        return pods_of(self._groups.pending) if self._groups is not None else []

    def incomplete_group_pods(self) -> list[PodInfo]:
        """Return the pods that wait for the object of a group."""
        return pods_of(self._groups.incomplete) if self._groups is not None else []

    def is_in_flight(self, uid: str) -> bool:
        return uid in self._in_flight

    def in_flight_uids(self) -> list[str]:
        """Return the pods in flight, in the order they were popped."""
        return list(self._in_flight)

    def in_flight_events(self) -> Counter[str]:
        """Return how many events are kept for pods in flight, by label, and these as `PodPopped`."""
        return self._in_flight.counts()

    def active_pods(self) -> list[PodInfo]:
        return pods_of(self._places.active)

    def backoff_pods(self) -> list[PodInfo]:
        return pods_of(self._places.backoff)

    def unschedulable_pods(self) -> list[PodInfo]:
        """Return the pods that wait for an event, gated ones not among them."""
        return pods_of(entity for entity in self._places.unschedulable if not entity.is_gated)

    def gated_pods(self) -> list[PodInfo]:
        return pods_of(entity for entity in self._places.unschedulable if entity.is_gated)

    def entities(self) -> Iterator[tuple[str, QueuedEntity]]:
        """Return all that waits as one, with where it does: active, backoff, unschedulable or gated."""
        places = self._places
        taken: tuple[tuple[str, Iterable[QueuedEntity]], ...] = (("active", places.active), ("backoff", places.backoff))
        for place, entities in taken:
            for entity in entities:
                yield place, entity
        for entity in places.unschedulable:
            yield "gated" if entity.is_gated else "unschedulable", entity

    @property
    def has_pod_groups(self) -> bool:
        """Whether pods that name a group wait with it."""
        return self._groups is not None

    def sizes(self) -> QueueSizes:
        return QueueSizes(
            active=len(self.active_pods()),
            backoff=len(self.backoff_pods()),
            unschedulable=len(self.unschedulable_pods()),
            gated=len(self.gated_pods()),
            in_flight=len(self._in_flight),
        )

    def pending_pods(self) -> tuple[Sequence[PodInfo], str]:
        """Return all pods that wait, and a line that says how many wait where (PendingPods)."""
        active, backoff, others = self.active_pods(), self.backoff_pods(), pods_of(self._places.unschedulable)
        summary = f"activeQ:{len(active)}; backoffQ:{len(backoff)}; unschedulableEntities:{len(others)}"
        if self._groups is None:
            return active + backoff + others, summary
        pending, incomplete = self.pending_group_pods(), self.incomplete_group_pods()
        summary += f"; pendingPodGroupMemberPods:{len(pending)}; incompletePodGroupPods:{len(incomplete)}"
        return active + backoff + others + incomplete + pending, summary

    def nominated_pods_for_node(self, node_name: str) -> Sequence[PodInfo]:
        """Return the pods that were promised a node (NominatedPodsForNode)."""
        return self.nominations.nominated_to(node_name)
