"""Everything about devices that is derived from the cluster's objects, kept up to date."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary

from nodewise.api.devices import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from nodewise.api.objects import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from nodewise.devices.allocated import AllocatedDevices
from nodewise.devices.allocation_config import allocation_config
from nodewise.devices.allocator import GivenDevice, Search
from nodewise.devices.inventory import DeviceEntry, Inventory, NodeMatches, PoolID
from nodewise.devices.pools import NodePools, Pool
from nodewise.devices.requests import WantedClaim, prepare
from nodewise.devices.selectors import Selectors
from nodewise.framework.node_selector import NAME_FIELD
from nodewise.state.columns import NodeTable
from nodewise.state.device_listers import DeviceListers

_SHARES = uuid.UUID("5b7a5a3e-0c1d-4a55-9a37-2f6f0b1c8d11")


class DeviceCluster:
    """Devices, pools and allocations of one cluster."""

    def __init__(self, listers: DeviceListers) -> None:
        self.listers = listers
        self.selectors = Selectors()
        self.allocated = AllocatedDevices(listers)
        self._inventory_version = -1
        self.inventory = Inventory((), self.selectors)
        self._matches: NodeMatches | None = None
        self._pools: NodePools | None = None
        self._nodes: tuple[int, int, int] = (-1, -1, -1)
        self._rows_of_pool: dict[PoolID, set[int]] = {}
        self._n_shares = 0

    def refresh(self, columns: NodeTable) -> tuple[int, int, int]:
        """Take over changes of slices, nodes and claims.

        Returns
        -------
        tuple[int, int, int]
            The version of slices and nodes: which pools a node has changes only with it.
        """
        self.allocated.catch_up()
        if self._inventory_version != self.listers.version:
            self.inventory = Inventory(self.listers.slices(), self.selectors)
            self._inventory_version = self.listers.version
        version = (self.listers.version, columns.node_version, columns.n_rows)
        if version != self._nodes:
            self._nodes = version
            self._matches = NodeMatches(self.inventory, columns)
            self._pools = NodePools(self.inventory, self._matches)
            self._rows_of_pool = {}
        return version

    def rows_of(self, pool_id: PoolID, columns: NodeTable) -> set[int]:
        """Return the rows of the nodes that have a pool."""
        rows = self._rows_of_pool.get(pool_id)
        if rows is None:
            rows = set()
            assert self._matches is not None
            shared = {id(entry): mask for entry, mask in self._matches.shared}
            for entry in self.inventory.by_pool.get(pool_id, ()):
                row = columns.row_of(entry.spec_slice.spec.node_name or "")
                if row is not None:
                    rows.add(row)
                elif id(entry) in shared:
                    rows.update(shared[id(entry)].nonzero()[0].tolist())
            self._rows_of_pool[pool_id] = rows
        return rows

    def pools_of(self, row: int, node_name: str) -> list[Pool]:
        """Return a node's pools in the order in which devices are tried."""
        assert self._pools is not None
        return self._pools.of(row, node_name)

    def are_same_for_all(self, pools: list[Pool]) -> bool:
        """Tell whether every node with these pools can use all their devices."""
        assert self._pools is not None
        return self._pools.are_same_for_all(pools)

    def can_use(self, row: int, device: DeviceEntry) -> bool:
        """Tell whether a node can use a device of a slice that selects nodes by device."""
        assert self._matches is not None
        return self._matches.can_use(row, device)

    def prepare(self, claims: Iterable[ResourceClaim]) -> list[WantedClaim]:
        """Make claims ready to be searched devices for."""
        return [prepare(claim, self.listers.classes) for claim in claims]

    def allocate(self, claims: Sequence[WantedClaim], row: int, node_name: str) -> list[list[GivenDevice]] | None:
        """Find devices for claims on a node; None: there are not enough.

        Raises
        ------
        AllocationError
            Something is wrong with a claim, a class or a pool.
        """
        assert self._matches is not None
        pools = self.pools_of(row, node_name)
        search = Search(claims, pools, self.allocated, self.selectors, self._matches, row)
        return search.given if search.run() else None

    def result_of(self, claim: ResourceClaim, given: Sequence[GivenDevice], node_name: str) -> AllocationResult:
        """Return an allocation as a claim's status holds it."""
        results = tuple([self._result(claim, device) for device in given])
        config = allocation_config(claim, given, self.listers.classes)
        return AllocationResult(DeviceAllocationResult(results, config), _node_selector(given, node_name))

    def _result(self, claim: ResourceClaim, given: GivenDevice) -> DeviceRequestAllocationResult:
        driver, pool, name = given.entry.id
        wanted, device = given.wanted, given.entry.device
        share_id = None
        if given.consumed is not None:
            self._n_shares += 1
            share_id = str(uuid.uuid5(_SHARES, f"{claim.metadata.uid}/{self._n_shares}"))
        return DeviceRequestAllocationResult(
            wanted.result_name,
            driver,
            pool,
            name,
            True if wanted.is_admin else None,
            wanted.tolerations,
            device.binding_conditions or (),
            device.binding_failure_conditions or (),
            share_id,
            {key: str(amount) for key, amount in given.consumed.items()} if given.consumed else None,
        )


def _node_selector(given: Iterable[GivenDevice], node_name: str) -> NodeSelector | None:
    """Return where the devices can be used; None: everywhere (createNodeSelector)."""
    fields: list[NodeSelectorRequirement] = []
    expressions: list[NodeSelectorRequirement] = []
    for device in given:
        spec = device.entry.slice.spec_slice.spec
        source = device.entry.device if device.entry.slice.selects_per_device else spec
        if source.node_name is not None or device.entry.device.binds_to_node:
            requirement = NodeSelectorRequirement(NAME_FIELD, "In", (node_name,))
            return NodeSelector((NodeSelectorTerm((), (requirement,)),))
        for term in source.node_selector.node_selector_terms[:1] if source.node_selector is not None else ():
            for new, known in ((term.match_fields, fields), (term.match_expressions, expressions)):
                known += [requirement for requirement in new if not _is_known(requirement, known)]
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


def _is_known(requirement: NodeSelectorRequirement, known: Iterable[NodeSelectorRequirement]) -> bool:
    return any(
        other.key == requirement.key
        and other.operator == requirement.operator
        and set(other.values) == set(requirement.values)
        for other in known
    )


_clusters: WeakKeyDictionary[DeviceListers, DeviceCluster] = WeakKeyDictionary()


def device_cluster(listers: DeviceListers) -> DeviceCluster:
    """Return the one DeviceCluster over these listers, which all plugins share."""
    cluster = _clusters.get(listers)
    if cluster is None:
        cluster = _clusters[listers] = DeviceCluster(listers)
    return cluster
