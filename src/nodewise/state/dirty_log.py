"""Which rows of a snapshot changed, in order, and what about them."""

from __future__ import annotations

from enum import IntFlag


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


class DirtyLog:
    """An append-only list of (row, what changed), cut at the front when it grows long.

    A reader keeps a cursor, `end` at the time it read; `since` gives what came later.
    """

    __slots__ = ("_kinds", "_rows", "base", "end", "limit")

    def __init__(self, limit: int = 1 << 16) -> None:
        self._rows: list[int] = []
        self._kinds: list[int] = []
        self.base = 0
        self.end = 0
        self.limit = limit

    def append(self, row: int, kind: int) -> None:
        """Note that a row changed."""
        self._rows.append(row)
        self._kinds.append(kind)
        self.end += 1
        if self.end - self.base > 2 * self.limit:
            cut = self.end - self.base - self.limit
            del self._rows[:cut], self._kinds[:cut]
            self.base += cut

    def kinds_since(self, cursor: int) -> int:
        """Return all ways in which rows changed since a cursor, ROW when that is no longer known."""
        start = cursor - self.base
        if start < 0:
            return ROW
        kinds = 0
        for kind in self._kinds[start:]:
            kinds |= kind
        return kinds

    def since(self, cursor: int, kinds: int, at_most: int) -> list[int] | None:
        """Return the distinct rows that changed in one of these ways since a cursor; None: too many, or unknown."""
        start = cursor - self.base
        if start < 0:
            return None
        if self.end - cursor == 1:
            return [self._rows[start]] if self._kinds[start] & kinds else []
        rows = self._rows[start:]
        if len(rows) > 4 * at_most + 64:
            return None
        distinct = {row for row, kind in zip(rows, self._kinds[start:], strict=True) if kind & kinds}
        return list(distinct) if len(distinct) <= at_most else None
