"""What goes to standard error beside a result: refused input, failing plugins, remarks."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from nodewise.cli.console import printable
from nodewise.cli.inputs import Opened


@dataclass(slots=True)
class Problems:
    """What turned out to be wrong after the input was read.

    Attributes
    ----------
    failures : dict[str, list[str]]
        Pods by what went wrong in a plugin for them.
    """

    failures: dict[str, list[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.failures)

    def add_failure(self, pod: str, message: str) -> None:
        """Take note of a pod that a plugin failed for."""
        self.failures.setdefault(message, []).append(pod)

    def print(self, opened: Opened) -> None:
        """Print a line for each thing that is wrong, then the remarks."""
        for error in opened.errors:
            print_error(str(error))
        for message, pods in self.failures.items():
            more = f" and {len(pods) - 1:,} more" if len(pods) > 1 else ""
            print_error(f"Pod {pods[0]}{more}: {message}")
        for note in (*opened.cluster.notes, *opened.session.notes):
            print(f"note: {printable(note)}", file=sys.stderr)


def print_error(text: str) -> None:
    """Print one line that says what is wrong."""
    print(f"nodewise: {printable(text)}", file=sys.stderr)
