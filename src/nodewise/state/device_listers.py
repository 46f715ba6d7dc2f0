"""Claims, classes, slices and taint rules of dynamic resource allocation, as plugins look them up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace as replace_pending

from nodewise.api.devices import (
    EXTENDED_RESOURCE_CLAIM,
    IMPLICIT_CLASS_PREFIX,
    Device,
    DeviceClass,
    DeviceObject,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from nodewise.api.objects import replace


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A claim before and after; None: it was not there, or is gone."""

    before: ResourceClaim | None
    after: ResourceClaim | None


@dataclass(frozen=True, slots=True)
class PendingAllocation:
    """An allocation that is decided but not written yet.

    Attributes
    ----------
    before : ResourceClaim
        The claim as it was before.
    pods : set[str]
        Uids of the pods that count on it; it stands as long as there are any.
    group_cycle : int
        The pod group cycle in which it was made, which alone may share it; 0: that of a single pod.
    """

    before: ResourceClaim
    pods: set[str]
    group_cycle: int = 0


class DeviceListers:
    """Objects of resource.k8s.io by name.

    Attributes
    ----------
    version : int
        Grows when classes, slices or rules change.
    claims : dict[tuple[str, str], ResourceClaim]
        By namespace and name, allocations that are not written yet included.
    pending : dict[str, PendingAllocation]
        By uid of the claim.
    changes : list[ClaimChange]
        Every change of a claim, oldest first.
    """

    def __init__(self) -> None:
        self.version = 0
        self.classes: dict[str, DeviceClass] = {}
        self.claims: dict[tuple[str, str], ResourceClaim] = {}
        self.pending: dict[str, PendingAllocation] = {}
        self.changes: list[ClaimChange] = []
        self._special_claims: dict[str, ResourceClaim] = {}
        self._class_of_resource: dict[str, DeviceClass] = {}
        self._slices: dict[str, ResourceSlice] = {}
        self._rules: dict[str, DeviceTaintRule] = {}
        self._patched: tuple[int, list[ResourceSlice]] = (-1, [])

    def fill(self, objects: Iterable[DeviceObject]) -> None:
        """Add objects, or replace older ones."""
        for obj in objects:
            self.put(obj)

    def put(self, obj: DeviceObject) -> None:
        """Add an object, or replace an older one."""
        if isinstance(obj, ResourceClaim):
            self._put_news(obj)
            return
        self.version += 1
        name = obj.metadata.name
        if isinstance(obj, DeviceClass):
            known = self.classes.get(name)
            self.classes[name] = obj
            if known is None:
                self._map_resource(obj)
            else:
                self._map_resources()
        elif isinstance(obj, ResourceSlice):
            self._slices[name] = obj
        elif isinstance(obj, DeviceTaintRule):
            self._rules[name] = obj

    def remove(self, obj: DeviceObject) -> None:
        """Remove an object, found by its namespace and name; one that is not there is no error."""
        if isinstance(obj, ResourceClaim):
            self.remove_claim(obj)
            return
        self.version += 1
        name = obj.metadata.name
        if isinstance(obj, DeviceClass):
            self.classes.pop(name, None)
            self._map_resources()
        elif isinstance(obj, ResourceSlice):
            self._slices.pop(name, None)
        elif isinstance(obj, DeviceTaintRule):
            self._rules.pop(name, None)

    def _put_news(self, claim: ResourceClaim) -> None:
        """Take in what the cluster says of a claim; what was decided on since stays (AssumeCache)."""
        uid = claim.metadata.uid
        known = self.claims.get((claim.metadata.namespace, claim.metadata.name))
        if known is not None and known.metadata.uid == uid:
            if _version(claim) < _version(known):
                return
            pending = self.pending.get(uid)
            if pending is not None and claim.status.allocation is None:
                self.pending[uid] = replace_pending(pending, before=claim)
                claim = replace(claim, status=replace(claim.status, allocation=known.status.allocation))
        self.put_claim(claim)

    def put_claim(self, claim: ResourceClaim) -> None:
        """Add a claim or replace it by a newer one."""
        key = (claim.metadata.namespace, claim.metadata.name)
        self.changes.append(ClaimChange(self.claims.get(key), claim))
        self.claims[key] = claim
        if claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
            self._special_claims.update((owner, claim) for owner in _owners(claim))

    def remove_claim(self, claim: ResourceClaim) -> None:
        """Remove a claim."""
        before = self.claims.pop((claim.metadata.namespace, claim.metadata.name), None)
        for owner in _owners(claim):
            self._special_claims.pop(owner, None)
        self.changes.append(ClaimChange(before, None))

    def special_claim_of(self, pod_uid: str) -> ResourceClaim | None:
        """Return the claim that stands for a pod's extended resources (findExtendedResourceClaim)."""
        return self._special_claims.get(pod_uid)

    def class_of_resource(self, name: str) -> DeviceClass | None:
        """Return the class that stands for an extended resource (ExtendedResourceCache.GetDeviceClass)."""
        return self._class_of_resource.get(name)

    def _map_resources(self) -> None:
        self._class_of_resource.clear()
        for found in self.classes.values():
            self._map_resource(found)

    def _map_resource(self, added: DeviceClass) -> None:
        """Let the youngest of several classes with one resource name stand for it, then the first by name."""
        name = added.spec.extended_resource_name
        if name is not None:
            other = self._class_of_resource.get(name)
            if other is not None and (
                _created(added) < _created(other)
                or (_created(added) == _created(other) and added.metadata.name >= other.metadata.name)
            ):
                return
            self._class_of_resource[name] = added
        self._class_of_resource[IMPLICIT_CLASS_PREFIX + added.metadata.name] = added

    def slices(self) -> list[ResourceSlice]:
        """Return all slices, their devices with the taints that rules add (Tracker.ListPatchedResourceSlices)."""
        if self._patched[0] != self.version:
            self._patched = (self.version, [self._with_taints(found) for found in self._slices.values()])
        return self._patched[1]

    def _with_taints(self, found: ResourceSlice) -> ResourceSlice:
        spec = found.spec
        rules = [rule for rule in self._rules.values() if _is_about(rule, found)]
        if not rules:
            return found
        devices = tuple(_tainted(device, rules) for device in spec.devices)
        return replace(found, spec=replace(spec, devices=devices))


def _version(claim: ResourceClaim) -> int:
    text = claim.metadata.resource_version
    return int(text) if text.isdecimal() else 0


def _owners(claim: ResourceClaim) -> list[str]:
    return [owner.uid for owner in claim.metadata.owner_references if owner.controller]


def _created(obj: DeviceClass) -> float:
    created = obj.metadata.creation_timestamp
    return created.timestamp() if created is not None else 0.0


def _is_about(rule: DeviceTaintRule, found: ResourceSlice) -> bool:
    selector = rule.spec.device_selector
    return (
        selector is not None
        and selector.driver in (None, found.spec.driver)
        and selector.pool in (None, found.spec.pool.name)
    )


def _tainted(device: Device, rules: Iterable[DeviceTaintRule]) -> Device:
    added = tuple(
        rule.spec.taint
        for rule in rules
        if rule.spec.device_selector is not None and rule.spec.device_selector.device in (None, device.name)
    )
    return replace(device, taints=device.taints + added) if added else device
