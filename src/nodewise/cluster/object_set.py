"""The objects of one cluster as scheduling reads them, and what could not be read."""

from __future__ import annotations

from dataclasses import dataclass, field

from nodewise.api.devices import DeviceObject
from nodewise.api.objects import (
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageObject,
)


@dataclass(slots=True)
class ObjectSet:
    """A cluster's objects with defaults and admission applied; pods that have ended are left out."""

    pods: list[Pod] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    pod_disruption_budgets: list[PodDisruptionBudget] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    replication_controllers: list[ReplicationController] = field(default_factory=list)
    replica_sets: list[ReplicaSet] = field(default_factory=list)
    stateful_sets: list[StatefulSet] = field(default_factory=list)
    device_objects: list[DeviceObject] = field(default_factory=list)
    storage: list[StorageObject] = field(default_factory=list)
    priority_classes: dict[str, PriorityClass] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputError:
    """One thing in the input that was refused: where it stands, which object, which field, and why."""

    source: str
    object: str
    field: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.object, self.field, self.message) if part)
