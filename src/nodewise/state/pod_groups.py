"""Pod groups as the scheduler cache knows them: objects, members by state, and the trees that groups form."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from nodewise.api.objects import Pod
from nodewise.api.pod_groups import CompositePodGroup, PodGroup, PodGroupObject
from nodewise.errors import NodewiseError
from nodewise.state.pod_info import PodInfo

POD_GROUP = "podgroup"
COMPOSITE_POD_GROUP = "compositepodgroup"
MAX_TREE_DEPTH = 4


class HierarchyError(NodewiseError):
    """A group's tree is not complete, or no tree."""


class GroupKey(NamedTuple):
    """What names a group: `podgroup` or `compositepodgroup`, namespace and name (EntityKey)."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"

    @property
    def is_composite(self) -> bool:
        """Whether it names a group of groups."""
        return self.kind == COMPOSITE_POD_GROUP


def group_key_of(pod: Pod) -> GroupKey | None:
    """Return the key of the group that a pod belongs to; None: to no group."""
    name = pod.spec.pod_group_name
    return GroupKey(POD_GROUP, pod.metadata.namespace, name) if name is not None else None


def key_of(group: PodGroupObject) -> GroupKey:
    """Return the key of a group."""
    kind = POD_GROUP if isinstance(group, PodGroup) else COMPOSITE_POD_GROUP
    return GroupKey(kind, group.metadata.namespace, group.metadata.name)


@dataclass(slots=True)
class PodGroupState:
    """One group's pods (podGroupStateData); it lasts as long as the object or a pod does.

    Attributes
    ----------
    pod_group : PodGroup | None
        The object; None until it is there.
    pods : dict[str, PodInfo]
        All that are known, by uid.
    unscheduled, assigned : dict[str, None]
        Uids of pods that wait, and of those that are on nodes, in the order of becoming so.
    assumed : dict[str, PodInfo]
        Pods that got a node and are not confirmed yet, with their node.
    """

    pod_group: PodGroup | None = None
    pods: dict[str, PodInfo] = field(default_factory=dict)
    unscheduled: dict[str, None] = field(default_factory=dict)
    assumed: dict[str, PodInfo] = field(default_factory=dict)
    assigned: dict[str, None] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return self.pod_group is None and not self.pods

    @property
    def n_scheduled(self) -> int:
        """Pods that have a node."""
        return len(self.assumed) + len(self.assigned)

    def scheduled_pods(self) -> list[PodInfo]:
        """Return the pods that have a node: those confirmed, then those assumed."""
        return [self.pods[uid] for uid in self.assigned] + list(self.assumed.values())

    def add(self, pod: PodInfo) -> None:
        """Take in a pod that the API server tells of, waiting or on a node."""
        self.pods[pod.uid] = pod
        if pod.node_name:
            self.assigned[pod.uid] = None
            self.unscheduled.pop(pod.uid, None)
            self.assumed.pop(pod.uid, None)
        else:
            self.unscheduled[pod.uid] = None

    def update(self, old: PodInfo, new: PodInfo) -> None:
        """Take over a pod's newer version."""
        self.pods[new.uid] = new
        if not old.node_name and new.node_name:
            self.add(new)

    def remove(self, uid: str) -> None:
        """Drop a pod that is gone."""
        self.pods.pop(uid, None)
        self.unscheduled.pop(uid, None)
        self.assumed.pop(uid, None)
        self.assigned.pop(uid, None)

    def assume(self, pod: PodInfo) -> None:
        """Note that a pod got a node."""
        known = self.pods.get(pod.uid)
        if known is None:
            return
        if known.node_name:
            self.assigned[pod.uid] = None
        else:
            self.assumed[pod.uid] = pod
        self.unscheduled.pop(pod.uid, None)

    def forget(self, uid: str) -> None:
        """Note that a pod lost its node again."""
        known = self.pods.get(uid)
        if known is None:
            return
        self.assumed.pop(uid, None)
        (self.assigned if known.node_name else self.unscheduled)[uid] = None


@dataclass(slots=True)
class CompositeState:
    """One group of groups: the object, and the children seen, in the order they came."""

    group: CompositePodGroup | None = None
    children: dict[GroupKey, None] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return self.group is None and not self.children


class PodGroupStates:
    """All groups that a scheduler knows (the pod group part of the scheduler cache).

    Parameters
    ----------
    has_composites : bool
        Whether groups of groups are in use (feature gate CompositePodGroup).

    Attributes
    ----------
    cycle : int
        The number of the try of a group that is under way, 0 for none: what its pods reserve they may share.
    """

    def __init__(self, *, has_composites: bool = False) -> None:
        self.has_composites = has_composites
        self.cycle = 0
        self._n_cycles = 0
        self._groups: dict[GroupKey, PodGroupState] = {}
        self._composites: dict[GroupKey, CompositeState] = {}

    @contextmanager
    def in_cycle(self) -> Iterator[None]:
        """Let a try of a group be under way for the time of a `with` block."""
        self._n_cycles += 1
        self.cycle = self._n_cycles
        try:
            yield
        finally:
            self.cycle = 0

    # --- pods ---------------------------------------------------------------------------------------------------------

    def add_pod(self, pod: PodInfo) -> None:
        """Take in a member that waits or is on a node; a pod without a group is none of ours."""
        key = group_key_of(pod.pod)
        if key is not None:
            self._groups.setdefault(key, PodGroupState()).add(pod)

    def update_pod(self, old: PodInfo, new: PodInfo) -> None:
        """Take over a member's newer version."""
        state = self._state_of(new)
        if state is not None:
            state.update(old, new)

    def remove_pod(self, pod: PodInfo) -> None:
        """Drop a member that is gone."""
        state = self._state_of(pod)
        if state is not None:
            state.remove(pod.uid)
            self._drop_if_empty(pod)

    def assume_pod(self, pod: PodInfo) -> None:
        """Note that a member got a node."""
        key = group_key_of(pod.pod)
        if key is not None:
            state = self._groups.get(key)
            if state is None:
                state = self._groups[key] = PodGroupState(pods={pod.uid: pod})
            state.assume(pod)

    def forget_pod(self, pod: PodInfo) -> None:
        """Note that a member lost its node again."""
        state = self._state_of(pod)
        if state is not None:
            state.forget(pod.uid)

    def _state_of(self, pod: PodInfo) -> PodGroupState | None:
        key = group_key_of(pod.pod)
        return self._groups.get(key) if key is not None else None

    def _drop_if_empty(self, pod: PodInfo) -> None:
        key = group_key_of(pod.pod)
        if key is not None and self._groups[key].is_empty:
            del self._groups[key]

    # --- objects ------------------------------------------------------------------------------------------------------

    def put_group(self, group: PodGroupObject) -> None:
        """Add a group's object, or replace it; its parent is known from then on, if only by name."""
        key = key_of(group)
        if isinstance(group, PodGroup):
            self._groups.setdefault(key, PodGroupState()).pod_group = group
        elif self.has_composites:
            self._composites.setdefault(key, CompositeState()).group = group
        parent = self.parent_of(group)
        if parent is not None:
            self._composites.setdefault(parent, CompositeState()).children[key] = None

    def remove_group(self, group: PodGroupObject) -> None:
        """Drop a group's object; its state stays while it has pods, or children."""
        key, parent = key_of(group), self.parent_of(group)
        if parent is not None and parent in self._composites:
            self._composites[parent].children.pop(key, None)
            if self._composites[parent].is_empty:
                del self._composites[parent]
        if key in self._groups:
            self._groups[key].pod_group = None
            if self._groups[key].is_empty:
                del self._groups[key]
        elif key in self._composites:
            self._composites[key].group = None
            if self._composites[key].is_empty:
                del self._composites[key]

    def parent_of(self, group: PodGroupObject) -> GroupKey | None:
        """Return the key of the group that a group is part of; None: it is a root."""
        name = group.spec.parent_composite_pod_group_name
        if not self.has_composites or name is None:
            return None
        return GroupKey(COMPOSITE_POD_GROUP, group.metadata.namespace, name)

    # --- asking -------------------------------------------------------------------------------------------------------

    def state(self, key: GroupKey) -> PodGroupState | None:
        """Return what is known of a group's pods."""
        return self._groups.get(key)

    def states(self) -> Iterator[tuple[GroupKey, PodGroupState]]:
        """Yield all pod groups that are known, if only by a pod."""
        yield from self._groups.items()

    def pod_group(self, key: GroupKey) -> PodGroup | None:
        """Return a group's object."""
        state = self._groups.get(key)
        return state.pod_group if state is not None else None

    def composite(self, key: GroupKey) -> CompositePodGroup | None:
        """Return the object of a group of groups."""
        state = self._composites.get(key)
        return state.group if state is not None else None

    def object(self, key: GroupKey) -> PodGroupObject | None:
        """Return the object of a key of either kind."""
        return self.composite(key) if key.is_composite else self.pod_group(key)

    def children(self, key: GroupKey) -> tuple[GroupKey, ...]:
        """Return the children of a group of groups, those without an object included."""
        state = self._composites.get(key)
        return tuple(state.children) if state is not None else ()

    def leaf_states(self, key: GroupKey) -> Iterator[PodGroupState]:
        """Yield the states of pod groups below a key, or its own (GetPodGroupStates); HierarchyError if too deep."""
        yield from self._leaf_states(key, 0)

    def _leaf_states(self, key: GroupKey, depth: int) -> Iterator[PodGroupState]:
        if depth >= MAX_TREE_DEPTH:
            raise HierarchyError(f"exceeded maximum hierarchy depth at {{{key.kind} {key.name} {key.namespace}}}")
        if key.is_composite:
            for child in self.children(key):
                yield from self._leaf_states(child, depth + 1)
        else:
            state = self._groups.get(key)
            if state is None:
                raise HierarchyError(f"pod group state not found for pod group {key.namespace}/{key.name}")
            yield state

    def ancestry(self, key: GroupKey) -> Iterator[PodGroupObject]:
        """Yield a group and those above it, as far as they are there (TraverseHierarchyUp)."""
        seen: set[GroupKey] = set()
        at: GroupKey | None = key
        while at is not None and at not in seen and len(seen) < MAX_TREE_DEPTH:
            seen.add(at)
            group = self.object(at)
            if group is None:
                return
            yield group
            at = self.parent_of(group)

    def root_of(self, key: GroupKey) -> GroupKey | None:
        """Return the key of the topmost group above a group; None: some group on the way is not there.

        Raises
        ------
        HierarchyError
            The groups form a circle.
        """
        seen: set[GroupKey] = set()
        while True:
            if key in seen:
                raise HierarchyError(f"cycle detected in the hierarchy: {', '.join(map(str, sorted(seen)))}")
            seen.add(key)
            group = self.object(key)
            if group is None:
                return None
            parent = self.parent_of(group)
            if parent is None:
                return key
            key = parent

    def check_tree(self, key: GroupKey) -> None:
        """Raise what is missing of the tree that a pod group is in (BuildHierarchySnapshotFromPod)."""
        if key not in self._groups:
            raise HierarchyError(f"pod group state not found for {key}")
        leaf = self._groups[key].pod_group
        if leaf is None:
            raise HierarchyError(f"pod group object not found in state for {key}")
        root = parent = self.parent_of(leaf)
        for _ in range(MAX_TREE_DEPTH - 1):
            if parent is None:
                break
            root = parent
            if parent not in self._composites:
                raise HierarchyError(f"parent composite pod group state not found for {parent}")
            group = self._composites[parent].group
            if group is None:
                raise HierarchyError(f"composite pod group object not found in state for {parent}")
            parent = self.parent_of(group)
        if parent is not None:
            root = parent
        self._check_below(root or key, set())

    def _check_below(self, key: GroupKey, seen: set[GroupKey]) -> None:
        if key in seen:
            raise HierarchyError(f"cycle detected in composite pod group hierarchy: {key}")
        seen.add(key)
        if key.is_composite:
            if key not in self._composites:
                raise HierarchyError(f"composite pod group state not found for {key}")
            for child in self._composites[key].children:
                self._check_below(child, seen)
        elif key not in self._groups:
            raise HierarchyError(f"pod group state not found for {key}")
