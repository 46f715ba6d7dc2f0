"""Places pod groups: each is tried as a whole, and placed whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nodewise.framework.pod_group_plugin import PodGroupInfo, Proposal
from nodewise.framework.status import Status
from nodewise.scheduler.pod_group_cycle import GroupOutcome, MemberOutcome, PodGroupCycle
from nodewise.scheduler.scheduler import REASON_SCHEDULER_ERROR
from nodewise.simulation.placement import Placement, failed_placement, not_tried
from nodewise.simulation.session import Session
from nodewise.state.pod_info import PodInfo

SHORT_OF_SHOWN = 3
Positions = Mapping[str, int]
"""By uid, the place of each pod in the order of the queue."""


def place_group(
    session: Session, root: PodGroupInfo, positions: Positions, waiting: list[Placement] | None, *, with_best: bool
) -> Iterator[Placement]:
    """Try a group, or a tree of groups, until all its pods have nodes or the rest fits nowhere.

    kube-scheduler puts the pods that a placed group left over back to the front of the queue, and so they are tried
    again at once, now with preemption for them alone.

    Parameters
    ----------
    waiting : list[Placement] | None
        What `not_tried_members` said of the group before any pod was placed.

    Yields
    ------
    Placement
        One for each pod that is not being deleted.
    """
    if waiting is not None:
        left_out = {pod.key for pod in root.unscheduled_pods() if session.is_left_out(pod)}
        yield from (placement for placement in waiting if placement.pod not in left_out)
        return
    run = _GroupRun(session, root, positions, with_best=with_best)
    yield from run.place_all()


def not_tried_members(session: Session, root: PodGroupInfo) -> list[Placement] | None:
    """Return what is said of a group with a pod that PreEnqueue keeps from being tried; None: there is none."""
    statuses: list[tuple[PodInfo, Status]] = []
    for pod in root.unscheduled_pods():
        statuses.append((pod, session.scheduler.pre_enqueue(pod)))
    blocking = next(((pod, status) for pod, status in statuses if not status.is_success), None)
    if blocking is None:
        return None
    found = []
    for pod, status in statuses:
        if status.is_success:
            placement = not_tried(pod, blocking[1])
            message = blocking[1].message
            placement = replace(placement, message="", detail=f"its group waits for pod {blocking[0].key}: {message}")
        else:
            placement = not_tried(pod, status)
        found.append(_labelled(placement, pod))
    return found


def _labelled(placement: Placement, pod: PodInfo) -> Placement:
    return replace(placement, pod_group=f"{pod.pod.metadata.namespace}/{pod.pod.spec.pod_group_name}")


@dataclass(slots=True)
class _GroupRun:
    """The attempts at one group."""

    session: Session
    root: PodGroupInfo
    positions: Positions
    with_best: bool
    cycle: PodGroupCycle = field(init=False)
    _evicted: list[str] = field(default_factory=list)  # not told of yet

    def __post_init__(self) -> None:
        self.cycle = PodGroupCycle(self.session.scheduler, self.session.feature_gates)

    def place_all(self) -> Iterator[Placement]:
        left = self.root
        for pod in left.unscheduled_pods():
            self.session.is_left_out(pod)
        while left.unscheduled_pods():
            outcome = self.cycle.run(left, with_best=self.with_best)
            for effect in outcome.post_filter.effects if outcome.post_filter is not None else ():
                effect()
            self._nominate(outcome)
            placements = self._bind(outcome) if outcome.status.is_success else self._make_room(left, outcome)
            by_key = {placement.pod: placement for placement in placements}
            done = {pod.key for pod in left.unscheduled_pods() if pod.pod.is_terminating}
            done |= {key for key, placement in by_key.items() if placement.node is not None or placement.error}
            is_over = all(placement.node is None for placement in placements)
            for placement in placements:
                if is_over or placement.pod in done:
                    yield replace(placement, victims=tuple(self._evicted))
                    self._evicted.clear()
            left = _without(left, done | (by_key.keys() if is_over else set()))
            if is_over:
                return

    def _bind(self, outcome: GroupOutcome) -> list[Placement]:
        """Bind the members that have nodes; one that plugins refuse now fails alone."""
        placements: list[Placement] = []
        for member in outcome.members:
            if member.node_name is None:
                placements.append(self._unplaced(member, outcome))
                continue
            status = self.session.place(member.pod, member.node_name, self.positions[member.pod.uid])
            if status.is_success:
                placement = Placement(member.pod.key, member.node_name, member.best)
            else:
                placement = failed_placement(member.pod, status.message)
            placements.append(_labelled(placement, member.pod))
        return placements

    def _make_room(self, left: PodGroupInfo, outcome: GroupOutcome) -> list[Placement]:
        """Evict the group's victims, and try it again on its nominated nodes."""
        first = [self._unplaced(member, outcome) for member in outcome.members]
        found = outcome.post_filter
        if found is None or not outcome.waits_for_preemption:
            return first
        if not found.victims and not self._is_any_new(found.nominations):
            return first
        self.session.evict(found.victims)
        self._evicted += [victim.key for victim in found.victims]
        second = self._try_nominated(left, found.nominations)
        if second.status.is_success:
            messages = {placement.pod: placement.message for placement in first}
            return [
                replace(placement, message=messages.get(placement.pod, "")) if placement.node is not None else placement
                for placement in self._bind(second)
            ]
        still = {member.pod.key: member.message for member in second.members}
        return [
            replace(placement, detail=f"preemption did not help: {still.get(placement.pod, '')}") for placement in first
        ]

    def _is_any_new(self, nominations: Sequence[Proposal]) -> bool:
        """Tell whether a node is nominated that was not before; else victims are on their way out already."""
        node_of = self.session.scheduler.nominations.node_of
        return any(p.node_name and p.node_name != node_of(p.pod.uid) for p in nominations)

    def _try_nominated(self, left: PodGroupInfo, proposals: Sequence[Proposal]) -> GroupOutcome:
        """Try a group once more after its victims are gone, each pod's nominated node first.

        If it does not fit even now, nobody else is evicted, but its pods are nominated to where that would make room.
        """
        for proposal in proposals:
            self.session.scheduler.nominations.add(proposal.pod, proposal.node_name)
        outcome = self.cycle.run(left, with_best=self.with_best)
        self._nominate(outcome)
        return outcome

    def _nominate(self, outcome: GroupOutcome) -> None:
        """Withdraw or make the nominations that come of an attempt."""
        for member in outcome.members:
            if member.node_name is None and member.nomination is not None:
                self.session.scheduler.nominations.add(member.pod, member.nomination)

    def _unplaced(self, member: MemberOutcome, outcome: GroupOutcome) -> Placement:
        is_error = member.reason == REASON_SCHEDULER_ERROR
        placement = Placement(
            member.pod.key,
            None,
            reason=member.reason,
            message=member.message,
            detail=short_of(outcome, member),
            error=member.message if is_error else "",
        )
        return _labelled(placement, member.pod)


def short_of(outcome: GroupOutcome, member: MemberOutcome | None = None) -> str:
    """Say which members of a group that does not fit were short of what, unless the member itself says so."""
    lacking = [other for other in outcome.members if other.fits_nowhere]
    if outcome.status.is_success or outcome.status.is_error or (member is not None and member in lacking):
        return ""
    shown = [f"{other.pod.key} ({other.message})" for other in lacking[:SHORT_OF_SHOWN]]
    more = len(lacking) - len(shown)
    return f"fits nowhere: {', '.join(shown)}" + (f" and {more} more" if more else "") if shown else ""


def _without(info: PodGroupInfo, done: set[str]) -> PodGroupInfo:
    """Return a group without the pods of these keys."""
    pods = [pod for pod in info.pods if pod.key not in done]
    return PodGroupInfo(info.key, info.group, pods, [_without(child, done) for child in info.children])
