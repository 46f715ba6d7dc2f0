"""The scheduler's own picture of nodes and pods, assumed pods included."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterator
from typing import Protocol

from nodewise.api.objects import Node
from nodewise.errors import CacheError
from nodewise.state import pod_states
from nodewise.state.cache_dump import CacheDump
from nodewise.state.cached_nodes import CachedNodes
from nodewise.state.log_message import LOGGER, LogMessage
from nodewise.state.node_info import NodeInfo
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo
from nodewise.state.pod_states import (
    AssumedPodExpiry,
    CacheCounters,
    CacheRules,
    CacheSizes,
    PodPhase,
    PodState,
    PodStateError,
)


class CacheReader(Protocol):
    """Something that takes over what changed in a cache: a `Snapshot`."""

    def update(self, cache: SchedulerCache) -> None:
        """Catch up with the cache."""
        ...


class SchedulerCache:
    """Nodes with their pods, newest change first, and pods assumed to be on a node before the API says so.

    Thread-safe. Pods are keyed by uid; `nodewise.state.pod_states` draws their states and lists every answer to an
    operation out of place. A node that pods name but that has no Node object is kept as a ghost until its last pod is
    gone; when the Node object comes (back), it finds its pods there.

    Parameters
    ----------
    expiry : AssumedPodExpiry | None
        Give up assumed pods that nobody confirms; None, as in kube-scheduler 1.37: never.
    rules : CacheRules
        Whose answers to give where versions of kube-scheduler differ.

    Attributes
    ----------
    lock : threading.RLock
        Held by every operation; hold it to read several things as of one moment.
    nodes : CachedNodes
        Read it under the lock.
    counters : CacheCounters
    pod_groups : PodGroupStates | None
        Groups and their members; None while pod groups are off.
    """

    def __init__(self, *, expiry: AssumedPodExpiry | None = None, rules: CacheRules = CacheRules.KUBE_1_37) -> None:
        self.lock = threading.RLock()
        self.expiry = expiry
        self.nodes = CachedNodes()
        self.counters = CacheCounters()
        self.pod_groups: PodGroupStates | None = None
        self._rules = rules
        self._pods: dict[str, PodInfo] = {}
        # By uid: when it expires; None while its binding goes on.
        self._assumed: dict[str, float | None] = {}

    # --- nodes --------------------------------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """The number of the newest change."""
        return self.nodes.generation

    def newest_first(self) -> Iterator[NodeInfo]:
        """Walk all NodeInfos in the order of their last change; hold the lock meanwhile."""
        return self.nodes.newest_first()

    def add_node(self, node: Node) -> None:
        """Add a node, or replace what is known of it; pods that named it before stay on it."""
        with self.lock:
            self.nodes.put_node(node)

    update_node = add_node

    def remove_node(self, node: Node | str) -> None:
        """Forget a Node object, given it or its name; its pods keep it as a ghost. CacheError when there is none."""
        with self.lock:
            self.nodes.take_node(node)

    def node_info(self, name: str) -> NodeInfo | None:
        """Return the live NodeInfo of a name, ghosts included."""
        return self.nodes.infos.get(name)

    def get_node(self, name: str) -> NodeInfo:
        """Return a copy of the NodeInfo of a name, ghosts included; CacheError when there is none."""
        with self.lock:
            info = self.nodes.infos.get(name)
            if info is None:
                raise CacheError(f"node {name} does not exist in scheduler cache")
            return info.copy()

    def node_count(self) -> int:
        """Return the number of node names known, ghosts included."""
        return len(self.nodes.infos)

    # --- asking about pods --------------------------------------------------------------------------------------------

    def pod_count(self) -> int:
        """Return the number of pods on nodes, ghosts' included."""
        return len(self._pods)

    def get_pod(self, pod: PodInfo) -> PodInfo:
        """Return the cached version of a pod, also when its node is gone; PodStateError when there is none."""
        known = self._pods.get(self._key_of(pod))
        if known is None:
            raise self._refusal(pod, pod_states.UNKNOWN)
        return known

    def is_assumed_pod(self, uid: str) -> bool:
        """Tell whether a pod is assumed and not yet confirmed."""
        return uid in self._assumed

    def pod_state(self, uid: str) -> PodState | None:
        """Return what the cache knows of a uid; None: nothing."""
        with self.lock:
            pod = self._pods.get(uid)
            if pod is None:
                return None
            if uid not in self._assumed:
                return PodState(pod, PodPhase.ADDED)
            deadline_s = self._assumed[uid]
            expires = deadline_s is not None and deadline_s != math.inf
            return PodState(pod, PodPhase.ASSUMED, deadline_s is not None, deadline_s if expires else None)

    # --- pods, from the scheduler -------------------------------------------------------------------------------------

    def assume_pod(self, info: PodInfo) -> None:
        """Count a pod on the node that was chosen for it, before the API server says so."""
        with self.lock:
            if self._key_of(info) in self._pods:
                raise self._refusal(info, pod_states.KNOWN_SO_NOT_ASSUMED)
            self._place_locked(info)
            self._assumed[info.uid] = None
            if self.pod_groups is not None:
                self.pod_groups.assume_pod(info)

    def finish_binding(self, info: PodInfo, now_s: float) -> None:
        """Let the time of an assumed pod run: its binding has been sent; any other pod is no error."""
        with self.lock:
            if self._key_of(info) in self._assumed:
                ttl_s = self.expiry.ttl_s if self.expiry is not None else 0.0
                self._assumed[info.uid] = now_s + ttl_s if ttl_s > 0 else math.inf

    def cleanup(self, now_s: float) -> list[PodInfo]:
        """Remove the assumed pods whose time is over, and return them; call it every `expiry.sweep_period_s`."""
        with self.lock:
            over = [uid for uid, deadline_s in self._assumed.items() if deadline_s is not None and now_s > deadline_s]
            expired = [self._pods[uid] for uid in over]
            for pod in expired:
                self._displace_locked(pod)
                if self.pod_groups is not None:
                    self.pod_groups.forget_pod(pod)
                self.counters.n_expired += 1
                LOGGER.warning(LogMessage(f"Pod {pod.key} expired", podKey=pod.uid, node=pod.node_name))
        return expired

    def forget_pod(self, info: PodInfo) -> None:
        """Undo `assume_pod` for a pod that is to be tried again; an unknown pod is no error."""
        with self.lock:
            known = self._pods.get(self._key_of(info))
            if known is None:
                if self._rules is CacheRules.KUBE_1_22:
                    raise self._refusal(info, pod_states.NOT_ASSUMED_1_22)
                return
            if known.node_name != info.node_name:
                nodes = {"asked": info.node_name, "known": known.node_name}
                raise self._refusal(info, pod_states.ASSUMED_ELSEWHERE.format(**nodes))
            if info.uid not in self._assumed:
                is_old = self._rules is CacheRules.KUBE_1_22
                raise self._refusal(info, pod_states.NOT_ASSUMED_1_22 if is_old else pod_states.NOT_ASSUMED)
            self._displace_locked(known)
            if self.pod_groups is not None:
                self.pod_groups.forget_pod(known)

    def remove_assumed_pod(self, info: PodInfo) -> None:
        """Undo `assume_pod` for a pod that was deleted meanwhile."""
        with self.lock:
            self.forget_pod(info)
            if self.pod_groups is not None:
                self.pod_groups.remove_pod(info)

    # --- pods, from the API -------------------------------------------------------------------------------------------

    def add_pod(self, info: PodInfo) -> None:
        """Count in a pod that the API server says is on a node; this confirms an assumed pod, wherever it was."""
        with self.lock:
            known = self._pods.get(self._key_of(info))
            if known is not None and info.uid not in self._assumed:
                raise self._refusal(info, pod_states.ALREADY_ADDED)
            if self.pod_groups is not None:
                self.pod_groups.add_pod(info)
            if known is None:
                self._place_locked(info)
                return
            if known is info and self.nodes.is_last_pod(info):
                del self._assumed[info.uid]  # out and in again would change nothing
                return
            self.nodes.swap_pod(known, info)
            self._pods[info.uid] = info
            del self._assumed[info.uid]
            if known.node_name != info.node_name:
                self.counters.n_confirmed_elsewhere += 1
                self._log(logging.INFO, "Pod was added to a different node than it was assumed", info, known)

    def update_pod(self, old: PodInfo, new: PodInfo) -> None:
        """Replace an added pod by its newer version.

        Two uids are two pods: one was deleted and another made under its name, and the watch saw neither event.
        """
        with self.lock:
            known = self._pods.get(self._key_of(old))
            if self._key_of(new) != old.uid:
                self._replace_locked(old, known, new)
                return
            if known is None:
                raise self._refusal(old, pod_states.UPDATE_OF_UNKNOWN)
            if old.uid in self._assumed:
                raise self._refusal(old, pod_states.UPDATE_OF_ASSUMED)
            if new.node_name:
                self.nodes.swap_pod(known, new)
                self._pods[new.uid] = new
            else:
                self._displace_locked(known)
            if self.pod_groups is not None:
                self.pod_groups.update_pod(known, new)
            if known.node_name != new.node_name:
                self.counters.n_moved += 1
                self._log(logging.ERROR, "Pod updated on a different node than previously added to", new, known)

    def _replace_locked(self, old: PodInfo, known: PodInfo | None, new: PodInfo) -> None:
        self.counters.n_replaced += 1
        self._log(logging.ERROR, "Pod was replaced by another one of its name, unseen", new, known or old)
        if known is not None:
            self._displace_locked(known)
            if self.pod_groups is not None:
                self.pod_groups.remove_pod(known)
        if new.node_name:
            self.add_pod(new)

    def remove_pod(self, info: PodInfo) -> None:
        """Count out a pod that is gone, assumed or added, from wherever it is counted."""
        with self.lock:
            known = self._pods.get(self._key_of(info))
            if known is None or (info.uid in self._assumed and self._rules is CacheRules.KUBE_1_22):
                raise self._refusal(info, pod_states.REMOVAL_OF_UNKNOWN)
            self._displace_locked(known)
            if self.pod_groups is not None:
                self.pod_groups.remove_pod(known)
            if known.node_name != info.node_name:
                self.counters.n_removed_elsewhere += 1
                # Without a node it is the last version that the informer saw: a missed deletion.
                level = logging.ERROR if info.node_name else logging.INFO
                self._log(level, "Pod was removed from a different node than the event names", info, known)

    # --- all of it ----------------------------------------------------------------------------------------------------

    def update_snapshot(self, snapshot: CacheReader) -> None:
        """Let a snapshot take over what changed since it last did; the same as `snapshot.update(cache)`."""
        snapshot.update(self)

    def sizes(self) -> CacheSizes:
        """Return how much is in the cache."""
        with self.lock:
            return CacheSizes(len(self._assumed), len(self._pods), len(self.nodes.infos))

    def dump(self) -> CacheDump:
        """Copy everything, for debugging; it takes a while."""
        with self.lock:
            nodes = {name: info.copy() for name, info in self.nodes.infos.items()}
            return CacheDump(nodes, frozenset(self._assumed))

    # --- underneath ---------------------------------------------------------------------------------------------------

    def _place_locked(self, info: PodInfo) -> None:
        self.nodes.put_pod(info)
        self._pods[info.uid] = info

    def _displace_locked(self, info: PodInfo) -> None:
        self.nodes.take_pod(info)
        del self._pods[info.uid]
        self._assumed.pop(info.uid, None)

    @staticmethod
    def _key_of(info: PodInfo) -> str:
        if not info.uid:
            raise CacheError(pod_states.NO_UID)
        return info.uid

    def _refusal(self, pod: PodInfo, text: str) -> PodStateError:
        known = self._pods.get(pod.uid)
        phase = None
        if known is not None:
            phase = PodPhase.ASSUMED if pod.uid in self._assumed else PodPhase.ADDED
        return PodStateError(pod, text, known, phase, self._rules)

    @staticmethod
    def _log(level: int, text: str, info: PodInfo, known: PodInfo) -> None:
        fields = {"podKey": known.uid, "pod": info.key, "node": info.node_name, "cachedNode": known.node_name}
        LOGGER.log(level, LogMessage(text, **fields))
