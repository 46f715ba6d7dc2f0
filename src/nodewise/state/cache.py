"""The scheduler's own picture of nodes and pods, assumed pods included."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from nodewise.api.objects import Node
from nodewise.errors import CacheError
from nodewise.state.node_info import NodeInfo
from nodewise.state.node_tree import NodeTree
from nodewise.state.pod_info import PodInfo


@dataclass(slots=True)
class ImageState:
    """An image some node has: the size its first node reported, and the names of all that have it."""

    size_bytes: int
    nodes: set[str] = field(default_factory=set)


class SchedulerCache:
    """Nodes with their pods, newest change first, and pods assumed to be on a node before the API says so.

    Thread-safe. Pods are keyed by uid. A pod is Assumed (`assume_pod`) or Added (`add_pod`); a node that pods name
    but that has no Node object is kept as a ghost until its last pod is gone.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.tree = NodeTree()
        self.images: dict[str, ImageState] = {}
        self.images_version = 0
        self.tree_version = 0
        self._infos: dict[str, NodeInfo] = {}
        self._head: NodeInfo | None = None
        self._pods: dict[str, PodInfo] = {}
        self._assumed: set[str] = set()
        self._generation = 0

    # --- nodes --------------------------------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """The newest generation handed out."""
        return self._generation

    def add_node(self, node: Node) -> None:
        """Add a node, or replace what is known of it; pods that named it before stay on it."""
        with self.lock:
            info = self._infos.get(node.name)
            if info is None:
                info = self._infos[node.name] = NodeInfo(node.name)
            elif info.node is not None:
                self._drop_images_locked(info.node)
            if self.tree.add_node(node):
                self.tree_version += 1
            self._add_images_locked(node)
            info.set_node(node)
            self._touch_locked(info)

    update_node = add_node

    def remove_node(self, name: str) -> None:
        """Forget a Node object; its pods keep it as a ghost."""
        with self.lock:
            info = self._infos.get(name)
            if info is None or info.node is None:
                raise CacheError(f"node {name} is not found")
            self._drop_images_locked(info.node)
            self.tree.remove_node(name)
            self.tree_version += 1
            info.set_node(None)
            self._touch_locked(info)
            if not info.pods:
                self._unlink_locked(info)
                del self._infos[name]

    def node_info(self, name: str) -> NodeInfo | None:
        """Return the live NodeInfo of a name, ghosts included."""
        return self._infos.get(name)

    def newest_first(self) -> Iterator[NodeInfo]:
        """Walk all NodeInfos in the order of their last change; hold the lock meanwhile."""
        info = self._head
        while info is not None:
            yield info
            info = info.older

    def node_count(self) -> int:
        """Return the number of node names known, ghosts included."""
        return len(self._infos)

    # --- pods ---------------------------------------------------------------------------------------------------------

    def pod_count(self) -> int:
        """Return the number of pods on nodes, ghosts' included."""
        return len(self._pods)

    def get_pod(self, uid: str) -> PodInfo | None:
        """Return the cached pod of a uid."""
        return self._pods.get(uid)

    def is_assumed_pod(self, uid: str) -> bool:
        """Tell whether a pod is assumed and not yet confirmed."""
        return uid in self._assumed

    def assume_pod(self, info: PodInfo) -> None:
        """Count a pod on the node that was chosen for it, before the API server says so."""
        with self.lock:
            if info.uid in self._pods:
                raise CacheError(f"pod {info.uid}({info.key}) is in the cache, so can't be assumed")
            self._place_locked(info)
            self._assumed.add(info.uid)

    def forget_pod(self, info: PodInfo) -> None:
        """Undo `assume_pod`; an unknown pod is no error."""
        with self.lock:
            known = self._pods.get(info.uid)
            if known is None:
                return
            if known.node_name != info.node_name:
                raise CacheError(
                    f"pod {info.uid}({info.key}) was assumed on {info.node_name} but assigned to {known.node_name}"
                )
            if info.uid not in self._assumed:
                raise CacheError(f"pod {info.uid}({info.key}) is not assumed, so it cannot be removed or forgotten")
            self._displace_locked(known)

    def add_pod(self, info: PodInfo) -> None:
        """Count in a pod that the API server says is on a node; this confirms an assumed pod."""
        with self.lock:
            known = self._pods.get(info.uid)
            if known is None:
                self._place_locked(info)
            elif info.uid not in self._assumed:
                raise CacheError(f"pod {info.uid}({info.key}) was already in added state")
            elif known is info:
                self._assumed.discard(info.uid)
            else:
                self._displace_locked(known)
                self._place_locked(info)

    def update_pod(self, old: PodInfo, new: PodInfo) -> None:
        """Replace an added pod by its newer version."""
        with self.lock:
            known = self._pods.get(old.uid)
            if known is None:
                raise CacheError(f"pod {old.uid}({old.key}) is not added to scheduler cache, so cannot be updated")
            if old.uid in self._assumed:
                raise CacheError(f"assumed pod {old.uid}({old.key}) should not be updated")
            self._displace_locked(known)
            self._place_locked(new)

    def remove_pod(self, info: PodInfo) -> None:
        """Count out a pod that is gone, assumed or added."""
        with self.lock:
            known = self._pods.get(info.uid)
            if known is None:
                raise CacheError(
                    f"pod {info.uid}({info.key}) is not found in scheduler cache, so cannot be removed from it"
                )
            self._displace_locked(known)

    def _place_locked(self, info: PodInfo) -> None:
        node = self._infos.get(info.node_name)
        if node is None:
            node = self._infos[info.node_name] = NodeInfo(info.node_name)
        node.add_pod(info)
        self._pods[info.uid] = info
        self._touch_locked(node)

    def _displace_locked(self, info: PodInfo) -> None:
        del self._pods[info.uid]
        self._assumed.discard(info.uid)
        node = self._infos[info.node_name]
        node.remove_pod(info)
        self._touch_locked(node)
        if node.node is None and not node.pods:
            self._unlink_locked(node)
            del self._infos[node.name]

    # --- generations and images ---------------------------------------------------------------------------------------

    def _touch_locked(self, info: NodeInfo) -> None:
        self._generation += 1
        info.generation = self._generation
        if self._head is info:
            return
        self._unlink_locked(info)
        info.older = self._head
        if self._head is not None:
            self._head.newer = info
        self._head = info

    def _unlink_locked(self, info: NodeInfo) -> None:
        if info.newer is not None:
            info.newer.older = info.older
        if info.older is not None:
            info.older.newer = info.newer
        if self._head is info:
            self._head = info.older
        info.newer = info.older = None

    def _add_images_locked(self, node: Node) -> None:
        for image in node.status.images:
            for name in image.names:
                state = self.images.get(name)
                if state is None:
                    state = self.images[name] = ImageState(image.size_bytes)
                state.nodes.add(node.name)
                self.images_version += 1

    def _drop_images_locked(self, node: Node) -> None:
        for image in node.status.images:
            for name in image.names:
                state = self.images.get(name)
                if state is None:
                    continue
                state.nodes.discard(node.name)
                self.images_version += 1
                if not state.nodes:
                    del self.images[name]
