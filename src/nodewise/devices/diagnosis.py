"""Says for people which claim and which request a node has no devices for, or which devices it would give."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from nodewise.api.devices import ResourceClaim
from nodewise.devices.allocator import GivenDevice
from nodewise.devices.cluster import DeviceCluster
from nodewise.devices.extended_resources import SPECIAL_NAME
from nodewise.devices.inventory import id_text
from nodewise.devices.requests import AllocationError, WantedClaim, WantedDevices


def given_text(names: Sequence[str], given: Sequence[Sequence[GivenDevice]]) -> str:
    """Return which devices each request would get."""
    parts = []
    for name, devices in zip(names, given, strict=True):
        for request, group in groupby(devices, key=lambda device: device.wanted.result_name):
            parts.append(f"{name}, request {request}: {', '.join(device.entry.text for device in group)}")
    return "; ".join(parts)


def elsewhere_text(name: str, claim: ResourceClaim) -> str:
    """Return where the devices of an allocated claim are."""
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    devices = ", ".join(id_text((result.driver, result.pool, result.device)) for result in results)
    return f"{name} has {devices or 'no devices'}, which cannot be used here"


def shortage_text(
    cluster: DeviceCluster, names: Sequence[str], claims: Sequence[WantedClaim], row: int, node_name: str
) -> str:
    """Return the first request that cannot be met beside those before it, and what devices there are for it."""
    for position, claim in enumerate(claims):
        for n_requests in range(1, len(claim.requests) + 1):
            part = WantedClaim(claim.claim, claim.requests[:n_requests], claim.failures)
            try:
                if cluster.allocate([*claims[:position], part], row, node_name) is not None:
                    continue
                # counts every device, also those that the allocation did not come to: selectors may fail here only
                counts = [(w.result_name, _count(cluster, w, row, node_name)) for w in claim.requests[n_requests - 1]]
            except AllocationError as error:
                return str(error)
            return "; ".join([f"{names[position]}, request {name}: {count}" for name, count in counts])
    return ""


def claim_name(claim: ResourceClaim) -> str:
    """Return a claim's name as people know it."""
    return "extended resources" if claim.metadata.name == SPECIAL_NAME else f"claim {claim.key}"


def _count(cluster: DeviceCluster, wanted: WantedDevices, row: int, node_name: str) -> str:
    """Return how many devices of the class there are, and why they do not do."""
    n_selected = n_in_use = n_tainted = n_unusable = 0
    for pool in cluster.pools_of(row, node_name):
        if not pool.is_usable:
            n_unusable += 1
        for entry in pool.devices:
            if not wanted.selects(entry, cluster.selectors):
                continue
            if entry.slice.selects_per_device and not cluster.can_use(row, entry):
                continue
            n_selected += 1
            if entry.id in cluster.allocated.ids:
                n_in_use += 1
            elif entry.taints and not wanted.tolerates(entry.taints):
                n_tainted += 1
    count = "all" if wanted.takes_all else str(wanted.count)
    counts = ((n_in_use, "in use"), (n_tainted, "tainted"))
    left_out = ", ".join(f"{n} {what}" for n, what in counts if n)
    pools = f"; {n_unusable} pools incomplete or invalid" if n_unusable else ""
    of_them = f", {left_out}" if left_out else ""
    return f"wants {count} of class {wanted.class_name}, {n_selected} here match{of_them}{pools}"
