"""The selector of default spread constraints, deduced from what a pod belongs to."""

from __future__ import annotations

from collections.abc import Hashable

from nodewise.api.objects import OwnerReference, Pod, ReplicaSet, StatefulSet
from nodewise.api.selectors import Selector
from nodewise.errors import SelectorError
from nodewise.state.interning import Interner
from nodewise.state.listers import Listers

REPLICATION_CONTROLLER = ("v1", "ReplicationController")
REPLICA_SET = ("apps/v1", "ReplicaSet")
STATEFUL_SET = ("apps/v1", "StatefulSet")
_SUPPORTED_OWNERS = frozenset({REPLICATION_CONTROLLER, REPLICA_SET, STATEFUL_SET})
_MAX_REMEMBERED = 20_000

NO_SIBLINGS = 0


class DefaultSelectors:
    """Selectors by namespace, labels and owner, remembered until a lister changes; equal ones have one id."""

    __slots__ = ("_ids", "_known", "_listers", "_version")

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._version = -1
        self._known: dict[Hashable, int] = {}
        self._ids: Interner[Selector] = Interner()
        self._ids.intern(Selector())

    def __getitem__(self, selector_id: int) -> Selector:
        return self._ids.values[selector_id]

    def id_of(self, pod: Pod) -> int:
        """Return the id of the selector of a pod's siblings; `NO_SIBLINGS`: it is empty (helper.DefaultSelector)."""
        if self._version != self._listers.version or len(self._known) > _MAX_REMEMBERED:
            self._known.clear()
            self._version = self._listers.version
        meta = pod.metadata
        owner = _controller(pod)
        if owner is None and meta.namespace not in self._listers.services:
            return NO_SIBLINGS
        key = (
            meta.namespace,
            frozenset(meta.labels.items()),
            owner and (owner.api_version, owner.kind, owner.name),
        )
        selector_id = self._known.get(key)
        if selector_id is None:
            selector_id = self._known[key] = self._ids.intern(self._deduce(pod, owner))
        return selector_id

    def _deduce(self, pod: Pod, owner: OwnerReference | None) -> Selector:
        listers, meta = self._listers, pod.metadata
        labels: dict[str, str] = {}
        for service in listers.services.get(meta.namespace, {}).values():
            wanted = service.spec.selector
            if wanted is not None and Selector.from_map(wanted).matches(meta.labels):
                labels.update(wanted)
        if owner is None:
            return Selector.from_map(labels)
        kind = (owner.api_version, owner.kind)
        if kind == REPLICATION_CONTROLLER:
            controller = listers.replication_controllers.get(meta.namespace, {}).get(owner.name)
            if controller is not None:
                labels.update(controller.spec.selector or {})
            return Selector.from_map(labels)
        replicas: ReplicaSet | StatefulSet | None
        if kind == REPLICA_SET:
            replicas = listers.replica_sets.get(meta.namespace, {}).get(owner.name)
        else:
            replicas = listers.stateful_sets.get(meta.namespace, {}).get(owner.name)
        selector = Selector.from_map(labels)
        if replicas is None:
            return selector
        try:
            other = Selector.from_label_selector(replicas.spec.selector)
        except SelectorError:
            return selector
        return _both(selector, other)


def _controller(pod: Pod) -> OwnerReference | None:
    """Return the owner that controls a pod, if it is of a kind that tells something (metav1.GetControllerOf)."""
    for owner in pod.metadata.owner_references:
        if owner.controller:
            return owner if (owner.api_version, owner.kind) in _SUPPORTED_OWNERS else None
    return None


def _both(selector: Selector, other: Selector) -> Selector:
    """Require what either selector requires; one that matches nothing adds nothing."""
    requirements = {*selector.requirements, *other.requirements}
    return Selector(tuple(sorted(requirements, key=lambda r: (r.key, r.operator.value, r.values))))
