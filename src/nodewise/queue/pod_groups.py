"""Pods that wait for each other: which group each belongs to, and those that no queued group can hold yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nodewise.api.objects import Pod, PodSpec
from nodewise.api.pod_groups import PodGroupObject
from nodewise.framework.events import UNSCHEDULED_POD_ADD, ActionType, ClusterEvent, EventResource
from nodewise.framework.status import Code
from nodewise.queue.places import Places
from nodewise.queue.queued_pod import QueuedPod
from nodewise.queue.queued_pod_group import QueuedPodGroup, entity_key
from nodewise.queue.requeueing import QueueingStrategy
from nodewise.state.pod_groups import GroupKey, HierarchyError, PodGroupStates, group_key_of, key_of

SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
_POD_ADDED = UNSCHEDULED_POD_ADD.label
_POD_UPDATED = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.UPDATE).label


class MemberPods:
    """Members in no queue, by pod group (podGroupMemberPods)."""

    def __init__(self) -> None:
        self._pods: dict[GroupKey, dict[str, QueuedPod]] = {}

    def add(self, queued: QueuedPod) -> None:
        self._pods.setdefault(_group_of(queued.pod), {})[queued.key] = queued

    def find(self, pod: Pod) -> QueuedPod | None:
        return self._pods.get(_group_of(pod), {}).get(pod.key)

    def remove(self, pod: Pod) -> QueuedPod | None:
        key = _group_of(pod)
        queued = self._pods.get(key, {}).pop(pod.key, None)
        if queued is not None and not self._pods[key]:
            del self._pods[key]
        return queued

    def clear(self, group: GroupKey) -> list[QueuedPod]:
        """Take out all pods of a group."""
        return list(self._pods.pop(group, {}).values())

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter([queued for pods in self._pods.values() for queued in pods.values()])


class PodGroupQueue:
    """What the queue does for pods with a group (PriorityQueue with the feature gate GenericWorkload).

    A pod waits in a queued group of its root; in `incomplete` while the objects up to the root are not all there; in
    `pending` while its root is being tried.

    Parameters
    ----------
    places : Places
    sort_key : Callable[[Pod], object]
        That of the QueueSort plugin; a group is sorted as a pod of its priority would be.
    next_sequence : Callable[[], int]
        Numbers decisions to queue something.
    has_composites : bool
        Feature gate CompositePodGroup.

    Attributes
    ----------
    last_popped : str
        The key of what was popped last and has not come back.
    """

    def __init__(
        self,
        places: Places,
        sort_key: Callable[[Pod], object],
        next_sequence: Callable[[], int],
        *,
        has_composites: bool,
    ) -> None:
        self.incomplete = MemberPods()
        self.pending = MemberPods()
        self.last_popped = ""
        self._places = places
        self._sort_key = sort_key
        self._next_sequence = next_sequence
        self._forest = PodGroupStates(has_composites=has_composites)

    # --- pods ---------------------------------------------------------------------------------------------------------

    def root_of(self, pod: Pod) -> GroupKey | None:
        """Return the root above a pod; None while it is not known."""
        return self._root_above(_group_of(pod))

    def find(self, pod: Pod) -> tuple[QueuedPodGroup | None, QueuedPod] | None:
        """Return a pod with the group that it is queued in, None for one left out of it; None when it does not wait."""
        root = self.root_of(pod)
        entity = self._places.find(entity_key(root)) if root is not None else None
        if isinstance(entity, QueuedPodGroup) and (queued := entity.find_pod(pod)) is not None:
            return entity, queued
        queued = (self.incomplete if root is None else self.pending).find(pod)
        return None if queued is None else (None, queued)

    def add(self, queued: QueuedPod, now: float) -> None:
        """Let a pod wait where it belongs (addPodGroupMember)."""
        root = self.root_of(queued.pod)
        if root is None:
            self.incomplete.add(queued)
            return
        group, strategy = self._take(root)
        if group is not None:
            group.add_pod(queued)
            self._requeue(group, strategy, _POD_ADDED, now)
        elif self.last_popped == entity_key(root):
            self.pending.add(queued)
        else:
            group = QueuedPodGroup(root)
            group.add_pod(queued)
            group.timestamp, group.sequence = queued.timestamp, queued.sequence
            group.initial_attempt_timestamp = queued.initial_attempt_timestamp
            self._order(group)
            self._places.move_to_active(group, _POD_ADDED, now)

    def delete(self, pod: Pod, now: float) -> None:
        """Forget a pod; its group is queued anew without it, or not at all (deletePodGroupMember)."""
        root = self.root_of(pod)
        group, strategy = self._take(root) if root is not None else (None, QueueingStrategy.SKIP)
        if group is not None:
            gone = group.remove_pod(pod)
            if group.pods:
                self._requeue(group, strategy, _POD_ADDED, now)
        else:
            gone = (self.incomplete if root is None else self.pending).remove(pod)
        if gone is not None:
            self._places.count_rejectors(gone, -1)

    def add_attempted(self, group: QueuedPodGroup, outcome: Code, now: float) -> None:
        """Queue what is left of a group after an attempt (AddAttemptedPodGroupIfNeeded)."""
        self._places.check_absent(group.key, what=f"pod group {group.root.namespace}/{group.root.name}")
        self.last_popped = ""
        left = [queued for leaf in self._leaves(group.root) for queued in self.pending.clear(leaf)]
        if not left:
            return
        tried = {queued.uid for queued in group.members}
        again = QueuedPodGroup(group.root).with_the_past_of(group)
        for queued in left:
            again.add_pod(queued)
        keeps_turn = _note_outcome(again, outcome) and any(queued.uid in tried for queued in left)
        if not keeps_turn:
            again.timestamp, again.sequence = now, self._next_sequence()
        again.clear_flush()
        self._order(again)
        self._places.enqueue(again, SCHEDULE_ATTEMPT_FAILURE, now)

    # --- groups -------------------------------------------------------------------------------------------------------

    def put_group(self, group: PodGroupObject, now: float) -> None:
        """Take in a group's object, or its newer version; pods that waited for it are queued (AddPodGroup)."""
        self._forest.put_group(group)
        root = self._root_above(key_of(group))
        if root is not None:
            for leaf in list(self._leaves(root)):
                for queued in self.incomplete.clear(leaf):
                    self.add(queued, now)

    def remove_group(self, group: PodGroupObject, now: float) -> None:
        """Drop a group's object; its pods, and those of groups below it, wait until it is back (DeletePodGroup)."""
        key = key_of(group)
        root = self._root_above(key)
        below = set(self._leaves(key))
        self._forest.remove_group(group)
        if root is None:
            return
        queued_group, strategy = self._take(root)
        if queued_group is None:
            if self.last_popped == entity_key(root):
                for queued in [queued for leaf in below for queued in self.pending.clear(leaf)]:
                    self.incomplete.add(queued)
            return
        for leaf in [leaf for leaf in queued_group.pods if leaf in below]:
            for queued in queued_group.pods.pop(leaf):
                self.incomplete.add(queued)
        if queued_group.pods:
            self._requeue(queued_group, strategy, _POD_UPDATED, now)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _take(self, root: GroupKey) -> tuple[QueuedPodGroup | None, QueueingStrategy]:
        """Take a group out of where it waits, and return it with the strategy that leads back there."""
        key = entity_key(root)
        for entities, strategy in (
            (self._places.active, QueueingStrategy.IMMEDIATELY),
            (self._places.backoff, QueueingStrategy.AFTER_BACKOFF),
            (self._places.unschedulable, QueueingStrategy.SKIP),
        ):
            group = entities.remove(key)
            if isinstance(group, QueuedPodGroup):
                return group, strategy
        return None, QueueingStrategy.SKIP

    def _requeue(self, group: QueuedPodGroup, strategy: QueueingStrategy, label: str, now: float) -> None:
        self._order(group)
        self._places.requeue(group, strategy, label, now)

    def _order(self, group: QueuedPodGroup) -> None:
        """Give a group its place in the active queue, which is that of a pod of its priority."""
        root = self._forest.object(group.root)
        if root is not None:
            stand_in = Pod(metadata=root.metadata, spec=PodSpec(priority=root.spec.priority))
            group.order = (self._sort_key(stand_in), group.timestamp, group.sequence)

    def _root_above(self, key: GroupKey) -> GroupKey | None:
        try:
            return self._forest.root_of(key)
        except HierarchyError:
            return None

    def _leaves(self, key: GroupKey, seen: frozenset[GroupKey] = frozenset()) -> Iterator[GroupKey]:
        """Yield the pod groups below a group, or itself, whose objects are there (getLeafPodGroups)."""
        if key in seen:
            return
        if not key.is_composite:
            if self._forest.pod_group(key) is not None:
                yield key
            return
        for child in self._forest.children(key):
            if self._forest.object(child) is not None:
                yield from self._leaves(child, seen | {key})


def _group_of(pod: Pod) -> GroupKey:
    key = group_key_of(pod)
    assert key is not None, f"{pod.key} is in no group"
    return key


def _note_outcome(group: QueuedPodGroup, outcome: Code) -> bool:
    """Count an attempt; tell whether it was a success: what is left has no backoff then, and may keep its turn."""
    if outcome is Code.SUCCESS:
        group.consecutive_errors_count = group.unschedulable_count = 0
        return True
    if outcome.is_rejection:
        group.unschedulable_count += 1
        group.consecutive_errors_count = 0
    else:
        group.consecutive_errors_count += 1
    group.backoff_expiration = None
    return False
