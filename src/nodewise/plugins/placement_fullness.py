"""How full the nodes of a placement would be, taken together: NodeResourcesFit's score of placements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nodewise.api.objects import Pod, PodStatus, replace
from nodewise.api.resources import CPU, MEMORY, is_scalar_resource_name, pod_amounts
from nodewise.config.arguments import ResourceSpec
from nodewise.framework.plugin import MAX_NODE_SCORE
from nodewise.framework.pod_group_plugin import Placement
from nodewise.plugins.resource_scoring import FIRST_CLASS_ROWS
from nodewise.state.columns import CPU_ROW, MEMORY_ROW, Columns


def placement_fullness(
    specs: Sequence[ResourceSpec], columns: Columns, placement: Placement, pods: Iterable[Pod]
) -> int:
    """Return the weighted mean of how much of each resource would be in use (scorePlacement, always MostAllocated).

    Returns
    -------
    int
        0..100.
    """
    requested = _requests(specs, pods)
    total = weights = 0
    for spec in specs:
        of_pods = requested[spec.name]
        if spec.name not in FIRST_CLASS_ROWS and not (of_pods and is_scalar_resource_name(spec.name)):
            continue  # a scalar resource that no pod asks for does not count
        row = FIRST_CLASS_ROWS.get(spec.name)
        row = columns.resource_row(spec.name) if row is None else row
        table = columns.non_zero if row in (CPU_ROW, MEMORY_ROW) else columns.requested
        allocatable = columns.allocatable[row, placement.rows]
        capacity = int(allocatable.sum())
        if capacity == 0:
            continue
        used = of_pods + int(table[row, placement.rows][allocatable != 0].sum())
        total += min(used, capacity) * MAX_NODE_SCORE // capacity * spec.weight
        weights += spec.weight
    return total // weights if weights else 0


def _requests(specs: Sequence[ResourceSpec], pods: Iterable[Pod]) -> dict[str, int]:
    """Return what pods ask for together; resources of whole pods and of their status do not count here."""
    sums = dict.fromkeys([spec.name for spec in specs], 0)
    for pod in pods:
        amounts = pod_amounts(replace(pod, spec=replace(pod.spec, resources=None), status=PodStatus()))
        cpu_milli, memory_bytes = amounts.non_zero_requested
        for name in sums:
            amount = {CPU: cpu_milli, MEMORY: memory_bytes}.get(name)
            sums[name] += amounts.requested.get(name, 0) if amount is None else amount
    return sums
