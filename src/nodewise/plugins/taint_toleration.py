"""Keeps pods off nodes with taints they do not tolerate, and prefers nodes with fewer such soft taints."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Node, Pod, Taint, Toleration
from nodewise.api.tolerations import match_tolerates, untolerated_taint
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    always_queue,
    register,
)
from nodewise.framework.normalize import default_normalize
from nodewise.framework.plugin import Handle, Rejections
from nodewise.framework.status import Status
from nodewise.state.columns import Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.interning import Interner
from nodewise.state.snapshot import Snapshot

SOFT_EFFECT = "PreferNoSchedule"
UNTOLERATED = Status.unresolvable("node(s) had untolerated taint(s)")


class TaintVerdicts:
    """What a list of tolerations makes of each distinct set of taints, by taint set id.

    Attributes
    ----------
    codes : (n_taint_sets,) int64
        1 where some NoSchedule or NoExecute taint is not tolerated.
    scores : (n_taint_sets,) int64
        How many PreferNoSchedule taints are not tolerated.
    """

    __slots__ = ("_compares", "_soft_tolerations", "_taint_sets", "_tolerations", "codes", "scores")

    def __init__(self, tolerations: tuple[Toleration, ...], *, comparison_operators: bool = False) -> None:
        self._tolerations = tolerations
        self._compares = comparison_operators
        self._soft_tolerations = tuple(t for t in tolerations if t.effect in ("", SOFT_EFFECT))
        self._taint_sets: Interner[tuple[Taint, ...]] | None = None
        self.codes: IntArray = np.zeros(0, np.int64)
        self.scores: IntArray = np.zeros(0, np.int64)

    def cover(self, taint_sets: Interner[tuple[Taint, ...]]) -> None:
        """Judge the taint sets that are new since the last time."""
        if self._taint_sets is not taint_sets:
            self._taint_sets = taint_sets
            self.codes, self.scores = self.codes[:0], self.scores[:0]
        known = len(self.codes)
        if known < len(taint_sets):
            new = taint_sets.values[known:]
            self.codes = np.append(self.codes, [int(self._rejects(taints)) for taints in new])
            self.scores = np.append(self.scores, [self._n_soft(taints) for taints in new])

    def _rejects(self, taints: tuple[Taint, ...]) -> bool:
        return untolerated_taint(self._tolerations, taints, comparison_operators=self._compares) is not None

    def _n_soft(self, taints: tuple[Taint, ...]) -> int:
        tolerations = self._soft_tolerations
        return sum(
            taint.effect == SOFT_EFFECT
            and not any(match_tolerates(t, taint, comparison_operators=self._compares) for t in tolerations)
            for taint in taints
        )


class TaintToleration:
    """Plugin TaintToleration; Lt and Gt count with the feature gate TaintTolerationComparisonOperators."""

    name: ClassVar[str] = "TaintToleration"
    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        self._compares = handle.feature_gates.enabled("TaintTolerationComparisonOperators")

    def class_key(self, pod: Pod) -> Hashable:
        return pod.spec.tolerations

    def compile(self, pod: Pod, snapshot: Snapshot) -> TaintVerdicts:
        return TaintVerdicts(pod.spec.tolerations, comparison_operators=self._compares)

    def filter(self, state: TaintVerdicts, columns: Columns, rows: Rows) -> Rejections:
        """Reject nodes with an untolerated NoSchedule or NoExecute taint (TaintToleration.Filter)."""
        state.cover(columns.taint_sets)
        return state.codes.take(columns.taint_set[rows])

    def filter_row(self, state: TaintVerdicts, columns: Columns, row: int) -> int:
        state.cover(columns.taint_sets)
        return int(state.codes[columns.taint_set[row]])

    def rejection(self, state: TaintVerdicts, code: int) -> Status:
        return UNTOLERATED

    def score(self, state: TaintVerdicts, columns: Columns, rows: Rows) -> IntArray:
        """Count the PreferNoSchedule taints that are not tolerated (TaintToleration.Score)."""
        state.cover(columns.taint_sets)
        return state.scores.take(columns.taint_set[rows])

    def score_row(self, state: TaintVerdicts, columns: Columns, row: int) -> int:
        state.cover(columns.taint_sets)
        return int(state.scores[columns.taint_set[row]])

    def normalize(self, state: TaintVerdicts, scores: IntArray) -> IntArray:
        return default_normalize(scores, reverse=True)

    def events_to_register(self) -> list[ClusterEventWithHint]:
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_TAINT
        return [
            register(EventResource.NODE, node_changes, self._after_node_change),
            register(EventResource.TARGET_POD, ActionType.UPDATE_POD_TOLERATION, always_queue),
        ]

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> QueueingHint:
        """Queue when the pod tolerates the node's taints, and did not tolerate those that it had."""
        was_repelled = old is None or self._is_repelled(pod, old)
        return QUEUE if was_repelled and not self._is_repelled(pod, new) else SKIP

    def _is_repelled(self, pod: Pod, node: Node) -> bool:
        taint = untolerated_taint(pod.spec.tolerations, node.spec.taints, comparison_operators=self._compares)
        return taint is not None
