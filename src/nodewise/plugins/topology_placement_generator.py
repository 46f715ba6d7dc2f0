"""TopologyPlacementGenerator: a group with a topology constraint goes into one domain, such as one rack."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nodewise.framework.plugin import Handle
from nodewise.framework.pod_group_plugin import Placement, PodGroupInfo
from nodewise.framework.status import Status
from nodewise.state.pod_groups import HierarchyError
from nodewise.state.pod_info import PodInfo


class TopologyPlacementGenerator:
    """Plugin TopologyPlacementGenerator (feature gate TopologyAwareWorkloadScheduling)."""

    name: ClassVar[str] = "TopologyPlacementGenerator"

    def __init__(self, args: object, handle: Handle) -> None:
        self._handle = handle

    def generate_placements(self, group: PodGroupInfo, parent: Placement) -> list[Placement] | Status:
        """Return the domains of the group's topology key, by name; only that of members that have nodes already.

        kube-scheduler tries them in no order. Without a key there is one placement, the parent's.
        """
        constraints = group.group.spec.scheduling_constraints
        if constraints is None or not constraints.topology:
            return [parent]
        key = constraints.topology[0].key
        required = None
        try:
            scheduled = self._scheduled_pods(group)
        except HierarchyError as error:
            return Status.error(str(error))
        if scheduled:
            required = self._domain_of(scheduled, key)
            if isinstance(required, Status):
                return required
        columns = self._handle.snapshot.columns
        ids, values = columns.label(key)[parent.rows], columns.label_values(key)
        found = {values[value]: parent.rows[ids == value] for value in np.unique(ids).tolist() if value >= 0}
        return [Placement(name, found[name]) for name in sorted(found) if required is None or name == required]

    def _scheduled_pods(self, group: PodGroupInfo) -> list[PodInfo]:
        groups = self._handle.pod_groups
        if groups is None:
            return []
        return [pod for state in groups.leaf_states(group.key) for pod in state.scheduled_pods()]

    def _domain_of(self, pods: list[PodInfo], key: str) -> str | Status:
        """Return the one domain that pods are in, or an error (getScheduledPodsTopologyDomain)."""
        domain = ""
        for pod in pods:
            row = self._handle.snapshot.columns.row_of(pod.node_name)
            node = self._handle.snapshot.columns.nodes[row] if row is not None else None
            if node is None:
                missing = f'nodeinfo not found for node name "{pod.node_name}"'
                return _unknown_domain(f"getting node for pod {pod.key}: {missing}")
            value = node.metadata.labels.get(key)
            if value is None:
                return _unknown_domain(f"no topology domain found for pod {pod.key}")
            if domain not in ("", value):
                return _unknown_domain(f"more than 1 domain found for pod group: {domain}, {value}")
            domain = value
        return domain


def _unknown_domain(problem: str) -> Status:
    return Status.error(f"cannot determine domain for already scheduled pods: {problem}")
