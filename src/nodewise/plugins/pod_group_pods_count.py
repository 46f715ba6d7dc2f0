"""PodGroupPodsCount: prefers the placement that takes most pods of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from nodewise.framework.plugin import MAX_NODE_SCORE, Handle
from nodewise.framework.pod_group_plugin import Placement, PodGroupInfo, Proposal
from nodewise.framework.status import Status
from nodewise.state.columns import IntArray
from nodewise.state.pod_groups import HierarchyError


class PodGroupPodsCount:
    """Plugin PodGroupPodsCount (feature gate TopologyAwareWorkloadScheduling)."""

    name: ClassVar[str] = "PodGroupPodsCount"

    def __init__(self, args: object, handle: Handle) -> None:
        self._handle = handle

    def score_placement(self, group: PodGroupInfo, placement: Placement, proposed: Sequence[Proposal]) -> int | Status:
        """Count the members that have nodes, and those that would get one here."""
        groups = self._handle.pod_groups
        if groups is None:
            return len(proposed)
        try:
            return sum(state.n_scheduled for state in groups.leaf_states(group.key)) + len(proposed)
        except HierarchyError as error:
            return Status.error(str(error))

    def normalize_placements(self, group: PodGroupInfo, scores: IntArray) -> IntArray | Status:
        """Return each count as a percentage of the highest."""
        highest = int(scores.max(initial=0))
        if highest == 0:
            return Status.error("no pods from pod group are assigned to any of the candidate placements")
        normalized: IntArray = scores * MAX_NODE_SCORE // np.int64(highest)
        return normalized
