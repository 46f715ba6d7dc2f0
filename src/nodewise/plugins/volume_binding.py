"""Keeps pods to nodes where their claims have, or can get, volumes; prefers nodes with room for them."""

from __future__ import annotations

from collections.abc import Awaitable, Hashable
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np

from nodewise.api.objects import NodeSelector, Pod, replace
from nodewise.api.storage import STORAGE, ClaimReference, PersistentVolume, PersistentVolumeClaim
from nodewise.config.arguments import VolumeBindingArgs, with_defaults
from nodewise.framework.cycle_state import CycleState, StateKey
from nodewise.framework.events import ClusterEventWithHint
from nodewise.framework.object_writer import writing
from nodewise.framework.plugin import Handle, PreFilterResult, Rejections
from nodewise.framework.status import SUCCESS, Status
from nodewise.plugins.volume_binding_hints import events_of_binding
from nodewise.plugins.volume_capacity_score import CapacityScore
from nodewise.state.columns import Columns, IntArray, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.interning import Interner
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot
from nodewise.volumes.assumed import AssumedStorage
from nodewise.volumes.binding import (
    BIND_CONFLICT,
    FIRST_ERROR,
    NO_SPACE,
    NODE_CONFLICT,
    VOLUME_MISSING,
    PodBinding,
)
from nodewise.volumes.csi_migration import in_tree_plugin
from nodewise.volumes.details import binding_detail
from nodewise.volumes.matching import NONE, is_for
from nodewise.volumes.pod_claims import SELECTED_NODE, PodClaims, claims_of, is_any_unbound
from nodewise.volumes.prebinding import Prebinding, VolumesToBind

REASONS = {
    NODE_CONFLICT: "node(s) didn't match PersistentVolume's node affinity",
    BIND_CONFLICT: "node(s) didn't find available persistent volumes to bind",
    NO_SPACE: "node(s) did not have enough free storage",
    VOLUME_MISSING: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
}
"""In the order in which they are given."""
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


@dataclass(frozen=True, slots=True)
class BindingState:
    """What the plugin prepares for pods of one class: a rejection, or what their claims ask of nodes."""

    status: Status | None = None
    binding: PodBinding | None = None


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a decision made the scheduler assume: names of volumes and keys of claims, and what is to be written."""

    volumes: tuple[str, ...]
    claims: tuple[str, ...]
    wanted: VolumesToBind


ASSUMED = StateKey[Assumed]("VolumeBinding/assumed")


class VolumeBinding:
    """Plugin VolumeBinding; without the feature gate StorageCapacityScoring it gives no scores."""

    name: ClassVar[str] = "VolumeBinding"
    reads: ClassVar[Reads] = Reads.NODE
    first_error_code: ClassVar[int] = FIRST_ERROR

    def __init__(self, args: VolumeBindingArgs | None, handle: Handle) -> None:
        self._handle = handle
        self._storage = AssumedStorage(handle.listers.storage)
        self._judges_nodes = True
        gates = handle.feature_gates
        args = with_defaults(args or VolumeBindingArgs(), gates)
        self._timeout_s = float(args.bind_timeout_seconds)
        self._score = CapacityScore(args.shape or ()) if gates.enabled("StorageCapacityScoring") else None
        self._selectors: Interner[NodeSelector] = Interner()
        self._affinity_of: dict[str, tuple[PersistentVolume, int | None]] = {}

    def placed(self, points: frozenset[str]) -> None:
        """Learn where the profile has the plugin: what its Filter would find, Score and Reserve work with."""
        self._judges_nodes = "filter" in points

    # --- preparing ----------------------------------------------------------------------------------------------------

    def class_key(self, pod: Pod) -> Hashable:
        if not pod.spec.volumes:
            return None
        claims = claims_of(pod, self._storage)
        if claims is None:
            return None
        if isinstance(claims, Status):
            return claims
        affinities = [key for claim in claims.bound if (key := self._affinity_key(claim)) is not None]
        if not claims.delayed:
            # claims that no node is wrong for are as good as none
            return tuple(affinities) or None
        classes = {claim.class_name for claim in claims.delayed}
        versions = tuple((name, self._storage.class_version(name)) for name in sorted(classes))
        delayed = tuple([self._delayed_key(claim) for claim in claims.delayed])
        return (tuple(affinities), delayed, versions, self._storage.api.version)

    def _affinity_key(self, claim: PersistentVolumeClaim) -> Hashable:
        """Return what decides about nodes in the volume of a bound claim; None: nothing does."""
        name = claim.spec.volume_name
        volume = self._storage.volume(name)
        if volume is None:
            return "missing"
        known = self._affinity_of.get(name)
        if known is not None and known[0] is volume:
            return known[1]
        if in_tree_plugin(volume.spec):
            return (name, self._storage.api.version)
        affinity = volume.spec.node_affinity
        required = affinity.required if affinity is not None else None
        key = None if required is None else self._selectors.intern(required)
        self._affinity_of[name] = (volume, key)
        return key

    def _delayed_key(self, claim: PersistentVolumeClaim) -> Hashable:
        spec = claim.spec
        return (
            claim.class_name,
            spec.resources.requests.get(STORAGE),
            spec.volume_mode,
            spec.access_modes,
            None if spec.selector is None else msgspec.json.encode(spec.selector),
            spec.volume_attributes_class_name,
            claim.metadata.annotations.get(SELECTED_NODE),
            # a claim that some volume was made for is unlike any other
            claim.key if spec.selector is not None or self._storage.is_claimed_for(claim) else None,
        )

    def compile(self, pod: Pod, snapshot: Snapshot) -> BindingState:
        claims = claims_of(pod, self._storage) if pod.spec.volumes else None
        if claims is None:
            return BindingState()
        if isinstance(claims, Status):
            return BindingState(status=claims)
        return BindingState(binding=PodBinding(claims, self._storage))

    def pre_filter(self, state: BindingState) -> PreFilterResult:
        """Reject pods whose claims are missing, lost, going, or should be bound already (VolumeBinding.PreFilter)."""
        return PreFilterResult(status=state.status)

    # --- judging nodes ------------------------------------------------------------------------------------------------

    def filter(self, state: BindingState, columns: Columns, rows: Rows) -> Rejections:
        """Reject nodes that bound volumes cannot be used from, or that have none for unbound claims."""
        if state.binding is None:
            return np.zeros(len(columns.alive[rows]), np.int64)
        return state.binding.judge(columns, rows).codes

    def rejection(self, state: BindingState, code: int) -> Status:
        if code >= FIRST_ERROR:
            assert state.binding is not None
            return Status.error(state.binding.errors[code - FIRST_ERROR])
        return Status.unresolvable(*[reason for flag, reason in REASONS.items() if code & flag])

    def detail(self, pod: Pod, row: int | None) -> str:
        return binding_detail(pod, self._storage, self._handle.snapshot.columns, row)

    def score(self, state: BindingState, columns: Columns, rows: Rows) -> IntArray | None:
        """Rate nodes by how much of their storage would be used (VolumeBinding.Score)."""
        if self._score is None:
            return None
        if state.binding is None or not state.binding.has_delayed or not self._judges_nodes:
            return np.zeros(len(columns.alive[rows]), np.int64)
        return self._score.of(state.binding, state.binding.judge(columns, rows))

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return events_of_binding()

    # --- deciding -----------------------------------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        """Assume the chosen volumes to be the claims', and new ones to be made on this node (AssumePodVolumes)."""
        if not self._judges_nodes or not pod.pod.spec.volumes or not is_any_unbound(pod.pod, self._storage):
            return SUCCESS
        claims = claims_of(pod.pod, self._storage)
        columns = self._handle.snapshot.columns
        row = columns.row_of(node_name)
        if not isinstance(claims, PodClaims) or row is None:
            return Status.error(f"claims of pod {pod.key} or node {node_name!r} have changed")
        binding = PodBinding(claims, self._storage)
        bindings = binding.judge(columns, np.array([row], np.intp))
        assumed_volumes: list[str] = []
        wanted_volumes: list[tuple[PersistentVolume, PersistentVolumeClaim]] = []
        for claim, numbers in bindings.static:
            if numbers[0] != NONE:
                volume = binding.volumes[int(numbers[0])].volume
                bound = _bound_to(volume, claim)
                wanted_volumes.append((bound, claim))
                if bound is not volume:
                    self._storage.assume_volume(bound)
                    assumed_volumes.append(bound.metadata.name)
        wanted_claims: list[PersistentVolumeClaim] = []
        for provision in bindings.provisions:
            if provision.needed[0]:
                annotations = {**provision.claim.metadata.annotations, SELECTED_NODE: node_name}
                metadata = replace(provision.claim.metadata, annotations=annotations)
                wanted_claims.append(replace(provision.claim, metadata=metadata))
                self._storage.assume_claim(wanted_claims[-1])
        keys = tuple([claim.key for claim in wanted_claims])
        state.write(ASSUMED, Assumed(tuple(assumed_volumes), keys, VolumesToBind(wanted_volumes, wanted_claims)))
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Take back what was assumed (RevertAssumedPodVolumes)."""
        assumed = state.read(ASSUMED)
        if assumed is not None:
            for name in assumed.volumes:
                self._storage.restore_volume(name)
            for key in assumed.claims:
                self._storage.restore_claim(key)

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | Awaitable[Status]:
        """Write what was assumed and wait until it is so; without an API server what is assumed is what is."""
        assumed = state.read(ASSUMED)
        handle = writing(self._handle) if assumed is not None else None
        if assumed is None or handle is None:
            return SUCCESS
        prebinding = Prebinding(handle, self._storage.api, self._handle.snapshot, self._timeout_s)
        return prebinding.run(assumed.wanted, pod, node_name)


def _bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return the volume as it is once it belongs to the claim; itself when it does already (GetBindVolumeToClaim)."""
    metadata = claim.metadata
    wanted = ClaimReference(metadata.namespace, metadata.name, metadata.uid)
    changes: dict[str, object] = {}
    if volume.spec.claim_ref != wanted:
        changes["spec"] = replace(volume.spec, claim_ref=wanted)
    annotations = volume.metadata.annotations
    if not is_for(volume, claim) and _BOUND_BY_CONTROLLER not in annotations:
        changes["metadata"] = replace(volume.metadata, annotations={**annotations, _BOUND_BY_CONTROLLER: "yes"})
    return replace(volume, **changes) if changes else volume
