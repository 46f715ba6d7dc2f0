"""A node with its pods and their sums."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.api.objects import Node
from nodewise.api.resources import node_allocatable
from nodewise.state.pod_info import HostPort, PodInfo

_NO_RESOURCES: Mapping[str, int] = {}


class NodeInfo:
    """What is known of one node name (framework.NodeInfo); a ghost when pods name it and no Node object exists.

    Attributes
    ----------
    pods : dict[str, PodInfo]
        By uid.
    requested : dict[str, int]
        Sums of effective requests; a resource once used stays, with 0.
    non_zero_cpu_milli, non_zero_memory_bytes : int
        Sums with the defaults for containers that ask for nothing.
    used_ports : set
        A set as in kube-scheduler: when one of two pods that share a port goes, the port is free.
    generation : int
        Grows with every change, across all nodes.
    """

    __slots__ = (
        "allocatable",
        "generation",
        "name",
        "newer",
        "node",
        "non_zero_cpu_milli",
        "non_zero_memory_bytes",
        "older",
        "pods",
        "requested",
        "used_ports",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: Node | None = None
        self.allocatable: Mapping[str, int] = _NO_RESOURCES
        self.pods: dict[str, PodInfo] = {}
        self.requested: dict[str, int] = {}
        self.non_zero_cpu_milli = 0
        self.non_zero_memory_bytes = 0
        self.used_ports: set[HostPort] = set()
        self.generation = 0
        self.newer: NodeInfo | None = None
        self.older: NodeInfo | None = None

    def set_node(self, node: Node | None) -> None:
        """Take over a Node object, or drop it."""
        self.node = node
        self.allocatable = node_allocatable(node) if node is not None else _NO_RESOURCES

    def add_pod(self, info: PodInfo) -> None:
        """Count a pod in."""
        self.pods[info.uid] = info
        requested = self.requested
        for name, amount in info.requests.items():
            requested[name] = requested.get(name, 0) + amount
        self.non_zero_cpu_milli += info.non_zero[0]
        self.non_zero_memory_bytes += info.non_zero[1]
        if info.host_ports:
            self.used_ports.update(info.host_ports)

    def remove_pod(self, info: PodInfo) -> None:
        """Count a pod out; KeyError when the node does not hold it."""
        held = self.pods[info.uid]
        self._take_out(info.uid)
        requested = self.requested
        for name, amount in held.requests.items():
            requested[name] -= amount
        self.non_zero_cpu_milli -= held.non_zero[0]
        self.non_zero_memory_bytes -= held.non_zero[1]
        if held.host_ports:
            self.used_ports.difference_update(held.host_ports)

    def _take_out(self, uid: str) -> None:
        """Remove a pod and put the last one into the gap, as kube-scheduler's list of pods does."""
        last, last_pod = self.pods.popitem()
        if last == uid:
            return
        self.pods = {
            (last if other == uid else other): (last_pod if other == uid else pod) for other, pod in self.pods.items()
        }
