"""A group that does not fit, and what if some pods were gone: what PodGroupPostFilter plugins work on."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.framework.pod_group_plugin import PodGroupInfo, Proposal, RowArray
from nodewise.framework.status import Status
from nodewise.runtime.what_if import RowWhatIf
from nodewise.scheduler.pod_group_algorithm import PodGroupAlgorithm
from nodewise.scheduler.scheduler import Scheduler
from nodewise.scheduler.tentative import TentativePods
from nodewise.state.cache_trial import CacheTrial
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot


class PodGroupTrial:
    """The verdict on a group over a cluster that may be changed until the trial is over (PodGroupVerdict)."""

    def __init__(self, scheduler: Scheduler, group: PodGroupInfo, algorithm: PodGroupAlgorithm) -> None:
        self._scheduler = scheduler
        self._group = group
        self._algorithm = algorithm
        self._tried = dict(algorithm.tried)
        self._trial = CacheTrial(scheduler.cache)
        self._assumed = TentativePods(scheduler)

    def __enter__(self) -> PodGroupTrial:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._assumed.back_to(0)
        self._trial.end()

    @property
    def group(self) -> PodGroupInfo:
        return self._group

    @property
    def snapshot(self) -> Snapshot:
        """The nodes as they are in the trial."""
        self._scheduler.snapshot.update(self._scheduler.cache)
        return self._scheduler.snapshot

    def ran_pre_filter(self, pod: PodInfo, plugin: str) -> bool:
        """Tell whether a plugin's PreFilter ran for a member."""
        tried = self._tried.get(pod.uid)
        return tried is not None and tried.evaluation.ran_pre_filter(plugin)

    def rejections(self, pod: PodInfo) -> Sequence[tuple[Status, RowArray]]:
        """Return what was said of which rows for a member with resource claims."""
        tried = self._tried.get(pod.uid)
        return tried.rejections if tried is not None else ()

    def take_off(self, pods: Sequence[PodInfo]) -> None:
        """Take pods off their nodes until the trial is over."""
        for pod in pods:
            self._trial.take_off(pod)

    def put_back(self, pods: Sequence[PodInfo]) -> None:
        """Put pods back that were taken off."""
        for pod in pods:
            self._trial.put_back(pod)

    def schedule(self) -> tuple[Status, list[Proposal]]:
        """Try the whole group on the nodes as they are."""
        self._algorithm.is_what_if = True
        results = self._algorithm.run()
        status = results[self._group.key].status
        proposals = [
            Proposal(member.pod, member.node_name)
            for result in results.values()
            for member in result.members
            if member.status.is_success and member.node_name
        ]
        reasons = (status.error, *status.reasons) if status.error else status.reasons
        return Status(status.code, reasons), proposals

    def fits(self, proposal: Proposal) -> bool:
        """Tell whether a member passes the filters on its node, those left out that had nothing to say when it got it.

        kube-scheduler keeps what PreFilter found before any victim was put back, skipped plugins included.
        """
        scheduler, pod = self._scheduler, proposal.pod
        snapshot = self.snapshot
        row = snapshot.columns.row_of(proposal.node_name)
        if row is None:
            return False
        pod_class = scheduler.classes[pod.pod.spec.scheduler_name].class_of(pod.pod)
        skipped = self._algorithm.tried[pod.uid].skipped
        nominated = tuple(
            other
            for other in scheduler.nominations.nominated_to(proposal.node_name)
            if other.priority >= pod.priority and other.uid != pod.uid
        )
        what_if = RowWhatIf(pod_class, snapshot, row, ())
        if nominated and what_if.failures(added=nominated).keys() - skipped:
            return False
        return not what_if.failures().keys() - skipped

    def assume(self, proposal: Proposal) -> None:
        """Count a member on its node, and let plugins reserve what it needs."""
        self._assumed.assume(proposal.pod, proposal.node_name)

    def forget_assumed(self) -> None:
        """Take back all that was assumed, the last first."""
        self._assumed.back_to(0)
