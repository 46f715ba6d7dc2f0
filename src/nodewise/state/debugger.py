"""Shows people what the scheduler cache and the scheduling queue hold, as kube-scheduler does on SIGUSR2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from nodewise.api.objects import Node, Pod
from nodewise.api.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS
from nodewise.state.cache import SchedulerCache
from nodewise.state.comparer import CacheMismatch, compare, log_mismatch
from nodewise.state.log_message import LOGGER, LogMessage
from nodewise.state.node_info import NodeInfo
from nodewise.state.pod_info import PodInfo

_NAMED_RESOURCES = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)


class QueueReader(Protocol):
    """What the debugger asks of the scheduling queue."""

    def pending_pods(self) -> tuple[Sequence[PodInfo], str]:
        """Return all pods that wait, and a line that says how many wait where."""
        ...

    def nominated_pods_for_node(self, node_name: str) -> Sequence[PodInfo]:
        """Return the pods that are to run on a node once its victims are gone."""
        ...


class CacheDebugger:
    """Compares and dumps on request (CacheDebugger); the live scheduler calls `run` when it gets SIGUSR2.

    Parameters
    ----------
    cache : SchedulerCache
    queue : QueueReader
    list_nodes : Callable[[], Iterable[Node]]
        The nodes that the API has, as far as is known here.
    list_pods : Callable[[], Iterable[Pod]]
        The same for pods.
    """

    def __init__(
        self,
        cache: SchedulerCache,
        queue: QueueReader,
        list_nodes: Callable[[], Iterable[Node]],
        list_pods: Callable[[], Iterable[Pod]],
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._list_nodes = list_nodes
        self._list_pods = list_pods

    def run(self) -> None:
        """Write differences, nodes and queue to the log."""
        self.compare()
        LOGGER.info(LogMessage("Dump of cached NodeInfo", nodes=self.nodes_text()))
        pods, summary = self._queue.pending_pods()
        LOGGER.info(LogMessage("Dump of scheduling queue", summary=summary, pods="".join(map(pod_line, pods))))

    def compare(self) -> CacheMismatch:
        """Find, log and return where cache and queue differ from the API."""
        LOGGER.debug(LogMessage("Cache comparer started"))
        pending, _ = self._queue.pending_pods()
        mismatch = compare(self._list_nodes(), self._list_pods(), self._cache.dump(), pending)
        log_mismatch(mismatch)
        LOGGER.debug(LogMessage("Cache comparer finished"))
        return mismatch

    def nodes_text(self) -> str:
        """Return kube-scheduler's text about every node, by name, with a blank line between two."""
        nodes = self._cache.dump().nodes
        return "\n\n".join(node_text(nodes[name], self._queue.nominated_pods_for_node(name)) for name in sorted(nodes))

    def as_json(self) -> dict[str, Any]:
        """Return cache and queue as JSON values, for tools."""
        dump = self._cache.dump()
        pods, summary = self._queue.pending_pods()
        return {
            "nodes": [
                _node_json(dump.nodes[name], dump.assumed, self._queue.nominated_pods_for_node(name))
                for name in sorted(dump.nodes)
            ],
            "queue": {"summary": summary, "pods": [_pod_json(pod) for pod in pods]},
        }


def node_text(info: NodeInfo, nominated: Sequence[PodInfo] = ()) -> str:
    """Return kube-scheduler's block about one node."""
    lines = [
        f"Node name: {info.name}\n",
        f"Deleted: {'true' if info.node is None else 'false'}\n",
        f"Requested Resources: {_resource_text(info.requested, counts_pods=False)}\n",
        f"Allocatable Resources:{_resource_text(info.allocatable, counts_pods=True)}\n",
        f"Scheduled Pods(number: {len(info.pods)}):\n",
        *map(pod_line, info.pods.values()),
    ]
    if nominated:
        lines += [f"Nominated Pods(number: {len(nominated)}):\n", *map(pod_line, nominated)]
    return "".join(lines)


def pod_line(info: PodInfo) -> str:
    """Return kube-scheduler's line about one pod."""
    metadata, status = info.pod.metadata, info.pod.status
    return (
        f"name: {metadata.name}, namespace: {metadata.namespace}, uid: {metadata.uid}, phase: {status.phase}, "
        f"nominated node: {status.nominated_node_name}\n"
    )


def _resource_text(amounts: Mapping[str, int], *, counts_pods: bool) -> str:
    """Write amounts as Go prints a framework.Resource; that of requests does not count pods."""
    scalars = " ".join(f"{name}:{amounts[name]}" for name in sorted(amounts) if name not in _NAMED_RESOURCES)
    n_pods = amounts.get(PODS, 0) if counts_pods else 0
    fields = {
        "MilliCPU": amounts.get(CPU, 0),
        "Memory": amounts.get(MEMORY, 0),
        "EphemeralStorage": amounts.get(EPHEMERAL_STORAGE, 0),
        "AllowedPodNumber": n_pods,
        "ScalarResources": f"map[{scalars}]",
    }
    return f"&{{{' '.join(f'{name}:{value}' for name, value in fields.items())}}}"


def _node_json(info: NodeInfo, assumed: frozenset[str], nominated: Sequence[PodInfo]) -> dict[str, Any]:
    return {
        "name": info.name,
        "deleted": info.node is None,
        "generation": info.generation,
        "requested": dict(info.requested),
        "nonZeroRequested": {CPU: info.non_zero_cpu_milli, MEMORY: info.non_zero_memory_bytes},
        "allocatable": dict(info.allocatable),
        "usedPorts": [
            {"protocol": protocol, "hostIP": ip, "hostPort": port} for protocol, ip, port in sorted(info.used_ports)
        ],
        "pvcRefCounts": dict(info.pvc_ref_counts),
        "pods": [{**_pod_json(pod), "assumed": pod.uid in assumed} for pod in info.pods.values()],
        "nominatedPods": [_pod_json(pod) for pod in nominated],
    }


def _pod_json(info: PodInfo) -> dict[str, Any]:
    metadata, status = info.pod.metadata, info.pod.status
    return {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "uid": info.uid,
        "phase": status.phase,
        "nominatedNodeName": status.nominated_node_name,
    }
