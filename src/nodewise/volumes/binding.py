"""What binding a pod's claims asks of a node, and which volumes each node would give them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nodewise.api.storage import PersistentVolume, PersistentVolumeClaim
from nodewise.state.columns import BoolArray, Columns, IntArray, Rows
from nodewise.volumes.assumed import AssumedStorage
from nodewise.volumes.csi_migration import (
    ALWAYS_MIGRATED,
    TranslationError,
    in_tree_plugin,
    is_migrated_on,
    translated_affinity,
)
from nodewise.volumes.matching import NONE, ClaimSelectorError, FittingVolumes, KnownVolume, requested_storage
from nodewise.volumes.node_labels import NodesByLabel
from nodewise.volumes.pod_claims import SELECTED_NODE, PodClaims
from nodewise.volumes.provisioning import Provisioning

NODE_CONFLICT, BIND_CONFLICT, NO_SPACE, VOLUME_MISSING = 1, 2, 4, 8
"""Codes of rows are sums of these; errors begin at `FIRST_ERROR`."""
FIRST_ERROR = 16


@dataclass(slots=True)
class Provision:
    """A claim that needs a new volume on some rows.

    Attributes
    ----------
    needed : (n,) bool
    capacity : (n,) int64
        The place in `provisioning.capacities` that has room, or NO_CAPACITY.
    """

    claim: PersistentVolumeClaim
    provisioning: Provisioning
    needed: BoolArray
    capacity: IntArray


@dataclass(slots=True)
class Bindings:
    """What each of some rows would give a pod's claims.

    Attributes
    ----------
    codes : (n,) int64
        Conflicts, 0 where there is none.
    static : list[tuple[PersistentVolumeClaim, IntArray]]
        For each claim that may get a volume that is there: its number by row, NONE where it gets none.
    provisions : list[Provision]
    """

    codes: IntArray
    static: list[tuple[PersistentVolumeClaim, IntArray]] = field(default_factory=list)
    provisions: list[Provision] = field(default_factory=list)


class _BoundVolume:
    """A volume that a claim is bound to, and the nodes that can use it."""

    def __init__(self, volume: PersistentVolume) -> None:
        affinity = volume.spec.node_affinity
        self.nodes = NodesByLabel(affinity.required if affinity is not None else None)
        plugin = in_tree_plugin(volume.spec)
        self.plugin = plugin if plugin in ALWAYS_MIGRATED else ""
        self.migrated_nodes = self.nodes
        self.problem = ""
        if self.plugin:
            try:
                self.migrated_nodes = NodesByLabel(translated_affinity(volume))
            except TranslationError as error:
                self.problem = f"could not translate pv: {error}"


class PodBinding:
    """The claims of one pod, ready to be judged on nodes (FindPodVolumes).

    Attributes
    ----------
    volumes : list[KnownVolume]
        What numbers in `Bindings.static` stand for.
    errors : list[str]
        What codes from `FIRST_ERROR` on mean.
    """

    def __init__(self, claims: PodClaims, storage: AssumedStorage) -> None:
        self._storage = storage
        self.volumes: list[KnownVolume] = []
        self.errors: list[str] = []
        found = [storage.volume(claim.spec.volume_name) for claim in claims.bound]
        self._bound = [None if volume is None else _BoundVolume(volume) for volume in found]
        chosen = [claim for claim in claims.delayed if SELECTED_NODE in claim.metadata.annotations]
        self._selected_nodes = [claim.metadata.annotations[SELECTED_NODE] for claim in chosen]
        others = [claim for claim in claims.delayed if SELECTED_NODE not in claim.metadata.annotations]
        # stable, as Go sorts so few
        others.sort(key=requested_storage)
        self._fitting: list[tuple[PersistentVolumeClaim, FittingVolumes]] = []
        self._selector_error = 0
        first_of: dict[str, int] = {}
        for claim in others:
            if claim.class_name not in first_of:
                first_of[claim.class_name] = len(self.volumes)
                self.volumes.extend(storage.known_volumes_of(claim.class_name))
                first_of[f"{claim.class_name}/end"] = len(self.volumes)
            begin, end = first_of[claim.class_name], first_of[f"{claim.class_name}/end"]
            try:
                fitting = FittingVolumes(claim, enumerate(self.volumes[begin:end], start=begin))
            except ClaimSelectorError as error:
                self._selector_error = self._error(str(error))
                break
            self._fitting.append((claim, fitting))
        self._provisioning = [
            Provisioning(claim, storage.api.classes[claim.class_name], storage.api) for claim in (*chosen, *others)
        ]
        self._chosen = chosen

    @property
    def has_delayed(self) -> bool:
        """Whether some claim is still to be bound."""
        return bool(self._chosen or self._fitting or self._selector_error)

    def _error(self, text: str) -> int:
        self.errors.append(text)
        return FIRST_ERROR + len(self.errors) - 1

    def judge(self, columns: Columns, rows: Rows) -> Bindings:
        """Say what each of the rows would give the claims."""
        n = len(columns.alive[rows])
        bindings = Bindings(np.zeros(n, np.int64))
        failed = self._check_bound(columns, rows, bindings.codes)
        if self.has_delayed:
            self._check_delayed(columns, rows, bindings, ~failed)
        return bindings

    def _check_bound(self, columns: Columns, rows: Rows, codes: IntArray) -> BoolArray:
        """Check the volumes of bound claims one after the other, and tell which rows err (checkBoundClaims)."""
        open_mask = np.ones(len(codes), np.bool_)
        failed = np.zeros(len(codes), np.bool_)
        for bound in self._bound:
            if bound is None:
                codes[open_mask] |= VOLUME_MISSING
                break
            fits = bound.nodes.mask(columns, rows)
            if bound.plugin:
                migrated = self._migrated(bound.plugin, columns, rows)
                fits = np.where(migrated, bound.migrated_nodes.mask(columns, rows), fits)
                if bound.problem and (open_mask & migrated).any():
                    erring = open_mask & migrated
                    codes[erring] = self._code_of(bound.problem)
                    failed |= erring
                    open_mask &= ~migrated
            codes[open_mask & ~fits] |= NODE_CONFLICT
            open_mask &= fits
        return failed

    def _code_of(self, problem: str) -> int:
        return FIRST_ERROR + self.errors.index(problem) if problem in self.errors else self._error(problem)

    def _migrated(self, plugin: str, columns: Columns, rows: Rows) -> BoolArray:
        # node by node: only volumes of drivers long gone come here
        names, csi_nodes = columns.names, self._storage.api.csi_nodes
        numbers = np.arange(columns.n_rows)[rows].tolist()
        return np.array([is_migrated_on(plugin, csi_nodes.get(names[row])) for row in numbers], np.bool_)

    def _check_delayed(self, columns: Columns, rows: Rows, bindings: Bindings, open_mask: BoolArray) -> None:
        codes = bindings.codes
        for name in self._selected_nodes:
            elsewhere = open_mask & ~_is_node(name, columns, rows)
            codes[elsewhere] |= BIND_CONFLICT
            open_mask &= ~elsewhere
        if self._selector_error:
            codes[open_mask] = self._selector_error
            return
        taken: list[IntArray] = []
        unmatched: list[tuple[PersistentVolumeClaim, BoolArray]] = [(c, open_mask.copy()) for c in self._chosen]
        for claim, fitting in self._fitting:
            numbers = fitting.choose(columns, rows, taken)
            taken.append(numbers)
            bindings.static.append((claim, numbers))
            unmatched.append((claim, open_mask & (numbers == NONE)))
        for (claim, needed), provisioning in zip(unmatched, self._provisioning, strict=True):
            wanted = needed & open_mask
            if not wanted.any():
                continue
            unreachable = wanted & ~provisioning.can_reach(columns, rows)
            codes[unreachable] |= BIND_CONFLICT
            open_mask &= ~unreachable
            has_room, capacity = provisioning.capacity(columns, rows)
            full = wanted & open_mask & ~has_room
            codes[full] |= NO_SPACE
            open_mask &= ~full
            bindings.provisions.append(Provision(claim, provisioning, needed, capacity))


def _is_node(name: str, columns: Columns, rows: Rows) -> BoolArray:
    mask = np.zeros(columns.n_rows, np.bool_)
    row = columns.row_of(name)
    if row is not None:
        mask[row] = True
    return mask[rows]
