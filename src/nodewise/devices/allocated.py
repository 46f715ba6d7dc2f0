"""Which devices are taken, kept up to date from the changes of claims (allocatedDevices)."""

from __future__ import annotations

from collections.abc import Iterator

from nodewise.api.devices import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.devices.inventory import DeviceID, PoolID
from nodewise.state.device_listers import DeviceListers

Amounts = dict[str, Quantity]
_MAX_PAST = 1_000
"""Changes of claims that are kept after they have been taken over."""


class AllocatedDevices:
    """Devices that claims have, and what they have of shared ones.

    Attributes
    ----------
    ids : set[DeviceID]
        Devices that belong to one claim alone.
    shares : dict[DeviceID, set[str]]
        Ids of the shares in devices that allow several.
    capacities : dict[DeviceID, Amounts]
        What all shares together take.
    touched : list[PoolID]
        Pools of which a device was taken or given back, oldest first.
    """

    def __init__(self, listers: DeviceListers) -> None:
        self.ids: set[DeviceID] = set()
        self.shares: dict[DeviceID, set[str]] = {}
        self.capacities: dict[DeviceID, Amounts] = {}
        self.touched: list[PoolID] = []
        self._listers = listers
        self._cursor = 0

    def catch_up(self) -> None:
        """Take over what happened to claims since the last call."""
        changes = self._listers.changes
        while self._cursor < len(changes):
            change = changes[self._cursor]
            self._cursor += 1
            before, after = _allocation(change.before), _allocation(change.after)
            if before is None and after is not None:
                for result in _dedicated_or_shared(after):
                    self._add(result)
            elif before is not None and after is None:
                for result in _dedicated_or_shared(before):
                    self._remove(result)
        if self._cursor > _MAX_PAST:
            # nobody else reads them, and they would be ever more
            del changes[: self._cursor]
            self._cursor = 0

    def is_allocated(self, device_id: DeviceID) -> bool:
        """Tell whether some claim has the device or a share in it (IsDeviceAllocated)."""
        return device_id in self.ids or bool(self.shares.get(device_id)) or device_id in self.capacities

    def is_share_in_use(self, device_id: DeviceID) -> bool:
        """Tell whether some claim has a share in the device."""
        return device_id in self.capacities or bool(self.shares.get(device_id))

    def _add(self, result: DeviceRequestAllocationResult) -> None:
        device_id = (result.driver, result.pool, result.device)
        self.touched.append(device_id[:2])
        if result.share_id is None:
            self.ids.add(device_id)
            return
        self.shares.setdefault(device_id, set()).add(result.share_id)
        if result.consumed_capacity is not None:
            add_amounts(self.capacities.setdefault(device_id, {}), _amounts(result))

    def _remove(self, result: DeviceRequestAllocationResult) -> None:
        device_id = (result.driver, result.pool, result.device)
        self.touched.append(device_id[:2])
        if result.share_id is None:
            self.ids.discard(device_id)
            return
        self.shares.get(device_id, set()).discard(result.share_id)
        if result.consumed_capacity is not None and device_id in self.capacities:
            remove_amounts(self.capacities, device_id, _amounts(result))


def add_amounts(total: Amounts, added: Amounts) -> None:
    """Count amounts in."""
    for name, amount in added.items():
        total[name] = total[name] + amount if name in total else amount


def remove_amounts(totals: dict[DeviceID, Amounts], device_id: DeviceID, removed: Amounts) -> None:
    """Count amounts out; a device that nothing is left of is forgotten."""
    total = totals[device_id]
    for name, amount in removed.items():
        if name in total:
            total[name] = total[name] + Quantity(-amount.unscaled, amount.exponent, amount.format)
    if all(amount.sign == 0 for amount in total.values()):
        del totals[device_id]


def _amounts(result: DeviceRequestAllocationResult) -> Amounts:
    return {name: parse_quantity(amount) for name, amount in (result.consumed_capacity or {}).items()}


def _allocation(claim: ResourceClaim | None) -> AllocationResult | None:
    return claim.status.allocation if claim is not None else None


def _dedicated_or_shared(allocation: AllocationResult) -> Iterator[DeviceRequestAllocationResult]:
    """Leave out devices with admin access: they do not count as taken (foreachAllocatedDevice)."""
    return (result for result in allocation.devices.results if not result.admin_access)
