"""Reading YAML documents into plain values with bounded time, depth and size.

The text is cut at `---` lines first, as Kubernetes' YAMLReader does, so one bad document does not lose the others.
Values are built from the parser's events with a stack of our own: no recursion, and aliases are counted as expanded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from yaml import YAMLError
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from nodewise.api.yaml_scalars import key_text, resolve_plain, resolve_tagged, whole_number

MAX_DEPTH = 400
MAX_ALIASED_BYTES = 64 << 20
# go-yaml's limits: the share of nodes that may come from aliases falls from 99% to 10% as documents grow.
_ALIAS_FREE_NODES, _ALIAS_SMALL, _ALIAS_LARGE = 1000, 400_000, 4_000_000
_SEPARATOR = re.compile(rb"^---([^\n]*)(?:\n|\Z)", re.MULTILINE)
_NO_TEXT = re.compile(rb"(?:\s*(?:[#%][^\n]*)?(?:\n|\Z))*", re.ASCII)
_ITEM_DEPTH = 2
"""How many containers enclose the `items` of a list: the stream and the list's own mapping."""
_NO_KEY, _MERGE = object(), object()


class YamlDocumentError(ValueError):
    """One document that cannot be read, with the line where it went wrong."""


@dataclass(slots=True)
class YamlDocument:
    """One document: its value, or what is wrong with it, and remarks on how it was read."""

    value: Any = None
    error: str = ""
    end_byte: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Anchor:
    value: Any
    n_nodes: int = 0
    n_bytes: int = 0
    is_open: bool = False


class _Reader:
    """Hands a part of a text to the parser piece by piece, and reports how far it came."""

    def __init__(self, data: bytes, start: int, end: int, report: Callable[[int], None] | None) -> None:
        self._view = memoryview(data)
        self._position = start
        self._end = end
        self._report = report

    def read(self, size: int = -1, /) -> bytes:
        start = self._position
        self._position = self._end if size < 0 else min(start + size, self._end)
        if self._report is not None:
            self._report(start)
        return bytes(self._view[start : self._position])


def read_yaml(data: bytes, report: Callable[[int], None] | None = None) -> Iterator[YamlDocument]:
    """Yield every document of a YAML text (UTF-8); those that are null or empty are left out.

    Parameters
    ----------
    report
        Called with the number of bytes read, time and again.
    """
    start, first_line = 0, 1
    error = ""
    for separator in (*_SEPARATOR.finditer(data), None):
        end = separator.start() if separator else len(data)
        if error:
            yield YamlDocument(error=error, end_byte=end)
        elif not _NO_TEXT.fullmatch(data, start, end):
            yield from _read_chunk(_Reader(data, start, end, report), first_line, end)
        if separator is None:
            return
        first_line += data.count(b"\n", start, end) + 1
        start = separator.end()
        rest = separator[1].strip()
        error = ""
        if rest and not rest.startswith(b"#"):
            shown = rest[:40].decode("utf-8", "replace")
            error = f"line {first_line - 1}: only a comment may follow the document separator ---, found {shown!r}"


def _read_chunk(reader: _Reader, first_line: int, end_byte: int) -> Iterator[YamlDocument]:
    builder = _Builder(reader, first_line)
    try:
        for value in builder.documents():
            if value is not None:
                yield YamlDocument(value, end_byte=end_byte, notes=builder.take_notes())
    except YamlDocumentError as error:
        yield YamlDocument(error=str(error), end_byte=end_byte)
    except YAMLError as error:
        yield YamlDocument(error=_explained(error, first_line), end_byte=end_byte)
    finally:
        builder.close()


def _explained(error: YAMLError, first_line: int) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    context = getattr(error, "context", None)
    where = f"line {first_line + mark.line}: " if mark is not None else f"at or after line {first_line}: "
    return f"is not valid YAML: {where}{context + ': ' if context else ''}{problem}"


class _Builder:
    """Builds the values of one chunk from parser events."""

    def __init__(self, reader: _Reader, first_line: int) -> None:
        self._parser = CParser(reader)
        self._first_line = first_line
        self._notes: list[str] = []
        self._anchors: dict[str, _Anchor] = {}
        self._n_nodes = self._n_bytes = 0
        self._n_aliased = self._n_aliased_bytes = 0

    def close(self) -> None:
        self._parser.dispose()

    def take_notes(self) -> list[str]:
        notes, self._notes = self._notes, []
        return notes

    def documents(self) -> Iterator[Any]:
        while True:
            event = self._parser.get_event()
            if isinstance(event, StreamEndEvent):
                return
            if isinstance(event, DocumentStartEvent):
                self._anchors = {}
                yield self._document()

    def _document(self) -> Any:
        """Build one document; the innermost open container lives in local variables, the others on the stack."""
        get_event = self._parser.get_event
        stack: list[tuple[Any, Any, _Anchor | None, int, int]] = []
        container: Any = [None]
        container.clear()
        key: Any = _NO_KEY
        is_mapping = False
        opened: _Anchor | None = None
        nodes_before = bytes_before = 0
        while True:
            event: Any = get_event()
            kind = type(event)
            if kind is ScalarEvent:
                self._n_nodes += 1
                text = event.value
                self._n_bytes += len(text)
                if is_mapping and key is _NO_KEY and text == "<<" and event.implicit[0]:
                    key = _MERGE
                    continue
                if event.tag is None:
                    value = resolve_plain(text) if event.implicit[0] else text
                else:
                    value = self._tagged(event)
                if value.__class__ is float:
                    if not math.isfinite(value):
                        raise self._error(event, f"{text} has no meaning in JSON")
                    value = whole_number(value)
                if event.anchor is not None:
                    self._anchors[event.anchor] = _Anchor(value, 1, len(text))
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self._n_nodes += 1
                if len(stack) >= MAX_DEPTH:
                    raise self._error(event, f"nested more than {MAX_DEPTH} levels deep")
                if is_mapping and key is _NO_KEY:
                    raise self._error(event, "a mapping key is a mapping or a list")
                stack.append((container, key, opened, nodes_before, bytes_before))
                container = {} if kind is MappingStartEvent else []
                is_mapping = kind is MappingStartEvent
                key, opened = _NO_KEY, None
                nodes_before, bytes_before = self._n_nodes, self._n_bytes
                if event.anchor is not None:
                    opened = self._anchors[event.anchor] = _Anchor(container, is_open=True)
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                value = container
                if opened is not None:
                    opened.n_nodes = self._n_nodes - nodes_before + 1
                    opened.n_bytes = self._n_bytes - bytes_before
                    opened.is_open = False
                container, key, opened, nodes_before, bytes_before = stack.pop()
                is_mapping = container.__class__ is dict
                if len(stack) == _ITEM_DEPTH and not is_mapping and stack[-1][1] == "items":
                    value = self._encoded(event, value)
            elif kind is AliasEvent:
                value = self._alias(event)
            elif kind is DocumentEndEvent:
                return container[0] if container else None
            else:  # pragma: no cover - the parser has no other events inside a document
                raise self._error(event, f"unexpected {kind.__name__}")
            if not is_mapping:
                container.append(value)
            elif key is _NO_KEY:
                key = value if value.__class__ is str else self._key(event, value)
            elif key is _MERGE:
                self._merge(event, container, value)
                key = _NO_KEY
            else:
                if key in container:
                    self._notes.append(f"line {self._line(event)}: key {key!r} is given twice, the last one counts")
                container[key] = value
                key = _NO_KEY

    def _encoded(self, event: Any, item: Any) -> msgspec.Raw:
        """Return an item of a list as JSON, which takes a fraction of the room."""
        try:
            return msgspec.Raw(msgspec.json.encode(item))
        except (OverflowError, RecursionError, UnicodeError) as error:
            raise self._error(event, f"has no JSON form: {error}") from error

    def _tagged(self, event: Any) -> Any:
        if event.tag == "!":
            return event.value
        try:
            return resolve_tagged(event.tag, event.value, is_plain=event.implicit[0])
        except ValueError as error:
            raise self._error(event, str(error)) from error

    def _key(self, event: Any, value: Any) -> str:
        if isinstance(value, (dict, list)):
            raise self._error(event, "a mapping key is a mapping or a list")
        try:
            return key_text(value)
        except ValueError as error:
            raise self._error(event, str(error)) from error

    def _alias(self, event: Any) -> Any:
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            raise self._error(event, f"unknown anchor {event.anchor!r} referenced")
        if anchor.is_open:
            raise self._error(event, f"anchor {event.anchor!r} value contains itself")
        self._n_nodes += anchor.n_nodes + 1
        self._n_bytes += anchor.n_bytes
        self._n_aliased += anchor.n_nodes
        self._n_aliased_bytes += anchor.n_bytes
        is_excessive = (
            self._n_aliased > 100
            and self._n_nodes > _ALIAS_FREE_NODES
            and self._n_aliased > self._n_nodes * _allowed_alias_share(self._n_nodes)
        )
        if is_excessive or self._n_aliased_bytes > MAX_ALIASED_BYTES:
            raise self._error(event, "document contains excessive aliasing")
        return anchor.value

    def _merge(self, event: Any, container: dict[str, Any], value: Any) -> None:
        """Merge as go-yaml v2 does: a later merge wins over keys above it; in a list of maps the first one wins."""
        parts = value[::-1] if isinstance(value, list) else [value]
        for part in parts:
            if not isinstance(part, dict):
                raise self._error(event, "map merge requires map or sequence of maps as the value")
            container.update(part)

    def _line(self, event: Any) -> int:
        return self._first_line + int(event.start_mark.line)

    def _error(self, event: Any, message: str) -> YamlDocumentError:
        return YamlDocumentError(f"line {self._line(event)}: {message}")


def _allowed_alias_share(n_nodes: int) -> float:
    if n_nodes <= _ALIAS_SMALL:
        return 0.99
    if n_nodes >= _ALIAS_LARGE:
        return 0.10
    return 0.99 - 0.89 * (n_nodes - _ALIAS_SMALL) / (_ALIAS_LARGE - _ALIAS_SMALL)
