"""A cluster in this process, with a scheduler over it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from nodewise.api.objects import Pod, replace
from nodewise.cluster.object_set import ObjectSet
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.framework.pod_group_plugin import PodGroupInfo
from nodewise.framework.registry import Registry
from nodewise.framework.status import Code, Status
from nodewise.scheduler.assembly import SchedulerOptions, assemble_scheduler
from nodewise.scheduler.pod_group_tree import build_tree, root_of_group
from nodewise.scheduler.scheduler import Scheduler
from nodewise.scheduler.tasks import run_without_waiting
from nodewise.state.listers import Listers
from nodewise.state.pod_groups import GroupKey, group_key_of
from nodewise.state.pod_info import PodInfo

FIRST_START = datetime(2026, 6, 1, tzinfo=UTC)
"""The start time of the first pod that is placed; later ones follow a second apart."""


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
    feature_gates : FeatureGates
    """

    scheduler: Scheduler
    listers: Listers
    waiting: list[PodInfo] = field(default_factory=list)
    pending: list[PodInfo] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    feature_gates: FeatureGates = DEFAULT_GATES

    def queue_order(self) -> Sequence[PodInfo | PodGroupInfo]:
        """Return the pending pods as the queue would hand them out: by the queue-sort plugin, then age, then input.

        Pods of a group are one entry, with the group's priority and the age of its oldest pod.
        """
        sort = next(iter(self.scheduler.frameworks.values())).queue_sort
        groups = self.scheduler.cache.pod_groups
        if groups is None:
            return sorted(self.pending, key=lambda pod: (sort.sort_key(pod.pod), _age(pod)))
        members: dict[GroupKey, list[PodInfo]] = {}
        entries: dict[PodInfo | GroupKey, tuple[Pod, float]] = {}
        for pod in sorted(self.pending, key=_age):
            key = group_key_of(pod.pod)
            root = root_of_group(groups, key) if key is not None else None
            if key is None or root is None:
                entries[pod] = (pod.pod, _age(pod))
                continue
            members.setdefault(key, []).append(pod)
            if root not in entries:
                group = groups.object(root)
                priority = group.spec.priority if group is not None else None
                entries[root] = (replace(pod.pod, spec=replace(pod.pod.spec, priority=priority or 0)), _age(pod))
        for pods in members.values():
            pods.sort(key=lambda pod: -pod.priority)
        ordered = sorted(entries, key=lambda entry: (sort.sort_key(entries[entry][0]), entries[entry][1]))
        return [entry if isinstance(entry, PodInfo) else build_tree(groups, entry, members) for entry in ordered]

    def group_of(self, pod: PodInfo) -> PodGroupInfo | None:
        """Return the tree of groups that a pending pod would be tried with; None: it is tried alone."""
        for entry in self.queue_order() if group_key_of(pod.pod) is not None else ():
            if isinstance(entry, PodGroupInfo) and pod in entry.unscheduled_pods():
                return entry
        return None

    def is_left_out(self, pod: PodInfo) -> bool:
        """Tell whether a pod is not tried since it is being deleted, and take a note of it."""
        if pod.pod.is_terminating:
            self.notes.append(f"Pod {pod.key}: left out, it is being deleted")
        return pod.pod.is_terminating

    def place(self, pod: PodInfo, node_name: str, position: int) -> Status:
        """Bind a pod: assumed, reserved and confirmed at once; what plugins have against it is returned.

        A Permit plugin that wants to wait is not waited for: each pod is tried once, and time stands still.
        """
        reservation = self.scheduler.reservation(pod, node_name)
        status = reservation.reserve()
        if not status.is_success:
            return status
        status = reservation.permit()
        if status.is_success or status.code is Code.WAIT:
            status = run_without_waiting(reservation.pre_bind())
        if not status.is_success:
            reservation.unreserve()
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
    objects: ObjectSet, configuration: KubeSchedulerConfiguration, registry: Registry, options: SchedulerOptions
) -> Session:
    """Put a cluster's objects into a cache and a scheduler beside it.

    Raises
    ------
    ConfigError
        The configuration names plugins that do not exist, or does not fit together.
    """
    listers = Listers()
    listers.fill(*objects.listed())
    now = _after_all(objects.pods)
    scheduler, _ = assemble_scheduler(listers, configuration, registry, options, lambda: now)
    cache, snapshot = scheduler.cache, scheduler.snapshot
    # As an API server lists them: the order decides where a search starts, and which of several sizes an image has.
    for node in sorted(objects.nodes, key=lambda node: node.name):
        cache.add_node(node)
    session = Session(scheduler, listers, feature_gates=options.feature_gates)
    if cache.pod_groups is not None:
        for group in objects.pod_groups:
            cache.pod_groups.put_group(group)
    # And here between equally important victims of preemption.
    for pod in sorted(objects.pods, key=lambda pod: (pod.metadata.namespace, pod.metadata.name)):
        if pod.spec.node_name:
            cache.add_pod(PodInfo(pod))
    for pod in objects.pods:
        if pod.spec.node_name:
            continue
        info = PodInfo(pod)
        session.waiting.append(info)
        if pod.spec.scheduler_name not in scheduler.frameworks:
            session.notes.append(f"Pod {pod.key}: left out, no profile for scheduler name {pod.spec.scheduler_name!r}")
            continue
        session.pending.append(info)
        if cache.pod_groups is not None:
            cache.pod_groups.add_pod(info)
        if pod.status.nominated_node_name:
            scheduler.nominations.add(info, pod.status.nominated_node_name)
    # The first update takes in every node and pod; decisions then only see what changed.
    snapshot.update(cache)
    snapshot.pods.settle()
    return session


def pods_of(entries: Iterable[PodInfo | PodGroupInfo]) -> Iterator[PodInfo]:
    """Yield the pods of entries of a queue, those of groups in the order in which they are tried."""
    for entry in entries:
        if isinstance(entry, PodInfo):
            yield entry
        else:
            yield from entry.unscheduled_pods()


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
