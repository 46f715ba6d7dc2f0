"""What plugins see of a pod group, and the extension points that are about whole groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nodewise.api.pod_groups import PodGroupObject
from nodewise.framework.status import Status
from nodewise.state.columns import IntArray
from nodewise.state.pod_groups import GroupKey
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

RowArray = NDArray[np.intp]


@dataclass(slots=True, eq=False)
class PodGroupInfo:
    """A group that is being decided on, with those of its pods that have no node (framework.PodGroupInfo).

    Attributes
    ----------
    key : GroupKey
    group : PodGroupObject
    pods : list[PodInfo]
        In the order in which they are tried; a group of groups has none of its own.
    children : list[PodGroupInfo]
        The oldest first, then by name; only groups of groups have some.
    """

    key: GroupKey
    group: PodGroupObject
    pods: list[PodInfo] = field(default_factory=list)
    children: list[PodGroupInfo] = field(default_factory=list)

    @property
    def priority(self) -> int:
        """spec.priority, 0 when unset (PodGroupPriority)."""
        return self.group.spec.priority or 0

    def leaves(self) -> Iterator[PodGroupInfo]:
        """Yield the pod groups below a group, or itself."""
        if not self.key.is_composite:
            yield self
        for child in self.children:
            yield from child.leaves()

    def unscheduled_pods(self) -> list[PodInfo]:
        """Return the pods of all groups below (GetUnscheduledPods)."""
        return [pod for leaf in self.leaves() for pod in leaf.pods]


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Nodes that may take a group together.

    Attributes
    ----------
    name : str
        The value of the topology key; "" for all nodes.
    rows : (n,) intp
        In the order of kube-scheduler's node list.
    """

    name: str
    rows: RowArray


@dataclass(frozen=True, slots=True)
class Proposal:
    """A member of a group and the node that it would get."""

    pod: PodInfo
    node_name: str


@dataclass(frozen=True, slots=True)
class PlacementProgress:
    """How far placing a group has come: pods (children of a group of groups) that have nodes, and those to be tried."""

    n_scheduled: int
    n_remaining: int


@runtime_checkable
class PlacementGeneratePlugin(Protocol):
    """Says which sets of nodes come into question for a group; a profile has at most one."""

    name: str

    def generate_placements(self, group: PodGroupInfo, parent: Placement) -> list[Placement] | Status:
        """Return parts of the parent's nodes, or an error."""
        ...


@runtime_checkable
class PlacementScorePlugin(Protocol):
    """Rates the sets of nodes on which a group fits."""

    name: str

    def score_placement(self, group: PodGroupInfo, placement: Placement, proposed: Sequence[Proposal]) -> int | Status:
        """Return a raw score of a placement and what would go where, or an error."""
        ...


@runtime_checkable
class PlacementNormalizePlugin(Protocol):
    """A placement score that is brought to 0..100 by looking at all placements."""

    def normalize_placements(self, group: PodGroupInfo, scores: IntArray) -> IntArray | Status:
        """Return the normalised scores of the placements, given their raw ones, or an error."""
        ...


@runtime_checkable
class PlacementFeasiblePlugin(Protocol):
    """Says whether what is placed of a group is enough (kube-scheduler asks GangScheduling, and no other plugin)."""

    name: str

    def placement_feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        """Return Success (enough), Wait (may become enough), Unschedulable (cannot) or an error."""
        ...


@dataclass(frozen=True, slots=True)
class PodGroupPostFilterResult:
    """What a plugin made of a group that does not fit.

    Attributes
    ----------
    status : Status
        Success when the group may fit soon; its reasons go into the group's message either way.
    nominations : tuple[Proposal, ...]
        Nodes to nominate members to; "" for a node clears a nomination.
    victims : tuple[PodInfo, ...]
        Pods to evict, most important first.
    effects : tuple[Callable[[], None], ...]
        What else is to be done, whatever later plugins say; nothing is done where a group is only judged.
    """

    status: Status
    nominations: tuple[Proposal, ...] = ()
    victims: tuple[PodInfo, ...] = ()
    effects: tuple[Callable[[], None], ...] = ()


class PodGroupVerdict(Protocol):
    """A group that does not fit, and ways to try what if."""

    @property
    def group(self) -> PodGroupInfo: ...

    @property
    def snapshot(self) -> Snapshot: ...

    def ran_pre_filter(self, pod: PodInfo, plugin: str) -> bool:
        """Tell whether a plugin's PreFilter ran for a member; no member is tried once the group cannot fit."""
        ...

    def rejections(self, pod: PodInfo) -> Sequence[tuple[Status, RowArray]]:
        """Return what was said of which rows for a member with resource claims."""
        ...

    def take_off(self, pods: Sequence[PodInfo]) -> None:
        """Take pods off their nodes until the trial is over."""
        ...

    def put_back(self, pods: Sequence[PodInfo]) -> None:
        """Put pods back that were taken off."""
        ...

    def schedule(self) -> tuple[Status, list[Proposal]]:
        """Try the whole group on the nodes as they are; nothing of it stays."""
        ...

    def fits(self, proposal: Proposal) -> bool:
        """Tell whether a member passes the filters on its node as that is."""
        ...

    def assume(self, proposal: Proposal) -> None:
        """Count a member on its node, and let plugins reserve what it needs."""
        ...

    def forget_assumed(self) -> None:
        """Take back all that was assumed, the last first."""
        ...


@runtime_checkable
class PodGroupPostFilterPlugin(Protocol):
    """Has a last word on a group that does not fit."""

    name: str

    def pod_group_post_filter(self, verdict: PodGroupVerdict) -> PodGroupPostFilterResult: ...
