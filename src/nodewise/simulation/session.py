"""A cluster in this process, with a scheduler over it."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from nodewise.api.objects import Pod
from nodewise.cluster.object_set import ObjectSet
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.framework.registry import Registry
from nodewise.framework.status import Status
from nodewise.runtime.selection import Selector, TieBreak
from nodewise.scheduler.frameworks import build_frameworks
from nodewise.scheduler.handle import SchedulerHandle
from nodewise.scheduler.scheduler import Scheduler
from nodewise.state.cache import SchedulerCache
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

FIRST_START = datetime(2026, 6, 1, tzinfo=UTC)
"""The start time of the first pod that is placed; later ones follow a second apart."""


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How decisions are made.

    Attributes
    ----------
    tie_break : TieBreak
    seed : int
        For random tie-breaks.
    percentage_of_nodes_to_score : int | None
        Overrides the configuration's values; None: these, or all nodes when they say nothing.
    added_plugins : tuple[str, ...]
        Names of plugins that run besides those that the profiles name.
    """

    tie_break: TieBreak = TieBreak.FIRST
    seed: int = 0
    percentage_of_nodes_to_score: int | None = None
    added_plugins: tuple[str, ...] = ()


@dataclass(slots=True)
class Session:
    """A scheduler over a cluster's objects, and the pods that wait for it.

    Attributes
    ----------
    scheduler : Scheduler
    waiting : list[PodInfo]
        All pods without a node, in the order of the input.
    pending : list[PodInfo]
        Pods without a node that a profile is responsible for, in the order of the input.
    notes : list[str]
        What was left out.
    """

    scheduler: Scheduler
    listers: Listers
    waiting: list[PodInfo] = field(default_factory=list)
    pending: list[PodInfo] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def queue_order(self) -> list[PodInfo]:
        """Return the pending pods as the queue would hand them out: by the queue-sort plugin, then age, then input."""
        sort = next(iter(self.scheduler.frameworks.values())).queue_sort
        return sorted(self.pending, key=lambda pod: (sort.sort_key(pod.pod), _age(pod)))

    def place(self, pod: PodInfo, node_name: str, position: int) -> Status:
        """Bind a pod: assumed, reserved and confirmed at once; what a Reserve plugin has against it is returned."""
        status = self.scheduler.reserve(pod, node_name)
        if not status.is_success:
            return status
        status = self.scheduler.pre_bind(pod, node_name)
        if not status.is_success:
            return status
        bound = pod.placed_on(node_name, FIRST_START + timedelta(seconds=position))
        self.scheduler.nominations.remove(pod.uid)
        self.scheduler.cache.assume_pod(bound)
        self.scheduler.cache.add_pod(bound)
        return status

    def evict(self, victims: Iterable[PodInfo]) -> None:
        """Remove pods at once."""
        for victim in victims:
            self.scheduler.cache.remove_pod(victim)


def open_session(
    objects: ObjectSet, configuration: KubeSchedulerConfiguration, registry: Registry, options: SessionOptions
) -> Session:
    """Put a cluster's objects into a cache and a scheduler beside it.

    Raises
    ------
    ConfigError
        The configuration names plugins that do not exist, or does not fit together.
    """
    listers = Listers()
    listers.fill(
        namespaces=objects.namespaces.values(),
        services=objects.services,
        replication_controllers=objects.replication_controllers,
        replica_sets=objects.replica_sets,
        stateful_sets=objects.stateful_sets,
        pod_disruption_budgets=objects.pod_disruption_budgets,
        device_objects=objects.device_objects,
        storage=objects.storage,
    )
    cache, snapshot = SchedulerCache(), Snapshot(listers)
    for node in objects.nodes:
        cache.add_node(node)
    now = _after_all(objects.pods)
    handle = SchedulerHandle(listers, snapshot, now=lambda: now, bind=lambda pod, node_name: None)
    frameworks = build_frameworks(configuration, registry, handle, options.added_plugins)
    percentage = options.percentage_of_nodes_to_score
    if percentage is None:
        # kube-scheduler's 0, also its default, samples big clusters; here nothing is left out unless asked for.
        percentage = configuration.percentage_of_nodes_to_score or 100
    else:
        for framework in frameworks.values():
            framework.percentage_of_nodes_to_score = None
    selector = Selector(options.tie_break, random.Random(options.seed))
    scheduler = Scheduler(cache, snapshot, frameworks, selector, percentage)
    handle.nominator = scheduler.nominations
    session = Session(scheduler, listers)
    # As an API server lists them: the order decides between equally important victims of preemption.
    for pod in sorted(objects.pods, key=lambda pod: (pod.metadata.namespace, pod.metadata.name)):
        if pod.spec.node_name:
            cache.add_pod(PodInfo(pod))
    for pod in objects.pods:
        if pod.spec.node_name:
            continue
        info = PodInfo(pod)
        session.waiting.append(info)
        if pod.spec.scheduler_name not in frameworks:
            session.notes.append(f"Pod {pod.key}: left out, no profile for scheduler name {pod.spec.scheduler_name!r}")
            continue
        session.pending.append(info)
        if pod.status.nominated_node_name:
            scheduler.nominations.add(info, pod.status.nominated_node_name)
    # The first update takes in every node and pod; decisions then only see what changed.
    snapshot.update(cache)
    snapshot.pods.settle()
    return session


def _age(pod: PodInfo) -> float:
    created = pod.pod.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0


def _after_all(pods: list[Pod]) -> datetime:
    """Return a moment after every start time in the input and every start time that a simulation hands out."""
    latest = FIRST_START + timedelta(seconds=len(pods) + 1)
    for pod in pods:
        if pod.status.start_time is not None and pod.status.start_time >= latest:
            latest = pod.status.start_time + timedelta(seconds=1)
    return latest
