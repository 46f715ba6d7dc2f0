"""What extenders make of one pod: nodes that they refuse, scores that they add, and who binds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from nodewise.api.objects import Node, replace
from nodewise.framework.extender import MAX_EXTENDER_SCORE, Extender, ExtenderError, FilterAnswer
from nodewise.framework.plugin import MAX_NODE_SCORE
from nodewise.framework.status import SUCCESS, Status
from nodewise.runtime.selection import RowArray
from nodewise.state.columns import BoolArray, Columns, IntArray
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

_SCALE = MAX_NODE_SCORE // MAX_EXTENDER_SCORE


@dataclass(slots=True)
class ExtenderVerdict:
    """Which nodes extenders left out for one pod.

    Attributes
    ----------
    statuses : dict[str, Status]
        By node, what the last extender with a reason said; it takes the place of what filters said. There may be names
        among them that no node has.
    refused_by : dict[str, str]
        Nodes that passed the filters and an extender left out, with the extender's name.
    said_by : dict[str, str]
        The extender behind each of the statuses.
    are_fresh : bool
        Whether the nodes that are left were sent back by an extender, so that they are scored as if they had no pods.
    visited : (n,) intp | None
        The rows that the search came to before it had enough; None: all.
    """

    statuses: dict[str, Status] = field(default_factory=dict)
    refused_by: dict[str, str] = field(default_factory=dict)
    said_by: dict[str, str] = field(default_factory=dict)
    are_fresh: bool = False
    visited: RowArray | None = None

    def explicit_rows(self, rejected: BoolArray, columns: Columns) -> BoolArray:
        """Return the rows that have a status of their own, given those that filters rejected.

        Parameters
        ----------
        rejected : (n_rows,) bool
        """
        mask = rejected.copy()
        if self.visited is not None:
            mask[:] = False
            mask[self.visited] = rejected[self.visited]
        mask[self._rows(columns)] = True
        return mask

    def groups(self, columns: Columns) -> list[tuple[Status, RowArray]]:
        """Return the rows that extenders gave a status, grouped by it."""
        rows_of: dict[Status, list[int]] = {}
        for name, status in self.statuses.items():
            row = columns.row_of(name)
            if row is not None:
                rows_of.setdefault(status, []).append(row)
        return [(status, np.array(rows, np.intp)) for status, rows in rows_of.items()]

    def statuses_of_no_node(self, columns: Columns) -> list[Status]:
        """Return the statuses of names that no node has; kube-scheduler counts them too."""
        return [status for name, status in self.statuses.items() if columns.row_of(name) is None]

    def n_beyond(self, rejected: RowArray, columns: Columns) -> int:
        """Return how many names have a status besides the rows that filters rejected.

        There are such before the search when an extender refused the nominated node.
        """
        if not self.statuses:
            return 0
        return len(self.statuses.keys() - {columns.names[row] for row in rejected.tolist()})

    def rejection_of(self, name: str) -> tuple[str, Status] | None:
        """Return the extender that has something against a node, with its status; without reasons it gave none."""
        status = self.statuses.get(name)
        if status is not None:
            return self.said_by[name], status
        refused_by = self.refused_by.get(name)
        return None if refused_by is None else (refused_by, Status.unresolvable())

    def _rows(self, columns: Columns) -> list[int]:
        return [row for name in self.statuses if (row := columns.row_of(name)) is not None]

    def take(self, extender: Extender, asked: Sequence[str], answer: FilterAnswer) -> None:
        """Take note of what an extender said about nodes."""
        for name, reason in answer.failed_and_unresolvable.items():
            self.statuses[name] = Status.unresolvable(reason)
        for name, reason in answer.failed.items():
            if name not in answer.failed_and_unresolvable:
                self.statuses[name] = Status.unschedulable(reason)
        for name in (*answer.failed, *answer.failed_and_unresolvable):
            self.said_by[name] = extender.name
        for name in set(asked).difference(answer.node_names):
            self.refused_by[name] = extender.name
        self.are_fresh = answer.are_fresh or (self.are_fresh and bool(answer.node_names))


class Evaluated(Protocol):
    """What extenders need of a pod's evaluation."""

    extended: ExtenderVerdict | None
    nominated_row: int | None

    @property
    def pod(self) -> PodInfo: ...

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def nominated_node(self) -> str:
        """The node the pod is nominated to, "" for none."""
        ...

    def give_up_nomination(self) -> None:
        """Treat the nominated node as any other."""
        ...


def find_with_extenders(
    extenders: Sequence[Extender], evaluation: Evaluated, search: Callable[[], tuple[RowArray, RowArray | None]]
) -> RowArray:
    """Return the rows that pass filters and extenders (findNodesThatFitPod).

    The nominated node comes first, and by itself; an extender that fails on it does no harm.

    Parameters
    ----------
    search
        Returns rows that pass the filters, in the order in which extenders are to see them, and the rows that it came
        to (None: all).

    Raises
    ------
    ExtenderError
        An extender failed that may not be ignored.
    """
    verdict = evaluation.extended = ExtenderVerdict()
    if evaluation.nominated_row is not None:
        nominated = np.array([evaluation.nominated_row], np.intp)
        try:
            left = filter_rows(extenders, evaluation, nominated, verdict)
        except ExtenderError:
            left = nominated[:0]
        if len(left):
            return left
        verdict.refused_by.clear()
        evaluation.give_up_nomination()
    found, verdict.visited = search()
    return filter_rows(extenders, evaluation, found, verdict)


def need_all(extenders: Sequence[Extender]) -> bool:
    """Tell whether extenders filter or score, so that the first feasible node does not end the search."""
    return any(extender.is_filter or extender.is_prioritizer for extender in extenders)


def filter_rows(
    extenders: Sequence[Extender], evaluation: Evaluated, rows: RowArray, verdict: ExtenderVerdict
) -> RowArray:
    """Ask one extender after another which of the rows it leaves (findNodesThatPassExtenders).

    Returns
    -------
    (m,) intp
        In the last extender's order.
    """
    columns = evaluation.snapshot.columns
    pod = _as_nominated(evaluation)
    verdict.are_fresh = False
    for extender in extenders:
        if len(rows) == 0:
            break
        if not extender.is_interested(pod.pod):
            continue
        if not extender.is_filter:
            continue
        nodes = _nodes_of(evaluation.snapshot, rows)
        try:
            answer = extender.filter(pod, nodes)
        except ExtenderError:
            if extender.is_ignorable:
                continue
            raise
        verdict.take(extender, [node.name for node in nodes], answer)
        row_of = {columns.names[row]: row for row in rows.tolist()}
        rows = np.array([row_of[name] for name in dict.fromkeys(answer.node_names)], np.intp)
    return rows


def _as_nominated(evaluation: Evaluated) -> PodInfo:
    """Return the pod as the API server has it, its nomination included."""
    info, node_name = evaluation.pod, evaluation.nominated_node
    if info.pod.status.nominated_node_name == node_name:
        return info
    status = replace(info.pod.status, nominated_node_name=node_name)
    return PodInfo(replace(info.pod, status=status))


def _nodes_of(snapshot: Snapshot, rows: RowArray) -> list[Node]:
    nodes = snapshot.columns.nodes
    return [node for row in rows.tolist() if (node := nodes[row]) is not None]


# --- scores -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExtenderScores:
    """What extenders add to the totals of some rows.

    Attributes
    ----------
    by_extender : dict[str, (m,) int64]
        Weighted and brought to the scale of plugins' scores; extenders that score nothing are left out.
    total : (m,) int64
        Their sum.
    scored_mask : (m,) bool
        Rows that some extender had a score for, be it 0: among equals of these kube-scheduler chooses at random.
    """

    by_extender: dict[str, IntArray]
    total: IntArray
    scored_mask: BoolArray


def extender_scores(extenders: Sequence[Extender], evaluation: Evaluated, rows: RowArray) -> ExtenderScores:
    """Ask the extenders how good rows are; one that fails adds nothing (prioritizeNodes)."""
    columns = evaluation.snapshot.columns
    pod = _as_nominated(evaluation)
    scores = ExtenderScores({}, np.zeros(len(rows), np.int64), np.zeros(len(rows), bool))
    position_of = {columns.names[row]: position for position, row in enumerate(rows.tolist())}
    nodes = _nodes_of(evaluation.snapshot, rows)
    for extender in extenders:
        if not extender.is_interested(pod.pod):
            continue
        try:
            priorities = extender.prioritize(pod, nodes)
        except ExtenderError:
            continue
        added = np.zeros(len(rows), np.int64)
        for priority in priorities:
            position = position_of.get(priority.host)
            if position is not None:
                added[position] += priority.score * extender.weight * _SCALE
                scores.scored_mask[position] = True
        if extender.is_prioritizer:
            scores.by_extender[extender.name] = scores.by_extender.get(extender.name, 0) + added
        scores.total[:] += added
    return scores


# --- binding ----------------------------------------------------------------------------------------------------------


def binds(extenders: Sequence[Extender], pod: PodInfo) -> bool:
    """Tell whether some extender may bind a pod."""
    return any(extender.is_binder and extender.is_interested(pod.pod) for extender in extenders)


def bind_with_extenders(extenders: Sequence[Extender], pod: PodInfo, node_name: str) -> Status | None:
    """Let the first extender that is interested bind a pod (extendersBinding).

    Returns
    -------
    Status | None
        How it went; None: no extender did it, so that Bind plugins have to.
    """
    for extender in extenders:
        if not extender.is_binder or not extender.is_interested(pod.pod):
            continue
        try:
            extender.bind(pod, node_name)
        except ExtenderError as error:
            if extender.is_ignorable:
                continue
            return Status.error(str(error))
        return SUCCESS
    return None
