"""What the pods of one group have to agree on."""

from __future__ import annotations

from collections.abc import Container, Iterable

from nodewise.framework.pod_group_plugin import PodGroupInfo
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo

_DEFAULT_POLICY = "PreemptLowerPriority"


def disagreement(
    root: PodGroupInfo, groups: PodGroupStates, profiles: Container[str], *, own_policy: bool
) -> str | None:
    """Return why a group is not tried at all; None: it is (validatePodGroup).

    Pods that wait are looked at first, then those that have nodes.

    Parameters
    ----------
    profiles : Container[str]
        The scheduler names that have one.
    own_policy : bool
        Whether pods must have the group's own preemption policy (PodGroupPreemptionPolicy).
    """
    waiting = root.unscheduled_pods()
    name = waiting[0].pod.spec.scheduler_name if waiting else ""
    policy = (root.group.spec.preemption_policy or _DEFAULT_POLICY) if own_policy else None
    if policy is None:
        policy = _policy_of(waiting[0]) if waiting else _DEFAULT_POLICY
    of_group = " as the pod group's preemption policy" if own_policy else ""
    for pod in (*waiting, *_scheduled(root, groups)):
        spec = pod.pod.spec
        if spec.scheduler_name != name:
            text = f'got: "{spec.scheduler_name}" and "{name}"'
            return f"all pods in a single pod group should have the same .spec.schedulerName set, {text}"
        if pod.priority != root.priority:
            text = f"got {pod.priority} and {root.priority}"
            return f"all pods in a single pod group should have the same priority as the pod group's priority, {text}"
        if _policy_of(pod) != policy:
            text = f"got {_policy_of(pod)} and {policy}"
            return f"all pods in a single pod group should have the same preemption policy{of_group}, {text}"
    if name not in profiles:
        return f'profile not found for scheduler name "{name}"'
    return None


def _scheduled(root: PodGroupInfo, groups: PodGroupStates) -> Iterable[PodInfo]:
    for leaf in root.leaves():
        state = groups.state(leaf.key)
        yield from state.scheduled_pods() if state is not None else ()


def _policy_of(pod: PodInfo) -> str:
    return pod.pod.spec.preemption_policy or _DEFAULT_POLICY
