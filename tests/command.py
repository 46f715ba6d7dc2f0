"""The nodewise command line called in this process, with what it printed and its exit code."""

import contextlib
import io
import json
from dataclasses import dataclass
from typing import Any

from nodewise.cli.main import main


class CommandError(Exception):
    """A nodewise command failed, or printed something else than it promises."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The end of one command."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str

    def json(self) -> dict[str, Any]:
        """Read the output as one JSON document."""
        (document,) = self._decode([self.stdout])
        return document

    def json_lines(self) -> list[dict[str, Any]]:
        """Read the output as one JSON document a line."""
        return self._decode(self.stdout.splitlines())

    def _decode(self, texts: list[str]) -> list[dict[str, Any]]:
        try:
            return [json.loads(text) for text in texts]
        except json.JSONDecodeError as error:
            command = " ".join(self.argv)
            raise CommandError(
                f"nodewise {command}: exit code {self.exit_code}, expected JSON but found "
                f"{self.stdout[:300]!r}; on stderr: {self.stderr[:2000]!r}"
            ) from error


def nodewise(*argv: str) -> Completed:
    """Run one command; its output goes nowhere else."""
    # Real text streams over bytes: a command may write to sys.stdout.buffer.
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exit_code = main(list(argv))
        except SystemExit as stop:  # argparse leaves this way
            exit_code = stop.code if isinstance(stop.code, int) else 2
    return Completed(tuple(argv), exit_code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()
