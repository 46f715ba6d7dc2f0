"""A node with its pods and their sums."""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType

import msgspec

from nodewise.api.objects import Node
from nodewise.api.resources import node_allocatable
from nodewise.errors import CacheError
from nodewise.state.pod_info import HostPort, PodInfo

_NO_RESOURCES: Mapping[str, int] = MappingProxyType({})
_NO_PORTS: Set[HostPort] = frozenset()
_NO_CLAIMS: Mapping[str, int] = MappingProxyType({})


class NodeInfo(msgspec.Struct, gc=False, eq=False):
    """What is known of one node name (framework.NodeInfo); a ghost when pods name it and no Node object exists.

    Compared by identity. Nothing that it refers to refers back, so the garbage collector need not look at it.

    Attributes
    ----------
    pods : dict[str, PodInfo]
        By uid.
    requested : dict[str, int]
        Sums of effective requests; a resource once used stays, with 0.
    non_zero_cpu_milli, non_zero_memory_bytes : int
        Sums with the defaults for containers that ask for nothing.
    used_ports : Set[HostPort]
        A set as in kube-scheduler: when one of two pods that share a port goes, the port is free.
    pvc_ref_counts : Mapping[str, int]
        How often the pods' volumes name a claim, by `namespace/name`.
    generation : int
        Grows with every change, across all nodes.
    previous_generation : int
        The generation before the last change.
    appended, removed : PodInfo | None
        The pod that came and the one that went with the last change; both None when it was about something else.
    """

    name: str
    node: Node | None = None
    allocatable: Mapping[str, int] = _NO_RESOURCES
    pods: dict[str, PodInfo] = msgspec.field(default_factory=dict)
    requested: dict[str, int] = msgspec.field(default_factory=dict)
    non_zero_cpu_milli: int = 0
    non_zero_memory_bytes: int = 0
    used_ports: Set[HostPort] = _NO_PORTS
    pvc_ref_counts: Mapping[str, int] = _NO_CLAIMS
    generation: int = 0
    previous_generation: int = 0
    appended: PodInfo | None = None
    removed: PodInfo | None = None

    def set_node(self, node: Node | None) -> None:
        """Take over a Node object, or drop it."""
        self.allocatable = node_allocatable(node) if node is not None else _NO_RESOURCES
        self.node = node

    def add_pod(self, info: PodInfo) -> None:
        """Count a pod in."""
        self.pods[info.uid] = info
        requested = self.requested
        for name, amount in info.requests.items():
            requested[name] = requested.get(name, 0) + amount
        cpu_milli, memory_bytes = info.non_zero
        self.non_zero_cpu_milli += cpu_milli
        self.non_zero_memory_bytes += memory_bytes
        if info.host_ports:
            self.used_ports = self.used_ports | set(info.host_ports)
        if info.pvc_keys:
            self._count_claims(info.pvc_keys, 1)

    def remove_pod(self, info: PodInfo) -> None:
        """Count a pod out.

        Raises
        ------
        CacheError
            The node does not hold the pod; nothing changes.
        """
        held = self.pods.get(info.uid)
        if held is None:
            raise CacheError(f"no corresponding pod {info.pod.metadata.name} in pods of node {self.name}")
        self._take_out(info.uid)
        requested = self.requested
        for name, amount in held.requests.items():
            requested[name] -= amount
        self.non_zero_cpu_milli -= held.non_zero[0]
        self.non_zero_memory_bytes -= held.non_zero[1]
        if held.host_ports:
            self.used_ports = self.used_ports - set(held.host_ports)
        if held.pvc_keys:
            self._count_claims(held.pvc_keys, -1)

    def copy(self) -> NodeInfo:
        """Return a copy that later changes do not reach (SnapshotConcrete)."""
        other = NodeInfo(self.name)
        other.node, other.allocatable = self.node, self.allocatable
        other.pods, other.requested = dict(self.pods), dict(self.requested)
        other.non_zero_cpu_milli, other.non_zero_memory_bytes = self.non_zero_cpu_milli, self.non_zero_memory_bytes
        other.used_ports, other.pvc_ref_counts = self.used_ports, self.pvc_ref_counts
        other.generation, other.previous_generation = self.generation, self.previous_generation
        return other

    def _count_claims(self, keys: tuple[str, ...], change: int) -> None:
        counts = dict(self.pvc_ref_counts)
        for key in keys:
            counts[key] = counts.get(key, 0) + change
            if counts[key] <= 0:
                del counts[key]
        self.pvc_ref_counts = counts or _NO_CLAIMS

    def _take_out(self, uid: str) -> None:
        """Remove a pod and put the last one into the gap, as kube-scheduler's list of pods does."""
        last, last_pod = self.pods.popitem()
        if last == uid:
            return
        self.pods = {
            (last if other == uid else other): (last_pod if other == uid else pod) for other, pod in self.pods.items()
        }
