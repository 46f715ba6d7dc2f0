"""For pods with the same needs: which nodes have devices for them, kept up to date node by node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import numpy as np

from nodewise.api.devices import MAX_ALTERNATIVES, DeviceClaim, ResourceClaim, ResourceClaimSpec
from nodewise.api.objects import replace
from nodewise.api.resources import node_allocatable
from nodewise.devices.allocator import GivenDevice, NodeAllocationError
from nodewise.devices.cluster import DeviceCluster
from nodewise.devices.diagnosis import claim_name, elsewhere_text, given_text, shortage_text
from nodewise.devices.extended_resources import device_requests
from nodewise.devices.pod_needs import PodNeeds, is_binding_over, pre_filter_status
from nodewise.devices.requests import AllocationError, WantedClaim
from nodewise.framework.node_selector import NodeSelectorMatcher
from nodewise.framework.status import Status
from nodewise.state.columns import ALL_ROWS, BoolArray, IntArray, NodeTable
from nodewise.state.dirty_log import Reads

PASSES, NOT_AVAILABLE, CANNOT_ALLOCATE, CANNOT_FIT, LEFT_OVER, INVALID_POOLS = range(6)
FIRST_ERROR = 16
_REASONS = {
    NOT_AVAILABLE: "resourceclaim not available on the node",
    CANNOT_ALLOCATE: "cannot allocate all claims",
    CANNOT_FIT: "cannot fit resource",
    LEFT_OVER: "cannot schedule extended resource claim",
    INVALID_POOLS: "invalid resource pools were encountered",
}
REJECTIONS = {code: Status.unresolvable(reason) for code, reason in _REASONS.items()}


class DeviceAnswers:
    """Verdicts, scores and devices by row.

    Attributes
    ----------
    reads : Reads
        What a row's answer depends on; nothing but the node where there is nothing to allocate.
    needs : PodNeeds
        Of the pod that was asked about last: pods with the same needs have claims with other names.
    status : Status | None
        What keeps such pods off every node.
    """

    def __init__(self, needs: PodNeeds, cluster: DeviceCluster, *, now: datetime, binding_timeout: timedelta) -> None:
        self.needs = needs
        self.status = pre_filter_status(needs, cluster.listers)
        self._cluster = cluster
        self._is_over = [is_binding_over(claim, now, binding_timeout) for claim in needs.all_claims]
        self._wanted = cluster.prepare([c for c in needs.claims if c.status.allocation is None])
        self._has_allocator = bool(self._wanted) or (
            needs.special is not None and needs.special.status.allocation is None
        )
        self.reads = Reads.NODE | Reads.ALWAYS if self._has_allocator and self.status is None else Reads.NODE
        self._special: dict[frozenset[str], WantedClaim] = {}
        self._codes: IntArray = np.zeros(0, np.int64)
        self._scores: IntArray = np.zeros(0, np.int64)
        self._given: dict[int, list[list[GivenDevice]]] = {}
        self._found: dict[tuple[int, frozenset[str] | None], list[list[GivenDevice]] | int] = {}
        self._errors: list[str] = []
        self._unavailable: list[BoolArray] = []
        self._version = (-1, -1, -1)
        self._cursor = 0
        self._score_of_allocated = sum(_score_of_results(claim) for claim in needs.claims)

    def codes(self, table: NodeTable) -> IntArray:
        """Return the verdicts, `(n_rows,) int64`, not to be changed; errors from FIRST_ERROR on."""
        cluster = self._cluster
        version = cluster.refresh(table)
        touched = cluster.allocated.touched
        if version != self._version:
            self._version = version
            self._codes = np.zeros(table.n_rows, np.int64)
            self._scores = np.zeros(table.n_rows, np.int64)
            self._given, self._errors = {}, []
            self._unavailable = [self._is_unavailable(claim, n, table) for n, claim in enumerate(self.needs.all_claims)]
            rows: Iterable[int] = np.flatnonzero(table.alive).tolist()
        else:
            rows = set()
            for pool_id in dict.fromkeys(touched[self._cursor :]):
                rows |= cluster.rows_of(pool_id, table)
        self._cursor = len(touched)
        self._found = {}
        for row in rows:
            self._codes[row] = self._judge(row, table)
        return self._codes

    def scores(self, table: NodeTable) -> IntArray:
        """Return the raw scores, `(n_rows,) int64`, not to be changed (computeScore)."""
        self.codes(table)
        return self._scores

    def rejection(self, code: int) -> Status:
        """Return what a code means."""
        if code >= FIRST_ERROR:
            return Status.error(self._named(self._errors[code - FIRST_ERROR]))
        return REJECTIONS[code]

    def given_on(self, row: int, table: NodeTable) -> list[list[GivenDevice]] | None:
        """Return the devices that were found on a node, by claim; None: there is nothing to allocate."""
        self.codes(table)
        return self._given.get(row)

    def unavailable_claims(self, rows: Sequence[int]) -> list[int]:
        """Return the positions of allocated claims that kept the pod off these nodes (stateData.unavailableClaims)."""
        return [n for n, mask in enumerate(self._unavailable) if mask[rows].any()]

    def wanted_on(self, row: int, table: NodeTable) -> list[WantedClaim]:
        """Return the claims to allocate on a node, in the order of the search."""
        names = self._resources_on(row, table)
        return self._wanted if names is None or self.needs.special is None else [*self._wanted, self._special[names]]

    def detail(self, row: int, table: NodeTable) -> str:
        """Say which claims and requests, and which devices, a verdict is about."""
        code = int(self.codes(table)[row])
        open_claims = [claim for claim in self.needs.claims if claim.status.allocation is None]
        if code == NOT_AVAILABLE:
            claims = [c for c, mask in zip(self.needs.all_claims, self._unavailable, strict=True) if mask[row]]
            return "; ".join(elsewhere_text(claim_name(claim), claim) for claim in claims)
        if code in (PASSES, CANNOT_ALLOCATE) and self._has_allocator:
            wanted = self.wanted_on(row, table)
            names = [claim_name(claim) for claim in open_claims]
            names += [claim_name(found.claim) for found in wanted[len(names) :]]
            if code == PASSES:
                return given_text(names, self._given.get(row, ())) if row in self._given else ""
            return shortage_text(self._cluster, names, wanted, row, table.names[row])
        return ""

    # --- one node -----------------------------------------------------------------------------------------------------

    def _judge(self, row: int, table: NodeTable) -> int:
        """Return the verdict on one node (DynamicResources.Filter)."""
        self._scores[row] = 0
        self._given.pop(row, None)
        needs = self.needs
        if needs.special is not None:
            if needs.special.spec.devices.requests:
                return LEFT_OVER
            names = self._resources_on(row, table)
            if names is None:
                return CANNOT_FIT
            if not names and not needs.claims:
                return PASSES
            if names not in self._special:
                requests = device_requests(needs.pod, names, self._cluster.listers)
                claim = replace(needs.special, spec=ResourceClaimSpec(DeviceClaim(requests)))
                self._special[names] = self._cluster.prepare([claim])[0]
        given: list[list[GivenDevice]] | None = None
        if self._has_allocator:
            found = self._search(row, table)
            if isinstance(found, int):
                return found
            given = found
        if any(mask[row] for mask in self._unavailable):
            return NOT_AVAILABLE
        if given is not None:
            self._given[row] = given
            self._scores[row] = self._score_of_allocated + sum(map(_score_of_given, given))
        return PASSES

    def _search(self, row: int, table: NodeTable) -> list[list[GivenDevice]] | int:
        """Return the devices for a node, or why there are none; nodes with the same pools are searched once."""
        pools = self._cluster.pools_of(row, table.names[row])
        key = (id(pools), self._resources_on(row, table))
        if not self._cluster.are_same_for_all(pools):
            return self._search_one(row, table)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._search_one(row, table)
        return found

    def _search_one(self, row: int, table: NodeTable) -> list[list[GivenDevice]] | int:
        try:
            found = self._cluster.allocate(self.wanted_on(row, table), row, table.names[row])
        except NodeAllocationError:
            return INVALID_POOLS
        except AllocationError as error:
            return self._error(str(error))
        return CANNOT_ALLOCATE if found is None else found

    def _resources_on(self, row: int, table: NodeTable) -> frozenset[str] | None:
        """Return the extended resources that devices must stand in for; None: one is to be had in no way."""
        node = table.nodes[row]
        if not self.needs.resources or node is None:
            return frozenset()
        allocatable = node_allocatable(node)
        found = set()
        for name in self.needs.resources:
            if self._cluster.listers.class_of_resource(name) is not None and not allocatable.get(name, 0):
                found.add(name)
            elif name not in allocatable:
                return None
        return frozenset(found)

    def _is_unavailable(self, claim: ResourceClaim, position: int, table: NodeTable) -> BoolArray:
        """Return the rows where an allocated claim cannot be used."""
        allocation = claim.status.allocation
        if self._is_over[position]:
            return np.ones(table.n_rows, np.bool_)
        if allocation is None or allocation.node_selector is None:
            return np.zeros(table.n_rows, np.bool_)
        return ~NodeSelectorMatcher(allocation.node_selector).matches(table, ALL_ROWS)

    # --- texts --------------------------------------------------------------------------------------------------------

    def _error(self, text: str) -> int:
        """Return the code of an error, its claims' names made replaceable."""
        for position, claim in enumerate(self._wanted):
            text = text.replace(f"claim {claim.claim.key}", f"claim \0{position}\0")
        if text not in self._errors:
            self._errors.append(text)
        return FIRST_ERROR + self._errors.index(text)

    def _named(self, text: str) -> str:
        names = [claim.key for claim in self.needs.claims if claim.status.allocation is None]
        for position, name in enumerate(names):
            text = text.replace(f"\0{position}\0", name)
        return text


def _score_of_given(given: Sequence[GivenDevice]) -> int:
    """Rate the alternatives that a claim got: the first is worth most."""
    ranks: dict[tuple[str, str], int] = {}
    for device in given:
        if device.wanted.parent:
            ranks[device.wanted.parent, device.wanted.name] = device.wanted.rank
    return sum(MAX_ALTERNATIVES - rank for rank in ranks.values())


def _score_of_results(claim: ResourceClaim) -> int:
    """Rate the alternatives that an allocated claim has."""
    if claim.status.allocation is None:
        return 0
    got = {result.request for result in claim.status.allocation.devices.results}
    return sum(
        MAX_ALTERNATIVES - rank
        for request in claim.spec.devices.requests
        if request.exactly is None
        for rank, sub in enumerate(request.first_available)
        if f"{request.name}/{sub.name}" in got
    )
