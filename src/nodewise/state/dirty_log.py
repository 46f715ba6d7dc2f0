"""Which rows of a snapshot changed, in order, and what about them."""

from __future__ import annotations

import itertools
from enum import IntFlag
from functools import reduce
from operator import and_, or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Reads(IntFlag):
    """What a plugin's verdict on a node depends on, and what of a row changed.

    RESOURCES, NODE and PODS concern the node's own row: its requested amounts, its Node object, its set of pods.
    NODE_SET is which nodes there are; DOMAIN is pods on other nodes too; ALWAYS is anything outside the snapshot.
    """

    RESOURCES = 1
    NODE = 2
    PODS = 4
    NODE_SET = 8
    DOMAIN = 16
    ALWAYS = 32


# Plain integers: flag arithmetic on enums is too slow for what happens once a pod.
RESOURCES = int(Reads.RESOURCES)
NODE = int(Reads.NODE)
PODS = int(Reads.PODS)
ROW = RESOURCES | NODE | PODS
USUAL = RESOURCES | PODS
"""What a pod that comes or goes changes of its row."""
FEW = 32
"""Up to so many entries are quicker to read from lists than from arrays."""


class Window(NamedTuple):
    """The rows that changed between a cursor and the end of the log.

    Attributes
    ----------
    rows : (n,) intp
        Distinct, in the order of their first change; not to be changed.
    any_kind, every_kind : int
        In what ways some of the entries, and all of them, changed their row.
    """

    rows: NDArray[np.intp]
    any_kind: int
    every_kind: int


class DirtyLog:
    """An append-only list of (row, what changed), cut at the front when it grows long.

    A reader keeps a cursor, `end` at the time it read; `since` and `window` give what came later. Entries come one by
    one, so `append` only puts them on lists, which also serve readers that missed a few; for those that missed many
    the lists are taken over into arrays.
    """

    __slots__ = (
        "_array_base",
        "_index",
        "_kinds",
        "_last_entry_of",
        "_last_unusual",
        "_previous",
        "_read_to",
        "_rows",
        "_windows",
        "_windows_end",
        "base",
        "end",
        "limit",
    )

    def __init__(self, limit: int = 1 << 16) -> None:
        self._rows: list[int] = []
        self._kinds: list[int] = []
        self.base = 0
        self.end = 0
        self.limit = limit
        # Of the entries before _read_to, from _array_base on: the row, and the entry before with the same row.
        self._index = np.zeros(3 * limit, np.intp)
        self._previous = np.zeros(3 * limit, np.int64)
        self._array_base = 0
        self._read_to = 0
        self._last_entry_of: dict[int, int] = {}
        self._last_unusual = -1
        self._windows: dict[int, Window] = {}
        self._windows_end = 0

    def append(self, row: int, kind: int) -> None:
        """Note that a row changed."""
        self._rows.append(row)
        self._kinds.append(kind)
        self.end += 1
        if self.end - self.base > 2 * self.limit:
            cut = self.end - self.base - self.limit
            del self._rows[:cut], self._kinds[:cut]
            self.base += cut

    def since(self, cursor: int, kinds: int, at_most: int) -> NDArray[np.intp] | None:
        """Return the distinct rows that changed in one of these ways since a cursor.

        None: there are more than `at_most`, or it is no longer known.
        """
        window = self.window(cursor, at_most)
        if window is None:
            return None
        if kinds & window.every_kind:
            return window.rows
        if not kinds & window.any_kind:
            return window.rows[:0]
        start = cursor - self.base
        changes = zip(self._rows[start:], self._kinds[start:], strict=True)
        return np.array(list({row: None for row, kind in changes if kind & kinds}), np.intp)

    def window(self, cursor: int, at_most: int) -> Window | None:
        """Return what changed since a cursor; views with the same cursor share one."""
        if self._windows_end != self.end:
            self._windows.clear()
            self._windows_end = self.end
        window = self._windows.get(cursor)
        if window is None:
            n_entries = self.end - cursor
            if cursor < self.base or n_entries > 2 * at_most:
                return None
            window = self._few(cursor) if n_entries <= FEW else self._many(cursor)
            self._windows[cursor] = window
        return window if len(window.rows) <= at_most else None

    def _few(self, cursor: int) -> Window:
        start = cursor - self.base
        kinds = self._kinds[start:]
        rows = np.array(list(dict.fromkeys(self._rows[start:])), np.intp)
        return Window(rows, reduce(or_, kinds, 0), reduce(and_, kinds, ROW))

    def _many(self, cursor: int) -> Window:
        self._read()
        entries = slice(cursor - self._array_base, self.end - self._array_base)
        # The first entry of every row: the one before it is older than the cursor.
        rows = self._index[entries][self._previous[entries] < cursor]
        if self._last_unusual < cursor:
            return Window(rows, USUAL, USUAL)
        kinds = self._kinds[cursor - self.base :]
        return Window(rows, reduce(or_, kinds), reduce(and_, kinds))

    def _read(self) -> None:
        """Take the newest entries over into the arrays."""
        first = max(self._read_to, self.base)
        if self.end - self._array_base > len(self._index):
            n_kept = max(self._read_to - self.base, 0)
            kept = slice(self._read_to - self._array_base - n_kept, self._read_to - self._array_base)
            self._index[:n_kept], self._previous[:n_kept] = self._index[kept].copy(), self._previous[kept].copy()
            self._array_base = self.base
        last_entry_of = self._last_entry_of
        new = slice(first - self.base, None)
        for entry, row, kind in zip(itertools.count(first), self._rows[new], self._kinds[new]):
            place = entry - self._array_base
            self._index[place] = row
            self._previous[place] = last_entry_of.get(row, -1)
            last_entry_of[row] = entry
            if kind != USUAL:
                self._last_unusual = entry
        self._read_to = self.end
