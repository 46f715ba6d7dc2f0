"""Pod groups and groups of them (scheduling.k8s.io), with only the fields that scheduling reads."""

from __future__ import annotations

from typing import Any

from nodewise.api.meta import Int32, Object, ObjectMeta


class GangSchedulingPolicy(Object, frozen=True):
    min_count: Int32 = 0


class PodGroupSchedulingPolicy(Object, frozen=True):
    """One of the two is set; of `basic` only its presence counts."""

    basic: Any = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(Object, frozen=True):
    key: str = ""


class SchedulingConstraints(Object, frozen=True):
    """The shape of the constraints of both kinds; at most one topology is allowed."""

    topology: tuple[TopologyConstraint, ...] = ()


class DisruptionMode(Object, frozen=True):
    """One of the two is set, and only its presence counts: pods go one by one, or all together."""

    single: Any = None
    all: Any = None


class WorkloadReference(Object, frozen=True):
    workload_name: str = ""
    template_name: str = ""


class PodGroupResourceClaim(Object, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupSpec(Object, frozen=True):
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class CompositeGangSchedulingPolicy(Object, frozen=True):
    min_group_count: Int32 = 0


class CompositePodGroupSchedulingPolicy(Object, frozen=True):
    basic: Any = None
    gang: CompositeGangSchedulingPolicy | None = None


class CompositePodGroupSpec(Object, frozen=True):
    parent_composite_pod_group_name: str | None = None
    workload_ref: WorkloadReference | None = None
    scheduling_policy: CompositePodGroupSchedulingPolicy = CompositePodGroupSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: DisruptionMode | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None


class PodGroup(Object, frozen=True):
    """Pods that are decided on together."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()

    @property
    def min_count(self) -> int:
        """How many pods must have a node at once: minCount of a gang, 1 else (getMinCount)."""
        gang = self.spec.scheduling_policy.gang
        return gang.min_count if gang is not None else 1


class CompositePodGroup(Object, frozen=True):
    """Pod groups, or groups of them, that are decided on together."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CompositePodGroupSpec = CompositePodGroupSpec()

    @property
    def min_count(self) -> int:
        """How many children must be placed at once: minGroupCount of a gang, 1 else (getMinCount)."""
        gang = self.spec.scheduling_policy.gang
        return gang.min_group_count if gang is not None else 1


PodGroupObject = PodGroup | CompositePodGroup
