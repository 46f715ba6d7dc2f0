"""The nodes of the scheduler cache: NodeInfos, their order, the tree of zones and the images."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from nodewise.api.objects import Node
from nodewise.errors import CacheError
from nodewise.state.image_states import ImageStates
from nodewise.state.node_info import NodeInfo
from nodewise.state.node_tree import NodeTree, not_in_tree
from nodewise.state.pod_info import PodInfo


class CachedNodes:
    """All node names that a Node object or a pod has; who uses it holds the cache's lock.

    Attributes
    ----------
    infos : OrderedDict[str, NodeInfo]
        By name, ghosts included, in the order of their last change. This is the doubly linked list of the Go cache:
        an OrderedDict is one, and moves an entry to its end at once.
    generation : int
        The number of the last change; a number never comes twice, not even for a node that goes and comes again.
    newest : NodeInfo | None
        What the last change was about; None when it is gone.
    second_generation : int
        No NodeInfo but the newest has a generation above this one.
    tree : NodeTree
        Names of the nodes that have a Node object, by zone.
    images : ImageStates
    """

    __slots__ = ("generation", "images", "infos", "newest", "second_generation", "tree")

    def __init__(self) -> None:
        self.infos: OrderedDict[str, NodeInfo] = OrderedDict()
        self.generation = 0
        self.newest: NodeInfo | None = None
        self.second_generation = 0
        self.tree = NodeTree()
        self.images = ImageStates()

    def newest_first(self) -> Iterator[NodeInfo]:
        """Walk all NodeInfos, the one that changed last first."""
        return reversed(self.infos.values())

    def put_node(self, node: Node) -> None:
        """Add or replace a Node object; QuantityError, and nothing changes, when its amounts cannot be read."""
        info = self.infos.get(node.name)
        if info is None:
            info = NodeInfo(node.name)
        known = info.node
        info.set_node(node)
        self.infos[node.name] = info
        self.images.replace(node.name, known.status.images if known is not None else (), node.status.images)
        self.tree.add_node(node)
        self._touch(info)

    def take_node(self, node: Node | str) -> None:
        """Drop a Node object, given it or its name; CacheError when there is none."""
        name = node if isinstance(node, str) else node.name
        info = self.infos.get(name)
        if info is None:
            raise CacheError(f"node {name} is not found")
        known = info.node
        if known is None:
            raise CacheError(not_in_tree(node))
        self.images.replace(name, known.status.images, ())
        self.tree.remove_node(name)
        info.set_node(None)
        self._touch(info)
        self._drop_if_empty(info)

    def put_pod(self, pod: PodInfo) -> None:
        """Count a pod in on the node that it names."""
        info = self.infos.get(pod.node_name)
        if info is None:
            info = self.infos[pod.node_name] = NodeInfo(pod.node_name)
        info.add_pod(pod)
        self._touch(info, pod, None)

    def take_pod(self, pod: PodInfo) -> None:
        """Count a pod out of the node that it names."""
        info = self.infos[pod.node_name]
        info.remove_pod(pod)
        self._touch(info, None, pod)
        self._drop_if_empty(info)

    def swap_pod(self, old: PodInfo, new: PodInfo) -> None:
        """Count one pod out and another in, in one change when both name the same node."""
        if old.node_name != new.node_name:
            self.take_pod(old)
            self.put_pod(new)
            return
        info = self.infos[old.node_name]
        info.remove_pod(old)
        info.add_pod(new)
        self._touch(info, new, old)

    def restore(self, before: NodeInfo) -> None:
        """Give a node the pods back that a copy of its NodeInfo has, in their order."""
        info = self.infos.get(before.name)
        if info is None:
            info = self.infos[before.name] = NodeInfo(before.name)
        info.pods, info.requested = dict(before.pods), dict(before.requested)
        info.non_zero_cpu_milli, info.non_zero_memory_bytes = before.non_zero_cpu_milli, before.non_zero_memory_bytes
        info.used_ports, info.pvc_ref_counts = before.used_ports, before.pvc_ref_counts
        self._touch(info)

    def is_last_pod(self, pod: PodInfo) -> bool:
        """Tell whether a pod is at the end of its node's list, where it would be if it came only now."""
        return next(reversed(self.infos[pod.node_name].pods)) == pod.uid

    def _touch(self, info: NodeInfo, appended: PodInfo | None = None, removed: PodInfo | None = None) -> None:
        """Number a change of a NodeInfo and make it the newest; the pods are those that came and went with it."""
        if info is not self.newest:
            self.second_generation = self.generation
            self.newest = info
            self.infos.move_to_end(info.name)
        self.generation += 1
        info.previous_generation = info.generation
        info.generation = self.generation
        info.appended = appended
        if removed is not info.removed:  # a struct is quicker to read than to write
            info.removed = removed

    def _drop_if_empty(self, info: NodeInfo) -> None:
        if info.node is None and not info.pods:
            del self.infos[info.name]
            self.newest = None
