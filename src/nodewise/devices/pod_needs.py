"""What a pod needs of devices: its claims, and the extended resources that classes stand for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta

import msgspec

from nodewise.api.devices import DeviceRequest, ResourceClaim
from nodewise.api.objects import Pod
from nodewise.devices.claims import ClaimError, claims_of
from nodewise.devices.extended_resources import special_claim, wanted_resources, wants_devices
from nodewise.framework.node_selector import NodeSelectorMatcher
from nodewise.framework.status import Status
from nodewise.state.device_listers import DeviceListers

NO_NEEDS: Hashable = None
_encode = msgspec.json.Encoder().encode


class PodNeeds:
    """A pod's claims as of now.

    Attributes
    ----------
    claims : list[ResourceClaim]
        Those that the spec names.
    special : ResourceClaim | None
        The claim for extended resources, left over from an earlier try or made up.
    resources : dict[str, int]
        The extended resources, when a class stands for one of them.
    error : str
        Why the claims cannot be used, "" when they can.
    group_cycle : int
        The pod group cycle that the pod is tried in; 0: none.
    """

    __slots__ = ("claims", "error", "group_cycle", "pod", "resources", "special")

    def __init__(self, pod: Pod, listers: DeviceListers, group_cycle: int = 0) -> None:
        self.pod = pod
        self.group_cycle = group_cycle
        self.claims: list[ResourceClaim] = []
        self.special: ResourceClaim | None = None
        self.resources: dict[str, int] = {}
        self.error = ""
        try:
            self.claims = claims_of(pod, listers)
        except ClaimError as error:
            self.error = str(error)
            return
        wanted = wanted_resources(pod)
        if wanted and wants_devices(wanted, listers):
            self.resources = wanted
            self.special = listers.special_claim_of(pod.metadata.uid) or special_claim(pod)

    @property
    def all_claims(self) -> list[ResourceClaim]:
        """The claims of the spec, then the special one."""
        return [*self.claims, self.special] if self.special is not None else self.claims

    def has_to_wait_for(self, claim: ResourceClaim, listers: DeviceListers) -> bool:
        """Tell whether a claim's allocation is not written yet, and not that of another pod of the group just tried."""
        pending = listers.pending.get(claim.metadata.uid)
        return pending is not None and (not self.group_cycle or pending.group_cycle != self.group_cycle)

    def key(self, listers: DeviceListers) -> Hashable:
        """Return all that answers depend on, but not the names of claims that are alike."""
        if self.error:
            return self.error
        parts: list[Hashable] = []
        for claim in self.claims:
            if self.has_to_wait_for(claim, listers):
                parts.append(claim.key)
            elif claim.status.allocation is not None:
                parts.append(id(claim))
            else:
                parts.append(_encode(claim.spec))
        if self.special is not None:
            is_old = bool(self.special.spec.devices.requests)
            parts.append((is_old, *[_requests(self.pod, is_init=is_init) for is_init in (True, False)]))
        return tuple(parts) if parts else NO_NEEDS


def _requests(pod: Pod, *, is_init: bool) -> Hashable:
    containers = pod.spec.init_containers if is_init else pod.spec.containers
    return tuple([(c.restart_policy, tuple(sorted((c.resources.requests or {}).items(), key=str))) for c in containers])


def pre_filter_status(needs: PodNeeds, listers: DeviceListers) -> Status | None:
    """Return what keeps a pod off every node; None: nothing (DynamicResources.PreFilter)."""
    if needs.error:
        return Status.unresolvable(needs.error)
    for claim in needs.all_claims:
        if needs.has_to_wait_for(claim, listers):
            return Status.unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        allocation = claim.status.allocation
        if allocation is not None:
            if allocation.node_selector is not None:
                errors = NodeSelectorMatcher(allocation.node_selector).parse_errors
                if errors:
                    return Status.error(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
            continue
        if claim is needs.special:
            continue
        for request in claim.spec.devices.requests:
            status = _class_status(claim, request, listers)
            if status is not None:
                return status
    return None


def _class_status(claim: ResourceClaim, request: DeviceRequest, listers: DeviceListers) -> Status | None:
    """Return what is wrong with the classes that a request names."""
    wanted: Iterable[tuple[str, str]]
    if request.exactly is not None:
        wanted = [(request.name, request.exactly.device_class_name)]
    elif request.first_available:
        wanted = [(f"{request.name}/{sub.name}", sub.device_class_name) for sub in request.first_available]
    else:
        return Status.unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
    for name, class_name in wanted:
        if not class_name:
            return Status.error(f"request {name}: unsupported request type")
        if class_name not in listers.classes:
            return Status.unresolvable(f"request {name}: device class {class_name} does not exist")
    return None


def is_binding_over(claim: ResourceClaim, now: datetime, timeout: timedelta) -> bool:
    """Tell whether the devices of an allocated claim failed to get ready, or took too long."""
    allocation = claim.status.allocation
    if allocation is None:
        return False
    is_ready = True
    for result in allocation.devices.results:
        if not result.binding_conditions:
            continue
        place = (result.driver, result.pool, result.device)
        found = [s for s in claim.status.devices if (s.driver, s.pool, s.device) == place]
        if not found:
            is_ready = False
            break
        is_true = {condition.type: condition.status == "True" for condition in reversed(found[0].conditions)}
        if any(is_true.get(name) for name in result.binding_failure_conditions):
            return True
        if not all(is_true.get(name) for name in result.binding_conditions):
            is_ready = False
            break
    if is_ready or allocation.allocation_timestamp is None:
        return False
    has_conditions = any(result.binding_conditions for result in allocation.devices.results)
    return has_conditions and allocation.allocation_timestamp + timeout < now
