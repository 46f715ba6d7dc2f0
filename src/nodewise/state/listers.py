"""The other objects that plugins look up: namespaces, services, controllers and disruption budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodewise.api.devices import DeviceObject
from nodewise.api.objects import (
    Namespace,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from nodewise.api.storage import StorageObject
from nodewise.state.device_listers import DeviceListers
from nodewise.state.storage_listers import StorageListers

_NO_LABELS: Mapping[str, str] = {}


class Listers:
    """Objects by namespace and name.

    `version` grows with every change; what a plugin derives from listers it keeps only for one version. Volumes and
    claims are in `storage`, which has its own.
    """

    def __init__(self) -> None:
        self.version = 0
        self.storage = StorageListers()
        self.namespaces: dict[str, Namespace] = {}
        self.services: dict[str, list[Service]] = {}
        self.replication_controllers: dict[tuple[str, str], ReplicationController] = {}
        self.replica_sets: dict[tuple[str, str], ReplicaSet] = {}
        self.stateful_sets: dict[tuple[str, str], StatefulSet] = {}
        self.pod_disruption_budgets: dict[str, list[PodDisruptionBudget]] = {}
        self.devices = DeviceListers()

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of a namespace; none when it does not exist."""
        namespace = self.namespaces.get(name)
        return namespace.metadata.labels if namespace is not None else _NO_LABELS

    def fill(
        self,
        *,
        namespaces: Iterable[Namespace] = (),
        services: Iterable[Service] = (),
        replication_controllers: Iterable[ReplicationController] = (),
        replica_sets: Iterable[ReplicaSet] = (),
        stateful_sets: Iterable[StatefulSet] = (),
        pod_disruption_budgets: Iterable[PodDisruptionBudget] = (),
        device_objects: Iterable[DeviceObject] = (),
        storage: Iterable[StorageObject] = (),
    ) -> None:
        """Add objects."""
        self.version += 1
        self.storage.fill(storage)
        self.namespaces.update((ns.metadata.name, ns) for ns in namespaces)
        for service in services:
            self.services.setdefault(service.metadata.namespace, []).append(service)
        for rc in replication_controllers:
            self.replication_controllers[rc.metadata.namespace, rc.metadata.name] = rc
        for rs in replica_sets:
            self.replica_sets[rs.metadata.namespace, rs.metadata.name] = rs
        for sts in stateful_sets:
            self.stateful_sets[sts.metadata.namespace, sts.metadata.name] = sts
        for pdb in pod_disruption_budgets:
            self.pod_disruption_budgets.setdefault(pdb.metadata.namespace, []).append(pdb)
        self.devices.fill(device_objects)
