"""Pods taken off their nodes for a while, to see what would be."""

from __future__ import annotations

from nodewise.state.cache import SchedulerCache
from nodewise.state.node_info import NodeInfo
from nodewise.state.pod_info import PodInfo


class CacheTrial:
    """Takes pods off their nodes and puts them back; all nodes end as they were (StartMutations, EndMutations).

    The cache still knows the pods meanwhile: only what nodes hold changes. Pods that are assumed during the trial must
    be forgotten before its end.

    >>> from nodewise.testing.builders import make_cache, make_node, make_pod
    >>> cache = make_cache([make_node("n")], [make_pod("p", node="n")])
    >>> [pod] = cache.nodes.infos["n"].pods.values()
    >>> with CacheTrial(cache) as trial:
    ...     trial.take_off(pod)
    ...     len(cache.nodes.infos["n"].pods)
    0
    >>> len(cache.nodes.infos["n"].pods)
    1
    """

    def __init__(self, cache: SchedulerCache) -> None:
        self._cache = cache
        self._before: dict[str, NodeInfo] = {}

    def __enter__(self) -> CacheTrial:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.end()

    def take_off(self, pod: PodInfo) -> None:
        """Take a pod off its node."""
        with self._cache.lock:
            nodes = self._cache.nodes
            if pod.node_name not in self._before:
                # in the order of the pods too, which decides between equally important victims
                self._before[pod.node_name] = nodes.infos[pod.node_name].copy()
            nodes.take_pod(pod)

    def put_back(self, pod: PodInfo) -> None:
        """Put a pod back that was taken off."""
        with self._cache.lock:
            self._cache.nodes.put_pod(pod)

    def end(self) -> None:
        """Let every node be what it was."""
        with self._cache.lock:
            for before in self._before.values():
                self._cache.nodes.restore(before)
            self._before.clear()
