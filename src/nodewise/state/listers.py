"""The other objects that plugins look up: namespaces, services, controllers and disruption budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nodewise.api.devices import DeviceClass, DeviceObject
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

ListedObject = (
    Namespace
    | Service
    | ReplicationController
    | ReplicaSet
    | StatefulSet
    | PodDisruptionBudget
    | StorageObject
    | DeviceObject
)
"""What `Listers` holds."""
_NO_LABELS: Mapping[str, str] = {}
_Namespaced = dict[str, dict[str, Any]]


class Listers:
    """Objects by namespace and name.

    Volumes and claims are in `storage`, devices in `devices`; both have versions of their own.

    Attributes
    ----------
    version : int
        Grows when something changes that answers about nodes depend on: labels of namespaces, selectors, device
        classes. What a plugin derives from these it keeps only for one version.
    budgets_version : int
        Grows when disruption budgets change.
    """

    def __init__(self) -> None:
        self.version = 0
        self.budgets_version = 0
        self.storage = StorageListers()
        self.devices = DeviceListers()
        self.namespaces: dict[str, Namespace] = {}
        self.services: dict[str, dict[str, Service]] = {}
        self.replication_controllers: dict[str, dict[str, ReplicationController]] = {}
        self.replica_sets: dict[str, dict[str, ReplicaSet]] = {}
        self.stateful_sets: dict[str, dict[str, StatefulSet]] = {}
        self.pod_disruption_budgets: dict[str, dict[str, PodDisruptionBudget]] = {}

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of a namespace; none when it does not exist."""
        namespace = self.namespaces.get(name)
        return namespace.metadata.labels if namespace is not None else _NO_LABELS

    def fill(self, *groups: Iterable[ListedObject]) -> None:
        """Add objects, or replace older ones."""
        for objects in groups:
            for obj in objects:
                self.put(obj)

    def put(self, obj: ListedObject) -> None:
        """Add an object, or replace an older one."""
        if isinstance(obj, StorageObject):
            self.storage.put(obj)
        elif isinstance(obj, DeviceObject):
            self.devices.put(obj)
            self.version += isinstance(obj, DeviceClass)
        elif isinstance(obj, Namespace):
            old = self.namespaces.get(obj.metadata.name)
            self.namespaces[obj.metadata.name] = obj
            self.version += old is None or old.metadata.labels != obj.metadata.labels
        elif isinstance(obj, PodDisruptionBudget):
            _put(self.pod_disruption_budgets, obj)
            self.budgets_version += 1
        else:
            before = _put(self._store_of(obj), obj)
            self.version += before is None or before.spec.selector != obj.spec.selector

    def remove(self, obj: ListedObject) -> None:
        """Remove an object, found by its namespace and name; one that is not there is no error."""
        if isinstance(obj, StorageObject):
            self.storage.remove(obj)
        elif isinstance(obj, DeviceObject):
            self.devices.remove(obj)
            self.version += isinstance(obj, DeviceClass)
        elif isinstance(obj, Namespace):
            self.version += self.namespaces.pop(obj.metadata.name, None) is not None
        elif isinstance(obj, PodDisruptionBudget):
            _drop(self.pod_disruption_budgets, obj)
            self.budgets_version += 1
        else:
            _drop(self._store_of(obj), obj)
            self.version += 1

    def _store_of(self, obj: Service | ReplicationController | ReplicaSet | StatefulSet) -> _Namespaced:
        stores: dict[type, _Namespaced] = {
            Service: self.services,
            ReplicationController: self.replication_controllers,
            ReplicaSet: self.replica_sets,
            StatefulSet: self.stateful_sets,
        }
        return stores[type(obj)]


def _put(store: _Namespaced, obj: Any) -> Any | None:
    in_namespace = store.setdefault(obj.metadata.namespace, {})
    before = in_namespace.get(obj.metadata.name)
    in_namespace[obj.metadata.name] = obj
    return before


def _drop(store: _Namespaced, obj: Any) -> None:
    in_namespace = store.get(obj.metadata.namespace, {})
    in_namespace.pop(obj.metadata.name, None)
    if not in_namespace:
        store.pop(obj.metadata.namespace, None)
