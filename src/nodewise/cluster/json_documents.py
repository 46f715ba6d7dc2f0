"""Cutting a text of JSON values, one after another with or without line ends, into its documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

MAX_ERRORS = 20
_RAW = msgspec.json.Decoder(msgspec.Raw)
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_SPACE = re.compile(rb"\s*", re.ASCII)
_NEXT_OBJECT = re.compile(rb"\n\{")


class JsonDocument(NamedTuple):
    """One JSON value as a view of the text, or what is wrong there."""

    data: memoryview
    error: str
    end_byte: int


def looks_like_json(data: bytes) -> bool:
    """Tell whether the text starts as a JSON object; `{a: b}` is YAML's flow style instead."""
    start = data[:4096].lstrip()
    return start[:1] == b"{" and start[1:].lstrip()[:1] in (b'"', b"}", b"")


def read_json(data: bytes) -> Iterator[JsonDocument]:
    """Yield the JSON values of a text; after a bad one, go on at the next line that starts an object."""
    view = memoryview(data)
    start, n_errors = _end_of_space(data, 0), 0
    while start < len(data):
        value, error = view[start:], ""
        end: int | None = len(data)
        try:
            _RAW.decode(value)
        except RecursionError:
            error, end = "is nested too deeply", _next_object(data, start)
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            trailing = _TRAILING.search(str(problem))
            if trailing:
                end = start + int(trailing[1]) - 1  # msgspec counts bytes from 1 here
                value = view[start:end]
            else:
                line = data.count(b"\n", 0, start) + 1
                error = f"the value that starts in line {line} is not valid JSON: {problem}"
                end = _next_object(data, start)
        stop = len(data) if end is None else end
        yield JsonDocument(value, error, stop)
        n_errors += bool(error)
        if n_errors >= MAX_ERRORS and end is not None:
            yield JsonDocument(view[:0], f"stopped after {n_errors} errors, the rest is left out", len(data))
            return
        start = _end_of_space(data, stop)


def _end_of_space(data: bytes, start: int) -> int:
    match = _SPACE.match(data, start)
    return match.end() if match else start


def _next_object(data: bytes, start: int) -> int | None:
    match = _NEXT_OBJECT.search(data, start + 1)
    return match.start() if match else None
