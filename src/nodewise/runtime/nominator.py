"""Pending pods that were promised a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodewise.state.pod_info import PodInfo


class Nominations:
    """Which pending pods are nominated to which node, in the order they were (the queue's nominator)."""

    def __init__(self) -> None:
        self._by_node: dict[str, list[PodInfo]] = {}
        self._node_of: dict[str, str] = {}

    def add(self, pod: PodInfo, node_name: str) -> None:
        """Nominate a pod to a node, and to no other."""
        self.remove(pod.uid)
        if node_name:
            self._by_node.setdefault(node_name, []).append(pod)
            self._node_of[pod.uid] = node_name

    def remove(self, uid: str) -> None:
        """Withdraw a pod's nomination, if it has one."""
        node_name = self._node_of.pop(uid, None)
        if node_name is not None:
            left = [pod for pod in self._by_node[node_name] if pod.uid != uid]
            if left:
                self._by_node[node_name] = left
            else:
                del self._by_node[node_name]

    def node_of(self, uid: str) -> str:
        """Return the node a pod is nominated to, "" for none."""
        return self._node_of.get(uid, "")

    def nominated_to(self, node_name: str) -> Sequence[PodInfo]:
        """Return the pods nominated to a node."""
        return self._by_node.get(node_name, ())

    def nominations(self) -> Mapping[str, Sequence[PodInfo]]:
        """Return all nominated pods by node."""
        return self._by_node
