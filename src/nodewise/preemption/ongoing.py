"""Preemptors whose victims are still being evicted, so that they are not scheduled meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from nodewise.state.pod_info import PodInfo


def _no_pod(key: str) -> PodInfo | None:
    return None


class OngoingPreemptions:
    """Evictions under way, by the uid of the pod (or pod group) that they are for (preemption.Executor).

    Whoever evicts calls `start`, evicts all victims but the last, calls `wait_for`, evicts the last one, and calls
    `finish`, also after a failure. From `wait_for` on the preemptor is free as soon as the last victim is seen to end:
    its deletion may be heard of before the call that deletes it returns, and nothing else would wake the preemptor.

    Attributes
    ----------
    find_pod : Callable[[str], PodInfo | None]
        Gives a pod as last seen, by `namespace/name`; None: it is gone.

    >>> from nodewise.api.objects import ObjectMeta, Pod
    >>> victim = PodInfo(Pod(ObjectMeta(name="victim", namespace="shop")))
    >>> pods = {victim.key: victim}
    >>> ongoing = OngoingPreemptions(pods.get)
    >>> ongoing.start("uid-1")
    >>> ongoing.wait_for("uid-1", victim)
    >>> ongoing.is_running("uid-1")
    True
    >>> del pods["shop/victim"]
    >>> ongoing.is_running("uid-1")
    False
    """

    def __init__(self, find_pod: Callable[[str], PodInfo | None] = _no_pod) -> None:
        self.find_pod = find_pod
        self._last_victims: dict[str, str | None] = {}

    def start(self, uid: str) -> None:
        """Keep a preemptor from being scheduled."""
        self._last_victims[uid] = None

    def wait_for(self, uid: str, victim: PodInfo) -> None:
        """Say that only this victim is left."""
        self._last_victims[uid] = victim.key

    def finish(self, uid: str) -> None:
        """Let a preemptor go, if it is kept."""
        self._last_victims.pop(uid, None)

    def is_running(self, uid: str) -> bool:
        """Tell whether a preemptor has to wait (IsPodRunningPreemption)."""
        if uid not in self._last_victims:
            return False
        key = self._last_victims[uid]
        if key is None:
            return True
        victim = self.find_pod(key)
        return victim is not None and not victim.pod.is_terminating
