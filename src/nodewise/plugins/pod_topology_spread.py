"""Spreads pods over topology domains such as zones and nodes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import msgspec
import numpy as np

from nodewise.api.objects import Pod, TopologySpreadConstraint
from nodewise.api.selectors import NOTHING
from nodewise.config.arguments import PodTopologySpreadArgs
from nodewise.errors import SelectorError
from nodewise.framework.events import ClusterEventWithHint
from nodewise.framework.node_selector import required_affinity_key
from nodewise.framework.plugin import Handle, PodsChange, PreFilterResult, Rejections
from nodewise.framework.status import Status
from nodewise.plugins.default_spread_constraints import NO_SIBLINGS, DefaultSelectors
from nodewise.plugins.pod_topology_spread_filter import MISSING_LABEL, DomainLimit, HardSpread, codes_of
from nodewise.plugins.pod_topology_spread_hints import SpreadHints
from nodewise.plugins.pod_topology_spread_score import SoftSpread, SpreadScores, normalize
from nodewise.plugins.spread_constraints import (
    HARD,
    SOFT,
    SYSTEM_DEFAULTS,
    NodeInclusion,
    SpreadConstraint,
    read_constraints,
    with_selector,
)
from nodewise.state.columns import BoolArray, Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

REASON = "node(s) didn't match pod topology spread constraints"
LACKS_LABEL = Status.unresolvable(f"{REASON} (missing required label)")
IS_TOO_SKEWED = Status.unschedulable(REASON)

_SYSTEM = "System"
_MAX_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class PodConstraints:
    """The constraints that apply to a pod.

    Attributes
    ----------
    key : Hashable
        Equal for equal constraints.
    requires_all : bool
        Whether soft constraints leave out nodes that lack a topology key.
    error : str
        Why the hard constraints cannot be read; empty when they can.
    """

    key: Hashable
    hard: tuple[SpreadConstraint, ...]
    soft: tuple[SpreadConstraint, ...]
    requires_all: bool
    error: str = ""

    @property
    def honors_affinity(self) -> bool:
        """Whether the answer depends on the pod's required node affinity."""
        return any(c.honors_affinity for c in self.hard + self.soft)

    @property
    def honors_taints(self) -> bool:
        """Whether the answer depends on the pod's tolerations."""
        return any(c.honors_taints for c in self.hard + self.soft)


@dataclass(frozen=True, slots=True)
class SpreadState:
    """What the plugin prepares for pods of one class; None where it takes itself out."""

    hard: HardSpread | None
    soft: SoftSpread | None
    pre_filter: PreFilterResult
    change: PodsChange | None = None
    limits: tuple[DomainLimit, ...] | None = None
    """Domains with the pods of one row changed; None: as they are."""

    @property
    def skips_filter(self) -> bool:
        """Whether there is nothing to filter by (PreFilter Skip)."""
        return self.hard is None


class PodTopologySpread:
    """Plugin PodTopologySpread."""

    name: ClassVar[str] = "PodTopologySpread"
    reads: ClassVar[Reads] = Reads.DOMAIN | Reads.NODE_SET | Reads.NODE | Reads.PODS

    def __init__(self, args: PodTopologySpreadArgs | None, handle: Handle) -> None:
        args = args if args is not None else PodTopologySpreadArgs()
        self._is_system_defaulted = args.defaulting_type == _SYSTEM
        defaults = SYSTEM_DEFAULTS if self._is_system_defaulted else args.default_constraints
        self._hard_defaults = tuple(with_selector(c, NOTHING) for c in defaults if c.when_unsatisfiable == HARD)
        self._soft_defaults = tuple(with_selector(c, NOTHING) for c in defaults if c.when_unsatisfiable == SOFT)
        self._has_defaults = bool(defaults)
        self._reads_label_keys = handle.feature_gates.enabled("MatchLabelKeysInPodTopologySpread")
        self._compares = handle.feature_gates.enabled("TaintTolerationComparisonOperators")
        self._selectors = DefaultSelectors(handle.listers)
        self._own: dict[Hashable, PodConstraints] = {}
        self._defaulted: dict[int, PodConstraints] = {}

    # --- preparing ----------------------------------------------------------------------------------------------------

    def class_key(self, pod: Pod) -> Hashable:
        constraints = self._constraints_of(pod)
        if constraints is None:
            return None
        labels = pod.metadata.labels
        return (
            pod.metadata.namespace,
            constraints.key,
            tuple([c.selector.matches(labels) for c in constraints.hard]),
            required_affinity_key(pod) if constraints.honors_affinity else None,
            pod.spec.tolerations if constraints.honors_taints else None,
        )

    def compile(self, pod: Pod, snapshot: Snapshot) -> SpreadState | None:
        constraints = self._constraints_of(pod)
        if constraints is None:
            return None
        inclusion = NodeInclusion.of(pod, comparison_operators=self._compares)
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        columns, pods = snapshot.columns, snapshot.pods
        hard: HardSpread | None = None
        soft: SoftSpread | None = None
        if constraints.hard:
            hard = HardSpread(
                constraints.hard, namespace=namespace, labels=labels, inclusion=inclusion, columns=columns, pods=pods
            )
        if constraints.soft:
            soft = SoftSpread(
                constraints.soft,
                namespace=namespace,
                inclusion=inclusion,
                requires_all=constraints.requires_all,
                columns=columns,
                pods=pods,
            )
        result = PreFilterResult(Status.error(constraints.error)) if constraints.error else PreFilterResult()
        return SpreadState(hard, soft, result)

    def _constraints_of(self, pod: Pod) -> PodConstraints | None:
        """Return a pod's own constraints, or else the profile's defaults; None: no constraint applies."""
        own = pod.spec.topology_spread_constraints
        if own:
            if not self._reads_label_keys:
                own = tuple(msgspec.structs.replace(constraint, match_label_keys=()) for constraint in own)
            labels = pod.metadata.labels
            read = tuple([(k, labels[k]) for c in own for k in c.match_label_keys if k in labels])
            key = (msgspec.json.encode(own), read)
            found = self._own.get(key)
            if found is None:
                if len(self._own) >= _MAX_REMEMBERED:
                    self._own.clear()
                found = self._own[key] = _read_own(own, labels, key)
            return found if found.hard or found.soft or found.error else None
        if not self._has_defaults:
            return None
        selector_id = self._selectors.id_of(pod)
        if selector_id == NO_SIBLINGS:
            return None
        found = self._defaulted.get(selector_id)
        if found is None:
            found = self._defaulted[selector_id] = self._default(selector_id)
        return found

    def _default(self, selector_id: int) -> PodConstraints:
        """Give the default constraints a selector (buildDefaultConstraints)."""
        selector = self._selectors[selector_id]
        return PodConstraints(
            selector_id,
            tuple(replace(c, selector=selector) for c in self._hard_defaults),
            tuple(replace(c, selector=selector) for c in self._soft_defaults),
            requires_all=not self._is_system_defaulted,
        )

    # --- filtering ----------------------------------------------------------------------------------------------------

    def pre_filter(self, state: SpreadState) -> PreFilterResult:
        return state.pre_filter

    def filter(self, state: SpreadState, columns: Columns, rows: Rows) -> Rejections:
        """Reject rows whose domain would get too far ahead of the emptiest one (PodTopologySpread.Filter)."""
        if state.limits is not None:
            return codes_of(state.limits, columns, rows)
        if state.hard is None:
            return np.zeros(len(columns.alive[rows]), np.int64)
        return state.hard.codes(columns, rows)

    def filter_row(self, state: SpreadState, columns: Columns, row: int) -> int:
        limits = state.limits
        if limits is None:
            limits = state.hard.limits() if state.hard is not None else ()
        for limit in limits:
            code = limit.code(int(columns.label(limit.table.key)[row]))
            if code:
                return code
        return 0

    def rejection(self, state: SpreadState, code: int) -> Status:
        return LACKS_LABEL if code == MISSING_LABEL else IS_TOO_SKEWED

    def with_pods(self, state: SpreadState, columns: Columns, change: PodsChange) -> SpreadState:
        if state.hard is None:
            return state
        change = change if state.change is None else state.change.then(change)
        return SpreadState(state.hard, state.soft, state.pre_filter, change, state.hard.limits_with(change))

    # --- scoring ------------------------------------------------------------------------------------------------------

    def pre_score(self, state: SpreadState, columns: Columns, feasible: BoolArray) -> SpreadScores | None:
        return state.soft.scores(feasible) if state.soft is not None else None

    def on_empty_nodes(self, state: SpreadState) -> SpreadState:
        """Return the state for nodes that an extender sent back, without the pods on them."""
        return replace(state, soft=state.soft.on_empty_nodes() if state.soft is not None else None)

    def score(self, state: SpreadScores, columns: Columns, rows: Rows) -> IntArray:
        return state.raw[rows]

    def normalize(self, state: SpreadScores, scores: IntArray) -> IntArray:
        return normalize(state, scores)

    # --- waiting ------------------------------------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return SpreadHints(self._hard_constraints_of).events_to_register()

    def _hard_constraints_of(self, pod: Pod) -> tuple[SpreadConstraint, ...]:
        """Return what a pod is filtered by; SelectorError when it cannot be read."""
        constraints = self._constraints_of(pod)
        if constraints is None:
            return ()
        if constraints.error:
            raise SelectorError(constraints.error)
        return constraints.hard


def _read_own(own: tuple[TopologySpreadConstraint, ...], labels: Mapping[str, str], key: Hashable) -> PodConstraints:
    try:
        hard = read_constraints(own, HARD, labels)
    except SelectorError as error:
        prefix = "get constraints from pod: obtaining pod's hard topology spread constraints: "
        return PodConstraints(key, (), (), requires_all=True, error=f"{prefix}{error}")
    try:
        soft = read_constraints(own, SOFT, labels)
    except SelectorError:
        # kube-scheduler fails in PreScore then; the API server refuses such pods, so they are not scored instead
        soft = ()
    return PodConstraints(key, hard, soft, requires_all=True)
