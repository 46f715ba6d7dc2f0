"""Topology spread constraints read from a pod, and which nodes count for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from nodewise.api.objects import Pod, Toleration, TopologySpreadConstraint
from nodewise.api.selectors import Selector
from nodewise.api.tolerations import untolerated_taint
from nodewise.framework.node_selector import RequiredNodeAffinity
from nodewise.state.columns import ALL_ROWS, BoolArray, NodeTable

HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"
HOSTNAME_KEY = "kubernetes.io/hostname"
ZONE_KEY = "topology.kubernetes.io/zone"

SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME_KEY, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE_KEY, when_unsatisfiable=SOFT),
)


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """A constraint with its selector read and its defaults filled in.

    Attributes
    ----------
    min_domains : int
        With fewer domains than that the lowest count is taken to be 0.
    honors_affinity, honors_taints : bool
        Whether nodes count only if the pod's required node affinity allows them, or its tolerations.
    """

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool

    @property
    def is_by_hostname(self) -> bool:
        """Whether a soft constraint counts pods node by node."""
        return self.topology_key == HOSTNAME_KEY


def read_constraints(
    constraints: Iterable[TopologySpreadConstraint], action: str, labels: Mapping[str, str]
) -> tuple[SpreadConstraint, ...]:
    """Read those with a whenUnsatisfiable (filterTopologySpreadConstraints).

    Parameters
    ----------
    labels : Mapping[str, str]
        The pod's, for matchLabelKeys.

    Raises
    ------
    SelectorError
        When a labelSelector cannot be read.
    """
    return tuple(with_selector(c, _selector(c, labels)) for c in constraints if c.when_unsatisfiable == action)


def with_selector(constraint: TopologySpreadConstraint, selector: Selector) -> SpreadConstraint:
    """Fill in the defaults of a constraint and replace its selector."""
    c = constraint
    return SpreadConstraint(
        max_skew=c.max_skew,
        topology_key=c.topology_key,
        selector=selector,
        min_domains=1 if c.min_domains is None else c.min_domains,
        honors_affinity=c.node_affinity_policy is None or c.node_affinity_policy == "Honor",
        honors_taints=c.node_taints_policy == "Honor",
    )


def _selector(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    selector = Selector.from_label_selector(constraint.label_selector)
    keys = constraint.match_label_keys
    return selector.with_equal({key: labels[key] for key in keys if key in labels}) if keys else selector


class NodeInclusion:
    """Which nodes count for constraints of a pod (matchNodeInclusionPolicies)."""

    __slots__ = (
        "_affinity",
        "_affinity_mask",
        "_affinity_version",
        "_compares",
        "_taints_mask",
        "_taints_version",
        "_tolerations",
    )

    def __init__(
        self,
        affinity: RequiredNodeAffinity | None,
        tolerations: tuple[Toleration, ...],
        *,
        comparison_operators: bool = False,
    ) -> None:
        self._affinity = affinity
        self._tolerations = tolerations
        self._compares = comparison_operators
        self._affinity_version = self._taints_version = -1
        self._affinity_mask: BoolArray = np.zeros(0, bool)
        self._taints_mask: BoolArray = np.zeros(0, bool)

    @classmethod
    def of(cls, pod: Pod, *, comparison_operators: bool = False) -> NodeInclusion:
        """Read the parts of a pod that the policies are about."""
        return cls(RequiredNodeAffinity.of(pod), pod.spec.tolerations, comparison_operators=comparison_operators)

    def restrict(self, mask: BoolArray, columns: NodeTable, constraint: SpreadConstraint) -> BoolArray:
        """Return the rows of a mask that count for a constraint, (n_rows,) bool."""
        if constraint.honors_affinity and self._affinity is not None:
            if self._affinity_version != columns.node_version:
                # what cannot be read matches nothing, as in kube-scheduler
                self._affinity_mask = self._affinity.mask(columns, ALL_ROWS)
                self._affinity_version = columns.node_version
            mask = mask & self._affinity_mask
        if constraint.honors_taints:
            if self._taints_version != columns.node_version:
                tolerated = [
                    untolerated_taint(self._tolerations, taints, comparison_operators=self._compares) is None
                    for taints in columns.taint_sets.values
                ]
                self._taints_mask = np.array(tolerated, bool)[columns.taint_set]
                self._taints_version = columns.node_version
            mask = mask & self._taints_mask
        return mask


def has_all_keys(columns: NodeTable, constraints: Iterable[SpreadConstraint]) -> BoolArray:
    """Tell which rows have the topology keys of all constraints, (n_rows,) bool; rows without a node have none."""
    mask = np.ones(columns.n_rows, bool)
    for key in {constraint.topology_key for constraint in constraints}:
        mask &= columns.label(key) >= 0
    return mask
