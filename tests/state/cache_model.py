"""A plain model of the scheduler cache: what each operation answers and leaves behind, without any speed."""

from __future__ import annotations

from nodewise.api.objects import Node
from nodewise.state.pod_info import PodInfo

TTL_S = 30.0


class CacheModel:
    """Pods, nodes and images as plain dictionaries; every operation returns the expected error text, or None."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, PodInfo] = {}
        self.assumed: dict[str, float | None] = {}
        self.on_node: dict[str, list[str]] = {}
        self.zones: dict[str, list[str]] = {}
        self.images: dict[str, tuple[int, set[str]]] = {}

    # --- nodes --------------------------------------------------------------------------------------------------------

    def set_node(self, node: Node, zone: str) -> None:
        known = self.nodes.get(node.name)
        if known is not None:
            self._drop_images(known)
        for image in node.status.images:
            for name in image.names:
                self.images.setdefault(name, (image.size_bytes, set()))[1].add(node.name)
        self.nodes[node.name] = node
        if node.name not in self.zones.get(zone, ()):
            self._leave_zone(node.name)
            self.zones.setdefault(zone, []).append(node.name)

    def remove_node(self, name: str) -> str | None:
        known = self.nodes.pop(name, None)
        if known is None:
            return f'node "{name}" in group "" was not found' if self.on_node.get(name) else f"node {name} is not found"
        self._drop_images(known)
        self._leave_zone(name)
        return None

    def _leave_zone(self, name: str) -> None:
        self.zones = {zone: [n for n in names if n != name] for zone, names in self.zones.items()}
        self.zones = {zone: names for zone, names in self.zones.items() if names}

    def _drop_images(self, node: Node) -> None:
        for image in node.status.images:
            for name in image.names:
                if name in self.images:
                    self.images[name][1].discard(node.name)
                    if not self.images[name][1]:
                        del self.images[name]

    def order(self) -> list[str]:
        longest = max(map(len, self.zones.values()), default=0)
        return [names[i] for i in range(longest) for names in self.zones.values() if i < len(names)]

    def names(self) -> set[str]:
        return set(self.nodes) | {name for name, uids in self.on_node.items() if uids}

    # --- pods ---------------------------------------------------------------------------------------------------------

    def assume(self, pod: PodInfo) -> str | None:
        if pod.uid in self.pods:
            return f"pod {pod.uid}({pod.key}) is in the cache, so can't be assumed"
        self._put(pod)
        self.assumed[pod.uid] = None
        return None

    def finish_binding(self, pod: PodInfo, now_s: float) -> None:
        if pod.uid in self.assumed:
            self.assumed[pod.uid] = now_s + TTL_S

    def cleanup(self, now_s: float) -> list[PodInfo]:
        over = [uid for uid, deadline_s in self.assumed.items() if deadline_s is not None and now_s > deadline_s]
        expired = [self.pods[uid] for uid in over]
        for pod in expired:
            self._take(pod)
        return expired

    def forget(self, pod: PodInfo) -> str | None:
        known = self.pods.get(pod.uid)
        if known is None:
            return None
        if known.node_name != pod.node_name:
            return f"pod {pod.uid}({pod.key}) was assumed on {pod.node_name} but assigned to {known.node_name}"
        if pod.uid not in self.assumed:
            return f"pod {pod.uid}({pod.key}) is not assumed, so it cannot be removed or forgotten"
        self._take(known)
        return None

    def add(self, pod: PodInfo) -> str | None:
        known = self.pods.get(pod.uid)
        if known is not None:
            if pod.uid not in self.assumed:
                return f"pod {pod.uid}({pod.key}) was already in added state"
            self._take(known)
        self._put(pod)
        return None

    def update(self, old: PodInfo, new: PodInfo) -> str | None:
        known = self.pods.get(old.uid)
        if old.uid != new.uid:
            if known is not None:
                self._take(known)
            return self.add(new) if new.node_name else None
        if known is None:
            return f"pod {old.uid}({old.key}) is not added to scheduler cache, so cannot be updated"
        if old.uid in self.assumed:
            return f"assumed pod {old.uid}({old.key}) should not be updated"
        self._take(known)
        if new.node_name:
            self._put(new)
        return None

    def remove(self, pod: PodInfo) -> str | None:
        known = self.pods.get(pod.uid)
        if known is None:
            return f"pod {pod.uid}({pod.key}) is not found in scheduler cache, so cannot be removed from it"
        self._take(known)
        return None

    def _put(self, pod: PodInfo) -> None:
        self.pods[pod.uid] = pod
        self.on_node.setdefault(pod.node_name, []).append(pod.uid)

    def _take(self, pod: PodInfo) -> None:
        del self.pods[pod.uid]
        self.assumed.pop(pod.uid, None)
        uids = self.on_node[pod.node_name]
        uids[uids.index(pod.uid)] = uids[-1]  # the last one takes the place of one that goes
        uids.pop()
