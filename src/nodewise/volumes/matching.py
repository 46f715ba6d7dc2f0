"""Which unbound volume a claim gets on each node: the one made for it, else the smallest that fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nodewise.api.objects import NodeSelector
from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.api.selectors import Selector
from nodewise.api.storage import STORAGE, PersistentVolume, PersistentVolumeClaim
from nodewise.errors import SelectorError
from nodewise.state.columns import Columns, IntArray, Rows
from nodewise.volumes.node_labels import NodesByLabel

NONE = -1
_FILESYSTEM = "Filesystem"
_ZERO = Quantity(0)


class ClaimSelectorError(ValueError):
    """A claim's selector cannot be read."""


def requested_storage(claim: PersistentVolumeClaim) -> Quantity:
    """Return how much storage a claim asks for, 0 when it does not say."""
    raw = claim.spec.resources.requests.get(STORAGE)
    return _ZERO if raw is None else parse_quantity(raw)


def capacity_of(volume: PersistentVolume) -> Quantity:
    """Return how much storage a volume has, 0 when it does not say."""
    raw = volume.spec.capacity.get(STORAGE)
    return _ZERO if raw is None else parse_quantity(raw)


def is_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Tell whether a volume names this claim as its own (IsVolumeBoundToClaim)."""
    ref = volume.spec.claim_ref
    metadata = claim.metadata
    if ref is None or ref.name != metadata.name or ref.namespace != metadata.namespace:
        return False
    return not ref.uid or ref.uid == metadata.uid


@dataclass(frozen=True, slots=True)
class KnownVolume:
    """A volume with what is read of it once.

    Attributes
    ----------
    size : Quantity
    size_text : str
        As written: volumes of one size mostly have one text.
    size_bytes : int
    required : NodeSelector | None
        The nodes that can use it; None: all.
    single_label : tuple[str, str] | None
        The label and value that `required` is about when it asks for just one of one, as local volumes do.
    """

    volume: PersistentVolume
    size: Quantity
    size_text: str
    size_bytes: int
    required: NodeSelector | None
    single_label: tuple[str, str] | None

    @classmethod
    def of(cls, volume: PersistentVolume) -> KnownVolume:
        """Read a volume."""
        affinity = volume.spec.node_affinity
        required = affinity.required if affinity is not None else None
        size, text = capacity_of(volume), str(volume.spec.capacity.get(STORAGE))
        return cls(volume, size, text, size.value(), required, _single_label(required))


Choice = tuple[int, KnownVolume]
"""A volume that a claim may get, and its place among all volumes that the pod's claims may get."""


class FittingVolumes:
    """The volumes of a claim's class that fit the claim, whatever the node (FindMatchingVolume).

    Parameters
    ----------
    claim : PersistentVolumeClaim
    volumes : Iterable[Choice]
        All of the claim's class, numbered; of volumes of one size the first is taken.
    """

    def __init__(self, claim: PersistentVolumeClaim, volumes: Iterable[Choice]) -> None:
        requested = requested_storage(claim)
        selector = _selector_of(claim)
        wanted_modes = frozenset(claim.spec.access_modes)
        made_for: list[Choice] = []
        free: list[Choice] = []
        large_enough: dict[str, bool] = {}
        for number, known in volumes:
            volume = known.volume
            is_own = is_for(volume, claim)
            if volume.spec.claim_ref is not None and not is_own:
                continue
            is_large = large_enough.get(known.size_text)
            if is_large is None:
                is_large = large_enough[known.size_text] = known.size >= requested
            if not is_large or not _is_alike(claim, volume) or volume.metadata.deletion_timestamp is not None:
                continue
            if is_own:
                made_for.append((number, known))
            elif (
                volume.status.phase == "Available"
                and (selector is None or selector.matches(volume.metadata.labels))
                and wanted_modes <= set(volume.spec.access_modes)
            ):
                free.append((number, known))
        if len({known.size_text for _, known in free}) > 1:
            free.sort(key=lambda choice: choice[1].size)
        self._made_for = [(number, NodesByLabel(known.required)) for number, known in made_for]
        self._free = _SmallestFirst(free)

    def choose(self, columns: Columns, rows: Rows, taken: Sequence[IntArray]) -> IntArray:
        """Choose a volume for each row.

        Parameters
        ----------
        taken : Sequence of (n,) int64
            What earlier claims of the pod get on each row.

        Returns
        -------
        (n,) int64
            Numbers of volumes, `NONE` where no volume fits.
        """
        n = len(columns.alive[rows])
        chosen = np.full(n, NONE, np.int64)
        open_mask = np.ones(n, np.bool_)
        for number, nodes in self._made_for:
            mine = open_mask.copy()
            for others in taken:
                mine &= others != number
            if mine.any():
                # a volume made for the claim decides, even where it cannot be used
                chosen[mine & nodes.mask(columns, rows)] = number
                open_mask &= ~mine
        if open_mask.any():
            free = self._free.choose(columns, rows, taken)
            chosen[open_mask] = free[open_mask]
        return chosen


class _SmallestFirst:
    """Free volumes in the order in which they are taken, found by where their nodes are.

    A volume whose affinity is one value of one label, as local volumes have it, is found through that label's column.
    """

    def __init__(self, choices: Sequence[Choice]) -> None:
        self._numbers = np.array([number for number, _ in choices], np.int64)
        self._keys: dict[str, tuple[list[str], int, IntArray]] = {}
        self._by_label: dict[str, dict[str, list[int]]] = {}
        self._by_selector: dict[NodeSelector | None, list[int]] = {}
        for rank, (_, known) in enumerate(choices):
            pair = known.single_label
            if pair is None:
                self._by_selector.setdefault(known.required, []).append(rank)
            else:
                self._by_label.setdefault(pair[0], {}).setdefault(pair[1], []).append(rank)
        self._groups = [(NodesByLabel(key), np.array(ranks, np.int64)) for key, ranks in self._by_selector.items()]

    def choose(self, columns: Columns, rows: Rows, taken: Sequence[IntArray]) -> IntArray:
        n = len(columns.alive[rows])
        n_choices = len(self._numbers)
        if n_choices == 0:
            return np.full(n, NONE, np.int64)
        numbers = np.append(self._numbers, NONE)
        ranks = self._next(columns, rows, np.full(n, -1, np.int64))
        # each earlier claim can be in the way once
        for _ in taken:
            is_taken = np.zeros(n, np.bool_)
            for others in taken:
                is_taken |= (ranks < n_choices) & (numbers[ranks] == others)
            if not is_taken.any():
                break
            ranks = np.where(is_taken, self._next(columns, rows, ranks), ranks)
        return numbers[ranks]

    def _next(self, columns: Columns, rows: Rows, after: IntArray) -> IntArray:
        """Return, for each row, the least rank beyond `after` whose volume is within reach of the node."""
        end = len(self._numbers)
        best = np.full(len(after), end, np.int64)
        for nodes, ranks in self._groups:
            following = np.append(ranks, end)[np.searchsorted(ranks, after, side="right")]
            np.minimum(best, np.where(nodes.mask(columns, rows), following, end), out=best)
        stride = end + 1
        for key in self._by_label:
            ids = columns.label(key)[rows].astype(np.int64)
            keys = self._keys_of(key, columns)
            if len(keys) == 0:
                continue
            places = np.searchsorted(keys, ids * stride + after, side="right")
            following = keys[np.minimum(places, len(keys) - 1)]
            is_there = (places < len(keys)) & (ids >= 0) & (following // stride == ids)
            np.minimum(best, np.where(is_there, following % stride, end), out=best)
        return best

    def _keys_of(self, key: str, columns: Columns) -> IntArray:
        """Return all ranks of all values of a label in one sorted array: value id first, rank second."""
        values = columns.label_values(key)
        known = self._keys.get(key)
        if known is None or known[0] is not values or known[1] != len(values):
            stride, by_value = len(self._numbers) + 1, self._by_label[key]
            found = [
                value_id * stride + rank
                for value_id, value in enumerate(values)
                if value in by_value
                for rank in by_value[value]
            ]
            known = self._keys[key] = (values, len(values), np.array(found, np.int64))
        return known[2]


def _selector_of(claim: PersistentVolumeClaim) -> Selector | None:
    if claim.spec.selector is None:
        return None
    try:
        return Selector.from_label_selector(claim.spec.selector)
    except SelectorError as error:
        text = f"error creating internal label selector for claim: {claim.key}: {error}"
        raise ClaimSelectorError(text) from error


def _is_alike(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Compare volume mode and attributes class."""
    mine, other = claim.spec, volume.spec
    return (mine.volume_mode or _FILESYSTEM) == (other.volume_mode or _FILESYSTEM) and (
        mine.volume_attributes_class_name or ""
    ) == (other.volume_attributes_class_name or "")


def _single_label(required: NodeSelector | None) -> tuple[str, str] | None:
    """Return the label and value when a selector asks for just that, well-formed."""
    if required is None or len(required.node_selector_terms) != 1:
        return None
    term = required.node_selector_terms[0]
    if term.match_fields or len(term.match_expressions) != 1:
        return None
    expression = term.match_expressions[0]
    if expression.operator != "In" or len(expression.values) != 1 or NodesByLabel(required).is_unreadable:
        return None
    return expression.key, expression.values[0]
