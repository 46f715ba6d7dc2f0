"""Pending pods put together to the groups that they are tried in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nodewise.framework.pod_group_plugin import PodGroupInfo
from nodewise.state.pod_groups import GroupKey, HierarchyError, PodGroupStates
from nodewise.state.pod_info import PodInfo

Members = Mapping[GroupKey, Sequence[PodInfo]]
"""Pending pods by pod group, in the order in which they are tried."""


def root_of_group(groups: PodGroupStates, key: GroupKey) -> GroupKey | None:
    """Return the root of the tree that a pod group is in; None when the tree is not complete, or a circle."""
    try:
        return groups.root_of(key)
    except HierarchyError:
        return None


def build_tree(groups: PodGroupStates, key: GroupKey, members: Members) -> PodGroupInfo:
    """Return a group with all below it that is there, the oldest first (buildQueuedPodGroupInfo)."""
    return _build(groups, key, members, set())


def _build(groups: PodGroupStates, key: GroupKey, members: Members, seen: set[GroupKey]) -> PodGroupInfo:
    seen.add(key)
    group = groups.object(key)
    assert group is not None, f"{key} has no object"
    found = [child for child in groups.children(key) if child not in seen and groups.object(child) is not None]
    children = [_build(groups, child, members, seen) for child in found]
    children.sort(key=_age_and_name)
    return PodGroupInfo(key, group, list(members.get(key, ())), children)


def _age_and_name(info: PodGroupInfo) -> tuple[float, str]:
    created = info.group.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0, info.key.name
