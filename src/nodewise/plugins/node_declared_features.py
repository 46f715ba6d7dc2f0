"""Keeps pods that need a feature to nodes that declare it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np

from nodewise.api.objects import Container, Node, Pod
from nodewise.framework.events import (
    QUEUE,
    SKIP,
    ActionType,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
    register,
)
from nodewise.framework.plugin import Handle, Rejections
from nodewise.framework.status import Status
from nodewise.state.columns import Columns, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot

RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_HOST_NETWORK = "UserNamespacesHostNetworkSupport"
VOLUME_BIND_MOUNT_OPTIONS = "VolumeBindMountOptions"
MISSING = Status.unresolvable("node(s) didn't match Pod's required features")


class NodeDeclaredFeatures:
    """Plugin NodeDeclaredFeatures; the state is the features the pod needs."""

    name: ClassVar[str] = "NodeDeclaredFeatures"
    reads: ClassVar[Reads] = Reads.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def class_key(self, pod: Pod) -> Hashable:
        return required_features(pod)

    def compile(self, pod: Pod, snapshot: Snapshot) -> frozenset[str] | None:
        return frozenset(required_features(pod)) or None

    def filter(self, state: frozenset[str], columns: Columns, rows: Rows) -> Rejections:
        """Reject nodes that lack a needed feature (NodeDeclaredFeatures.Filter)."""
        lacking = np.array([not state <= declared for declared in columns.feature_sets.values], np.int64)
        return lacking.take(columns.feature_set[rows])

    def rejection(self, state: frozenset[str], code: int) -> Status:
        return MISSING

    def events_to_register(self) -> list[ClusterEventWithHint]:
        node_changes = ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE
        return [
            register(EventResource.NODE, node_changes, after_node_change),
            register(EventResource.TARGET_POD, ActionType.UPDATE, after_pod_update),
        ]


def after_node_change(pod: Pod, old: Node | None, new: Node) -> QueueingHint:
    """Queue when the node is new or declares other features, be it ones that the pod does not need."""
    return SKIP if old is not None and old.status.declared_features == new.status.declared_features else QUEUE


def after_pod_update(pod: Pod, old: Pod, new: Pod) -> QueueingHint:
    """Queue when the pod needs other features."""
    return QUEUE if required_features(new) != required_features(old) else SKIP


def required_features(pod: Pod) -> tuple[str, ...]:
    """Return the features that a pod's spec needs on its node (ndf.Framework.InferForPodScheduling)."""
    spec = pod.spec
    features: set[str] = set()
    if spec.host_network and spec.host_users is False:
        features.add(USER_NAMESPACES_HOST_NETWORK)
    for container in spec.containers:
        if container.restart_policy_rules or container.volume_mounts:
            _add_features(container, features)
    for container in spec.init_containers:
        _add_features(container, features)
    return tuple(sorted(features)) if features else ()


def _add_features(container: Container, features: set[str]) -> None:
    if any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules):
        features.add(RESTART_ALL_CONTAINERS)
    if any(mount.bind_mount_options for mount in container.volume_mounts):
        features.add(VOLUME_BIND_MOUNT_OPTIONS)
