"""Fenced code blocks of a page, and running them.

A page is a story that happens in one directory, which holds the project's `examples`. What becomes of a block:

- ``console``: lines that start with ``$ `` are run by bash, the lines below each must be what it prints (standard error
  included). A line ``...`` stands for any lines; times and rates may differ. ``$ echo $?`` shows the exit code before.
- ``yaml`` and ``python`` whose first line is a comment with a file's name are that file: written for the blocks below,
  or, when it is one of the project's, compared with it. Other ``python`` is run; other ``yaml`` has to be readable.
- ``sh``, ``text`` and ``json`` are only read by people.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.oracle import PROJECT_ROOT

WIDTH = 130
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_FILE_NAME = re.compile(r"# ([\w./-]+\.(?:yaml|py))\n")
_TIMES = (
    (re.compile(r"in \d+\.\d+ s(, [\d,]+ pods/s)?"), "in N s"),
    (re.compile(r'"seconds": ?[\d.e-]+'), '"seconds": N'),
)


class ExampleError(AssertionError):
    """What a page shows is not what happens."""


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block and the line where it starts."""

    language: str
    text: str
    line: int

    @property
    def file_name(self) -> str:
        """The file that the block is, "" for none."""
        named = _FILE_NAME.match(self.text)
        return named[1] if named else ""


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and what a page says it prints.

    Attributes
    ----------
    source : str
        The command as the page has it, maybe over several lines.
    """

    source: str
    expected: str

    @property
    def command(self) -> str:
        """The command in one line."""
        return self.source.replace("\\\n", " ")


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in _FENCE.finditer(text)]


def prose_of(page: Path) -> str:
    """Return the text of a page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def steps_of(block: Block) -> Iterator[Step]:
    """Yield the commands of a console block; a backslash at the end of a line joins the next one to it."""
    for step in _STEP.finditer(block.text):
        yield Step(step[1], step[2])


def run_page(page: Path, directory: Path) -> None:
    """Do everything that a page shows, in an empty directory.

    Raises
    ------
    ExampleError
        At the first block that does not do what the page says.
    """
    (directory / "examples").symlink_to(PROJECT_ROOT / "examples")
    exit_code = 0
    for block in blocks_of(page):
        where = f"{page.name}:{block.line}"
        if block.language in ("yaml", "python"):
            put_file(block, directory, where)
        elif block.language == "console":
            for step in steps_of(block):
                printed, exit_code = run(f"(exit {exit_code}); {step.command}", directory)
                if not is_shown(printed, step.expected):
                    raise ExampleError(f"{where}: $ {step.command}\n{printed}\nexpected:\n{step.expected}")


def put_file(block: Block, directory: Path, where: str) -> None:
    """Write a block that is a file, compare it with one that is there, or run it."""
    if block.language == "yaml":
        list(yaml.safe_load_all(block.text))
    if not block.file_name:
        if block.language == "python":
            done = subprocess.run([sys.executable, "-c", block.text], cwd=directory, capture_output=True, text=True)
            if done.returncode != 0:
                raise ExampleError(f"{where}: {done.stderr}")
        return
    file = directory / block.file_name
    shown = block.text.partition("\n")[2]
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    elif shown.strip() not in file.read_text(encoding="utf-8"):
        raise ExampleError(f"{where}: {block.file_name} has other text than the page shows")


def run(command: str, directory: Path) -> tuple[str, int]:
    """Run a command line; return what it prints and its exit code."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": str(WIDTH)}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout, done.returncode


def is_shown(printed: str, expected: str) -> bool:
    """Tell whether a text is the expected one, but for times, spaces at line ends, and lines left out by `...`."""
    parts = [_plain(part) for part in re.split(r"^\.\.\.$\n?", expected, flags=re.MULTILINE)]
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern + r"\n*", _plain(printed)) is not None


def _plain(text: str) -> str:
    for found, instead in _TIMES:
        text = found.sub(instead, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())
