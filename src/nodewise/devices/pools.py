"""Resource pools as one node sees them (GatherPools)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.devices.inventory import DeviceEntry, Inventory, NodeMatches, PoolID, SliceEntry, id_text


@dataclass(slots=True, eq=False)
class Pool:
    """The slices of one driver's pool that matter to a node.

    Attributes
    ----------
    is_incomplete : bool
        Whether some of its slices are not there yet.
    is_invalid : bool
        Whether its slices contradict each other.
    devices : list[DeviceEntry]
        Those that the node's slices offer, in the order of allocation.
    other_devices : list[DeviceEntry]
        Devices of slices for other nodes.
    counters : dict[str, dict[str, Quantity]]
        Shared counters by set and name.
    """

    id: PoolID
    is_incomplete: bool = False
    is_invalid: bool = False
    devices: list[DeviceEntry] = field(default_factory=list)
    other_devices: list[DeviceEntry] = field(default_factory=list)
    counters: dict[str, dict[str, Quantity]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The id as messages show it."""
        return id_text(self.id)

    @property
    def is_usable(self) -> bool:
        """Whether devices can be taken from it one by one."""
        return not (self.is_incomplete or self.is_invalid)


class NodePools:
    """The pools of every node; nodes that see the same slices share them."""

    def __init__(self, inventory: Inventory, matches: NodeMatches) -> None:
        self._inventory = inventory
        self._matches = matches
        self._by_slices: dict[tuple[int, ...], list[Pool]] = {}
        self._depends_on_node: set[int] = set()

    def of(self, row: int, node_name: str) -> list[Pool]:
        """Return a node's pools in the order in which devices are tried."""
        slices = [*self._inventory.on_node.get(node_name, ())]
        slices += [entry for entry, mask in self._matches.shared if mask[row]]
        key = tuple([id(entry) for entry in slices])
        pools = self._by_slices.get(key)
        if pools is None:
            pools = self._by_slices[key] = self._gather(slices)
            if any(entry.slice.selects_per_device for pool in pools for entry in pool.devices):
                self._depends_on_node.add(id(pools))
        return pools

    def are_same_for_all(self, pools: list[Pool]) -> bool:
        """Tell whether every node with these pools can use all their devices."""
        return id(pools) not in self._depends_on_node

    def _gather(self, slices: Iterable[SliceEntry]) -> list[Pool]:
        newest: dict[PoolID, list[SliceEntry]] = {}
        for entry in slices:
            known = newest.get(entry.pool_id)
            if known is None or entry.generation > known[0].generation:
                newest[entry.pool_id] = [entry]
            elif entry.generation == known[0].generation:
                known.append(entry)
        plain: list[Pool] = []
        with_conditions: list[Pool] = []
        for pool_id in sorted(newest):
            pool = self._pool(pool_id, newest[pool_id])
            if pool is None:
                continue
            waits = any(entry.device.binding_conditions is not None for entry in pool.devices)
            (with_conditions if waits else plain).append(pool)
        return plain + with_conditions

    def _pool(self, pool_id: PoolID, slices: list[SliceEntry]) -> Pool | None:
        """Make one pool; None: its slices are out of date."""
        if len(slices) == slices[0].n_slices:
            return _build(pool_id, slices, ())
        every = self._inventory.by_pool[pool_id]
        generation = slices[0].generation
        if any(entry.generation > generation for entry in every):
            return None
        current = [entry for entry in every if entry.generation == generation]
        if len(current) != slices[0].n_slices:
            return Pool(pool_id, is_incomplete=True)
        names = {entry.name for entry in slices}
        return _build(pool_id, slices, [entry for entry in current if entry.name not in names])


def _build(pool_id: PoolID, slices: Iterable[SliceEntry], others: Sequence[SliceEntry]) -> Pool:
    """Put slices together and check that they agree (buildPool)."""
    pool = Pool(pool_id)
    ordered = sorted(slices, key=lambda entry: entry.name)
    for entry in (*ordered, *others):
        for counter_set in entry.spec_slice.spec.shared_counters:
            if counter_set.name in pool.counters:
                return Pool(pool_id, is_invalid=True)
            pool.counters[counter_set.name] = {
                name: parse_quantity(counter.value) for name, counter in counter_set.counters.items()
            }
    for entry in ordered:
        if not entry.spec_slice.spec.shared_counters:
            pool.devices += entry.devices
    for entry in others:
        if not entry.spec_slice.spec.shared_counters:
            pool.other_devices += entry.devices
    names = {entry.id for entry in pool.devices}
    if len(names) != len(pool.devices) or _lacks_counters(pool):
        return Pool(pool_id, is_invalid=True)
    return pool


def _lacks_counters(pool: Pool) -> bool:
    """Tell whether some device takes from counters that the pool does not have."""
    for entry in (*pool.devices, *pool.other_devices):
        for use in entry.device.consumes_counters:
            counters = pool.counters.get(use.counter_set)
            if counters is None or any(name not in counters for name in use.counters):
                return True
    return False
