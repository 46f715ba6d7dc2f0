"""How full the storage that a pod's claims would get is: VolumeBinding's score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nodewise.config.arguments import UtilizationShapePoint
from nodewise.plugins.resource_scoring import on_line, trunc_div
from nodewise.state.columns import BoolArray, IntArray
from nodewise.volumes.binding import Bindings, PodBinding
from nodewise.volumes.matching import NONE, requested_storage
from nodewise.volumes.provisioning import NO_CAPACITY

_MAX_UTILIZATION = 100


class _ClassAmounts:
    """What one storage class is asked for and has, by row, where it counts at all."""

    def __init__(self, n: int) -> None:
        self.requested = np.zeros(n, np.int64)
        self.capacity = np.zeros(n, np.int64)
        self.counts: BoolArray = np.zeros(n, np.bool_)


class CapacityScore:
    """Scores by a broken line over the share of each class's storage that would be used (buildScorerFunction)."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        self._height = np.array([on_line(shape, used) for used in range(_MAX_UTILIZATION + 1)], np.int64)

    def of(self, binding: PodBinding, bindings: Bindings) -> IntArray:
        """Return scores of the rows that were judged: the mean over classes, halves rounded up.

        Returns
        -------
        (n,) int64
            0 where no class counts.
        """
        classes = [*_static(binding, bindings), *_dynamic(bindings)]
        n = len(bindings.codes)
        total, n_classes = np.zeros(n, np.int64), np.zeros(n, np.int64)
        for amounts in classes:
            total += np.where(amounts.counts, self._of_class(amounts), 0)
            n_classes += amounts.counts
        means: IntArray = (2 * total + n_classes) // np.maximum(2 * n_classes, 1)
        return means

    def _of_class(self, amounts: _ClassAmounts) -> IntArray:
        requested, capacity = amounts.requested, amounts.capacity
        is_full = (capacity == 0) | (requested > capacity)
        # wraps as Go's int64 does
        used = trunc_div(requested * _MAX_UTILIZATION, np.where(is_full, 1, capacity))
        scores: IntArray = self._height[np.where(is_full, _MAX_UTILIZATION, used).clip(0, _MAX_UTILIZATION)]
        return scores


def _static(binding: PodBinding, bindings: Bindings) -> list[_ClassAmounts]:
    """Add up, by class, the volumes that are there and the claims that would get them."""
    by_class: dict[str, _ClassAmounts] = {}
    if not bindings.static:
        return []
    class_names = [known.volume.spec.storage_class_name for known in binding.volumes]
    capacities = np.array([*(known.size_bytes for known in binding.volumes), 0], np.int64)
    for claim, numbers in bindings.static:
        size = requested_storage(claim).value()
        for class_name in dict.fromkeys(class_names[number] for number in np.unique(numbers[numbers != NONE])):
            amounts = by_class.setdefault(class_name, _ClassAmounts(len(numbers)))
            is_of_class = np.array([*(name == class_name for name in class_names), False], np.bool_)
            mine = is_of_class[numbers]
            amounts.requested[mine] += size
            amounts.capacity[mine] += capacities[numbers[mine]]
            amounts.counts |= mine
    return list(by_class.values())


def _dynamic(bindings: Bindings) -> list[_ClassAmounts]:
    """Add up, by class, the claims to be provisioned where no volume that is there is used.

    Claims of one class share one capacity, so that is not added up.
    """
    by_class: dict[str, _ClassAmounts] = {}
    without_static = np.ones(len(bindings.codes), np.bool_)
    for _, numbers in bindings.static:
        without_static &= numbers == NONE
    for provision in bindings.provisions:
        mine = provision.needed & (provision.capacity != NO_CAPACITY) & without_static
        if not mine.any():
            continue
        amounts = by_class.setdefault(provision.claim.class_name, _ClassAmounts(len(mine)))
        capacities = np.array(provision.provisioning.capacities, np.int64)
        amounts.capacity[mine] = capacities[provision.capacity[mine]]
        amounts.requested[mine] += requested_storage(provision.claim).value()
        amounts.counts |= mine
    return list(by_class.values())
