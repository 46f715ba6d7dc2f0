"""What goes to standard error beside a result: refused input, failing plugins, remarks."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nodewise.cli.console import printable
from nodewise.cli.inputs import Opened
from nodewise.cluster.object_set import InputError


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
        print_input_errors(opened.errors)
        for message, pods in self.failures.items():
            more = f" and {len(pods) - 1:,} more" if len(pods) > 1 else ""
            print_error(f"Pod {pods[0]}{more}: {message}")
        print_notes([*opened.cluster.notes, *opened.session.notes, *self._of_extenders(opened)])

    def _of_extenders(self, opened: Opened) -> Iterator[str]:
        """Yield what went wrong with extenders and was passed over."""
        for extender in opened.session.scheduler.extenders:
            for text, n_calls in extender.failures.items():
                if text not in self.failures:
                    calls = "1 call failed and was" if n_calls == 1 else f"{n_calls:,} calls failed and were"
                    yield f"extender {extender.name}: {calls} passed over: {text}"


def print_input_errors(errors: Iterable[InputError]) -> None:
    """Print a line for each part of the input that was refused."""
    for error in errors:
        print_error(str(error))


def print_notes(notes: Iterable[str]) -> None:
    """Print remarks."""
    for note in notes:
        print(f"note: {printable(note)}", file=sys.stderr)


def print_error(text: str) -> None:
    """Print one line that says what is wrong."""
    print(f"nodewise: {printable(text)}", file=sys.stderr)
