"""The search for devices on one node: claims in order, first fit, with backtracking (the structured allocator)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nodewise.api.devices import MAX_RESULTS, DeviceConstraint
from nodewise.api.quantity import Quantity
from nodewise.devices.allocated import AllocatedDevices, Amounts, add_amounts, remove_amounts
from nodewise.devices.capacity import CapacityError, consumed_capacity, fits_capacity
from nodewise.devices.constraints import Constraint, DistinctAttribute, MatchAttribute
from nodewise.devices.inventory import DeviceEntry, DeviceID, NodeMatches, PoolID
from nodewise.devices.pools import Pool
from nodewise.devices.requests import AllocationError, WantedClaim, WantedDevices
from nodewise.devices.selectors import Selectors

_NOTHING: dict[str, Quantity] = {}
_ZERO = Quantity(0)


class NodeAllocationError(AllocationError):
    """The search failed in a way that concerns this node only."""


class TooManyDevicesError(Exception):
    """A claim would get more devices than its status can hold: the search goes back further."""


@dataclass(slots=True, eq=False)
class GivenDevice:
    """One device for one request.

    Attributes
    ----------
    consumed : Amounts | None
        What a share takes of the device's capacity; None: it is not shared.
    """

    wanted: WantedDevices
    entry: DeviceEntry
    pool: Pool
    consumed: Amounts | None = None
    has_counters: bool = False


@dataclass(slots=True, eq=False)
class Position:
    """Where the search stands: which device of which alternative of which request of which claim."""

    claim: int
    request: int = 0
    alternative: int = 0
    device: int = 0


class Search:
    """One search on one node; what it takes is undone when it goes back."""

    def __init__(
        self,
        claims: Sequence[WantedClaim],
        pools: Sequence[Pool],
        allocated: AllocatedDevices,
        selectors: Selectors,
        matches: NodeMatches,
        row: int,
    ) -> None:
        self._claims = claims
        self._pools = pools
        self._allocated = allocated
        self._selectors = selectors
        self._matches = matches
        self._row = row
        self._taken: dict[DeviceID, set[int]] = {}
        self._shares: dict[DeviceID, Amounts] = {}
        self._counters: dict[PoolID, dict[tuple[str, str], Quantity]] = {}
        self._available: dict[PoolID, dict[tuple[str, str], Quantity]] = {}
        self._all: dict[int, list[tuple[Pool, DeviceEntry]]] = {}
        self._constraints: list[list[Constraint]] = []
        self.given: list[list[GivenDevice]] = []

    def run(self) -> bool:
        """Find devices for all claims; they are in `given` then.

        Raises
        ------
        AllocationError
            Something is wrong with a claim, a class or a pool.
        """
        for claim in self._claims:
            self._check(claim)
            self.given.append([])
            self._constraints.append(
                [_constraint(claim, n, c) for n, c in enumerate(claim.claim.spec.devices.constraints)]
            )
        try:
            done = self._next_request(0, 0)
        except TooManyDevicesError as error:
            raise AllocationError("allocation max size exceeded") from error
        if not done and any(pool.is_invalid for pool in self._pools):
            raise NodeAllocationError("invalid resource pools were encountered")
        return done

    # --- before the search --------------------------------------------------------------------------------------------

    def _check(self, claim: WantedClaim) -> None:
        """Find out how many devices each request needs at least."""
        n_devices = 0
        for position, alternatives in enumerate(claim.requests):
            counts = []
            for index, wanted in enumerate(alternatives):
                if (position, index) in claim.failures:
                    raise claim.failures[position, index]
                if wanted.takes_all:
                    self._all[id(wanted)] = found = self._matching_devices(wanted)
                    counts.append(len(found))
                else:
                    counts.append(wanted.count)
            count = min(counts)
            if count > MAX_RESULTS - n_devices:
                name = alternatives[0].parent or alternatives[0].name
                raise AllocationError(
                    f"claim {claim.claim.key}, request {name}: adding {count} devices exceeds the claim limit of "
                    f"{MAX_RESULTS}, with {n_devices} already accounted for"
                )
            n_devices += count

    def _matching_devices(self, wanted: WantedDevices) -> list[tuple[Pool, DeviceEntry]]:
        """Return every device that a request for all of them is about."""
        found: list[tuple[Pool, DeviceEntry]] = []
        place = f"claim {wanted.claim}, request {wanted.name}"
        for pool in self._pools:
            if not pool.is_usable:
                state = "being updated" if pool.is_incomplete else "invalid"
                raise AllocationError(
                    f"{place}: asks for all devices, but resource pool {pool.text} is currently {state}"
                )
            for entry in pool.devices:
                if not self._is_selectable(wanted, entry):
                    continue
                try:
                    fits = fits_capacity(wanted.capacity, entry.device.capacity, _NOTHING, _NOTHING)
                except CapacityError as error:
                    raise AllocationError(f"{place}: checking capacity for device {entry.id[2]}: {error}") from error
                if fits:
                    found.append((pool, entry))
        return found

    # --- the search ---------------------------------------------------------------------------------------------------

    def _next_request(self, claim: int, request: int) -> bool:
        """Go on with the next request, or with the next claim after the last one."""
        if claim >= len(self._claims):
            return True
        if request >= len(self._claims[claim].requests):
            try:
                return self._next_request(claim + 1, 0)
            except TooManyDevicesError:
                return False
        alternatives = self._claims[claim].requests[request]
        if not alternatives[0].parent:
            return self._next_device(Position(claim, request), alternatives[0], 0, 0)
        is_any_small_enough = False
        for index, wanted in enumerate(alternatives):
            try:
                if self._next_device(Position(claim, request, index), wanted, 0, 0):
                    return True
            except TooManyDevicesError:
                continue
            is_any_small_enough = True
        if not is_any_small_enough:
            raise TooManyDevicesError
        return False

    def _next_device(self, at: Position, wanted: WantedDevices, first_pool: int, first_device: int) -> bool:
        """Find one more device of a request, from a place on (allocateOne)."""
        every = self._all.get(id(wanted)) if wanted.takes_all else None
        if every is not None and not every:
            return False
        count = wanted.count if every is None else len(every)
        if at.device >= count:
            return self._next_request(at.claim, at.request + 1)
        if count - at.device > MAX_RESULTS - len(self.given[at.claim]):
            raise TooManyDevicesError
        after = Position(at.claim, at.request, at.alternative, at.device + 1)
        if every is not None:
            return self._try(at, after, wanted, *every[at.device], 0, 0, must=True)
        for pool_index in range(first_pool, len(self._pools)):
            pool = self._pools[pool_index]
            if not pool.is_usable:
                continue
            start = first_device if pool_index == first_pool else 0
            for index in range(start, len(pool.devices)):
                entry = pool.devices[index]
                if not self._may_take(wanted, entry, at.claim) or not self._is_selectable(wanted, entry):
                    continue
                if not self._has_capacity(wanted, entry, "checking", entry.text):
                    continue
                if self._try(at, after, wanted, pool, entry, pool_index, index + 1, must=False):
                    return True
        return False

    def _try(
        self,
        at: Position,
        after: Position,
        wanted: WantedDevices,
        pool: Pool,
        entry: DeviceEntry,
        next_pool: int,
        next_device: int,
        *,
        must: bool,
    ) -> bool:
        """Take a device and search on; give it back when that leads nowhere."""
        given = self._take(at, wanted, pool, entry, must=must)
        if given is None:
            return False
        done = False
        try:
            done = self._next_device(after, wanted, next_pool, next_device)
        finally:
            if not done:
                self._give_back(at, given)
        return done

    # --- one device ---------------------------------------------------------------------------------------------------

    def _may_take(self, wanted: WantedDevices, entry: DeviceEntry, claim: int) -> bool:
        """Tell whether a device is free; with admin access it only must not be in the same claim already."""
        taken = self._taken.get(entry.id)
        if wanted.is_admin:
            return not taken or claim not in taken
        return not taken and entry.id not in self._allocated.ids

    def _is_selectable(self, wanted: WantedDevices, entry: DeviceEntry) -> bool:
        if not wanted.selects(entry, self._selectors):
            return False
        return not entry.slice.selects_per_device or self._matches.can_use(self._row, entry)

    def _has_capacity(self, wanted: WantedDevices, entry: DeviceEntry, doing: str, device: str) -> bool:
        if entry.has_plain_capacity and not wanted.capacity:
            return True
        taken = self._allocated.capacities.get(entry.id, _NOTHING)
        try:
            return fits_capacity(wanted.capacity, entry.device.capacity, taken, self._shares.get(entry.id, _NOTHING))
        except CapacityError as error:
            place = f"claim {wanted.claim}, request {wanted.name}"
            raise AllocationError(f"{place}: {doing} capacity for device {device}: {error}") from error

    def _take(
        self, at: Position, wanted: WantedDevices, pool: Pool, entry: DeviceEntry, *, must: bool
    ) -> GivenDevice | None:
        """Take a device if nothing speaks against it (allocateDevice)."""
        if not self._may_take(wanted, entry, at.claim) and not (entry.is_shared and wanted.is_admin):
            return None
        given = GivenDevice(wanted, entry, pool)
        if entry.counters and not (entry.is_shared and self._is_share_in_use(entry.id)):
            if not self._reserve_counters(pool, entry):
                return None
            given.has_counters = True
        if entry.taints and not wanted.tolerates(entry.taints):
            self._release_counters(given)
            return None
        request, subrequest = (wanted.parent, wanted.name) if wanted.parent else (wanted.name, "")
        constraints = self._constraints[at.claim]
        for position, constraint in enumerate(constraints):
            if constraint.add(request, subrequest, entry):
                continue
            for added in reversed(constraints[:position]):
                added.remove(request, subrequest)
            self._release_counters(given)
            if must:
                raise AllocationError(
                    f"claim {wanted.claim}, request {wanted.name}: cannot add device {entry.text} because a claim "
                    "constraint would not be satisfied"
                )
            return None
        if not self._has_capacity(wanted, entry, "rechecking", entry.text):
            for added in reversed(constraints):
                added.remove(request, subrequest)
            self._release_counters(given)
            return None
        if entry.is_shared:
            given.consumed = consumed_capacity(wanted.capacity, entry.device.capacity)
            add_amounts(self._shares.setdefault(entry.id, {}), given.consumed)
        else:
            self._taken.setdefault(entry.id, set()).add(at.claim)
        self.given[at.claim].append(given)
        return given

    def _give_back(self, at: Position, given: GivenDevice) -> None:
        """Undo what taking a device did (rollbackDevice)."""
        self.given[at.claim].pop()
        entry, wanted = given.entry, given.wanted
        if given.consumed is not None:
            is_last = not any(other.entry.id == entry.id for devices in self.given for other in devices)
            remove_amounts(self._shares, entry.id, given.consumed)
            if is_last:
                self._shares.pop(entry.id, None)
            else:
                self._shares.setdefault(entry.id, {})
        else:
            self._taken[entry.id].discard(at.claim)
        request, subrequest = (wanted.parent, wanted.name) if wanted.parent else (wanted.name, "")
        for constraint in reversed(self._constraints[at.claim]):
            constraint.remove(request, subrequest)
        self._release_counters(given)

    def _is_share_in_use(self, device_id: DeviceID) -> bool:
        return self._allocated.is_share_in_use(device_id) or device_id in self._shares

    # --- shared counters ----------------------------------------------------------------------------------------------

    def _reserve_counters(self, pool: Pool, entry: DeviceEntry) -> bool:
        """Count in what a device takes of its pool's counters, if that much is left (checkAvailableCounters)."""
        available = self._available_in(pool)
        used = self._counters.setdefault(pool.id, {})
        for name, counter, amount in entry.counters:
            key = (name, counter)
            used[key] = used[key] + amount if key in used else amount
        if all(used.get(key, _ZERO) <= amount for key, amount in available.items()):
            return True
        self._drop_counters(pool, entry)
        return False

    def _release_counters(self, given: GivenDevice) -> None:
        if given.has_counters:
            self._drop_counters(given.pool, given.entry)

    def _drop_counters(self, pool: Pool, entry: DeviceEntry) -> None:
        used = self._counters[pool.id]
        for name, counter, amount in entry.counters:
            used[name, counter] = used[name, counter] + _negative(amount)

    def _available_in(self, pool: Pool) -> dict[tuple[str, str], Quantity]:
        available = self._available.get(pool.id)
        if available is None:
            available = {
                (name, counter): amount
                for name, counters in pool.counters.items()
                for counter, amount in counters.items()
            }
            for entry in (*pool.devices, *pool.other_devices):
                if entry.counters and self._allocated.is_allocated(entry.id):
                    for name, counter, amount in entry.counters:
                        available[name, counter] = available[name, counter] + _negative(amount)
            self._available[pool.id] = available
        return available


def _negative(amount: Quantity) -> Quantity:
    return Quantity(-amount.unscaled, amount.exponent, amount.format)


def _constraint(claim: WantedClaim, index: int, constraint: DeviceConstraint) -> Constraint:
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint, constraint.match_attribute)
    if constraint.distinct_attribute is not None:
        return DistinctAttribute(constraint, constraint.distinct_attribute)
    raise AllocationError(
        f"claim {claim.claim.key}, constraint #{index}: empty constraint (unsupported constraint type?)"
    )
