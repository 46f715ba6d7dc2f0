"""Where in a file each value of a configuration stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yaml import YAMLError
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

Lines = dict[str, int]
"""Line numbers, from 1, by path: `profiles[0].plugins.score.enabled[1].weight`."""


def line_numbers(data: bytes) -> Lines:
    """Return the line of every value of the first document, YAML or JSON; what cannot be read has none."""
    parser = CParser(data)
    walker = _Walker(parser)
    try:
        while (event := parser.get_event()) is not None:
            if isinstance(event, (MappingStartEvent, SequenceStartEvent, ScalarEvent)):
                walker.value(event, "")
                break
    except (YAMLError, RecursionError):
        pass
    finally:
        parser.dispose()
    return walker.lines


class _Walker:
    """Walks over one document; an alias has the lines of what it stands for."""

    def __init__(self, parser: CParser) -> None:
        self._parser = parser
        self._anchors: dict[str, str] = {}
        self.lines: Lines = {}

    def value(self, event: Any, path: str) -> None:
        """Note the line of a value, and those of what is in it."""
        self.lines[path] = event.start_mark.line + 1
        if isinstance(event, AliasEvent):
            self._copy(self._anchors.get(str(event.anchor), "?"), path)
            return
        if event.anchor is not None:
            self._anchors[event.anchor] = path
        if isinstance(event, SequenceStartEvent):
            for index, item in enumerate(self._events(SequenceEndEvent)):
                self.value(item, f"{path}[{index}]")
        elif isinstance(event, MappingStartEvent):
            for key in self._events(MappingEndEvent):
                self._entry(key, path)

    def _entry(self, key: Any, path: str) -> None:
        name = key.value if isinstance(key, ScalarEvent) else "?"
        at = f"{path}.{name}" if path else name
        value = self._parser.get_event()
        self.value(value, at)
        if name == "<<":
            self._copy(at, path)
        else:
            self.lines[at] = key.start_mark.line + 1

    def _events(self, end: type[Any]) -> Iterator[Any]:
        while not isinstance(event := self._parser.get_event(), end):
            yield event

    def _copy(self, source: str, path: str) -> None:
        for known, line in list(self.lines.items()):
            if known.startswith((f"{source}.", f"{source}[")):
                self.lines.setdefault(path + known[len(source) :] if path else known[len(source) + 1 :], line)
