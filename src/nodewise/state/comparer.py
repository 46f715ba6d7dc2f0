"""Finds where the scheduler cache and the scheduling queue differ from what the API says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from nodewise.api.objects import Node, Pod
from nodewise.state.cache_dump import CacheDump
from nodewise.state.log_message import LOGGER, LogMessage
from nodewise.state.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class CacheMismatch:
    """What one side has and the other has not.

    Some of it is right: the names of ghosts are redundant, and pods that wait for other schedulers or are just being
    scheduled are missed.

    Attributes
    ----------
    missed_nodes, missed_pods : tuple[str, ...]
        Names of nodes and uids of pods that the API has and the cache has not, sorted.
    redundant_nodes, redundant_pods : tuple[str, ...]
        The other way round.
    """

    missed_nodes: tuple[str, ...] = ()
    redundant_nodes: tuple[str, ...] = ()
    missed_pods: tuple[str, ...] = ()
    redundant_pods: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != CacheMismatch()


def compare(nodes: Iterable[Node], pods: Iterable[Pod], dump: CacheDump, pending: Iterable[PodInfo]) -> CacheMismatch:
    """Compare the API's nodes and pods with a copy of the cache and the pods in the queue."""
    cached_pods = [uid for info in dump.nodes.values() for uid in info.pods]
    cached_pods.extend(pod.uid for pod in pending)
    missed_nodes, redundant_nodes = _differences((node.name for node in nodes), list(dump.nodes))
    missed_pods, redundant_pods = _differences((pod.metadata.uid or pod.key for pod in pods), cached_pods)
    return CacheMismatch(missed_nodes, redundant_nodes, missed_pods, redundant_pods)


def log_mismatch(mismatch: CacheMismatch) -> None:
    """Write what differs to the log, in kube-scheduler's words."""
    if mismatch.missed_nodes or mismatch.redundant_nodes:
        nodes = {"missedNodes": mismatch.missed_nodes, "redundantNodes": mismatch.redundant_nodes}
        LOGGER.info(LogMessage("Cache mismatch", **nodes))
    if mismatch.missed_pods or mismatch.redundant_pods:
        pods = {"missedPods": mismatch.missed_pods, "redundantPods": mismatch.redundant_pods}
        LOGGER.info(LogMessage("Cache mismatch", **pods))


def _differences(actual: Iterable[str], cached: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is more often in one than in the other, sorted."""
    wanted, found = Counter(actual), Counter(cached)
    return tuple(sorted((wanted - found).elements())), tuple(sorted((found - wanted).elements()))
