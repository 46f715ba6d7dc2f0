"""A pod group that waits, or the root of a tree of them, with its waiting pods."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence

from nodewise.api.objects import Pod
from nodewise.queue.queued_pod import QueuedEntity, QueuedPod
from nodewise.state.pod_groups import GroupKey, group_key_of
from nodewise.state.pod_info import PodInfo


def entity_key(root: GroupKey) -> str:
    """Return the key in the queue; QUIRK: that of a group of groups is the same as of a pod group of its name."""
    return f"podgroup/{root.namespace}/{root.name}"


class QueuedPodGroup(QueuedEntity):
    """Pods of one group, or of all groups below a root, that are tried together (QueuedPodGroupInfo).

    Attributes
    ----------
    root : GroupKey
    pods : dict[GroupKey, list[QueuedPod]]
        By pod group, in the order in which they are tried.
    """

    __slots__ = ("pods", "root")

    kind = "podgroup"

    def __init__(self, root: GroupKey) -> None:
        super().__init__(entity_key(root))
        self.root = root
        self.pods: dict[GroupKey, list[QueuedPod]] = {}

    @property
    def members(self) -> Sequence[QueuedPod]:
        return [queued for pods in self.pods.values() for queued in pods]

    @property
    def rejection(self) -> Hashable:
        return self.key  # its pods may all have been rejected by others

    @property
    def is_error(self) -> bool:
        """QUIRK: plugins reject pods, not groups; so a group always backs off as if it had failed by an error."""
        return True

    def mark_active(self, now: float) -> None:
        super().mark_active(now)
        for queued in self.members:
            queued.mark_active(now)

    def mark_flushed(self, *, is_flushed: bool) -> None:
        super().mark_flushed(is_flushed=is_flushed)
        for queued in self.members:
            queued.mark_flushed(is_flushed=is_flushed)

    def mark_popped(self) -> None:
        super().mark_popped()
        for queued in self.members:
            queued.mark_popped()

    def infos(self) -> dict[GroupKey, list[PodInfo]]:
        """Return the pods as they are tried, by pod group."""
        return {key: [queued.info for queued in pods] for key, pods in self.pods.items()}

    def add_pod(self, queued: QueuedPod) -> None:
        """Take in a member, in order of priority, attempts (most first), age, name (PodGroupMemberPodsOrderingFunc)."""
        key = group_key_of(queued.pod)
        assert key is not None, f"{queued.key} is in no group"
        pods = self.pods.setdefault(key, [])
        pods.insert(bisect_left(pods, _place(queued), key=_place), queued)

    def remove_pod(self, pod: Pod) -> QueuedPod | None:
        """Take out a member; None when it is not here."""
        key = group_key_of(pod)
        for place, queued in enumerate(self.pods.get(key, ()) if key is not None else ()):
            if queued.key == pod.key:
                assert key is not None
                del self.pods[key][place]
                if not self.pods[key]:
                    del self.pods[key]
                return queued
        return None

    def find_pod(self, pod: Pod) -> QueuedPod | None:
        """Return a member; None when it is not here."""
        key = group_key_of(pod)
        members = self.pods.get(key, ()) if key is not None else ()
        return next((queued for queued in members if queued.key == pod.key), None)

    def with_the_past_of(self, other: QueuedPodGroup) -> QueuedPodGroup:
        """Take over all that another one's waiting has come to, and return itself."""
        for name in QueuedEntity.__slots__:
            setattr(self, name, getattr(other, name))
        return self


def _place(queued: QueuedPod) -> tuple[int, int, float, str]:
    return -queued.info.priority, -queued.attempts, queued.timestamp, queued.pod.metadata.name
