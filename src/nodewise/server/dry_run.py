"""A cluster that is only told about: decisions are reported, nothing is written (`--dry-run`)."""

from __future__ import annotations

import logging

from nodewise.api.objects import Pod, PodCondition
from nodewise.cluster.client import PodEvent
from nodewise.framework.status import SUCCESS, Status
from nodewise.state.pod_info import PodInfo

LOGGER = logging.getLogger("nodewise")


class DryRunCluster:
    """Reports what would be written to a cluster (nodewise.cluster.client.ClusterClient).

    A pod counts as placed where it would be bound, until the cluster says where it really is.
    """

    objects = None

    async def bind(self, pod: PodInfo, node_name: str) -> Status:
        """Report a binding."""
        LOGGER.info("dry run: would bind %s to %s", pod.key, node_name)
        return SUCCESS

    async def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> None:
        """Report why a pod has no node."""
        if condition is not None:
            LOGGER.info("dry run: %s %s: %s", pod.key, condition.reason, condition.message)
        if nominated_node_name:
            LOGGER.info("dry run: would nominate %s to %s", pod.key, nominated_node_name)

    async def delete_pod(self, pod: PodInfo) -> None:
        """Report an eviction."""
        LOGGER.info("dry run: would evict %s from %s", pod.key, pod.node_name)

    def record(self, event: PodEvent) -> None:
        """Leave an event out: what it says is reported already."""
