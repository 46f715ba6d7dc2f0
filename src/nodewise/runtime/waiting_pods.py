"""Pods that Permit plugins hold back between the decision and the binding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from nodewise.framework.status import SUCCESS, Status
from nodewise.state.pod_info import PodInfo


class WaitingPod:
    """A pod that has a node and waits for plugins to allow its binding (waitingPod).

    Parameters
    ----------
    pod : PodInfo
    node_name : str
    plugins : Iterable[str]
        All of them have to allow it; one is enough to reject it.
    decided : Callable[[Status], None]
        Called once.
    """

    def __init__(
        self, pod: PodInfo, node_name: str, plugins: Iterable[str], decided: Callable[[Status], object]
    ) -> None:
        self.pod = pod
        self.node_name = node_name
        self._pending = set(plugins)
        self._decided = decided
        self.is_decided = False

    @property
    def pending_plugins(self) -> list[str]:
        """Plugins that have not allowed the pod yet, names sorted."""
        return sorted(self._pending)

    def allow(self, plugin: str) -> None:
        """Take a plugin's objection back; the pod goes on when it was the last one."""
        self._pending.discard(plugin)
        if not self._pending:
            self._decide(SUCCESS)

    def reject(self, plugin: str, message: str) -> None:
        """Send the pod back to the queue as unschedulable."""
        self._decide(Status.unschedulable(message).by(plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """Send the pod back to the queue to make room for another one; False when it is decided already."""
        if self.is_decided:
            return False
        self._decide(Status.error(message).by(plugin))
        return True

    def _decide(self, status: Status) -> None:
        if not self.is_decided:
            self.is_decided = True
            self._decided(status)


class WaitingPods(Mapping[str, WaitingPod]):
    """All pods that wait, by uid (waitingPodsMap)."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __getitem__(self, uid: str) -> WaitingPod:
        return self._pods[uid]

    def __iter__(self) -> Iterator[str]:
        return iter(self._pods)

    def __len__(self) -> int:
        return len(self._pods)

    def add(self, waiting: WaitingPod) -> None:
        """Take in a pod until it is removed."""
        self._pods[waiting.pod.uid] = waiting

    def remove(self, uid: str) -> None:
        """Let go of a pod, if it is here."""
        self._pods.pop(uid, None)
