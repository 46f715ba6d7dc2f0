"""Small pod groups and their pods, for tests and examples."""

from __future__ import annotations

from typing import Any

from nodewise.api.meta import ObjectMeta
from nodewise.api.objects import Pod, PodSchedulingGroup
from nodewise.api.pod_groups import (
    CompositeGangSchedulingPolicy,
    CompositePodGroup,
    CompositePodGroupSchedulingPolicy,
    CompositePodGroupSpec,
    DisruptionMode,
    GangSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    SchedulingConstraints,
    TopologyConstraint,
)
from nodewise.testing.builders import make_pod


def make_group(name: str, min_count: int | None = None, *, namespace: str = "default", **spec: Any) -> PodGroup:
    """Make a pod group.

    Parameters
    ----------
    min_count : int | None
        Makes it a gang; None: its pods do not wait for each other.
    **spec
        `priority`, `parent` (the name of the group above it), `topology` (a node label), `goes_whole` (whether it is
        evicted as a whole).
    """
    gang = GangSchedulingPolicy(min_count) if min_count is not None else None
    policy = PodGroupSchedulingPolicy({} if gang is None else None, gang)
    metadata = ObjectMeta(name=name, namespace=namespace, uid=f"group/{namespace}/{name}")
    return PodGroup(metadata, PodGroupSpec(scheduling_policy=policy, **_common(**spec)))


def make_group_of_groups(
    name: str, min_count: int | None = None, *, namespace: str = "default", **spec: Any
) -> CompositePodGroup:
    """Make a group of groups; the parameters are those of `make_group`."""
    gang = CompositeGangSchedulingPolicy(min_count) if min_count is not None else None
    policy = CompositePodGroupSchedulingPolicy({} if gang is None else None, gang)
    metadata = ObjectMeta(name=name, namespace=namespace, uid=f"tree/{namespace}/{name}")
    return CompositePodGroup(metadata, CompositePodGroupSpec(scheduling_policy=policy, **_common(**spec)))


def _common(
    *, priority: int = 0, parent: str | None = None, topology: str | None = None, goes_whole: bool = False
) -> dict[str, Any]:
    constraints = SchedulingConstraints((TopologyConstraint(topology),)) if topology is not None else None
    return {
        "priority": priority,
        "parent_composite_pod_group_name": parent,
        "scheduling_constraints": constraints,
        "disruption_mode": DisruptionMode(all={}) if goes_whole else DisruptionMode(single={}),
    }


def make_member(name: str, group: str, cpu: str | None = None, **more: Any) -> Pod:
    """Make a pod of a group.

    >>> make_member("p", "g").spec.pod_group_name
    'g'
    """
    return make_pod(name, cpu, scheduling_group=PodSchedulingGroup(group), **more)
