"""Small clusters in which a pod fits nowhere, judged by real plugins."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from nodewise.api.objects import (
    LabelSelector,
    Node,
    ObjectMeta,
    Pod,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
    PodStatus,
)
from nodewise.config.arguments import DefaultPreemptionArgs
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.framework.plugin import PostFilterResult
from nodewise.framework.status import Status
from nodewise.plugins.default_preemption import DefaultPreemption
from nodewise.plugins.node_affinity import NodeAffinity
from nodewise.plugins.node_ports import NodePorts
from nodewise.plugins.node_resources_fit import NodeResourcesFit
from nodewise.plugins.priority_sort import PrioritySort
from nodewise.plugins.taint_toleration import TaintToleration
from nodewise.queue.nominator import Nominations
from nodewise.runtime.evaluation import Evaluation
from nodewise.runtime.pod_class import PodClasses
from nodewise.runtime.profile import Framework
from nodewise.state.listers import Listers
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.testing.builders import make_pod, make_snapshot

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass(slots=True)
class PreemptionHandle:
    """A handle with a clock that stands still and, for sampling, a generator."""

    snapshot: Snapshot
    random: random.Random | None = None
    nominator: Nominations = field(default_factory=Nominations)
    feature_gates: FeatureGates = DEFAULT_GATES
    pod_groups: PodGroupStates | None = None

    @property
    def listers(self) -> Listers:
        return self.snapshot.listers

    def now(self) -> datetime:
        return NOW


def running(
    name: str, node: str, priority: int = 0, cpu: str = "1", *, started_s: float | None = 0.0, **more: Any
) -> Pod:
    """Make a pod that started so many seconds before NOW; None: its start is not known."""
    start = None if started_s is None else NOW - timedelta(seconds=started_s)
    status = PodStatus(start_time=start, conditions=more.pop("conditions", ()))
    return make_pod(name, cpu, node=node, priority=priority, status=status, **more)


def make_budget(
    labels: Mapping[str, str] | None,
    allowed: int = 0,
    *,
    name: str = "budget",
    namespace: str = "default",
    disrupted: Iterable[str] = (),
) -> PodDisruptionBudget:
    """Make a budget; labels None is no selector."""
    return PodDisruptionBudget(
        ObjectMeta(name=name, namespace=namespace),
        PodDisruptionBudgetSpec(None if labels is None else LabelSelector(match_labels=dict(labels))),
        PodDisruptionBudgetStatus(allowed, dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")),
    )


def evaluate(
    pod: Pod,
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    budgets: Iterable[PodDisruptionBudget],
    nominated: Iterable[Pod],
) -> tuple[Evaluation, PreemptionHandle]:
    """Run some filter plugins; pods of `nominated` are pending and nominated to a node."""
    listers = Listers()
    listers.fill(budgets)
    snapshot = make_snapshot(nodes, pods, listers)
    handle = PreemptionHandle(snapshot)
    filters: list[tuple[Any, int]] = [
        (TaintToleration(None, handle), 1),
        (NodeAffinity(None, handle), 1),
        (NodePorts(None, handle), 1),
        (NodeResourcesFit(None, handle), 1),
    ]
    queue_sort: list[tuple[Any, int]] = [(PrioritySort(None, handle), 1)]
    framework = Framework("default-scheduler", None, {"queueSort": queue_sort, "filter": filters})
    nominations = Nominations()
    for other in nominated:
        nominations.add(PodInfo(other), other.status.nominated_node_name)
    pod_class = PodClasses(framework, snapshot).class_of(pod)
    return Evaluation(PodInfo(pod), pod_class, framework, snapshot, nominations), handle


def preempt(
    pod: Pod,
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    *,
    budgets: Iterable[PodDisruptionBudget] = (),
    nominated: Iterable[Pod] = (),
    args: DefaultPreemptionArgs | None = None,
    random: random.Random | None = None,
) -> PostFilterResult:
    """Ask DefaultPreemption to make room for a pod."""
    evaluation, handle = evaluate(pod, nodes, pods, budgets, nominated)
    handle.random = random
    return DefaultPreemption(args, handle).post_filter(evaluation)


def names(result: PostFilterResult) -> tuple[str | None, list[str]]:
    """Return the nominated node and the victims' names."""
    return result.nominated_node, [victim.pod.metadata.name for victim in result.victims]


def refused(message: str) -> Status:
    """Return the status of a preemption that does not help."""
    return Status.unschedulable(f"preemption: {message}")
