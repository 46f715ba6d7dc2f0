"""Reading a whole cluster from files: decoded, defaulted, validated, admitted, workloads made into pods."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

from nodewise.api.admission import SYSTEM_PRIORITY_CLASSES, create_pod, identified
from nodewise.api.defaults import NAMESPACE_NAME_LABEL, default_object
from nodewise.api.devices import DeviceObject
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.objects import (
    AnyObject,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageObject,
    replace,
)
from nodewise.api.validation import validate_object
from nodewise.cluster.claim_making import ClaimMaker
from nodewise.cluster.collect import Collected, Collector, Progress
from nodewise.cluster.device_claim_making import DeviceClaimMaker
from nodewise.cluster.object_set import InputError, ObjectSet
from nodewise.cluster.workloads import WorkloadExpander

__all__ = ["InputError", "LoadedCluster", "ObjectSet", "load_cluster"]

_ENDED_PHASES = ("Succeeded", "Failed")


@dataclass(slots=True)
class LoadedCluster:
    """A cluster, the objects of the input that were refused, and remarks on the rest.

    Attributes
    ----------
    sources : dict[str, str]
        Where each pending pod stands in the input, by `namespace/name`; for pods of a controller, where that stands.
    """

    objects: ObjectSet = field(default_factory=ObjectSet)
    errors: list[InputError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)


def load_cluster(
    paths: Sequence[str],
    *,
    workloads: Literal["expand", "ignore"] = "expand",
    stdin: BinaryIO | None = None,
    progress: Progress | None = None,
) -> LoadedCluster:
    """Read files, directories and `-` (stdin) into one cluster.

    Parameters
    ----------
    workloads
        Whether controllers' objects are made into the pods that they lack.
    progress
        Called with the phase, and the bytes read so far and in total.

    Returns
    -------
    LoadedCluster
        Whatever is readable; each object or text that is not stands in `errors`.
    """
    with _collector_paused():
        collector = Collector(stdin, progress)
        collector.read(paths)
        assembler = _Assembler(collector)
        assembler.admit_all()
        if workloads == "expand":
            assembler.expand_workloads()
        return assembler.finish()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector from walking a growing heap that holds no garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Assembler:
    """Takes decoded objects through admission into an object set."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._loaded = LoadedCluster(errors=collector.errors, notes=collector.notes)
        self._classes: dict[str, PriorityClass] = dict(SYSTEM_PRIORITY_CLASSES)
        self._ended_pods: list[Pod] = []
        self._admitted: list[tuple[Collected, AnyObject]] = []

    def admit_all(self) -> None:
        """Default and validate every object, then admit pods by the priority classes among them."""
        defaulted: list[tuple[Collected, AnyObject]] = []
        for collected in self._collector.collected:
            try:
                obj = default_object(collected.obj, collected.api_version)
            except InvalidFieldError as error:
                self._refuse(collected, error.field, error.message)
                continue
            # Pods are validated once they are admitted, since admission fills in what some rules read.
            if not isinstance(obj, Pod) and self._is_refused(collected, obj):
                continue
            defaulted.append((collected, obj))
            if isinstance(obj, PriorityClass):
                self._classes[obj.metadata.name] = obj
        self._collector.collected = []
        for collected, obj in defaulted:
            admitted = self._admitted_pod(collected, obj) if isinstance(obj, Pod) else obj
            if admitted is None:
                continue
            metadata = identified(admitted.metadata, collected.kind.name, collected.position)
            if metadata is not admitted.metadata:
                admitted = replace(admitted, metadata=metadata)
            self._admitted.append((collected, admitted))

    def _admitted_pod(self, collected: Collected, pod: Pod) -> Pod | None:
        """Return the pod as stored, or None when it has ended or is refused."""
        if pod.status.phase in _ENDED_PHASES:
            self._ended_pods.append(pod)
            return None
        if not pod.metadata.uid:
            try:
                pod = create_pod(pod, self._classes)
            except InvalidFieldError as error:
                self._refuse(collected, error.field, error.message)
                return None
        return None if self._is_refused(collected, pod) else pod

    def expand_workloads(self) -> None:
        """Make the pods that controllers would make, in their controller's place."""
        expander = WorkloadExpander((obj for _, obj in self._admitted), self._ended_pods, self._classes)
        expanded: list[tuple[Collected, AnyObject]] = []
        for collected, obj in self._admitted:
            expanded.append((collected, obj))
            try:
                made = expander.expand(obj, collected.position)
            except InvalidFieldError as error:
                self._refuse(collected, error.field, error.message)
                continue
            expanded += ((collected, created) for created in made)
        self._loaded.notes += expander.notes
        self._admitted = expanded
        self._make_claims()

    def _make_claims(self) -> None:
        """Make the claims that are missing, after the objects that they are made for."""
        maker = ClaimMaker(obj for _, obj in self._admitted)
        with_claims: list[tuple[Collected, AnyObject]] = []
        for collected, obj in self._admitted:
            with_claims.append((collected, obj))
            with_claims += ((collected, made) for made in maker.make(obj, collected.position))
        self._loaded.notes += maker.notes
        self._admitted = with_claims
        self._make_device_claims()

    def _make_device_claims(self) -> None:
        """Make the device claims that pods lack, before the pods that they are made for."""
        maker = DeviceClaimMaker(obj for _, obj in self._admitted)
        with_claims: list[tuple[Collected, AnyObject]] = []
        for collected, obj in self._admitted:
            known, made = maker.make(obj, collected.position)
            with_claims += ((collected, claim) for claim in made)
            with_claims.append((collected, known))
        self._loaded.notes += maker.notes
        self._admitted = with_claims

    def finish(self) -> LoadedCluster:
        """Sort the objects by kind and make the namespaces that are only used."""
        objects = self._loaded.objects
        objects.priority_classes.update(SYSTEM_PRIORITY_CLASSES)
        lists: dict[type[Any], list[Any]] = {
            Node: objects.nodes,
            PodDisruptionBudget: objects.pod_disruption_budgets,
            Service: objects.services,
            ReplicationController: objects.replication_controllers,
            ReplicaSet: objects.replica_sets,
            StatefulSet: objects.stateful_sets,
        }
        used_namespaces: dict[str, None] = {}
        for collected, obj in self._admitted:
            if collected.kind.is_namespaced:
                used_namespaces[obj.metadata.namespace] = None
            if isinstance(obj, Pod):
                objects.pods.append(obj)
                if not obj.spec.node_name:
                    self._loaded.sources[obj.key] = collected.source
            elif isinstance(obj, Namespace):
                objects.namespaces[obj.metadata.name] = obj
            elif isinstance(obj, PriorityClass):
                objects.priority_classes[obj.metadata.name] = obj
            elif isinstance(obj, DeviceObject):
                objects.device_objects.append(obj)
            elif isinstance(obj, StorageObject):
                objects.storage.append(obj)
            elif type(obj) in lists:
                lists[type(obj)].append(obj)
        used_namespaces |= dict.fromkeys(pod.metadata.namespace for pod in self._ended_pods)
        for name in used_namespaces:
            if name not in objects.namespaces:
                metadata = ObjectMeta(name=name, labels={NAMESPACE_NAME_LABEL: name})
                objects.namespaces[name] = Namespace(identified(metadata, "Namespace", 0))
        return self._loaded

    def _is_refused(self, collected: Collected, obj: AnyObject) -> bool:
        errors = validate_object(obj)
        for error in errors:
            self._refuse(collected, error.field, error.message)
        return bool(errors)

    def _refuse(self, collected: Collected, field: str, message: str) -> None:
        self._loaded.errors.append(InputError(collected.source, collected.label, field, message))
