"""Writes which devices a pod's claims have and that the pod uses them, and waits until the devices are ready."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Awaitable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from nodewise.api.devices import (
    EXTENDED_RESOURCE_CLAIM,
    AllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from nodewise.api.objects import PodExtendedResourceClaimStatus, replace
from nodewise.devices.request_mappings import request_mappings
from nodewise.errors import NodewiseError
from nodewise.framework.object_writer import ConflictError, ObjectWriter, WritingHandle
from nodewise.framework.status import SUCCESS, Status
from nodewise.state.device_listers import DeviceListers
from nodewise.state.pod_info import PodInfo

T = TypeVar("T")
LOGGER = logging.getLogger("nodewise")
MAX_TRIES = 5
RETRY_S = 0.01
POLL_S = 5.0


class ClaimWriteError(NodewiseError):
    """A claim could not be bound to a pod; the text is kube-scheduler's."""


def is_special(claim: ResourceClaim) -> bool:
    """Tell whether a claim stands for a pod's extended resources."""
    return claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true"


def is_in_memory(claim: ResourceClaim) -> bool:
    """Tell whether a claim was made up and is not in the cluster yet."""
    return claim.metadata.uid.endswith("/extended-resources")


class ClaimWrites:
    """What one pod's claims need of the cluster (DynamicResources.PreBind and Unreserve).

    Parameters
    ----------
    handle : WritingHandle
        With a writer.
    listers : DeviceListers
        Learns at once what was written.
    now : datetime
        When the devices were allocated.
    """

    def __init__(self, handle: WritingHandle, listers: DeviceListers, now: datetime) -> None:
        assert handle.writer is not None
        self._handle = handle
        self._writer: ObjectWriter = handle.writer
        self._listers = listers
        self._now = now

    # --- before the binding -------------------------------------------------------------------------------------------

    async def run(self, claims: Sequence[ResourceClaim], pod: PodInfo, timeout: timedelta) -> Status:
        """Write allocations and reservations, then wait for the devices."""
        metadata = pod.pod.metadata
        bound: list[ResourceClaim] = []
        try:
            for claim in claims:
                if not any(other.uid == metadata.uid for other in claim.status.reserved_for):
                    claim = await self._bind(claim, pod)
                bound.append(claim)
            for claim in bound:
                self._listers.pending.pop(claim.metadata.uid, None)
            await self._wait_for_devices(bound, timeout)
        except NodewiseError as error:
            return Status.error(str(error))
        return SUCCESS

    async def _bind(self, claim: ResourceClaim, pod: PodInfo) -> ResourceClaim:
        """Write one claim, and what is new of it into the listers (bindClaim)."""
        has_extended = is_in_memory(claim)
        if has_extended:
            claim = await self._create(claim)
        claim = await self._reserve(claim, pod)
        self._listers.put_claim(claim)
        if has_extended:
            mappings = request_mappings(pod.pod, claim)
            if not mappings:
                text = "nil or empty request mappings, no update of pod"
                raise ClaimWriteError(f"{text} {pod.key} ExtendedResourceClaimStatus")
            status = PodExtendedResourceClaimStatus(mappings, claim.metadata.name)
            await self._told(
                self._writer.write_extended_claim(pod, status), f"update pod {pod.key} ExtendedResourceClaimStatus"
            )
        return claim

    async def _create(self, claim: ResourceClaim) -> ResourceClaim:
        """Create the made-up claim; from now on it goes by the name and uid that the cluster gave it."""
        text = f"create claim for extended resources {claim.metadata.namespace}/"
        created = await self._told(self._writer.create_claim(claim), text)
        pending = self._listers.pending.pop(claim.metadata.uid)
        self._listers.remove_claim(claim)
        self._listers.pending[created.metadata.uid] = dataclasses.replace(pending, before=created)
        assumed = replace(created, status=replace(created.status, allocation=claim.status.allocation))
        self._listers.put_claim(assumed)
        return assumed

    async def _reserve(self, claim: ResourceClaim, pod: PodInfo) -> ResourceClaim:
        """Write allocation and reservation; a claim that has changed meanwhile is read again."""
        pending = self._listers.pending.get(claim.metadata.uid)
        allocation = claim.status.allocation if pending is not None else None
        current = claim if pending is None else pending.before
        for tries_left in reversed(range(MAX_TRIES)):
            try:
                return await self._try_to_reserve(current, allocation, pod)
            except ConflictError as error:
                if not tries_left:
                    raise ClaimWriteError(str(error)) from error
            await self._handle.sleep(RETRY_S)
            current = await self._told(
                self._writer.get_claim(current), f"get updated claim {current.key} after conflict"
            )
        raise AssertionError("the last try returns")

    async def _try_to_reserve(
        self, claim: ResourceClaim, allocation: AllocationResult | None, pod: PodInfo
    ) -> ResourceClaim:
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimWriteError(f"claim {claim.key} got deleted in the meantime")
        given = claim.status.allocation
        if allocation is not None:
            if given is not None:
                raise ClaimWriteError(f"claim {claim.key} got allocated elsewhere in the meantime")
            claim = await self._told(self._writer.protect_claim(claim), f"add finalizer to claim {claim.key}")
            given = allocation
        if given is None:
            raise ClaimWriteError(f"claim {claim.key} got deallocated elsewhere in the meantime")
        if given.allocation_timestamp is None:
            given = replace(given, allocation_timestamp=self._now)
        metadata = pod.pod.metadata
        reference = ResourceClaimConsumerReference("", "pods", metadata.name, metadata.uid)
        reserved = (*claim.status.reserved_for, reference)
        status = replace(claim.status, allocation=given, reserved_for=reserved)
        what = "reservation" if allocation is None else "allocation and reservation"
        return await self._told(
            self._writer.write_claim_status(replace(claim, status=status)), f"add {what} to claim {claim.key}"
        )

    @staticmethod
    async def _told(write: Awaitable[T], what: str) -> T:
        """Wait for a write; an error says what it was to do, but for a conflict."""
        try:
            return await write
        except ConflictError:
            raise
        except NodewiseError as error:
            raise ClaimWriteError(f"{what}: {error}") from error

    async def _wait_for_devices(self, claims: Sequence[ResourceClaim], timeout: timedelta) -> None:
        """Look every five seconds whether all devices are ready that have to be made so first."""
        if not any(result.binding_conditions for claim in claims for result in _results(claim)):
            return
        waited_s = 0.0
        while not all(self._is_ready(claim) for claim in claims):
            if waited_s + POLL_S > timeout.total_seconds():
                raise ClaimWriteError("device binding timeout: context deadline exceeded")
            await self._handle.sleep(POLL_S)
            waited_s += POLL_S

    def _is_ready(self, claim: ResourceClaim) -> bool:
        """Tell whether a claim's devices are ready, going by the newest that is known (isClaimReadyForBinding)."""
        metadata = claim.metadata
        newest = self._listers.claims.get((metadata.namespace, metadata.name))
        if newest is None:
            raise ClaimWriteError(f'could not find *v1.ResourceClaim "{claim.key}"')
        if newest.status.allocation is None:
            return False
        for result in _results(newest):
            if not result.binding_conditions:
                continue
            place = (result.driver, result.pool, result.device)
            device = next((s for s in newest.status.devices if (s.driver, s.pool, s.device) == place), None)
            if device is None:
                return False
            conditions = {condition.type: condition for condition in reversed(device.conditions)}
            for name in result.binding_failure_conditions:
                failed = conditions.get(name)
                if failed is not None and failed.status == "True":
                    text = f'claim={metadata.name}, reason={failed.reason}, message="{failed.message}"'
                    raise ClaimWriteError(f"device binding failed: {text}")
            if not all(name in conditions and conditions[name].status == "True" for name in result.binding_conditions):
                return False
        return True

    # --- when it comes to nothing -------------------------------------------------------------------------------------

    def take_back(self, claim: ResourceClaim, pod: PodInfo) -> None:
        """Let a pod be taken from a claim that was written for it; a claim of its own is deleted."""
        write = self._writer.delete_claim(claim) if is_special(claim) else self._writer.release_claim(claim, pod.uid)
        self._later(write, f"release claim {claim.key}")

    def deallocate(self, claim: ResourceClaim) -> None:
        """Let a claim give back its devices."""
        self._later(self._writer.deallocate_claim(claim), f"deallocate claim {claim.key}")

    def delete(self, claim: ResourceClaim) -> None:
        """Let a claim be deleted."""
        self._later(self._writer.delete_claim(claim), f"delete claim {claim.key}")

    def _later(self, write: Awaitable[None], name: str) -> None:
        self._handle.spawn(_logged(write, name), name=name)


async def _logged(write: Awaitable[None], name: str) -> None:
    """Wait for a write that nobody waits for; the next attempt of the pod comes by here again when it fails."""
    try:
        await write
    except NodewiseError as error:
        LOGGER.error("cannot %s: %s", name, error)


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    allocation = claim.status.allocation
    return allocation.devices.results if allocation is not None else ()
