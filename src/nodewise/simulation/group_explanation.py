"""What would become of the groups that pending pods belong to, without placing any."""

from __future__ import annotations

from dataclasses import dataclass

from nodewise.framework.pod_group_plugin import PodGroupInfo
from nodewise.scheduler.pod_group_cycle import GroupOutcome, MemberOutcome, PodGroupCycle
from nodewise.simulation.placement import Placement
from nodewise.simulation.pod_groups import not_tried_members, short_of
from nodewise.simulation.session import Session
from nodewise.state.pod_groups import GroupKey
from nodewise.state.pod_info import PodInfo

_BESIDE_OTHERS = "it fits nowhere beside the other pods of its group"


@dataclass(frozen=True, slots=True)
class GroupExplanation:
    """What a pod has to expect from its group.

    Attributes
    ----------
    name : str
        Namespace and name of the topmost group.
    is_placed : bool
        Whether the group gets nodes.
    node : str
        Where the pod goes with it, "" for nowhere.
    message : str
        What the pod's PodScheduled condition says otherwise.
    detail : str
        Which pods are short of what.
    victims : tuple[str, ...]
        Pods that the group would have evicted.
    nominated : str
        The node that the pod would be nominated to then.
    """

    name: str
    is_placed: bool = False
    node: str = ""
    message: str = ""
    detail: str = ""
    victims: tuple[str, ...] = ()
    nominated: str = ""


class GroupExplainer:
    """Tries groups, each once, and tells what that means for their pods."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cycle = PodGroupCycle(session.scheduler, session.feature_gates)
        self._roots: dict[str, PodGroupInfo] | None = None
        self._outcomes: dict[GroupKey, GroupOutcome] = {}
        self._waiting: dict[GroupKey, dict[str, Placement]] = {}

    def explain(self, pod: PodInfo) -> GroupExplanation | None:
        """Return what a pod has to expect from its group; None: it is tried alone."""
        root = self._root_of(pod)
        if root is None:
            return None
        name = f"{root.key.namespace}/{root.key.name}"
        waiting = self._waiting_members(root).get(pod.key)
        if waiting is not None:
            return GroupExplanation(name, message=waiting.message, detail=waiting.detail)
        outcome = self._outcome(root)
        member = next((member for member in outcome.members if member.pod is pod), None)
        return None if member is None else _explained(name, outcome, member)

    def _root_of(self, pod: PodInfo) -> PodGroupInfo | None:
        if self._roots is None:
            entries = self._session.queue_order() if self._session.scheduler.cache.pod_groups is not None else ()
            roots = [entry for entry in entries if isinstance(entry, PodGroupInfo)]
            self._roots = {member.uid: root for root in roots for member in root.unscheduled_pods()}
        return self._roots.get(pod.uid)

    def _waiting_members(self, root: PodGroupInfo) -> dict[str, Placement]:
        if root.key not in self._waiting:
            placements = not_tried_members(self._session, root) or ()
            self._waiting[root.key] = {placement.pod: placement for placement in placements}
        return self._waiting[root.key]

    def _outcome(self, root: PodGroupInfo) -> GroupOutcome:
        if root.key not in self._outcomes:
            self._outcomes[root.key] = self._cycle.run(root)
        return self._outcomes[root.key]


def _explained(name: str, outcome: GroupOutcome, member: MemberOutcome) -> GroupExplanation:
    found = outcome.post_filter if outcome.waits_for_preemption else None
    return GroupExplanation(
        name,
        outcome.status.is_success,
        member.node_name or "",
        member.message,
        _BESIDE_OTHERS if member.fits_nowhere else short_of(outcome, member),
        tuple(victim.key for victim in found.victims) if found is not None else (),
        (member.nomination or "") if found is not None else "",
    )
