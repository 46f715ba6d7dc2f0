"""Judges pending pods against the cluster as it is, without placing any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from nodewise.errors import InvalidScoreError, PluginError
from nodewise.framework.extender import Extender, ExtenderError
from nodewise.framework.plugin import PostFilterResult
from nodewise.framework.status import Status
from nodewise.runtime.evaluation import NO_NODES, Evaluation
from nodewise.runtime.extenders import extender_scores, find_with_extenders
from nodewise.runtime.selection import RowArray
from nodewise.simulation.group_explanation import GroupExplainer, GroupExplanation
from nodewise.simulation.session import Session
from nodewise.state.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class Score:
    """One plugin's score of one node."""

    raw: int
    normalized: int
    weighted: int


@dataclass(slots=True)
class NodeExplanation:
    """What every plugin says about a pod on one node.

    Attributes
    ----------
    filters : dict[str, Status]
        Rejections by plugin, each plugin asked on its own, in profile order; the first is the one that counts.
    details : dict[str, str]
        What plugins add to their rejections.
    excluded_by : tuple[str, ...]
        Plugins whose PreFilter left the node out; the filters are for information then.
    scores : dict[str, Score]
        By plugin, for feasible nodes; a plugin that took itself out is absent.
    total : int | None
    extenders : dict[str, Status]
        The extender that has something against the node, by its name; no reasons: it left the node out silently.
    extender_scores : dict[str, int]
        What extenders add to the total, by their names.
    """

    name: str
    filters: dict[str, Status] = field(default_factory=dict)
    excluded_by: tuple[str, ...] = ()
    scores: dict[str, Score] = field(default_factory=dict)
    total: int | None = None
    details: dict[str, str] = field(default_factory=dict)
    extenders: dict[str, Status] = field(default_factory=dict)
    extender_scores: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Explanation:
    """Everything there is to say about one pod.

    Attributes
    ----------
    n_nodes : int
        How many nodes there are.
    skipped : str
        Why the pod would not be tried at all, "" when it would.
    pre_filter : Status | None
        A rejection before any node was looked at.
    detail : str
        What its plugin adds to it, "" for nothing.
    nodes : list[NodeExplanation]
        By name.
    feasible, best : list[str]
        Names, sorted.
    nominated : str
        The nominated node when the pod fits there, so that no other is looked at.
    post_filter : PostFilterResult | None
    message : str
        What the PodScheduled condition says when the pod fits nowhere.
    error : str
        What went wrong, when the cycle failed.
    pod_group : GroupExplanation | None
        What the pod has to expect from the group that it is tried with; None: it is tried alone.
    """

    pod: str
    n_nodes: int = 0
    skipped: str = ""
    pre_filter: Status | None = None
    detail: str = ""
    nodes: list[NodeExplanation] = field(default_factory=list)
    feasible: list[str] = field(default_factory=list)
    best: list[str] = field(default_factory=list)
    nominated: str = ""
    post_filter: PostFilterResult | None = None
    message: str = ""
    error: str = ""
    placed_on: str = ""
    pod_group: GroupExplanation | None = None


def explain(
    session: Session, pod: PodInfo, *, with_nodes: bool = True, groups: GroupExplainer | None = None
) -> Explanation:
    """Ask every plugin about a pod on every node.

    Parameters
    ----------
    with_nodes : bool
        Also tell what each plugin says of each node; without, `nodes` stays empty.
    groups : GroupExplainer | None
        Remembers what it found out about groups; one for many pods saves trying a group for each of its pods.
    """
    out = Explanation(pod.key)
    scheduler_name = pod.pod.spec.scheduler_name
    if scheduler_name not in session.scheduler.frameworks:
        out.skipped = f'no profile for scheduler name "{scheduler_name}"'
        return out
    if pod.pod.is_terminating:
        out.skipped = "the pod is being deleted"
        return out
    status = session.scheduler.pre_enqueue(pod)
    if not status.is_success:
        if status.code.is_rejection:
            out.skipped = f"{status.plugin}: {status.message}"
        else:
            out.error = status.message
        return out
    out.pod_group = (groups or GroupExplainer(session)).explain(pod)
    try:
        _judge(session, pod, out, with_nodes=with_nodes)
    except PluginError as error:
        session.scheduler.forget_answers(pod)
        out.error = str(error)
    except ExtenderError as error:
        out.error = str(error)
    return out


def explain_all(session: Session) -> Iterator[Explanation]:
    """Explain every pod without a node, in the order of the input."""
    groups = GroupExplainer(session)
    for pod in session.waiting:
        yield explain(session, pod, groups=groups)


def _judge(session: Session, pod: PodInfo, out: Explanation, *, with_nodes: bool) -> None:
    scheduler = session.scheduler
    evaluation = scheduler.evaluate(pod)
    snapshot = evaluation.snapshot
    out.n_nodes = snapshot.n_nodes
    if snapshot.n_nodes == 0:
        out.message = NO_NODES
        return
    status = evaluation.pre_filter_status
    if status is not None:
        out.pre_filter = status
        out.detail = evaluation.details(None, [status.plugin]).get(status.plugin, "")
        if not status.code.is_rejection:
            out.error = f'running PreFilter plugin "{status.plugin}": {status.message}'
            return
    else:
        _judge_nodes(scheduler.extenders, evaluation, out, with_nodes=with_nodes)
        if out.error:
            return
    if out.feasible:
        if evaluation.nominated_row is not None:
            out.nominated = snapshot.columns.names[evaluation.nominated_row]
            out.best = [out.nominated]
        return
    if out.pod_group is None:
        out.post_filter = scheduler.run_post_filters(evaluation)
    out.message = evaluation.message(out.post_filter.status.message if out.post_filter is not None else "")


def _judge_nodes(extenders: Sequence[Extender], evaluation: Evaluation, out: Explanation, *, with_nodes: bool) -> None:
    columns = evaluation.snapshot.columns
    by_row = _rejections(evaluation) if with_nodes else {}
    out.nodes.extend(by_row.values())
    found = np.flatnonzero(evaluation.feasible)
    if extenders:
        found = _left_by_extenders(extenders, evaluation, by_row)
    out.feasible = sorted(columns.names[row] for row in found.tolist())
    if not out.feasible:
        return
    totals = np.zeros(len(found), np.int64)
    try:
        all_scores = evaluation.plugin_scores(found)
    except InvalidScoreError as error:
        out.error = str(error)
        return
    for scores in all_scores:
        weighted = scores.normalized * scores.weight
        totals += weighted
        if not with_nodes:
            continue
        for row, *values in zip(
            found.tolist(), scores.raw.tolist(), scores.normalized.tolist(), weighted.tolist(), strict=True
        ):
            by_row[row].scores[scores.name] = Score(*values)
    if not evaluation.framework.scores and not extenders:
        totals += 1
    if len(found) > 1 and extenders:
        extended = extender_scores(extenders, evaluation, found)
        totals += extended.total
        for name, added in extended.by_extender.items() if with_nodes else ():
            for row, score in zip(found.tolist(), added.tolist(), strict=True):
                by_row[row].extender_scores[name] = score
    if with_nodes:
        for row, total in zip(found.tolist(), totals.tolist(), strict=True):
            by_row[row].total = total
    out.best = sorted(columns.names[row] for row in found[totals == totals.max()].tolist())


def _left_by_extenders(
    extenders: Sequence[Extender], evaluation: Evaluation, by_row: dict[int, NodeExplanation]
) -> RowArray:
    """Return the rows that extenders leave, and put what they say of others into the explanations."""
    order = evaluation.snapshot.order
    try:
        found = find_with_extenders(extenders, evaluation, lambda: (order[evaluation.feasible[order]], None))
    finally:
        verdict = evaluation.extended
        for node in by_row.values():
            rejection = verdict.rejection_of(node.name) if verdict is not None else None
            if rejection is not None:
                node.extenders[rejection[0]] = rejection[1]
    return np.sort(found)


def _rejections(evaluation: Evaluation) -> dict[int, NodeExplanation]:
    """Return what the filters say of each node, by row, in the order of the nodes' names."""
    columns = evaluation.snapshot.columns
    alive = np.flatnonzero(columns.alive)
    by_rank = alive[np.argsort(columns.name_rank[alive])]
    allowed, excluded_by = evaluation.allowed, evaluation.excluded_by
    by_row: dict[int, NodeExplanation] = {}
    for row in by_rank.tolist():
        excluded = allowed is not None and not allowed[row]
        failures = evaluation.failures(row)
        by_row[row] = NodeExplanation(columns.names[row], failures, excluded_by if excluded else ())
        if failures:
            by_row[row].details = evaluation.details(row, failures)
    return by_row
