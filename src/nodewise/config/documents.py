"""Configuration text to a tree of JSON values: YAML or JSON, number texts kept, repeated keys noticed."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from yaml import YAMLError
from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.scanner import ScannerError

from nodewise.api.yaml_scalars import resolve_plain
from nodewise.config.errors import ConfigError
from nodewise.config.go_text import quote

MAX_DEPTH = 100
MAX_NODES = 200_000
"""How many values a document may have, aliases counted as what they stand for."""


class Number(str):
    """A JSON number, as its text."""

    __slots__ = ()


class Fields(list[tuple[str, Any]]):
    """A JSON object: its keys and values in order, a repeated key more than once."""


def is_json(data: bytes) -> bool:
    """Return whether kube-scheduler takes the text for JSON: its first character is a brace."""
    return data.lstrip(b" \t\r\n\v\f").startswith(b"{")


def read_json(data: bytes) -> Any:
    """Return the tree of one JSON text.

    Raises
    ------
    ConfigError
        When it is not JSON.
    """
    try:
        text = data.decode("utf-8", "replace")
        return json.loads(
            text, object_pairs_hook=Fields, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
        )
    except json.JSONDecodeError as error:
        raise ConfigError(f"couldn't get version/kind; json parse error: {json_problem(error)}") from error
    except RecursionError as error:
        raise ConfigError("couldn't get version/kind; json parse error: exceeded max depth") from error


def _refuse_constant(text: str) -> NoReturn:
    raise ConfigError(
        f"couldn't get version/kind; json parse error: invalid character '{text[0]}' looking for beginning of value"
    )


def json_problem(error: json.JSONDecodeError) -> str:
    """Say what encoding/json would, as far as Python's parser tells."""
    rest = error.doc[error.pos :].lstrip()
    if not rest:
        return "unexpected end of JSON input"
    problem = error.msg
    if problem.startswith(("Expecting property name", "Illegal trailing comma")):
        problem = "looking for beginning of object key string"
    elif problem == "Expecting value":
        problem = "looking for beginning of value"
    elif problem == "Expecting ':' delimiter":
        problem = "after object key"
    elif problem == "Expecting ',' delimiter":
        problem = "after array element" if _is_in_array(error.doc[: error.pos]) else "after object key:value pair"
    elif problem == "Extra data":
        problem = "after top-level value"
    return f"invalid character '{rest[0]}' {problem}"


def _is_in_array(text: str) -> bool:
    """Return whether the innermost bracket that is still open at the end of the text opens an array."""
    still_open = []
    for char in re.sub(r'"(?:\\.|[^"\\])*"', "", text):
        if char in "[{":
            still_open.append(char)
        elif char in "]}":
            still_open.pop()
    return still_open[-1:] == ["["]


def read_yaml(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """Return the tree of the first YAML document, keys sorted, and a note for every repeated key.

    Raises
    ------
    ConfigError
        When it is not YAML, or has a value that JSON cannot hold.
    """
    reader = _YamlReader(data)
    try:
        return reader.read_document(), tuple(reader.repeated_keys)
    except YAMLError as error:
        raise ConfigError(f"yaml: {_yaml_problem(error)}") from error
    finally:
        reader.close()


def _yaml_problem(error: YAMLError) -> str:
    """Say what go-yaml would: it counts lines differently for scanner and parser errors."""
    mark = getattr(error, "problem_mark", None)
    context_mark = getattr(error, "context_mark", None)
    line = 0
    if mark is not None and mark.line:
        line = mark.line + (1 if isinstance(error, ScannerError) else 0)
    elif context_mark is not None:
        line = context_mark.line
    problem = (
        getattr(error, "problem", None) or getattr(error, "reason", None) or "unknown problem parsing YAML content"
    )
    return f"line {line}: {problem}" if line else str(problem)


class _YamlReader:
    """Builds one document from parser events; anchors give the same tree again."""

    def __init__(self, data: bytes) -> None:
        self._parser = CParser(data)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._n_nodes = 0
        self.repeated_keys: list[str] = []

    def close(self) -> None:
        self._parser.dispose()

    def read_document(self) -> Any:
        while True:
            event = self._parser.get_event()
            if isinstance(event, StreamEndEvent):
                return None
            if isinstance(event, DocumentStartEvent):
                return self._value(self._parser.get_event(), 0)

    def _value(self, event: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ConfigError("yaml: exceeded max depth")
        if isinstance(event, AliasEvent):
            if event.anchor not in self._anchors:
                raise ConfigError(f"yaml: unknown anchor '{event.anchor}' referenced")
            value, n_nodes = self._anchors[event.anchor]
            self._count(n_nodes)
            return value
        n_before = self._n_nodes
        self._count(1)
        if isinstance(event, ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, SequenceStartEvent):
            value = self._sequence(depth)
        else:
            value = self._mapping(depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._n_nodes - n_before
        return value

    def _count(self, n_nodes: int) -> None:
        self._n_nodes += n_nodes
        if self._n_nodes > MAX_NODES:
            raise ConfigError("yaml: document contains excessive aliasing")

    def _sequence(self, depth: int) -> list[Any]:
        items = []
        while not isinstance(event := self._parser.get_event(), SequenceEndEvent):
            items.append(self._value(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> Fields:
        found: dict[str, Any] = {}
        while not isinstance(event := self._parser.get_event(), MappingEndEvent):
            is_merge = isinstance(event, ScalarEvent) and event.value == "<<" and event.implicit[0]
            key = None if is_merge else self._value(event, depth + 1)
            value_event: Any = self._parser.get_event()
            value = self._value(value_event, depth + 1)
            if is_merge:
                self._merge(found, value)
                continue
            name = _key_text(key)
            if name in found:
                shown = name if isinstance(key, Number) or not isinstance(key, str) else quote(name)
                self.repeated_keys.append(f"  line {value_event.start_mark.line + 1}: key {shown} already set in map")
            found[name] = value
        return Fields(sorted(found.items()))

    def _merge(self, found: dict[str, Any], value: Any) -> None:
        for part in reversed(value) if isinstance(value, list) and not isinstance(value, Fields) else [value]:
            if not isinstance(part, Fields):
                raise ConfigError("yaml: map merge requires map or sequence of maps as the value")
            found.update(part)

    def _scalar(self, event: Any) -> Any:
        if event.tag is not None and not event.tag.endswith((":int", ":float", ":bool", ":null")):
            return event.value
        if event.tag is None and not event.implicit[0]:
            return event.value
        return _json_scalar(resolve_plain(event.value))


def _json_scalar(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return Number(value)
    if not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise ConfigError(f"json: unsupported value: {shown}")
    return Number(_float_text(value))


def _float_text(value: float) -> str:
    """Write a float as Go's encoding/json: plain digits between 1e-6 and 1e21."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        text = f"{value:f}" if value.is_integer() else repr(value)
        text = text.split(".")[0] if value.is_integer() else text
        return f"{value:.20f}".rstrip("0") if "e" in text else text
    mantissa, _, exponent = repr(value).partition("e")
    sign = "-" if exponent.startswith("-") else "+"
    return f"{mantissa.removesuffix('.0')}e{sign}{exponent.lstrip('+-').lstrip('0')}"


def _key_text(key: Any) -> str:
    if isinstance(key, str):
        return str(key)
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        raise ConfigError("unsupported map key of type: %!s(<nil>), key: <nil>")
    raise ConfigError("yaml: invalid map key")
