"""Where tables are printed: as wide as the terminal or COLUMNS says, or wide enough when neither does."""

from __future__ import annotations

import os
import sys
from typing import Literal

from rich.console import Console
from rich.table import Table

PIPED_WIDTH = 180


def console() -> Console:
    """Return a console on standard output."""
    is_width_known = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(file=sys.stdout, width=None if is_width_known else PIPED_WIDTH, highlight=False, soft_wrap=False)


def plain_table(*headers: str, right: tuple[str, ...] = (), fold: tuple[str, ...] = ()) -> Table:
    """Return a table that looks like kubectl's.

    Parameters
    ----------
    right : tuple[str, ...]
        Headers of columns to align right.
    fold : tuple[str, ...]
        Headers of columns whose texts may take several lines.
    """
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for header in headers:
        justify: Literal["left", "right"] = "right" if header in right else "left"
        if header in fold:
            table.add_column(header, justify=justify, overflow="fold", ratio=1)
        else:
            table.add_column(header, justify=justify, no_wrap=True, overflow="fold")
    return table


BAR_WIDTH = 20


def bar(used: int, total: int, width: int = BAR_WIDTH) -> str:
    """Return a bar such as `█████▌····  55%`."""
    share = min(used / total, 1.0) if total > 0 else 0.0
    eighths = round(share * width * 8)
    full, rest = divmod(eighths, 8)
    cells = "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
    percent = f"{round(100 * used / total)}%" if total > 0 else "-"
    return f"{cells:·<{width}} {percent:>4}"
