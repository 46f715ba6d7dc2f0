"""Extended resources that device classes stand for, and the claim that is made up for a pod that asks for some."""

from __future__ import annotations

from collections.abc import Mapping

from nodewise.api.devices import (
    EXACT_COUNT,
    EXTENDED_RESOURCE_CLAIM,
    IMPLICIT_CLASS_PREFIX,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from nodewise.api.objects import Container, ObjectMeta, OwnerReference, Pod, replace
from nodewise.api.quantity import parse_quantity
from nodewise.api.resources import fit_request, is_extended_resource_name
from nodewise.state.device_listers import DeviceListers

SPECIAL_NAME = "<extended-resources>"
"""The name of the made-up claim while it exists in memory only."""


def is_device_resource_name(name: str) -> bool:
    """Tell whether a resource can be one that devices stand for (IsDRAExtendedResourceName)."""
    return is_extended_resource_name(name) or name.startswith(IMPLICIT_CLASS_PREFIX)


def wanted_resources(pod: Pod) -> dict[str, int]:
    """Return the extended resources that a pod asks for, and how much."""
    return {name: amount for name, amount in fit_request(pod).items() if amount and is_device_resource_name(name)}


def wants_devices(wanted: Mapping[str, int], listers: DeviceListers) -> bool:
    """Tell whether a class stands for any of these resources (hasDeviceClassMappedExtendedResource)."""
    return any(listers.class_of_resource(name) is not None for name in wanted)


def special_claim(pod: Pod, requests: tuple[DeviceRequest, ...] = ()) -> ResourceClaim:
    """Make up the claim for a pod's extended resources."""
    metadata = pod.metadata
    owner = OwnerReference("v1", "Pod", metadata.name, metadata.uid, controller=True)
    return ResourceClaim(
        ObjectMeta(
            name=SPECIAL_NAME,
            generate_name=f"{metadata.name}-extended-resources-",
            namespace=metadata.namespace,
            uid=f"{metadata.uid}/extended-resources",
            annotations={EXTENDED_RESOURCE_CLAIM: "true"},
            owner_references=(owner,),
        ),
        ResourceClaimSpec(DeviceClaim(requests)),
    )


def created_claim(claim: ResourceClaim) -> ResourceClaim:
    """Return the made-up claim as it is written to the cluster, with a name of its own."""
    metadata = claim.metadata
    name = metadata.generate_name + metadata.owner_references[0].uid[:5]
    return replace(claim, metadata=replace(metadata, name=name))


def device_requests(pod: Pod, names: frozenset[str], listers: DeviceListers) -> tuple[DeviceRequest, ...]:
    """Return the device requests for some of a pod's extended resources (createRequestsAndMappings).

    A container that runs before others may use the devices of those that run for long after it; what the greediest
    of these short-lived containers still lacks is one more request.
    """
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    n_init = len(pod.spec.init_containers)
    found: list[DeviceRequest] = []
    for name in sorted(names):
        device_class = listers.class_of_resource(name)
        if device_class is None:
            continue
        class_name = device_class.metadata.name
        long_lived: list[DeviceRequest | None] = [None] * len(containers)
        short_lived: DeviceRequest | None = None
        for index, container in enumerate(containers):
            if not _is_short_lived(container, is_init=index < n_init):
                long_lived[index] = _request(index, container, name, class_name, 0)
        for index, container in enumerate(containers[:n_init]):
            if not _is_short_lived(container, is_init=True):
                continue
            reusable = sum(_count(request) for request in long_lived[index:] if request is not None)
            request = _request(index, container, name, class_name, reusable)
            if request is not None and (short_lived is None or _count(short_lived) < _count(request)):
                short_lived = request
        found += [request for request in (short_lived, *long_lived) if request is not None]
    return tuple(sorted(found, key=lambda request: request.name))


def _is_short_lived(container: Container, *, is_init: bool) -> bool:
    return is_init and container.restart_policy != "Always"


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0


def _request(index: int, container: Container, name: str, class_name: str, reusable: int) -> DeviceRequest | None:
    """Return a container's request for one resource beyond the devices that it can use anyway."""
    requests = container.resources.requests or {}
    amount = parse_quantity(requests[name]).value() if name in requests else 0
    if amount - reusable <= 0:
        return None
    position = sorted(requests).index(name)
    exactly = ExactDeviceRequest(class_name, allocation_mode=EXACT_COUNT, count=amount - reusable)
    return DeviceRequest(f"container-{index}-request-{position}", exactly)
