"""Reads what lists and watches say, straight into typed objects."""

from __future__ import annotations

import logging
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec
from msgspec import Raw, field

from nodewise.api.decoding import decode_object
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.objects import AnyObject, Pod, replace
from nodewise.cluster.live.errors import StreamError, api_error
from nodewise.cluster.live.resources import Resource
from nodewise.cluster.object_documents import place_of

Documents = MutableMapping[tuple[str, str], bytes]
"""What objects were read from, by kind and `namespace/name`."""
LOGGER = logging.getLogger("nodewise")
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Change(Enum):
    """What an event of a watch says."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One event of a watch.

    Attributes
    ----------
    change : Change
    obj : AnyObject | None
        None in a bookmark.
    resource_version : str
        How far the watch has come.
    ends_initial_events : bool
        Whether this is the bookmark after which a streamed list is complete.
    """

    change: Change
    obj: AnyObject | None
    resource_version: str
    ends_initial_events: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A list, or a part of one.

    Attributes
    ----------
    items : list[Raw]
        Not decoded yet.
    resource_version : str
    continuation : str
        What to ask for the next part with; empty: there is none.
    """

    items: list[Raw]
    resource_version: str
    continuation: str


class _Metadata(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] = {}
    continuation: str = field(default="", name="continue")


class _Line(msgspec.Struct):
    type: str
    object: Raw


class _Head(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: _Metadata = field(default_factory=_Metadata)


class _List(msgspec.Struct):
    kind: str = ""
    metadata: _Metadata = field(default_factory=_Metadata)
    items: list[Raw] | None = None


_LINE = msgspec.json.Decoder(_Line)
_HEAD = msgspec.json.Decoder(_Head)
_LIST = msgspec.json.Decoder(_List)


class Lines:
    """Puts the parts of a stream together and cuts them into lines; a last line without an end is never one."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, part: bytes) -> Iterator[bytes]:
        """Yield the lines that a part of the stream completes."""
        head, end, tail = part.partition(b"\n")
        if not end:
            self._rest.append(part)
            return
        self._rest.append(head)
        first = b"".join(self._rest)
        *complete, rest = tail.split(b"\n")
        self._rest = [rest] if rest else []
        for line in (first, *complete):
            if line.strip():
                yield line


class WireReader:
    """Reads lists and watches of one resource.

    What is not of the kind asked for, or not as its schema says, is logged and skipped: one broken object must not keep
    all others from being known.
    """

    def __init__(self, resource: Resource, documents: Documents | None = None) -> None:
        self._resource = resource
        self._documents = documents
        self._kind = resource.kind
        # API servers write these two first; then the object is read once and not twice
        start = f'{{"kind":"{resource.kind.name}","apiVersion":"{resource.api_version}",'.encode()
        self._usual = {change: f'{{"type":"{change.value}","object":'.encode() + start for change in Change}
        self._start_len = len(start)
        del self._usual[Change.BOOKMARK]

    def event(self, line: bytes) -> WatchEvent | None:
        """Return what a line of a watch says; None: something to be skipped.

        Raises
        ------
        ApiError
            It is an error of the server.
        StreamError
            It is nothing that a watch can say.
        """
        for change, usual in self._usual.items():
            if line.startswith(usual) and line.endswith(b"}"):
                obj = self.item(memoryview(line)[len(usual) - self._start_len : -1])
                return None if obj is None else WatchEvent(change, obj, obj.metadata.resource_version)
        return self._any_event(line)

    def _any_event(self, line: bytes) -> WatchEvent | None:
        name = f"WATCH {self._resource.path}"
        try:
            found = _LINE.decode(line)
            if found.type == "ERROR":
                raise api_error(name, 0, found.object)
            head = _HEAD.decode(found.object)
            change = Change(found.type)
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            raise StreamError(name, f"{name}: found {line[:200]!r}, expected an event: {error}") from error
        if head.kind != self._kind.name or head.api_version != self._resource.api_version:
            LOGGER.error("%s: found a %s of %s, skipped", name, head.kind or "nothing", head.api_version or "no API")
            return None
        metadata = head.metadata
        if change is Change.BOOKMARK:
            is_end = metadata.annotations.get(INITIAL_EVENTS_END) == "true"
            return WatchEvent(change, None, metadata.resource_version, is_end)
        obj = self.item(found.object)
        return None if obj is None else WatchEvent(change, obj, metadata.resource_version)

    def page(self, body: bytes) -> Page:
        """Return a list, or a part of one.

        Raises
        ------
        StreamError
            It is no list of this kind.
        """
        name = f"LIST {self._resource.path}"
        try:
            found = _LIST.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise StreamError(name, f"{name}: found {body[:200]!r}, expected a list: {error}") from error
        if found.kind != f"{self._kind.name}List":
            raise StreamError(name, f"{name}: found {found.kind!r}, expected {self._kind.name}List")
        return Page(found.items or [], found.metadata.resource_version, found.metadata.continuation)

    def item(self, data: memoryview | Raw) -> AnyObject | None:
        """Return one object without what no plugin reads; None: it is not what its schema says."""
        try:
            obj = decode_object(data, self._kind)
        except InvalidFieldError as error:
            LOGGER.error("%s: %s is not readable, skipped: %s", self._resource.plural, _name_in(data), error)
            return None
        if self._documents is not None:
            self._documents[self._kind.name, place_of(obj)] = bytes(data)
        return _trimmed(obj) if isinstance(obj, Pod) else obj


def _trimmed(pod: Pod) -> Pod:
    """Return a pod without the copy of its manifest that kubectl leaves in it."""
    annotations = pod.metadata.annotations
    if LAST_APPLIED not in annotations:
        return pod
    kept = {key: value for key, value in annotations.items() if key != LAST_APPLIED}
    return replace(pod, metadata=replace(pod.metadata, annotations=kept))


def _name_in(data: memoryview | Raw) -> str:
    try:
        found: Any = msgspec.json.decode(data)
        metadata = found.get("metadata") or {}
        return "/".join(str(part) for part in (metadata.get("namespace"), metadata.get("name")) if part) or "an object"
    except (msgspec.DecodeError, UnicodeDecodeError, AttributeError):
        return "an object"
