"""DynamicResources: keeps pods to nodes that have devices for their claims, and takes these devices for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable
from datetime import timedelta
from functools import partial
from typing import ClassVar
from weakref import WeakValueDictionary

import numpy as np

from nodewise.api.devices import ResourceClaim, ResourceClaimConsumerReference
from nodewise.api.objects import Pod, replace
from nodewise.config.arguments import DynamicResourcesArgs
from nodewise.devices.answers import FIRST_ERROR, NOT_AVAILABLE, REJECTIONS, DeviceAnswers
from nodewise.devices.claims import ClaimError, claims_of
from nodewise.devices.cluster import device_cluster
from nodewise.devices.extended_resources import SPECIAL_NAME, created_claim
from nodewise.devices.pod_needs import NO_NEEDS, PodNeeds
from nodewise.devices.prebinding import ClaimWrites, is_in_memory, is_special
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.events import ClusterEventWithHint
from nodewise.framework.normalize import default_normalize
from nodewise.framework.object_writer import writing
from nodewise.framework.plugin import FilterVerdict, Handle, PostFilterResult, PreFilterResult, Rejections
from nodewise.framework.pod_group_plugin import PodGroupPostFilterResult, PodGroupVerdict
from nodewise.framework.status import SUCCESS, Status
from nodewise.plugins.dynamic_resources_hints import DeviceHints
from nodewise.state.columns import Columns, IntArray, NodeTable, Rows
from nodewise.state.device_listers import PendingAllocation
from nodewise.state.dirty_log import Reads
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot

DEFAULT_BINDING_TIMEOUT = timedelta(seconds=600)
_NOTHING_KNOWN = PreFilterResult()


class NoNeeds:
    """The state of pods that need no devices: every node passes, and scores 0."""

    reads = Reads.NODE


_NO_NEEDS = NoNeeds()
State = DeviceAnswers | NoNeeds


class DynamicResources:
    """Plugin DynamicResources. Codes are those of `nodewise.devices.answers`."""

    name: ClassVar[str] = "DynamicResources"
    reads: ClassVar[Reads] = Reads.NODE
    first_error_code: ClassVar[int] = FIRST_ERROR

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        self._handle = handle
        self._listers = handle.listers.devices
        self._cluster = device_cluster(self._listers)
        self._binding_timeout = DEFAULT_BINDING_TIMEOUT
        if args is not None and args.binding_timeout_ns is not None:
            self._binding_timeout = timedelta(microseconds=args.binding_timeout_ns / 1000)
        self._answers: WeakValueDictionary[Hashable, DeviceAnswers] = WeakValueDictionary()
        self._last: tuple[Pod, PodNeeds] | None = None

    # --- before the filters -------------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: Pod) -> Status:
        """Keep a pod out of the queue until its claims are there."""
        if pod.spec.resource_claims:
            try:
                claims_of(pod, self._listers)
            except ClaimError as error:
                return Status.unresolvable(str(error))
        return SUCCESS

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return DeviceHints(self._listers).events_to_register()

    def class_key(self, pod: Pod) -> Hashable:
        """Return what the pod's claims ask for, or which devices they have."""
        if not pod.spec.resource_claims and not self._listers.classes:
            return NO_NEEDS
        needs = PodNeeds(pod, self._listers, self._group_cycle)
        key = needs.key(self._listers)
        if key is not NO_NEEDS:
            self._last = pod, needs
            known = self._answers.get(key)
            if known is not None:
                known.needs = needs
        return key

    @property
    def _group_cycle(self) -> int:
        groups = self._handle.pod_groups
        return groups.cycle if groups is not None else 0

    def compile(self, pod: Pod, snapshot: Snapshot) -> State:
        if self._last is not None and self._last[0] is pod:
            needs = self._last[1]
        else:
            needs = PodNeeds(pod, self._listers, self._group_cycle)
        key = needs.key(self._listers)
        if key is NO_NEEDS:
            return _NO_NEEDS
        answers = DeviceAnswers(needs, self._cluster, now=self._handle.now(), binding_timeout=self._binding_timeout)
        self._answers[key] = answers
        return answers

    def pre_filter(self, state: State) -> PreFilterResult:
        """Refuse pods whose claims cannot be used or allocated anywhere."""
        if isinstance(state, NoNeeds) or state.status is None:
            return _NOTHING_KNOWN
        return PreFilterResult(state.status)

    # --- nodes --------------------------------------------------------------------------------------------------------

    def filter(self, state: State, columns: Columns, rows: Rows) -> Rejections:
        """Look for devices on every node where something changed."""
        if isinstance(state, NoNeeds) or state.status is not None:
            return np.zeros(len(columns.alive[rows]), np.int64)
        return self._of_rows(state.codes(self._table(columns)), columns, rows)

    def rejection(self, state: State, code: int) -> Status:
        assert isinstance(state, DeviceAnswers)
        return state.rejection(code)

    def detail(self, pod: Pod, row: int | None) -> str:
        """Name the claims, requests and devices that the verdict on a node is about."""
        answers = self._answers_of(pod)
        if answers is None or answers.status is not None or row is None:
            return ""
        return answers.detail(row, self._handle.snapshot.columns)

    def score(self, state: State, columns: Columns, rows: Rows) -> IntArray:
        """Rate the alternatives of prioritized lists that a pod would get."""
        if isinstance(state, NoNeeds) or state.status is not None:
            return np.zeros(len(columns.alive[rows]), np.int64)
        return self._of_rows(state.scores(self._table(columns)), columns, rows)

    def normalize(self, state: State, scores: IntArray) -> IntArray:
        return default_normalize(scores, reverse=False)

    def _table(self, columns: Columns) -> NodeTable:
        return columns if isinstance(columns, NodeTable) else self._handle.snapshot.columns

    def _of_rows(self, whole: IntArray, columns: Columns, rows: Rows) -> IntArray:
        """Return the answers for some rows, or for the one node of a what-if."""
        if isinstance(columns, NodeTable):
            return whole[rows].copy()
        row = self._handle.snapshot.columns.row_of(columns.names[0])
        assert row is not None
        return whole[[row]][rows]

    # --- after the filters --------------------------------------------------------------------------------------------

    def post_filter(self, verdict: FilterVerdict) -> PostFilterResult:
        """Give back the devices of a claim that only this pod holds, so that it may get others.

        kube-scheduler's DynamicResources.PostFilter reads what its PreFilter wrote: when an earlier PreFilter ended
        the cycle, its "not found" error ends the chain of PostFilter plugins and shows in the pod's message. Among
        several claims kube-scheduler picks one at random; here it is the first.
        """
        if not verdict.ran_pre_filter(self.name):
            return PostFilterResult(Status.error("not found"))
        found = self._release(verdict.pod.pod, lambda: _rows_without_claim(verdict.statuses_by_row().items()))
        return found if found is not None else PostFilterResult(Status.unschedulable())

    def pod_group_post_filter(self, verdict: PodGroupVerdict) -> PodGroupPostFilterResult:
        """Do for each pod of a group that does not fit what `post_filter` does for single pods.

        QUIRK: it says that it did whether or not there was anything to do; and it fails when its PreFilter ran for no
        pod of the group, since it looks for what that wrote.
        """
        group = verdict.group
        has_topology = self._handle.feature_gates.enabled("TopologyAwareWorkloadScheduling")
        if group.key.is_composite or (has_topology and group.group.spec.scheduling_constraints is not None):
            return PodGroupPostFilterResult(Status.unschedulable())
        pods = [pod for pod in group.unscheduled_pods() if verdict.ran_pre_filter(pod, self.name)]
        if not pods:
            return PodGroupPostFilterResult(Status.error("not found"))
        effects: list[Callable[[], None]] = []
        for pod in pods:
            rejections = [(row, status) for status, rows in verdict.rejections(pod) for row in rows.tolist()]
            found = self._release(pod.pod, partial(_rows_without_claim, rejections))
            effects += found.effects if found is not None else ()
        text = "deallocation and deletion of ResourceClaims completed"
        return PodGroupPostFilterResult(Status.unschedulable(text), effects=tuple(effects))

    def _release(self, pod: Pod, rows: Callable[[], list[int]]) -> PostFilterResult | None:
        """Return how to give back a claim that is not available on some rows; None: there is none to give back."""
        state = self._answers.get(self.class_key(pod))
        if state is None or state.status is not None:
            return None
        special = state.needs.special
        is_left_over = special is not None and special.metadata.name != SPECIAL_NAME
        claims = state.needs.all_claims
        for position in state.unavailable_claims(rows()):
            claim = claims[position]
            if claim is special:
                break
            reserved = claim.status.reserved_for
            if not reserved or (len(reserved) == 1 and reserved[0].uid == pod.metadata.uid):
                status = Status.unschedulable("deallocation of ResourceClaim completed")
                return PostFilterResult(status, effects=(partial(self._deallocate, claim),))
        if special is not None and is_left_over:
            status = Status.unschedulable("deletion of ResourceClaim completed")
            return PostFilterResult(status, effects=(partial(self._delete, special),))
        return None

    def _deallocate(self, claim: ResourceClaim) -> None:
        writes = self._writes()
        if writes is not None:
            writes.deallocate(claim)
            return
        self._listers.put_claim(replace(claim, status=type(claim.status)()))
        self._mark_change()

    def _delete(self, claim: ResourceClaim) -> None:
        writes = self._writes()
        if writes is not None:
            writes.delete(claim)
            return
        self._listers.remove_claim(claim)
        self._mark_change()

    def _writes(self) -> ClaimWrites | None:
        """Return what writes claims to the cluster; None: what is in the listers is what is."""
        handle = writing(self._handle)
        return ClaimWrites(handle, self._listers, self._handle.now()) if handle is not None else None

    def _mark_change(self) -> None:
        """Let answers that were kept be asked for again, though no node changed."""
        snapshot = self._handle.snapshot
        if snapshot.columns.n_rows:
            snapshot.log.append(0, 0)

    # --- the decision -------------------------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Take the devices that were found, so that no other pod gets them; nothing is written yet.

        Pods of a group that is tried share what one of them took for a claim of theirs.
        """
        answers = self._answers_of(pod.pod)
        if answers is None:
            return SUCCESS
        table = self._handle.snapshot.columns
        row = table.row_of(node_name)
        given = answers.given_on(row, table) if row is not None else None
        if row is None or given is None:
            has_open = any(claim.status.allocation is None for claim in answers.needs.claims)
            return Status.error("claim allocation not found for node") if has_open else SUCCESS
        for claim in answers.needs.claims:
            pending = self._listers.pending.get(claim.metadata.uid)
            if pending is not None:
                pending.pods.add(pod.uid)
        open_claims = [claim for claim in answers.needs.claims if claim.status.allocation is None]
        wanted = [found.claim for found in answers.wanted_on(row, table)]
        claims = [*open_claims, *[created_claim(claim) for claim in wanted[len(open_claims) :]]]
        for claim, devices in zip(claims, given, strict=True):
            allocation = self._cluster.result_of(claim, devices, node_name)
            self._listers.pending[claim.metadata.uid] = PendingAllocation(claim, {pod.uid}, self._group_cycle)
            self._listers.put_claim(replace(claim, status=replace(claim.status, allocation=allocation)))
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Give back what `reserve` took, and the pod's place in its claims."""
        writes = self._writes()
        for claim in self._claims_of(pod.pod):
            is_written = any(reference.uid == pod.uid for reference in claim.status.reserved_for)
            pending = self._listers.pending.get(claim.metadata.uid)
            if pending is not None:
                pending.pods.discard(pod.uid)
                if pending.pods:
                    continue
                del self._listers.pending[claim.metadata.uid]
            if is_written:
                kept = tuple(reference for reference in claim.status.reserved_for if reference.uid != pod.uid)
                self._listers.put_claim(replace(claim, status=replace(claim.status, reserved_for=kept)))
            elif pending is not None and is_special(pending.before):
                self._listers.remove_claim(claim)
            elif pending is not None:
                self._listers.put_claim(pending.before)
            if writes is not None and (is_written or (is_special(claim) and not is_in_memory(claim))):
                writes.take_back(claim, pod)

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Awaitable[Status]:
        """Write the allocations, and the pod as one that uses its claims."""
        claims = self._claims_of(pod.pod)
        if not claims:
            return SUCCESS
        writes = self._writes()
        if writes is not None:
            return writes.run(claims, pod, self._binding_timeout)
        metadata = pod.pod.metadata
        reference = ResourceClaimConsumerReference("", "pods", metadata.name, metadata.uid)
        for claim in claims:
            if any(other.uid == metadata.uid for other in claim.status.reserved_for):
                continue
            allocation = claim.status.allocation
            if allocation is None:
                return Status.error(f"claim {claim.key} got deallocated elsewhere in the meantime")
            if is_in_memory(claim) and not claim.spec.devices.requests:
                text = "nil or empty request mappings, no update of pod"
                return Status.error(f"{text} {pod.key} ExtendedResourceClaimStatus")
            if allocation.allocation_timestamp is None:
                allocation = replace(allocation, allocation_timestamp=self._handle.now())
            reserved = (*claim.status.reserved_for, reference)
            self._listers.put_claim(
                replace(claim, status=replace(claim.status, allocation=allocation, reserved_for=reserved))
            )
            self._listers.pending.pop(claim.metadata.uid, None)
        return SUCCESS

    def _answers_of(self, pod: Pod) -> DeviceAnswers | None:
        key = self.class_key(pod)
        if key is NO_NEEDS:
            return None
        answers = self._answers.get(key)
        if answers is None:
            made = self.compile(pod, self._handle.snapshot)
            return made if isinstance(made, DeviceAnswers) else None
        return answers

    def _claims_of(self, pod: Pod) -> list[ResourceClaim]:
        """Return the pod's claims as they are, one for its extended resources included."""
        if not pod.spec.resource_claims and not self._listers.classes:
            return []
        try:
            claims = claims_of(pod, self._listers)
        except ClaimError:
            return []
        special = self._listers.special_claim_of(pod.metadata.uid)
        return [*claims, special] if special is not None else claims


def _rows_without_claim(rejections: Iterable[tuple[int, Status]]) -> list[int]:
    """Return the rows where some allocated claim is not available."""
    return [row for row, status in rejections if status.reasons == REJECTIONS[NOT_AVAILABLE].reasons]
