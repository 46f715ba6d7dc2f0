"""What the scheduler keeps of a pod: its key facts, computed once."""

from __future__ import annotations

from datetime import datetime

import nodewise.api.resources as resources
from nodewise.api.objects import Container, Pod

HostPort = tuple[str, str, int]  # (protocol, IP, port)
ANY_IP = "0.0.0.0"


class PodInfo:
    """A pod with everything the scheduler derives from it (framework.PodInfo).

    Compared and hashed by identity: an updated pod is another PodInfo.

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
    """

    __slots__ = (
        "host_ports",
        "key",
        "node_name",
        "non_zero",
        "pod",
        "priority",
        "requests",
        "start_time",
        "uid",
    )

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.key = pod.key
        self.uid = pod.metadata.uid or self.key
        self.node_name = pod.spec.node_name
        self.priority = pod.priority
        self.start_time: datetime | None = pod.status.start_time
        self.requests = resources.requested(pod)
        self.non_zero = resources.non_zero_requested(pod)
        self.host_ports = host_ports(pod)

    def placed_on(self, node_name: str, start_time: datetime | None = None) -> PodInfo:
        """Return this pod as it looks once it is on a node (what a Binding makes of it)."""
        info: PodInfo = PodInfo.__new__(PodInfo)
        info.pod = self.pod
        info.key = self.key
        info.uid = self.uid
        info.node_name = node_name
        info.priority = self.priority
        info.start_time = self.start_time or start_time
        info.requests = self.requests
        info.non_zero = self.non_zero
        info.host_ports = self.host_ports
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


def _add_ports(container: Container, ports: list[HostPort]) -> None:
    for port in container.ports:
        if port.host_port > 0:
            ports.append((port.protocol or "TCP", port.host_ip or ANY_IP, port.host_port))
