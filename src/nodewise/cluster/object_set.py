"""The objects of one cluster as scheduling reads them, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from nodewise.api.devices import DeviceObject
from nodewise.api.objects import (
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PodGroupObject,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageObject,
)
from nodewise.state.listers import ListedObject


@dataclass(slots=True)
class ObjectSet:
    """A cluster's objects with defaults and admission applied; pods that have ended are left out.

    Attributes
    ----------
    documents : dict[tuple[str, str], bytes]
        What pods and nodes were read from, by kind and `namespace/name` or name; for pods of a controller, its
        template. Only kept on request.
    """

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
    pod_groups: list[PodGroupObject] = field(default_factory=list)
    priority_classes: dict[str, PriorityClass] = field(default_factory=dict)
    documents: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def listed(self) -> tuple[Iterable[ListedObject], ...]:
        """Return the objects that plugins look up: all but nodes, pods, groups and priority classes."""
        return (
            self.namespaces.values(),
            self.services,
            self.replication_controllers,
            self.replica_sets,
            self.stateful_sets,
            self.pod_disruption_budgets,
            self.device_objects,
            self.storage,
        )


@dataclass(frozen=True, slots=True)
class InputError:
    """One thing in the input that was refused: where it stands, which object, which field, and why."""

    source: str
    object: str
    field: str
    message: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.object, self.field, self.message) if part)
