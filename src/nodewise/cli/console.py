"""How text gets to the terminal: width, colours, wrapping, and nothing in it that a terminal would obey."""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

PIPED_WIDTH = 1 << 16
"""Where no terminal is, nothing wraps, so that every row stays one line for grep."""
MIN_WIDTH = 40
BAR_WIDTH = 20
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {10: " ", 13: " ", 9: " "}


def printable(text: str) -> str:
    """Return text of unknown origin in one line, control characters shown as escapes."""
    return text if text.isascii() and text.isprintable() else text.translate(_CONTROLS)


class Console:
    """Standard output for people.

    Attributes
    ----------
    width : int
        Of the terminal, or what COLUMNS says; boundless where there is neither.
    """

    def __init__(self) -> None:
        is_terminal = sys.stdout.isatty()
        if is_terminal or os.environ.get("COLUMNS", "").isdigit():
            self.width = max(shutil.get_terminal_size().columns, MIN_WIDTH)
        else:
            self.width = PIPED_WIDTH
        self._has_colours = is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        self.has_blocks = _can_encode("█▏·")

    def styled(self, text: str, style: str) -> str:
        """Return text in a style of `_STYLES`, where there are colours."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._has_colours and style and text else text

    def print(self, text: str = "", style: str = "") -> None:
        """Print one line as it is."""
        sys.stdout.write(self.styled(text, style) + "\n")

    def print_wrapped(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """Print a text over as many lines as it takes."""
        for line in wrap(printable(text), self.width - indent):
            self.print(" " * indent + self.styled(line, style))

    def bar(self, used: int, total: int, width: int = BAR_WIDTH) -> str:
        """Return a bar such as `█████▌····  55%`."""
        share = min(max(used / total, 0.0), 1.0) if total > 0 else 0.0
        percent = f"{round(100 * used / total)}%" if total > 0 else "-"
        if not self.has_blocks:
            return f"{'#' * round(share * width):.<{width}} {percent:>4}"
        full, rest = divmod(round(share * width * 8), 8)
        cells = "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")
        return f"{cells:·<{width}} {percent:>4}"


def wrap(text: str, width: int) -> list[str]:
    """Cut a text into lines at spaces; a word that is too long stays whole, so that it can be copied."""
    return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False) or [""]


def some_of(names: Sequence[str], limit: int) -> str:
    """Return the first names of many, and how many more there are."""
    if len(names) <= limit + 1:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"


def _can_encode(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
