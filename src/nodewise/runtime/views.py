"""One plugin's answers for one kind of pod over all nodes, kept up to date row by row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nodewise.errors import PluginError
from nodewise.framework.plugin import MAX_NODE_SCORE, CompilingPlugin, Rejections
from nodewise.state.columns import ALL_ROWS, IntArray
from nodewise.state.dirty_log import NODE, ROW, Reads
from nodewise.state.snapshot import Snapshot

_NODE_SET = int(Reads.NODE_SET)
SCALAR_FILTER_ROWS = 12
"""Up to so many changed rows are filtered one by one, where the plugin can do that: it is quicker than arrays."""
SCALAR_ROWS = 4
"""Up to so many changed rows are scored one by one, which takes longer than to filter them."""
_SMALL_CODE = 1023


@dataclass(frozen=True, slots=True)
class Traits:
    """Which optional methods a plugin class has."""

    filters: bool
    scores: bool
    pre_scores: bool
    normalizes: bool
    filters_rows: bool
    scores_rows: bool
    extends_pre_filter: bool
    first_error_code: int | None


@cache
def traits_of(plugin_class: type) -> Traits:
    """Return the traits of a plugin class; looked up once, since Protocol checks are slow."""
    names = ("filter", "score", "pre_score", "normalize", "filter_row", "score_row", "with_pods")
    first_error_code: int | None = getattr(plugin_class, "first_error_code", None)
    filters, scores, pre_scores, normalizes, filters_rows, scores_rows, extends = (
        hasattr(plugin_class, name) for name in names
    )
    return Traits(
        filters, scores, pre_scores, normalizes, filters_rows, scores_rows, extends, first_error_code=first_error_code
    )


class PluginView:
    """A plugin with its compiled state for one class key, and its answers.

    Attributes
    ----------
    state : Any | None
        None when the plugin has nothing to say about such pods.
    codes : (n_rows,) int64
        Rejections as of the last `refresh_filter`; 0 passes.
    rejecting : bool
        Whether any code may be other than 0.
    raw : (n_rows,) int64 | None
        Raw scores as of the last `refresh_score`; None when the plugin took itself out of scoring.
    uniform : bool
        Whether all raw scores are known to be equal, so that they cannot decide anything.
    may_be_invalid : bool
        Whether some raw score was out of 0..100; only kept up to date for a plugin that does not normalise.
    """

    __slots__ = (
        "__weakref__",
        "_filter_node_set",
        "_filter_node_version",
        "_is_static",
        "_score_node_set",
        "_score_node_version",
        "codes",
        "filter_cursor",
        "filters",
        "is_volatile",
        "may_be_invalid",
        "plugin",
        "raw",
        "reads",
        "rejecting",
        "score_cursor",
        "scores",
        "snapshot",
        "state",
        "traits",
        "uniform",
    )

    def __init__(self, plugin: CompilingPlugin, state: Any | None, snapshot: Snapshot) -> None:
        self.plugin: Any = plugin
        self.state = state
        self.snapshot = snapshot
        # A state may read less than its plugin does for other pods, or more.
        self.reads = int(getattr(state, "reads", plugin.reads))
        self.is_volatile = bool(self.reads & (Reads.DOMAIN | Reads.ALWAYS))
        self.traits = traits_of(type(plugin))
        self.filters = state is not None and self.traits.filters and not getattr(state, "skips_filter", False)
        self.scores = state is not None and self.traits.scores
        self.codes: Rejections = np.zeros(0, np.int64)
        self.rejecting = False
        self.raw: IntArray | None = np.zeros(0, np.int64)
        self.uniform = False
        self.may_be_invalid = False
        self.filter_cursor = self.score_cursor = -1
        self._filter_node_set = self._score_node_set = -1
        self._filter_node_version = self._score_node_version = -1
        # Answers that pods cannot change wait until some Node object does.
        self._is_static = not self.reads & ~(NODE | _NODE_SET)

    def refresh_filter(self) -> None:
        """Bring `codes` up to date."""
        log = self.snapshot.log
        if self.filter_cursor == log.end:
            return
        columns = self.snapshot.columns
        if self._is_static and self._filter_node_version == columns.node_version and len(self.codes) == columns.n_rows:
            return
        changed = self._changed_rows(self.filter_cursor, self._filter_node_set, len(self.codes))
        if changed is None:
            self.codes = _writable(self.plugin.filter(self.state, columns, ALL_ROWS))
            self.rejecting = bool(self.codes.any())
        elif len(changed):
            if len(changed) <= SCALAR_FILTER_ROWS and self.traits.filters_rows:
                for row in changed.tolist():
                    code = self.plugin.filter_row(self.state, columns, row)
                    self.codes[row] = code
                    self.rejecting |= code != 0
            else:
                codes = self.plugin.filter(self.state, columns, changed)
                self.codes[changed] = codes
                self.rejecting = self.rejecting or bool(codes.any())
        self.filter_cursor = log.end
        self._filter_node_set = self.snapshot.node_set_version
        self._filter_node_version = columns.node_version

    def refresh_score(self) -> None:
        """Bring `raw` up to date, for a plugin whose scores do not depend on which nodes are feasible."""
        log = self.snapshot.log
        if self.score_cursor == log.end:
            return
        columns = self.snapshot.columns
        known = -1 if self.raw is None else len(self.raw)
        if self._is_static and self._score_node_version == columns.node_version and known == columns.n_rows:
            return
        changed = self._changed_rows(self.score_cursor, self._score_node_set, known)
        if changed is None:
            self.raw = self._checked(self.plugin.score(self.state, columns, ALL_ROWS))
            if self.raw is None:
                pass
            elif self.traits.normalizes:
                self.uniform = len(self.raw) > 0 and bool((self.raw == self.raw[0]).all())
            else:
                self.may_be_invalid = is_out_of_range(self.raw)
        elif len(changed) and self.raw is not None:
            if len(changed) <= SCALAR_ROWS and self.traits.scores_rows:
                for row in changed.tolist():
                    score = self.plugin.score_row(self.state, columns, row)
                    self.raw[row] = score
                    self.may_be_invalid |= not 0 <= score <= MAX_NODE_SCORE
            else:
                scores = self.plugin.score(self.state, columns, changed)
                self.raw[changed] = scores
                self.may_be_invalid = self.may_be_invalid or is_out_of_range(scores)
            self.uniform = False
        self.score_cursor = log.end
        self._score_node_set = self.snapshot.node_set_version
        self._score_node_version = columns.node_version

    def scores_of(self, rows: NDArray[np.intp]) -> IntArray | None:
        """Return raw scores of a few rows, up to date, without those of all others; None: it is not scoring."""
        if self._is_static or self.score_cursor == self.snapshot.log.end:
            self.refresh_score()
            return None if self.raw is None else self.raw[rows]
        scores: IntArray | None = self.plugin.score(self.state, self.snapshot.columns, rows)
        if scores is not None and not self.traits.normalizes and is_out_of_range(scores):
            self.may_be_invalid = True
        return scores

    def _checked(self, scores: IntArray | None) -> IntArray | None:
        if scores is None or scores.shape == (self.snapshot.columns.n_rows,):
            return scores if scores is None else _writable(scores)
        expected = (self.snapshot.columns.n_rows,)
        raise PluginError(f"plugin {self.plugin.name}: score returned shape {scores.shape}, expected {expected}")

    def _changed_rows(self, cursor: int, node_set: int, known: int) -> NDArray[np.intp] | None:
        snapshot = self.snapshot
        n_rows = snapshot.columns.n_rows
        if cursor < 0 or self.is_volatile or known != n_rows:
            return None
        if self.reads & _NODE_SET and node_set != snapshot.node_set_version:
            return None
        return snapshot.log.since(cursor, self.reads & ROW, max(16, n_rows // 4))


@dataclass(frozen=True, slots=True)
class PluginScores:
    """One plugin's scores of some rows."""

    name: str
    raw: IntArray
    normalized: IntArray
    weight: int


def is_out_of_range(scores: IntArray) -> bool:
    """Tell whether some score is not in 0..100; negative ones are huge when read without their sign."""
    return bool(scores.view(np.uint64).max(initial=0) > MAX_NODE_SCORE)


def distinct_codes(codes: Rejections) -> list[int]:
    """Return the values of an array that is not empty, ascending; quick where they are few and small."""
    if (codes == codes[0]).all():
        return [int(codes[0])]
    is_small = codes.min() >= 0 and codes.max() <= _SMALL_CODE
    distinct: list[int] = (np.bincount(codes).nonzero()[0] if is_small else np.unique(codes)).tolist()
    return distinct


def _writable(array: IntArray) -> IntArray:
    """Return the array itself, or a copy when the plugin handed out one that it may not change."""
    return array if array.flags.writeable and array.base is None else array.copy()
