"""The devices of all slices, and which nodes can use them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from nodewise.api.devices import Device, ResourceSlice
from nodewise.api.objects import NodeSelector
from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.devices.selectors import Profile, Selectors
from nodewise.framework.node_selector import NodeSelectorMatcher
from nodewise.state.columns import ALL_ROWS, BoolArray, NodeTable

DeviceID = tuple[str, str, str]
"""Driver, pool, device."""
PoolID = tuple[str, str]
"""Driver, pool."""
BLOCKING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def id_text(device_id: Iterable[str]) -> str:
    """Return an id as messages show it."""
    return "/".join(device_id)


@dataclass(slots=True, eq=False)
class DeviceEntry:
    """One device of one slice.

    Attributes
    ----------
    counters : tuple[tuple[str, str, Quantity], ...]
        What it takes of shared counters: set, counter, amount.
    has_plain_capacity : bool
        Whether its capacity cannot keep a request out that asks for none.
    """

    id: DeviceID
    device: Device
    profile: Profile
    slice: SliceEntry
    taints: tuple[tuple[str, str, str], ...]
    is_shared: bool
    counters: tuple[tuple[str, str, Quantity], ...]
    has_plain_capacity: bool

    @property
    def text(self) -> str:
        """The id as messages show it."""
        return id_text(self.id)


@dataclass(slots=True, eq=False)
class SliceEntry:
    """A slice with what the allocator reads of it."""

    name: str
    pool_id: PoolID
    generation: int
    n_slices: int
    spec_slice: ResourceSlice
    devices: list[DeviceEntry] = field(default_factory=list)

    @property
    def selects_per_device(self) -> bool:
        """Whether each device says which nodes can use it."""
        return bool(self.spec_slice.spec.per_device_node_selection)


class Inventory:
    """All slices, in the order in which they are known.

    Attributes
    ----------
    every_slice : list[SliceEntry]
    slices, on_node, shared, by_pool
        Those that devices can be taken from: all, by their node, those of no single node, and by pool.
    """

    def __init__(self, slices: Iterable[ResourceSlice], selectors: Selectors) -> None:
        self.every_slice = [_entry(found, selectors) for found in slices]
        self.slices = [entry for entry in self.every_slice if not _uses_compatibility_groups(entry.spec_slice)]
        self.on_node: dict[str, list[SliceEntry]] = {}
        self.shared: list[SliceEntry] = []
        self.by_pool: dict[PoolID, list[SliceEntry]] = {}
        for entry in self.slices:
            node_name = entry.spec_slice.spec.node_name
            if node_name:
                self.on_node.setdefault(node_name, []).append(entry)
            else:
                self.shared.append(entry)
            self.by_pool.setdefault(entry.pool_id, []).append(entry)


class NodeMatches:
    """Which rows can use each shared slice, and each device of slices that say so by device."""

    def __init__(self, inventory: Inventory, columns: NodeTable) -> None:
        self._columns = columns
        self.shared: list[tuple[SliceEntry, BoolArray]] = []
        self._devices: dict[DeviceEntry, BoolArray] = {}
        for entry in inventory.slices:
            spec = entry.spec_slice.spec
            if entry.selects_per_device:
                for device in entry.devices:
                    found = device.device
                    self._devices[device] = self._mask(found.node_name, found.node_selector, is_all=found.all_nodes)
        for entry in inventory.shared:
            spec = entry.spec_slice.spec
            if spec.all_nodes or spec.node_selector is not None:
                mask = self._mask(None, spec.node_selector, is_all=spec.all_nodes)
            elif entry.selects_per_device:
                mask = np.zeros(columns.n_rows, np.bool_)
                for device in entry.devices:
                    mask = mask | self._devices[device]
            else:
                continue
            self.shared.append((entry, mask))

    def can_use(self, row: int, device: DeviceEntry) -> bool:
        """Tell whether a node can use a device of a slice that selects by device."""
        return bool(self._devices[device][row])

    def _mask(self, node_name: str | None, selector: NodeSelector | None, *, is_all: bool | None) -> BoolArray:
        """Return the rows that match (NodeMatches)."""
        columns = self._columns
        if node_name:
            mask = np.zeros(columns.n_rows, np.bool_)
            row = columns.row_of(node_name)
            if row is not None:
                mask[row] = True
            return mask
        if is_all:
            return np.ones(columns.n_rows, np.bool_)
        if selector is not None:
            return NodeSelectorMatcher(selector).matches(columns, ALL_ROWS)
        return np.zeros(columns.n_rows, np.bool_)


def _uses_compatibility_groups(found: ResourceSlice) -> bool:
    """Tell whether a slice needs a feature that is off, which leaves its pool incomplete."""
    return any(use.compatibility_groups for device in found.spec.devices for use in device.consumes_counters)


def _entry(found: ResourceSlice, selectors: Selectors) -> SliceEntry:
    spec = found.spec
    pool = spec.pool
    entry = SliceEntry(found.metadata.name, (spec.driver, pool.name), pool.generation, pool.resource_slice_count, found)
    entry.devices = [
        DeviceEntry(
            (spec.driver, pool.name, device.name),
            device,
            selectors.profile_of(spec.driver, device),
            entry,
            tuple([(t.key, t.value, t.effect) for t in device.taints if t.effect in BLOCKING_EFFECTS]),
            bool(device.allow_multiple_allocations),
            tuple(
                [
                    (use.counter_set, name, parse_quantity(counter.value))
                    for use in device.consumes_counters
                    for name, counter in use.counters.items()
                ]
            ),
            _has_plain_capacity(device),
        )
        for device in spec.devices
    ]
    return entry


def _has_plain_capacity(device: Device) -> bool:
    if device.allow_multiple_allocations:
        return not device.capacity
    return all(c.request_policy is None and parse_quantity(c.value).sign >= 0 for c in device.capacity.values())
