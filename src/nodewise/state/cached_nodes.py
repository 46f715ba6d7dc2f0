"""The nodes of the scheduler cache: NodeInfos, their order, the tree of zones and the images."""

from __future__ import annotations

from nodewise.api.objects import Node
from nodewise.errors import CacheError
from nodewise.state.image_states import ImageStates
from nodewise.state.node_info import NodeInfo
from nodewise.state.node_list import NodeInfoList
from nodewise.state.node_tree import NodeTree, not_in_tree
from nodewise.state.pod_info import PodInfo


class CachedNodes:
    """All node names that a Node object or a pod has; who uses it holds the cache's lock.

    Attributes
    ----------
    infos : dict[str, NodeInfo]
        By name, ghosts included.
    changes : NodeInfoList
        The same, newest change first.
    tree : NodeTree
        Names of the nodes that have a Node object, by zone.
    images : ImageStates
    """

    __slots__ = ("changes", "images", "infos", "tree")

    def __init__(self) -> None:
        self.infos: dict[str, NodeInfo] = {}
        self.changes = NodeInfoList()
        self.tree = NodeTree()
        self.images = ImageStates()

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
        self.changes.touch(info, None, None)

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
        self.changes.touch(info, None, None)
        self._drop_if_empty(info)

    def put_pod(self, pod: PodInfo) -> None:
        """Count a pod in on the node that it names."""
        info = self.infos.get(pod.node_name)
        if info is None:
            info = self.infos[pod.node_name] = NodeInfo(pod.node_name)
        info.add_pod(pod)
        self.changes.touch(info, pod, None)

    def take_pod(self, pod: PodInfo) -> None:
        """Count a pod out of the node that it names."""
        info = self.infos[pod.node_name]
        info.remove_pod(pod)
        self.changes.touch(info, None, pod)
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
        self.changes.touch(info, new, old)

    def is_last_pod(self, pod: PodInfo) -> bool:
        """Tell whether a pod is at the end of its node's list, where it would be if it came only now."""
        return next(reversed(self.infos[pod.node_name].pods)) == pod.uid

    def _drop_if_empty(self, info: NodeInfo) -> None:
        if info.node is None and not info.pods:
            self.changes.unlink(info)
            del self.infos[info.name]
