"""What the scheduler keeps of a pod: its key facts, computed once."""

from __future__ import annotations

import copy
from datetime import datetime
from typing import Any

import msgspec

import nodewise.api.resources as resources
from nodewise.api.objects import Container, Pod

HostPort = tuple[str, str, int]  # (protocol, IP, port)
ANY_IP = "0.0.0.0"


_DERIVED: Any = None  # the default of what __post_init__ fills in


class PodInfo(msgspec.Struct, gc=False, eq=False):
    """A pod with everything the scheduler derives from it (framework.PodInfo).

    Made from a Pod alone; the other fields follow from it. Compared and hashed by identity: an updated pod is another
    PodInfo. It refers to nothing that refers back, so the garbage collector need not look at it, nor at dictionaries
    that hold nothing else: a million of them cost a collection nothing.

    Attributes
    ----------
    requests : dict[str, int]
        Effective requests, status-aware (cpu in millicores, the rest in units of the resource). Shared: read only.
    non_zero : tuple[int, int]
        cpu in millicores and memory in bytes, with the defaults for containers that ask for neither.
    node_name : str
        Where the pod runs or is assumed to run; empty while pending.
    start_time : datetime | None
        status.startTime.
    uid : str
        The key in the scheduler cache; a pod without a uid, which only files have, goes by `namespace/name`.
    pvc_keys : tuple[str, ...]
        The claims its volumes name, as `namespace/name`.
    """

    pod: Pod
    key: str = _DERIVED
    uid: str = _DERIVED
    node_name: str = _DERIVED
    priority: int = _DERIVED
    start_time: datetime | None = _DERIVED
    requests: dict[str, int] = _DERIVED
    non_zero: tuple[int, int] = _DERIVED
    host_ports: tuple[HostPort, ...] = _DERIVED
    pvc_keys: tuple[str, ...] = _DERIVED

    def __post_init__(self) -> None:
        pod = self.pod
        spec = pod.spec
        self.key = pod.key
        self.uid = pod.metadata.uid or self.key
        self.node_name = spec.node_name
        self.priority = spec.priority or 0
        self.start_time = pod.status.start_time
        amounts = resources.pod_amounts(pod)
        self.requests = amounts.requested
        self.non_zero = amounts.non_zero_requested
        self.host_ports = host_ports(pod)
        self.pvc_keys = pvc_keys(pod) if spec.volumes else ()

    def placed_on(self, node_name: str, start_time: datetime | None = None) -> PodInfo:
        """Return this pod as it looks once it is on a node (what a Binding makes of it)."""
        info = copy.copy(self)
        info.node_name = node_name
        info.start_time = self.start_time or start_time
        return info

    def __repr__(self) -> str:
        return f"PodInfo({self.key}, node={self.node_name!r})"


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Return the host ports a pod takes: those of restartable init containers, then of regular ones."""
    spec = pod.spec
    ports: list[HostPort] = []
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            _add_ports(container, ports)
    for container in spec.containers:
        if container.ports:
            _add_ports(container, ports)
    return tuple(ports)


def pvc_keys(pod: Pod) -> tuple[str, ...]:
    """Return the claims that a pod's volumes name (PodPVCKeys); 1.37 does not count generic ephemeral volumes."""
    namespace = pod.metadata.namespace
    claims = (volume.persistent_volume_claim for volume in pod.spec.volumes)
    return tuple(f"{namespace}/{claim.claim_name}" for claim in claims if claim is not None)


def _add_ports(container: Container, ports: list[HostPort]) -> None:
    for port in container.ports:
        if port.host_port > 0:
            ports.append((port.protocol or "TCP", port.host_ip or ANY_IP, port.host_port))
