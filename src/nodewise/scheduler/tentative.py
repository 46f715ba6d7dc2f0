"""Pods that are on nodes only for as long as their group is tried."""

from __future__ import annotations

from dataclasses import dataclass

from nodewise.framework.fit_error import count_reasons, fit_error_message
from nodewise.runtime.reservation import Reservation
from nodewise.scheduler.group_status import OK, GroupStatus
from nodewise.scheduler.scheduler import Scheduler
from nodewise.state.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class _Held:
    assumed: PodInfo
    reservation: Reservation
    nominee: PodInfo | None  # what was nominated in the pod's name
    nominated: str


class TentativePods:
    """Assumes and reserves pods one after another, and takes all back in reverse order (revertFns)."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._held: list[_Held] = []

    def __len__(self) -> int:
        return len(self._held)

    def assume(self, pod: PodInfo, node_name: str) -> GroupStatus:
        """Count a pod on a node and let plugins reserve; when one refuses, nothing of it stays (assumeAndReserve)."""
        scheduler = self._scheduler
        nominated = scheduler.nominations.node_of(pod.uid)
        nominees = scheduler.nominations.nominated_to(nominated) if nominated else ()
        nominee = next((other for other in nominees if other.uid == pod.uid), None)
        held = _Held(pod.placed_on(node_name), scheduler.reservation(pod, node_name), nominee, nominated)
        scheduler.cache.assume_pod(held.assumed)
        scheduler.nominations.remove(pod.uid)
        status = held.reservation.reserve()
        if status.is_success:
            self._held.append(held)
            return OK
        self._forget(held)
        if not status.code.is_rejection:
            return GroupStatus.failed(status.message)
        return GroupStatus(status.code, error=fit_error_message(1, "", count_reasons([status]), ""))

    def back_to(self, length: int) -> None:
        """Take back all but the first so many pods, the last first."""
        while len(self._held) > length:
            held = self._held.pop()
            held.reservation.unreserve()
            self._forget(held)

    def _forget(self, held: _Held) -> None:
        self._scheduler.cache.forget_pod(held.assumed)
        if held.nominee is not None:
            self._scheduler.nominations.add(held.nominee, held.nominated)
