"""Reading a whole cluster from files: decoded, defaulted, validated, admitted, workloads made into pods."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

import msgspec

from nodewise.api.admission import SYSTEM_PRIORITY_CLASSES, create_pod, identified
from nodewise.api.admission_pod_groups import create_pod_group
from nodewise.api.defaults import NAMESPACE_NAME_LABEL, default_object
from nodewise.api.devices import DeviceObject
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.kinds import Kind
from nodewise.api.objects import (
    AnyObject,
    Namespace,
    Node,
    ObjectMeta,
    Pod,
    PodDisruptionBudget,
    PodGroupObject,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageObject,
    replace,
)
from nodewise.api.pod_groups import CompositePodGroup
from nodewise.api.validation import validate_object
from nodewise.cluster.claim_making import ClaimMaker
from nodewise.cluster.collect import Collected, Collector, Progress
from nodewise.cluster.device_claim_making import DeviceClaimMaker
from nodewise.cluster.gated_fields import is_overlooked, without_gated_fields
from nodewise.cluster.object_documents import place_of, template_document
from nodewise.cluster.object_set import InputError, ObjectSet
from nodewise.cluster.workloads import WorkloadExpander
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates

__all__ = ["InputError", "LoadedCluster", "ObjectSet", "load_cluster", "load_listed"]

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
    gates: FeatureGates = DEFAULT_GATES,
    keep_documents: bool = False,
) -> LoadedCluster:
    """Read files, directories and `-` (stdin) into one cluster.

    Parameters
    ----------
    workloads
        Whether controllers' objects are made into the pods that they lack.
    progress
        Called with the phase, and the bytes read so far and in total.
    gates
        Those of the API server: fields of features that are off are dropped from new objects.
    keep_documents
        Whether `documents` of the objects are wanted: extenders get all that stands in them.

    Returns
    -------
    LoadedCluster
        Whatever is readable; each object or text that is not stands in `errors`.
    """
    with _collector_paused():
        collector = Collector(stdin, progress, keep_documents=keep_documents)
        collector.read(paths)
        return _assembled(_Assembler(collector, gates), workloads)


def load_listed(
    listed: Iterable[tuple[Kind, str, Iterable[msgspec.Raw]]],
    *,
    workloads: Literal["expand", "ignore"] = "ignore",
    gates: FeatureGates = DEFAULT_GATES,
    keep_documents: bool = False,
) -> LoadedCluster:
    """Make a cluster of what an API server holds; it has been validated and admitted there.

    Parameters
    ----------
    listed
        Kinds, the API versions they are in, and their objects as JSON.
    workloads, gates, keep_documents
        As of `load_cluster`.
    """
    with _collector_paused():
        collector = Collector(keep_documents=keep_documents)
        for kind, api_version, items in listed:
            collector.take(items, kind, api_version)
        return _assembled(_Assembler(collector, gates, is_validated=True), workloads)


def _assembled(assembler: _Assembler, workloads: Literal["expand", "ignore"]) -> LoadedCluster:
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

    def __init__(self, collector: Collector, gates: FeatureGates, *, is_validated: bool = False) -> None:
        self._collector = collector
        self._is_validated = is_validated
        self._gates = gates
        self._loaded = LoadedCluster(errors=collector.errors, notes=collector.notes)
        self._classes: dict[str, PriorityClass] = dict(SYSTEM_PRIORITY_CLASSES)
        self._ended_pods: list[Pod] = []
        self._admitted: list[tuple[Collected, AnyObject]] = []
        self._n_without_effect: Counter[tuple[str, str]] = Counter()

    def admit_all(self) -> None:
        """Default and validate every object, then admit pods by the priority classes among them."""
        defaulted: list[tuple[Collected, AnyObject]] = []
        for collected in self._collector.collected:
            try:
                obj = default_object(collected.obj, collected.api_version)
            except InvalidFieldError as error:
                self._refuse(collected, error.field, error.message)
                continue
            if self._gates.switched:
                if is_overlooked(obj, self._gates):
                    continue
                obj = without_gated_fields(obj, self._gates)
            # These are validated once they are admitted, since admission fills in what some rules read.
            if not isinstance(obj, (Pod, PodGroupObject)) and self._is_refused(collected, obj):
                continue
            defaulted.append((collected, obj))
            if isinstance(obj, PriorityClass):
                self._classes[obj.metadata.name] = obj
        self._collector.collected = []
        for collected, obj in defaulted:
            admitted: AnyObject | None = obj
            if isinstance(obj, Pod):
                admitted = self._admitted_pod(collected, obj)
            elif isinstance(obj, PodGroupObject):
                admitted = self._admitted_pod_group(collected, obj)
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
            pod = self._without_group(pod)
        return None if self._is_refused(collected, pod) else pod

    def _admitted_pod_group(self, collected: Collected, group: PodGroupObject) -> PodGroupObject | None:
        """Return the group as stored; None when it is refused, or without effect since its feature is off."""
        gate = "CompositePodGroup" if isinstance(group, CompositePodGroup) else "GenericWorkload"
        if not self._gates.enabled(gate):
            self._n_without_effect[collected.kind.name, gate] += 1
            return None
        if not group.metadata.uid:
            try:
                group = create_pod_group(group, self._classes, self._gates.enabled)
            except InvalidFieldError as error:
                self._refuse(collected, error.field, error.message)
                return None
        return None if self._is_refused(collected, group) else group

    def _without_group(self, pod: Pod) -> Pod:
        """Drop a new pod's group while pod groups are off (dropDisabledSchedulingGroup)."""
        if pod.spec.scheduling_group is None or self._gates.enabled("GenericWorkload"):
            return pod
        return replace(pod, spec=replace(pod.spec, scheduling_group=None))

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
            expanded += ((collected, self._without_group(c) if isinstance(c, Pod) else c) for c in made)
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
            elif isinstance(obj, PodGroupObject):
                objects.pod_groups.append(obj)
            elif type(obj) in lists:
                lists[type(obj)].append(obj)
        for (kind, gate), count in self._n_without_effect.items():
            self._loaded.notes.append(f"{count} {kind} without effect: feature gate {gate} is off")
        if self._collector.documents is not None:
            objects.documents.update(self._documents(self._collector.documents))
        used_namespaces |= dict.fromkeys(pod.metadata.namespace for pod in self._ended_pods)
        for name in used_namespaces:
            if name not in objects.namespaces:
                metadata = ObjectMeta(name=name, labels={NAMESPACE_NAME_LABEL: name})
                objects.namespaces[name] = Namespace(identified(metadata, "Namespace", 0))
        return self._loaded

    def _documents(self, documents: dict[tuple[str, str], bytes]) -> Iterator[tuple[tuple[str, str], bytes]]:
        """Yield what each pod and node was read from, or made of."""
        templates: dict[tuple[str, str], bytes] = {}
        for collected, obj in self._admitted:
            if not isinstance(obj, (Pod, Node)):
                continue
            source = collected.kind.name, place_of(collected.obj)
            if isinstance(collected.obj, (Pod, Node)):
                document = documents.get(source)
            else:
                if source not in templates and source in documents:
                    templates[source] = template_document(documents[source])
                document = templates.get(source)
            if document is not None:
                yield (type(obj).__name__, place_of(obj)), document

    def _is_refused(self, collected: Collected, obj: AnyObject) -> bool:
        if self._is_validated:
            return False
        errors = validate_object(obj)
        for error in errors:
            self._refuse(collected, error.field, error.message)
        return bool(errors)

    def _refuse(self, collected: Collected, field: str, message: str) -> None:
        self._loaded.errors.append(InputError(collected.source, collected.label, field, message))
