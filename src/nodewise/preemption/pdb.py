"""Which victims would break a PodDisruptionBudget."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from nodewise.api.objects import PodDisruptionBudget
from nodewise.api.selectors import Selector
from nodewise.errors import SelectorError
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class Budget:
    """What preemption reads of a PodDisruptionBudget.

    Attributes
    ----------
    selector : Selector
        The pods it protects.
    disruptions_allowed : int
        status.disruptionsAllowed.
    disrupted : Container[str]
        Names of pods whose disruption the API server has counted already.
    """

    selector: Selector
    disruptions_allowed: int
    disrupted: Container[str]


class BudgetIndex:
    """The budgets by namespace, ready for matching; read anew only when the listers changed."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._version = -1
        self._by_namespace: dict[str, list[Budget]] = {}

    def in_namespace(self, namespace: str) -> Sequence[Budget]:
        """Return the budgets of a namespace that can match a pod."""
        if self._version != self._listers.budgets_version:
            self._version = self._listers.budgets_version
            self._by_namespace = {}
        budgets = self._by_namespace.get(namespace)
        if budgets is None:
            found = map(_budget, self._listers.pod_disruption_budgets.get(namespace, {}).values())
            budgets = self._by_namespace[namespace] = [budget for budget in found if budget is not None]
        return budgets


def _budget(pdb: PodDisruptionBudget) -> Budget | None:
    """Return a budget; None when its selector is invalid or empty, and so protects nothing."""
    try:
        selector = Selector.from_label_selector(pdb.spec.selector)
    except SelectorError:
        return None
    if selector.is_empty or selector.is_nothing:
        return None
    return Budget(selector, pdb.status.disruptions_allowed, pdb.status.disrupted_pods)


def split_by_budget(victims: Sequence[PodInfo], budgets: BudgetIndex) -> tuple[list[PodInfo], list[PodInfo]]:
    """Split victims into those whose eviction breaks a budget and the others (FilterVictimsWithPDBViolation).

    Budgets are used up in the order of the victims, so an early victim may leave nothing for a later one. A pod
    draws from one budget after the other until one of them has nothing left.
    """
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    used: dict[int, int] = {}
    for victim in victims:
        (violating if _is_violating(victim, budgets, used) else others).append(victim)
    return violating, others


def n_violating(pods: Sequence[PodInfo], budgets: BudgetIndex, used: dict[int, int]) -> int:
    """Return how many of some pods break a budget; `used` says what others took from each, by identity."""
    return sum(_is_violating(pod, budgets, used) for pod in pods)


def _is_violating(victim: PodInfo, budgets: BudgetIndex, used: dict[int, int]) -> bool:
    metadata = victim.pod.metadata
    if not metadata.labels:
        return False
    for budget in budgets.in_namespace(metadata.namespace):
        if not budget.selector.matches(metadata.labels) or metadata.name in budget.disrupted:
            continue
        used[id(budget)] = used.get(id(budget), 0) + 1
        if used[id(budget)] > budget.disruptions_allowed:
            return True
    return False
