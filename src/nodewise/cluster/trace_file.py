"""Reading a trace: YAML or JSON with a list of events, or CSV with one event a line."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.objects import PriorityClass
from nodewise.cluster.files import InputFile, read_file
from nodewise.cluster.json_documents import looks_like_json
from nodewise.cluster.object_set import InputError
from nodewise.cluster.trace import Arrival, Deletion, NodeDown, NodeUp, Trace, TraceEvent
from nodewise.cluster.trace_pods import TracePods
from nodewise.cluster.yaml_documents import read_yaml
from nodewise.config.durations import parse_duration

API_VERSION, KIND = "nodewise/v1", "Trace"
MAX_COUNT = 1_000_000
_REASON = re.compile(r"^(?P<reason>.*?)(?: - at `\$?\.?(?P<path>.*)`)?$", re.DOTALL)
_EVENTS = ("pod", "manifest", "delete", "nodeDown", "nodeUp")
_CSV_TEXTS = ("namespace", "priorityClassName", "duration", "every", "delete", "nodeDown", "nodeUp")
_RESOURCES = ("cpu", "memory", "ephemeral-storage")


class _TraceDocument(Struct, rename="camel", forbid_unknown_fields=True):
    api_version: str = ""
    kind: str = ""
    start: datetime | UnsetType = UNSET
    events: list[msgspec.Raw] = []


class _Event(Struct, rename="camel", forbid_unknown_fields=True):
    """An event as it is written; see docs/replay.md."""

    at: str | float
    pod: str | UnsetType = UNSET
    manifest: dict[str, Any] | UnsetType = UNSET
    namespace: str | UnsetType = UNSET
    labels: dict[str, str] | UnsetType = UNSET
    requests: dict[str, str | int | float] | UnsetType = UNSET
    node_selector: dict[str, str] | UnsetType = UNSET
    priority_class_name: str | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    duration: str | float | UnsetType = UNSET
    restarts: bool = True
    count: int = 1
    every: str | float = 0.0
    delete: str | UnsetType = UNSET
    node_down: str | UnsetType = UNSET
    node_up: str | UnsetType = UNSET


def read_trace(path: str, classes: Mapping[str, PriorityClass]) -> Trace:
    """Read a trace; each event that is no good stands in `errors`, the others are there.

    Parameters
    ----------
    classes : Mapping[str, PriorityClass]
        Priority classes that pods may name.

    Raises
    ------
    FileError
        When the file cannot be read.
    """
    data = read_file(InputFile(path))
    reader = _TraceReader(path, classes)
    if path.lower().endswith(".csv"):
        reader.read_csv(data)
    else:
        reader.read_document(data)
    reader.trace.events.sort(key=lambda event: event.at_s)
    return reader.trace


class _TraceReader:
    """Turns what is written into events."""

    def __init__(self, path: str, classes: Mapping[str, PriorityClass]) -> None:
        self.trace = Trace()
        self._path = path
        self._pods = TracePods(classes)

    # --- texts --------------------------------------------------------------------------------------------------------

    def read_document(self, data: bytes) -> None:
        """Read YAML or JSON."""
        if looks_like_json(data):
            self._read_json(data)
            return
        for number, document in enumerate(read_yaml(data), 1):
            if document.error:
                self._refuse(f"#{number}", "", document.error)
            else:
                self._read_json(msgspec.json.encode(document.value), f"#{number}" if number > 1 else "")

    def _read_json(self, data: bytes, place: str = "") -> None:
        try:
            document = msgspec.json.decode(data, type=_TraceDocument)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            self._refuse(place, *_explained(error))
            return
        if (document.api_version, document.kind) != (API_VERSION, KIND):
            found = f"{document.kind or 'nothing'} ({document.api_version or 'no apiVersion'})"
            self._refuse(place, "kind", f"found {found}, expected {KIND} ({API_VERSION})")
            return
        if document.start is not UNSET:
            start = document.start
            self.trace.start = start if start.tzinfo is not None else start.replace(tzinfo=UTC)
        for position, raw in enumerate(document.events):
            where = f"{place} events[{position}]".strip()
            try:
                self._take(where, msgspec.json.decode(raw, type=_Event))
            except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
                self._refuse(where, *_explained(error))

    def read_csv(self, data: bytes) -> None:
        """Read lines of comma-separated values below a line of column names."""
        try:
            rows = csv.DictReader(io.StringIO(data.decode()), strict=True)
            for row in rows:
                self._take_row(f"line {rows.line_num}", row)
        except (csv.Error, UnicodeError) as error:
            self._refuse("", "", f"is no CSV: {error}")

    def _take_row(self, where: str, row: Mapping[str | None, Any]) -> None:
        if None in row or None in row.values():
            self._refuse(where, "", "has another number of values than there are column names")
            return
        try:
            fields = dict(_fields_of({str(name): str(text) for name, text in row.items()}))
            self._take(where, msgspec.convert(fields, _Event))
        except InvalidFieldError as error:
            self._refuse(where, error.field, error.message)
        except msgspec.MsgspecError as error:
            self._refuse(where, *_explained(error))

    # --- events -------------------------------------------------------------------------------------------------------

    def _take(self, where: str, event: _Event) -> None:
        try:
            self.trace.events += self._events(event)
        except InvalidFieldError as error:
            self._refuse(where, error.field, error.message)

    def _events(self, event: _Event) -> Iterator[TraceEvent]:
        fields = msgspec.to_builtins(event)
        kinds = [name for name in _EVENTS if name in fields]
        if not kinds or (len(kinds) > 1 and set(kinds) != {"pod", "manifest"}):
            found = " and ".join(kinds) or "none"
            raise InvalidFieldError("", f"found {found}, expected one of pod, manifest, delete, nodeDown, nodeUp")
        at_s = self._at(event.at)
        if not isinstance(event.delete, UnsetType):
            key = event.delete if "/" in event.delete else f"default/{event.delete}"
            yield Deletion(at_s, key)
        elif not isinstance(event.node_down, UnsetType):
            yield NodeDown(at_s, event.node_down)
        elif not isinstance(event.node_up, UnsetType):
            yield NodeUp(at_s, event.node_up)
        else:
            yield from self._arrivals(event, fields, at_s)

    def _arrivals(self, event: _Event, fields: Mapping[str, Any], at_s: float) -> Iterator[Arrival]:
        if not 1 <= event.count <= MAX_COUNT:
            raise InvalidFieldError("count", f"found {event.count}, expected 1..{MAX_COUNT:,}")
        written = fields.get("manifest", {}).get("metadata", {})
        name = fields.get("pod") or (written.get("name") if isinstance(written, dict) else None)
        if not isinstance(name, str) or not name:
            raise InvalidFieldError("pod", "found no name, expected one here or in manifest.metadata.name")
        duration_s = None if isinstance(event.duration, UnsetType) else _seconds("duration", event.duration)
        every_s = _seconds("every", event.every)
        for number in range(event.count):
            pod = self._pods.make(fields, name if event.count == 1 else f"{name}-{number + 1}")
            yield Arrival(at_s + number * every_s, pod, duration_s, event.restarts)

    def _at(self, at: str | float) -> float:
        """Return the seconds since the start that a number, a duration or a time of day mean."""
        if isinstance(at, str) and "T" in at:
            try:
                moment = datetime.fromisoformat(at)
            except ValueError as error:
                raise InvalidFieldError("at", f"found {at!r}, expected an RFC 3339 time") from error
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
            seconds = (moment - self.trace.start).total_seconds()
            if seconds < 0:
                raise InvalidFieldError("at", f"found {at}, which is before the start {self.trace.start.isoformat()}")
            return seconds
        return _seconds("at", at)

    def _refuse(self, where: str, field: str, message: str) -> None:
        self.trace.errors.append(InputError(self._path, where, field, message))


def _fields_of(row: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the fields that the cells of a CSV line stand for; an empty cell is none."""
    requests: dict[str, str] = {}
    for column, text in row.items():
        text = text.strip()
        if not text:
            continue
        if column in _RESOURCES or "/" in column or column.startswith("hugepages-"):
            requests[column] = text
        elif column in ("at", "pod", *_CSV_TEXTS):
            yield column, text
        elif column in ("labels", "nodeSelector"):
            yield column, dict(_pairs(column, text))
        elif column in ("priority", "count"):
            if not re.fullmatch(r"-?[0-9]{1,10}", text, re.ASCII):
                raise InvalidFieldError(column, f"found {text!r}, expected a whole number")
            yield column, int(text)
        elif column == "restarts":
            if text not in ("true", "false"):
                raise InvalidFieldError(column, f"found {text!r}, expected true or false")
            yield column, text == "true"
        else:
            raise InvalidFieldError(column, "is no column of a trace")
    if requests:
        yield "requests", requests


def _pairs(column: str, text: str) -> Iterator[tuple[str, str]]:
    for part in text.split(";"):
        key, equals, value = part.strip().partition("=")
        if not equals:
            raise InvalidFieldError(column, f"found {part!r}, expected key=value;key=value")
        yield key, value


def _seconds(field: str, value: str | float) -> float:
    """Return a number of seconds, or those of a duration such as 1h30m."""
    if isinstance(value, str) and not re.fullmatch(r"[0-9]*\.?[0-9]+", value, re.ASCII):
        try:
            seconds = parse_duration(value) / 1e9
        except ValueError as error:
            raise InvalidFieldError(field, f"{error}, expected seconds or a duration such as 1h30m") from error
    else:
        seconds = float(value)
    if not 0 <= seconds < 1e10:
        shown = value if isinstance(value, str) else f"{value:g}"
        raise InvalidFieldError(field, f"found {shown}, expected 0 or more seconds")
    return seconds


def _explained(error: Exception) -> tuple[str, str]:
    """Return the field and what is wrong with it."""
    match = _REASON.match(str(error))
    reason = match["reason"] if match else str(error)
    return (match["path"] or "" if match else ""), f"{reason[:1].lower()}{reason[1:]}"
