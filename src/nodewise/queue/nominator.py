"""Pending pods that were promised a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nodewise.api.objects import Pod
from nodewise.state.pod_info import PodInfo


class Nominations:
    """Which pending pods are nominated to which node, in the order they were (the queue's nominator).

    Parameters
    ----------
    find_pod : Callable[[Pod], Pod | None] | None
        Returns the cluster's version of a pod by namespace and name; a pod that is gone or bound is not nominated.
        Without it every pod is. An attribute too, for whoever comes to know it later.
    """

    def __init__(self, find_pod: Callable[[Pod], Pod | None] | None = None) -> None:
        self.find_pod = find_pod
        self._by_node: dict[str, list[PodInfo]] = {}
        self._node_of: dict[str, str] = {}

    def add(self, pod: PodInfo, node_name: str) -> None:
        """Nominate a pod to a node, and to no other; "" withdraws the nomination."""
        self.remove(pod.uid)
        if node_name:
            self._by_node.setdefault(node_name, []).append(pod)
            self._node_of[pod.uid] = node_name

    def add_nominated(self, pod: PodInfo, node_name: str | None = None) -> None:
        """Nominate a pod that the cluster has and that is not bound (AddNominatedPod).

        Parameters
        ----------
        node_name : str | None
            The node; "" withdraws the nomination; None follows status.nominatedNodeName.
        """
        if node_name is None:
            node_name = pod.pod.status.nominated_node_name
        if node_name and self.find_pod is not None:
            known = self.find_pod(pod.pod)
            if known is None or known.spec.node_name:
                node_name = ""
        if node_name or self._node_of:
            self.add(pod, node_name)

    def update_nominated(self, old: Pod, new: PodInfo) -> None:
        """Follow a change of a pod (UpdateNominatedPod).

        A version without a nomination that follows another without one may be older than a nomination made here, which
        therefore stays.
        """
        node_name: str | None = None
        old_uid = old.metadata.uid or old.key
        if not old.status.nominated_node_name and not new.pod.status.nominated_node_name:
            node_name = self._node_of.get(old_uid)
        self.remove(old_uid)
        self.add_nominated(new, node_name)

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
