"""Pods as columns, and counts of pods by node that are kept up to date: pods are counted, never scanned."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec
import numpy as np

from nodewise.api.objects import Pod
from nodewise.caches.lru import LRUCache
from nodewise.state.affinity_terms import NO_TERMS, AffinityTerm, PodAffinityTerms, TermRole, affinity_terms
from nodewise.state.columns import IntArray
from nodewise.state.interning import Interner
from nodewise.state.pod_info import PodInfo

LabelsKey = tuple[str, frozenset[tuple[str, str]]]  # (namespace, labels)
OwnedTerm = tuple[TermRole, AffinityTerm]
Pair = tuple[str, str]
RECENT_CHANGES = 64
MAX_MATCHED = 20_000


class PodMatch(Protocol):
    """Which pods to count, by namespace and labels; hashable, equal when it counts the same."""

    @property
    def equality_pairs(self) -> tuple[Pair, ...]:
        """Labels that every matching pod has; may be empty."""
        ...

    @property
    def skips_terminating(self) -> bool:
        """Whether pods that are being deleted are left out."""
        ...

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Tell whether a pod counts."""
        ...


class Counts:
    """How many matching pods (or how much weight) each row has.

    Attributes
    ----------
    rows : (capacity,) int64
        Slice it with `[: columns.n_rows]`.
    version : int
        Grows by one with every change.
    """

    __slots__ = ("__weakref__", "_recent", "rows", "version")

    def __init__(self, rows: IntArray) -> None:
        self.rows = rows
        self.version = 0
        self._recent: list[tuple[int, int]] = []

    def add(self, row: int, amount: int) -> None:
        """Change the count of a row."""
        if row >= len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros(max(row + 1 - len(self.rows), len(self.rows)), np.int64)])
        self.rows[row] += amount
        self.version += 1
        self._recent.append((row, amount))
        if len(self._recent) > 2 * RECENT_CHANGES:
            del self._recent[:RECENT_CHANGES]

    def changes_since(self, version: int) -> list[tuple[int, int]] | None:
        """Return the (row, amount) of every change after a version; None: too long ago."""
        n_changes = self.version - version
        if n_changes > len(self._recent):
            return None
        return self._recent[len(self._recent) - n_changes :]

    def by_row(self, n_rows: int) -> IntArray:
        """Return the counts of the first n rows."""
        if len(self.rows) < n_rows:
            self.rows = np.concatenate([self.rows, np.zeros(n_rows - len(self.rows), np.int64)])
        return self.rows[:n_rows]


@dataclass(slots=True)
class _Labels:
    """One distinct (namespace, labels) of pods."""

    namespace: str
    labels: dict[str, str]


class PodTable:
    """All pods on rows, by interned labels and interned affinity terms, with the live counts over them."""

    def __init__(self, namespace_labels: Callable[[str], Mapping[str, str]]) -> None:
        self._namespace_labels = namespace_labels
        # Rows of pods that are not in the columns yet: most come and go without anybody counting them anew.
        self._fresh: dict[PodInfo, int] = {}
        self._has_counts = False
        self._slot_of: dict[PodInfo, int] = {}
        self._free: list[int] = []
        self._row = np.full(64, -1, np.int32)
        self._labels_id = np.zeros(64, np.int32)
        self._affinity_id = np.zeros(64, np.int32)
        self._terminating = np.zeros(64, bool)
        self._n_slots = 0

        self._label_keys: Interner[LabelsKey] = Interner()
        self._labels: list[_Labels] = []
        self._labels_by_pair: dict[Pair, list[int]] = {}
        self._affinity: Interner[Hashable] = Interner()
        self._terms: list[PodAffinityTerms] = []
        self._owned: list[dict[OwnedTerm, int]] = []
        self._owners: dict[OwnedTerm, list[tuple[int, int]]] = {}
        self._owned_by_pair: dict[Pair, list[OwnedTerm]] = {}
        self._owned_unindexed: list[OwnedTerm] = []
        self.terms_version = 0
        self._affinity_id_of(NO_TERMS, b"")

        self._label_counts: weakref.WeakValueDictionary[PodMatch, Counts] = weakref.WeakValueDictionary()
        self._owner_counts: weakref.WeakValueDictionary[OwnedTerm, Counts] = weakref.WeakValueDictionary()
        self._counts_of_labels: dict[int, list[tuple[weakref.ref[Counts], bool]]] = {}
        # (terms_version, the terms that are about pods with these labels)
        self._matched: LRUCache[LabelsKey, tuple[int, tuple[OwnedTerm, ...]]] = LRUCache(MAX_MATCHED)

    # --- pods come and go ---------------------------------------------------------------------------------------------

    def add(self, info: PodInfo, row: int) -> None:
        """Count a pod in on a row."""
        self._fresh[info] = row
        if self._has_counts or info.pod.spec.affinity is not None:
            self._bump(info, row, amount=1)

    def remove(self, info: PodInfo) -> None:
        """Count a pod out."""
        fresh_row = self._fresh.pop(info, None)
        if fresh_row is not None:
            row = fresh_row
        else:
            slot = self._slot_of.pop(info)
            row = int(self._row[slot])
            self._row[slot] = -1
            self._free.append(slot)
        if self._has_counts:
            self._bump(info, row, amount=-1)

    def _bump(self, info: PodInfo, row: int, *, amount: int) -> None:
        affinity_id = self._affinity_of(info)
        if self._label_counts:
            for ref, skips_terminating in self._counts_matching(self._labels_id_of(info.pod)):
                counts = ref()
                if counts is not None and not (skips_terminating and info.pod.is_terminating):
                    counts.add(row, amount)
        if affinity_id and self._owner_counts:
            for term, weight in self._owned[affinity_id].items():
                counts = self._owner_counts.get(term)
                if counts is not None:
                    counts.add(row, amount * weight)

    def settle(self) -> None:
        """Give the pods that came since the last time their place in the columns over pods."""
        for info, row in self._fresh.items():
            slot = self._free.pop() if self._free else self._new_slot()
            self._slot_of[info] = slot
            self._row[slot] = row
            self._labels_id[slot] = self._labels_id_of(info.pod)
            self._affinity_id[slot] = self._affinity_of(info)
            self._terminating[slot] = info.pod.is_terminating
        self._fresh.clear()

    def _new_slot(self) -> int:
        slot = self._n_slots
        self._n_slots += 1
        if slot == len(self._row):
            for name, fill in (("_row", -1), ("_labels_id", 0), ("_affinity_id", 0), ("_terminating", False)):
                old = getattr(self, name)
                new = np.full(2 * slot, fill, old.dtype)
                new[:slot] = old
                setattr(self, name, new)
        return slot

    # --- counts by labels ---------------------------------------------------------------------------------------------

    def label_counts(self, match: PodMatch) -> Counts:
        """Return the live count, by row, of the pods that match."""
        counts = self._label_counts.get(match)
        if counts is None:
            self._has_counts = True
            self.settle()
            wanted = self._labels_matching(match)
            lut = np.zeros(len(self._labels), bool)
            lut[wanted] = True
            chosen = (self._row[: self._n_slots] >= 0) & lut[self._labels_id[: self._n_slots]]
            if match.skips_terminating:
                chosen &= ~self._terminating[: self._n_slots]
            counts = Counts(np.bincount(self._row[: self._n_slots][chosen], minlength=16).astype(np.int64))
            self._label_counts[match] = counts
            self._counts_of_labels.clear()
        return counts

    def _labels_matching(self, match: PodMatch) -> list[int]:
        pairs = match.equality_pairs
        candidates = self._labels_by_pair.get(pairs[0], []) if pairs else range(len(self._labels))
        labels = self._labels
        return [i for i in candidates if match.matches(labels[i].namespace, labels[i].labels)]

    def _counts_matching(self, labels_id: int) -> list[tuple[weakref.ref[Counts], bool]]:
        found = self._counts_of_labels.get(labels_id)
        if found is None:
            entry = self._labels[labels_id]
            found = self._counts_of_labels[labels_id] = [
                (weakref.ref(counts), match.skips_terminating)
                for match, counts in list(self._label_counts.items())
                if match.matches(entry.namespace, entry.labels)
            ]
        return found

    def _labels_id_of(self, pod: Pod) -> int:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        key = (namespace, frozenset(labels.items()))
        known = self._label_keys.ids.get(key)
        if known is None:
            known = self._label_keys.intern(key)
            self._labels.append(_Labels(namespace, dict(labels)))
            for pair in labels.items():
                self._labels_by_pair.setdefault(pair, []).append(known)
        return known

    # --- counts by owned affinity terms -------------------------------------------------------------------------------

    def terms_of(self, info: PodInfo) -> PodAffinityTerms:
        """Return the (interned) affinity terms of a pod."""
        return self._terms[self._affinity_of(info)]

    def owner_counts(self, term: OwnedTerm) -> Counts:
        """Return, by row, how many pods own a term (required) or the sum of their weights for it (preferred)."""
        counts = self._owner_counts.get(term)
        if counts is None:
            self._has_counts = True
            self.settle()
            weights = np.zeros(len(self._terms), np.int64)
            for affinity_id, weight in self._owners.get(term, ()):
                weights[affinity_id] = weight
            used = self._row[: self._n_slots] >= 0
            rows = self._row[: self._n_slots][used]
            amounts = weights[self._affinity_id[: self._n_slots][used]]
            total = np.zeros(max(16, int(rows.max(initial=0)) + 1), np.int64)
            np.add.at(total, rows, amounts)
            counts = self._owner_counts[term] = Counts(total)
        return counts

    def owned_terms_matching(self, namespace: str, labels: Mapping[str, str]) -> tuple[OwnedTerm, ...]:
        """Return the terms, of pods seen so far, that are about a pod with this namespace and these labels."""
        if not self._owners:
            return ()
        key = (namespace, frozenset(labels.items()))
        known = self._matched.get(key)
        if known is not None and known[0] == self.terms_version:
            return known[1]
        namespace_labels = self._namespace_labels(namespace)
        candidates = list(self._owned_unindexed)
        for pair in labels.items():
            candidates.extend(self._owned_by_pair.get(pair, ()))
        found = tuple(owned for owned in candidates if owned[1].matches(namespace, namespace_labels, labels))
        self._matched.add(key, (self.terms_version, found))
        return found

    def forget_namespace_matches(self) -> None:
        """Forget what depended on the labels of namespaces."""
        self.terms_version += 1

    def _affinity_of(self, info: PodInfo) -> int:
        affinity = info.pod.spec.affinity
        if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
            return 0
        key = (
            info.pod.metadata.namespace,
            msgspec.json.encode(affinity.pod_affinity),
            msgspec.json.encode(affinity.pod_anti_affinity),
        )
        known = self._affinity.ids.get(key)
        return known if known is not None else self._affinity_id_of(affinity_terms(info.pod), key)

    def _affinity_id_of(self, terms: PodAffinityTerms, key: Hashable) -> int:
        affinity_id = self._affinity.intern(key)
        owned = terms.owned()
        self._terms.append(terms)
        self._owned.append(owned)
        for term, weight in owned.items():
            owners = self._owners.get(term)
            if owners is None:
                owners = self._owners[term] = []
                pairs = term[1].selector.equality_pairs
                if pairs:
                    self._owned_by_pair.setdefault(pairs[0], []).append(term)
                else:
                    self._owned_unindexed.append(term)
                self.terms_version += 1
            owners.append((affinity_id, weight))
        return affinity_id
