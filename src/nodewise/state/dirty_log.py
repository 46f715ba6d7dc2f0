"""Which rows of a snapshot changed, in order, and what about them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

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


@dataclass(frozen=True, slots=True)
class Window:
    """The rows that changed between a cursor and the end of the log.

    Attributes
    ----------
    rows : list[int]
        Distinct.
    index : (n,) intp
        The same as an array.
    any_kind, every_kind : int
        In what ways some of the entries, and all of them, changed their row.
    """

    rows: list[int]
    index: NDArray[np.intp]
    any_kind: int
    every_kind: int


class DirtyLog:
    """An append-only list of (row, what changed), cut at the front when it grows long.

    A reader keeps a cursor, `end` at the time it read; `since` gives what came later.
    """

    __slots__ = ("_kinds", "_rows", "_windows", "base", "end", "limit")

    def __init__(self, limit: int = 1 << 16) -> None:
        self._rows: list[int] = []
        self._kinds: list[int] = []
        self._windows: dict[int, Window] = {}
        self.base = 0
        self.end = 0
        self.limit = limit

    def append(self, row: int, kind: int) -> None:
        """Note that a row changed."""
        self._rows.append(row)
        self._kinds.append(kind)
        self.end += 1
        if self._windows:
            self._windows.clear()
        if self.end - self.base > 2 * self.limit:
            cut = self.end - self.base - self.limit
            del self._rows[:cut], self._kinds[:cut]
            self.base += cut

    def since(self, cursor: int, kinds: int, at_most: int) -> tuple[list[int], NDArray[np.intp]] | None:
        """Return the distinct rows that changed in one of these ways since a cursor, as a list and as an array.

        None: there are more than `at_most`, or it is no longer known.
        """
        window = self.window(cursor, at_most)
        if window is None:
            return None
        if kinds & window.every_kind:
            return window.rows, window.index
        if not kinds & window.any_kind:
            return [], window.index[:0]
        start = cursor - self.base
        changes = zip(self._rows[start:], self._kinds[start:], strict=True)
        rows = list({row for row, kind in changes if kind & kinds})
        return rows, np.array(rows, np.intp)

    def window(self, cursor: int, at_most: int) -> Window | None:
        """Return what changed since a cursor; views with the same cursor share one."""
        known = self._windows.get(cursor)
        if known is not None:
            return known if len(known.rows) <= at_most else None
        start = cursor - self.base
        if start < 0 or self.end - cursor > 2 * at_most:
            return None
        rows = list(dict.fromkeys(self._rows[start:]))
        distinct_kinds = set(self._kinds[start:])
        any_kind, every_kind = 0, ROW
        for kind in distinct_kinds:
            any_kind |= kind
            every_kind &= kind
        window = self._windows[cursor] = Window(rows, np.array(rows, np.intp), any_kind, every_kind)
        return window if len(rows) <= at_most else None
