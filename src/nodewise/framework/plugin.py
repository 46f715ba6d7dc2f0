"""The extension points: what a plugin may implement, each a small Protocol with its Kubernetes name.

A plugin is a class made with `(args, handle)`. It has a `name` and any of the methods below; which extension points it
takes part in follows from the methods it has. Columns come with `rows`, a slice (all nodes) or an array of row numbers,
so one body serves a full evaluation and the re-evaluation of a few changed nodes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nodewise.api.objects import Pod
from nodewise.config.feature_gates import FeatureGates
from nodewise.errors import PluginError
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.pod_group_plugin import (
    PlacementGeneratePlugin,
    PlacementScorePlugin,
    PodGroupPostFilterPlugin,
)
from nodewise.framework.status import Status
from nodewise.state.columns import BoolArray, Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.listers import Listers
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

MAX_NODE_SCORE = 100

Rejections = IntArray
"""(n_rows,) int64: 0 where the pod passes; other codes mean what the plugin's `rejection` says of them."""


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """What is known before any node is looked at.

    Attributes
    ----------
    status : Status | None
        A rejection of the pod on every node.
    node_names : frozenset[str] | None
        The only nodes that can fit; None: no restriction.
    """

    status: Status | None = None
    node_names: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PodsChange:
    """A what-if on one row: some pods less, some more.

    Attributes
    ----------
    row : int
    removed, added : tuple[PodInfo, ...]
        Pods of that row.
    elsewhere : tuple[tuple[int, PodInfo], ...]
        Pods gone from other rows, with these; only groups that are evicted as a whole have any.
    """

    row: int
    removed: tuple[PodInfo, ...] = ()
    added: tuple[PodInfo, ...] = ()
    elsewhere: tuple[tuple[int, PodInfo], ...] = ()

    def then(self, later: PodsChange) -> PodsChange:
        """Return both changes as one; they are about the same row."""
        if self.row != later.row:
            raise PluginError(f"a what-if is about one row, but row {self.row} changed before row {later.row}")
        elsewhere = self.elsewhere + later.elsewhere
        return PodsChange(self.row, self.removed + later.removed, self.added + later.added, elsewhere)


class Handle(Protocol):
    """What a plugin can reach besides its arguments."""

    @property
    def listers(self) -> Listers:
        """Namespaces, services, controllers, disruption budgets."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """The nodes and pods of the current cycle."""
        ...

    @property
    def nominator(self) -> Nominator:
        """Which pending pods are nominated to which node."""
        ...

    @property
    def feature_gates(self) -> FeatureGates:
        """Which of kube-scheduler's features are on."""
        ...

    @property
    def pod_groups(self) -> PodGroupStates | None:
        """Pod groups and their members; None while they are off."""
        ...

    def now(self) -> datetime:
        """Return the time by the clock of this run."""
        ...


class Plugin(Protocol):
    """Every plugin."""

    name: str


@runtime_checkable
class CompilingPlugin(Protocol):
    """A plugin over columns; the base of filters and scores.

    A compiled state may have `skips_filter`: true when there is nothing to filter by, only to score (PreFilter Skip).

    `reads` says what makes a row's answer stale. A plugin that reads DOMAIN is asked anew for all rows whenever pods
    or nodes changed anywhere.
    """

    name: str
    reads: Reads

    def class_key(self, pod: Pod) -> Hashable:
        """Return all that the plugin reads of the pod: pods with equal keys get equal answers."""
        ...

    def compile(self, pod: Pod, snapshot: Snapshot) -> Any | None:
        """Prepare what the answers need, once for a class key; None: the plugin has nothing to say (Skip)."""
        ...


@runtime_checkable
class PreEnqueuePlugin(Protocol):
    """Keeps a pod out of the active queue."""

    name: str

    def pre_enqueue(self, pod: Pod) -> Status: ...


@runtime_checkable
class QueueSortPlugin(Protocol):
    """Orders the queue."""

    def sort_key(self, pod: Pod) -> Any:
        """Return a key; pods with smaller keys go first, equal ones by queue time."""
        ...


@runtime_checkable
class PreFilterPlugin(CompilingPlugin, Protocol):
    """Judges the pod before any node."""

    def pre_filter(self, state: Any) -> PreFilterResult: ...


@runtime_checkable
class FilterPlugin(CompilingPlugin, Protocol):
    """Judges nodes.

    A filter that can fail has a class attribute `first_error_code`: from that code on `rejection` is an error, which
    ends the pod's cycle when it is the first thing that is said of a node.
    """

    def filter(self, state: Any, columns: Columns, rows: Rows) -> Rejections:
        """Return a code for each of the rows, 0 where the pod passes."""
        ...

    def rejection(self, state: Any, code: int) -> Status:
        """Return what a code other than 0 means."""
        ...


@runtime_checkable
class DetailingPlugin(Protocol):
    """A filter that can say more of a rejection than its reasons do, for explanations."""

    def detail(self, pod: Pod, row: int | None) -> str:
        """Say what of the pod a row, or for None every row, has no room for; "" for nothing to add."""
        ...


@runtime_checkable
class PreFilterExtensions(Protocol):
    """A filter whose state depends on pods, and that can tell what a change of one node's pods would make of it."""

    def with_pods(self, state: Any, columns: Columns, change: PodsChange) -> Any:
        """Return the state as it would be after the change (AddPod, RemovePod); `state` stays as it is."""
        ...


@runtime_checkable
class PreScorePlugin(CompilingPlugin, Protocol):
    """A score that depends on which nodes are feasible, or on pods elsewhere."""

    def pre_score(self, state: Any, columns: Columns, feasible: BoolArray) -> Any | None:
        """Return the state for `score`; None: the plugin takes itself out of scoring (Skip)."""
        ...


@runtime_checkable
class ScorePlugin(CompilingPlugin, Protocol):
    """Rates nodes."""

    def score(self, state: Any, columns: Columns, rows: Rows) -> IntArray | None:
        """Return a raw score for each of the rows; None: the plugin takes itself out of scoring (Skip)."""
        ...


@runtime_checkable
class NormalizePlugin(Protocol):
    """A score that is brought to 0..100 by looking at all feasible nodes."""

    def normalize(self, state: Any, scores: IntArray) -> IntArray:
        """Return the normalised scores of the feasible nodes, given their raw ones."""
        ...


@runtime_checkable
class RowFilterPlugin(Protocol):
    """A filter with a quick way to answer for one row; it must agree with `filter`."""

    def filter_row(self, state: Any, columns: Columns, row: int) -> int: ...


@runtime_checkable
class RowScorePlugin(Protocol):
    """A score with a quick way to answer for one row; it must agree with `score`."""

    def score_row(self, state: Any, columns: Columns, row: int) -> int: ...


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What a PostFilter plugin made of a pod that fits nowhere.

    Attributes
    ----------
    status : Status
        Success when the pod may fit soon; its reasons go into the pod's message either way.
    nominated_node : str | None
        The node to nominate; "" clears the nomination, None leaves it.
    victims : tuple[PodInfo, ...]
        Pods to evict, most important first.
    yielding : tuple[PodInfo, ...]
        Pods of lower priority that lose their nomination to the same node.
    effects : tuple[Callable[[], None], ...]
        What else is to be done, whatever later plugins say; nothing is done where a pod is only judged.
    """

    status: Status
    nominated_node: str | None = None
    victims: tuple[PodInfo, ...] = ()
    yielding: tuple[PodInfo, ...] = ()
    effects: tuple[Callable[[], None], ...] = ()


class Nominator(Protocol):
    """Which pending pods are nominated to which node."""

    def nominated_to(self, node_name: str) -> Sequence[PodInfo]: ...

    def nominations(self) -> Mapping[str, Sequence[PodInfo]]: ...

    def node_of(self, uid: str) -> str: ...


class FilterVerdict(Protocol):
    """What the filters said about a pod that fits nowhere; what a PostFilter plugin works on."""

    @property
    def pod(self) -> PodInfo: ...

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def nominator(self) -> Nominator: ...

    @property
    def stopped_in_pre_filter(self) -> str:
        """The plugin whose PreFilter ended the cycle before later ones ran; "" when all ran."""
        ...

    def ran_pre_filter(self, plugin: str) -> bool:
        """Tell whether a plugin's PreFilter ran, and not another one before it ended the cycle."""
        ...

    def statuses_by_row(self) -> Mapping[int, Status]:
        """Return the status of every node, by row."""
        ...

    def resolvable_rows(self) -> NDArray[np.intp]:
        """Return, in no order, the rows whose status is Unschedulable: where taking pods away may help."""
        ...

    def what_if(self, row: int) -> WhatIf:
        """Return a way to try changes of the pods on a row."""
        ...


class WhatIf(Protocol):
    """Tries changes of the pods on one row."""

    def failure(self, removed: Sequence[PodInfo], elsewhere: Sequence[tuple[int, PodInfo]] = ()) -> Status | None:
        """Return the first filter failure when these pods are gone, nominated pods counted in; None: the pod fits.

        Parameters
        ----------
        elsewhere : Sequence[tuple[int, PodInfo]]
            Pods that are gone from other rows too, with these.
        """
        ...


@runtime_checkable
class PostFilterPlugin(Protocol):
    """Has a last word on a pod that fits nowhere."""

    name: str

    def post_filter(self, verdict: FilterVerdict) -> PostFilterResult: ...


@runtime_checkable
class ReservePlugin(Protocol):
    """Takes note of a decision before it is final."""

    name: str

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status: ...

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None: ...


@runtime_checkable
class PermitPlugin(Protocol):
    """Allows, refuses or delays a binding."""

    name: str

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status, float]:
        """Return a status and, with Wait, how many seconds to wait at most."""
        ...


@runtime_checkable
class PreBindPlugin(Protocol):
    """Does what must be done before a pod is bound."""

    name: str

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Awaitable[Status]:
        """Return a status, or something to wait for that gives one."""
        ...


@runtime_checkable
class BindPlugin(Protocol):
    """Binds a pod."""

    name: str

    def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Awaitable[Status]:
        """Return a status, or something to wait for that gives one; Skip leaves the pod to the next plugin."""
        ...


@runtime_checkable
class PostBindPlugin(Protocol):
    """Is told of a binding."""

    name: str

    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None: ...


EXTENSION_POINTS: dict[str, type] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
    "placementGenerate": PlacementGeneratePlugin,
    "placementScore": PlacementScorePlugin,
    "podGroupPostFilter": PodGroupPostFilterPlugin,
}
"""Keys of a profile's `plugins` and the Protocol that a plugin at this point implements."""
