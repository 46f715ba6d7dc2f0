"""Tables as kubectl prints them: columns as wide as their cells, a last one that may flow over several lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nodewise.cli.console import Console, printable, wrap

GAP = "   "
MIN_FLOW_WIDTH = 32
BELOW_INDENT = 4


@dataclass(frozen=True, slots=True)
class Column:
    """A column; one that flows is the last, and wraps where the terminal ends."""

    header: str
    is_right: bool = False
    flows: bool = False


@dataclass(frozen=True, slots=True)
class _Row:
    cells: list[str]
    style: str
    below: str


class Table:
    """Rows to print. No cell is ever cut: where even the plain columns are too wide, the terminal wraps them.

    >>> table = Table(Column("POD"), Column("NODES", is_right=True))
    >>> table.add("shop/web", "12")
    >>> table.print(Console())
    POD        NODES
    shop/web      12
    """

    def __init__(self, *columns: Column, indent: int = 0) -> None:
        self._columns = columns
        self._indent = " " * indent
        self._rows: list[_Row] = []

    def add(self, *cells: str, style: str = "", below: str = "") -> None:
        """Add a row, in a style, with a text on lines of its own below it."""
        self._rows.append(_Row([printable(cell) for cell in cells], style, printable(below)))

    def print(self, console: Console) -> None:
        """Print the header and all rows."""
        plain = [column for column in self._columns if not column.flows]
        widths = [
            max(len(column.header), *(len(row.cells[index]) for row in self._rows), 0)
            for index, column in enumerate(plain)
        ]
        taken = len(self._indent) + sum(widths) + len(GAP) * len(plain)
        room = console.width - taken
        longest = 0
        if len(plain) < len(self._columns):
            longest = max(len(self._columns[-1].header), *(len(row.cells[-1]) for row in self._rows), 0)
        is_beside = room >= min(MIN_FLOW_WIDTH, longest)
        header = _Row([column.header for column in self._columns], "bold", "")
        for row in (header, *self._rows):
            for line in self._lines(row, plain, widths, console.width, room if is_beside else 0):
                console.print(line.rstrip(), row.style)
            for line in wrap(row.below, console.width - len(self._indent) - BELOW_INDENT) if row.below else ():
                console.print(f"{self._indent}{' ' * BELOW_INDENT}{line}", "dim")

    def _lines(self, row: _Row, plain: list[Column], widths: list[int], width: int, room: int) -> Iterator[str]:
        cells = [
            f"{cell:>{cell_width}}" if column.is_right else f"{cell:<{cell_width}}"
            for cell, column, cell_width in zip(row.cells, plain, widths, strict=False)
        ]
        start = self._indent + GAP.join(cells)
        flowing = row.cells[len(plain) :]
        if not flowing:
            yield start
        elif room:
            first, *rest = wrap(flowing[0], room)
            yield f"{start}{GAP}{first}" if plain else f"{self._indent}{first}"
            margin = " " * (len(start) + len(GAP))
            yield from (margin + line for line in rest)
        else:
            yield start
            margin = self._indent + " " * BELOW_INDENT
            yield from (margin + line for line in (wrap(flowing[0], width - len(margin)) if flowing[0] else ()))
