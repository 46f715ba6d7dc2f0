"""Finding the files that a command line names and reading them as UTF-8 text, whatever they were saved as."""

from __future__ import annotations

import codecs
import os
import select
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from nodewise.errors import NodewiseError

STDIN = "-"
MAX_FILE_BYTES = 2 << 30
WRITER_TIMEOUT_S = 5.0
"""How long a named pipe may have no writer."""
_SUFFIXES = (".yaml", ".yml", ".json")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP_MARK = b"\x1f\x8b"


class FileError(NodewiseError):
    """A file or directory that cannot be read, or is no text."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file to read; one that a directory listing found may be empty without that being an error."""

    name: str
    n_bytes: int = 0
    is_listed: bool = False


def find_files(path: str) -> list[InputFile]:
    """Return the files of one argument: itself, or every YAML and JSON file below a directory, sorted.

    Raises
    ------
    FileError
        When there is nothing of this name, or no such file in the directory.
    """
    if path == STDIN:
        return [InputFile(STDIN)]
    if not os.path.isdir(path):
        try:
            return [InputFile(path, os.stat(path).st_size)]
        except (OSError, ValueError) as error:
            raise FileError(_reason(error)) from error
    found = sorted(_walk(path))
    if not found:
        raise FileError("the directory holds no .yaml, .yml or .json file")
    return [InputFile(name, _size(name), is_listed=True) for name in found]


def _walk(directory: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise FileError(f"cannot list {error.filename}: {_reason(error)}") from error

    for parent, _, names in os.walk(directory, onerror=refuse):
        yield from (os.path.join(parent, name) for name in names if name.endswith(_SUFFIXES))


def _size(name: str) -> int:
    try:
        return os.stat(name).st_size
    except OSError:
        return 0


def read_file(file: InputFile, stdin: BinaryIO | None = None) -> bytes:
    """Return the file as UTF-8 without a byte-order mark.

    Raises
    ------
    FileError
        When it cannot be read, is not text or is too large.
    """
    try:
        if file.name == STDIN:
            if stdin is None:
                raise FileError("standard input is closed")
            data = stdin.read(MAX_FILE_BYTES + 1)
        else:
            with _open(file) as stream:
                data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise FileError(_reason(error)) from error
    except MemoryError as error:
        raise FileError("does not fit into memory") from error
    if len(data) > MAX_FILE_BYTES:
        raise FileError(f"is larger than {MAX_FILE_BYTES >> 30} GiB")
    return _as_utf8(data)


def _open(file: InputFile) -> BinaryIO:
    """Open a file or a pipe that somebody writes to; nothing else that reading might never end of."""
    descriptor = os.open(file.name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode) and not file.is_listed:
            _wait_for_writer(descriptor)
            os.set_blocking(descriptor, True)
        elif stat.S_ISDIR(mode):
            raise FileError("is a directory, expected a file")
        elif not stat.S_ISREG(mode):
            raise FileError(f"is {_kind_of(mode)}, expected a file, a directory or - for standard input")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _wait_for_writer(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(WRITER_TIMEOUT_S * 1000):
        raise FileError(f"is a pipe that nobody wrote to for {WRITER_TIMEOUT_S:g} s")


def _kind_of(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def _as_utf8(data: bytes) -> bytes:
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    if data.startswith(_GZIP_MARK):
        raise FileError("is compressed with gzip, expected YAML or JSON text")
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding).encode()
            except UnicodeError as error:
                raise FileError(f"starts as {encoding.upper()} text but goes on as something else") from error
    return data


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return str(error)


def total_bytes(files: Sequence[InputFile]) -> int:
    """Return how much there is to read, as far as is known beforehand."""
    return sum(file.n_bytes for file in files)
