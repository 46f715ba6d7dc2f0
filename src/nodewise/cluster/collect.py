"""Turning files into typed objects: lists opened, other kinds skipped, the same object read once."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import msgspec

from nodewise.api.decoding import decode_object, kind_of
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.kinds import CONTROLLER_KINDS, KINDS, Kind, is_built_in_group
from nodewise.api.objects import AnyObject, replace
from nodewise.cluster.files import FileError, InputFile, find_files, read_file, total_bytes
from nodewise.cluster.json_documents import looks_like_json, read_json
from nodewise.cluster.object_documents import place_of
from nodewise.cluster.object_set import InputError
from nodewise.cluster.yaml_documents import read_yaml

Progress = Callable[[str, int, int], None]
MAX_LIST_DEPTH = 10
_REPORT_EVERY = 256
_KINDS_OF_DOCUMENTS = frozenset(
    {"Pod", "Node", "ReplicationController", "ReplicaSet", "StatefulSet", *CONTROLLER_KINDS}
)
_MAX_FORWARD_SUFFIX = 16**5

_FOUND = {
    "array": "a list",
    "object": "a mapping",
    "str": "a string",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
}


class _Header(msgspec.Struct, rename="camel", gc=False):
    api_version: str | None = ""
    kind: str | None = ""
    items: list[msgspec.Raw] | None = None


class _Name(msgspec.Struct, gc=False):
    name: str | None = ""
    namespace: str | None = ""


class _Named(msgspec.Struct, gc=False):
    metadata: _Name | None = None


@dataclass(frozen=True, slots=True)
class Collected:
    """One decoded object, where it was read, and its place among the kinds that kube-scheduler watches."""

    obj: AnyObject
    kind: Kind
    api_version: str
    source: str
    position: int

    @property
    def label(self) -> str:
        """`Kind namespace/name`, as errors show it."""
        return object_label(self.kind.name, self.obj.metadata.namespace, self.obj.metadata.name)


def object_label(kind: str, namespace: str, name: str) -> str:
    """Return `Kind namespace/name`, as errors show it."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


class Collector:
    """Reads files one after another and keeps what it found, what it refused and what it has to say.

    Attributes
    ----------
    documents : dict[tuple[str, str], bytes] | None
        The texts of nodes, pods and what pods are made of, by kind and `namespace/name` or name; None: not kept.
    """

    def __init__(
        self, stdin: BinaryIO | None = None, progress: Progress | None = None, *, keep_documents: bool = False
    ) -> None:
        self.documents: dict[tuple[str, str], bytes] | None = {} if keep_documents else None
        self.collected: list[Collected] = []
        self.errors: list[InputError] = []
        self.notes: list[str] = []
        self.n_positions = 0
        self._stdin = stdin
        self._progress = progress
        self._is_listed = False
        self._n_bytes_before = self._n_bytes_total = 0
        self._list_start: int | None = None
        self._skipped: Counter[tuple[str, str]] = Counter()
        self._n_repeated: Counter[str] = Counter()
        self._by_key: dict[tuple[str, str, str], Collected] = {}
        self._header = msgspec.json.Decoder(_Header)

    def read(self, paths: Sequence[str]) -> None:
        """Read all the files of all the paths."""
        files: list[InputFile] = []
        for path in paths:
            try:
                files += find_files(path)
            except FileError as error:
                self._refuse(path or "''", str(error))
        self._n_bytes_total = total_bytes(files)
        for file in files:
            self._read_file(file)
            self._n_bytes_before += file.n_bytes
        for (api_version, kind), count in sorted(self._skipped.items()):
            self.notes.append(
                f"skipped {count} {kind or 'object(s) without a kind'} ({api_version or 'no apiVersion'})"
            )
        for where, count in self._n_repeated.items():
            self.notes.append(f"{where}: {count} object(s) given again with the same content count once")

    def take(self, items: Iterable[msgspec.Raw], kind: Kind, api_version: str) -> None:
        """Take in objects that an API server listed; they do not name their kind."""
        for item in items:
            self._decode(item, kind, api_version, "")

    def _refuse(self, source: str, message: str, field: str = "", label: str = "") -> None:
        self.errors.append(InputError(source, label, field, message))

    def _report(self, n_bytes: int) -> None:
        """Tell how far reading is in the current file."""
        if self._progress is not None:
            n_done = self._n_bytes_before + n_bytes
            self._progress("reading", n_done, max(self._n_bytes_total, n_done))

    def _read_file(self, file: InputFile) -> None:
        name = "stdin" if file.name == "-" else file.name
        try:
            data = read_file(file, self._stdin)
        except FileError as error:
            self._refuse(name, str(error))
            return
        self._is_listed = file.is_listed
        n_documents = 0
        for n_documents, (end_byte, document, error_text) in enumerate(self._documents(name, data), start=1):
            source = f"{name}#{n_documents}"
            if error_text:
                self._refuse(source, error_text)
            else:
                self._collect(document, source)
            self._report(end_byte)
        if n_documents == 0:
            if file.is_listed:
                self.notes.append(f"{name}: holds no object")
            else:
                self._refuse(name, "holds no object")

    def _documents(self, name: str, data: bytes) -> Iterator[tuple[int, bytes | memoryview, str]]:
        """Yield where each document ends, its JSON, and what is wrong with it."""
        if looks_like_json(data):
            for document in read_json(data):
                self._list_start = document.end_byte - len(document.data)
                yield document.end_byte, document.data, document.error
            return
        self._list_start = None  # parsing YAML takes nearly all the time, and reports itself
        for number, yaml_document in enumerate(read_yaml(data, self._report), start=1):
            encoded = b""
            if not yaml_document.error:
                try:
                    encoded = msgspec.json.encode(yaml_document.value)
                except (OverflowError, RecursionError, UnicodeError) as error:
                    yaml_document.error = f"has no JSON form: {error}"
            yield yaml_document.end_byte, encoded, yaml_document.error
            self.notes += [f"{name}#{number}: {note}" for note in yaml_document.notes]

    def _collect(
        self,
        data: bytes | memoryview | msgspec.Raw,
        source: str,
        list_kind: tuple[str, str] | None = None,
        depth: int = 0,
    ) -> None:
        """Take in one document: an object, or a list of them, whose items may lack the kind their list tells."""
        try:
            header = self._header.decode(data)
        except msgspec.ValidationError as error:
            self._refuse(source, _not_an_object(error))
            return
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._refuse(source, f"is not valid JSON: {error}")
            return
        api_version, kind = header.api_version or "", header.kind or ""
        if kind.endswith("List") and (header.items is not None or kind == "List"):
            if depth >= MAX_LIST_DEPTH:
                self._refuse(source, f"has more than {MAX_LIST_DEPTH} lists inside one another")
                return
            item_kind = None if kind == "List" else (api_version, kind.removesuffix("List"))
            n_bytes = 0
            for position, item in enumerate(header.items or ()):
                self._collect(item, f"{source}.items[{position}]", item_kind, depth + 1)
                n_bytes += memoryview(item).nbytes
                if depth == 0 and self._list_start is not None and position % _REPORT_EVERY == 0:
                    self._report(self._list_start + n_bytes)
            return
        if not kind and list_kind is not None:
            api_version, kind = list_kind
        known = kind_of(api_version, kind)
        if known is not None:
            self._decode(data, known, api_version, source)
        elif kind in KINDS and is_built_in_group(api_version):
            self._refuse(
                source,
                f"found {api_version or 'nothing'}, expected {' or '.join(KINDS[kind].api_versions)} for a {kind}",
                "apiVersion",
                _label(data, kind),
            )
        elif not kind and not (self._is_listed and not api_version):
            self._refuse(source, "found nothing, expected the kind of the object", "kind")
        else:
            self._skipped[api_version, kind] += 1

    def _decode(self, data: bytes | memoryview | msgspec.Raw, kind: Kind, api_version: str, source: str) -> None:
        position = self.n_positions
        self.n_positions += kind.name not in CONTROLLER_KINDS
        try:
            obj = _named(decode_object(data, kind), kind, source)
        except InvalidFieldError as error:
            self._refuse(source, error.message, error.field, _label(data, kind.name))
            return
        metadata = obj.metadata
        key = (kind.name, metadata.namespace, metadata.name)
        first = self._by_key.get(key)
        if first is not None:
            self.n_positions = position
            if first.obj == obj:
                self._n_repeated[source.partition("#")[0]] += 1
            else:
                message = f"is given twice with different content, first in {first.source}, which is kept"
                self._refuse(source, message, label=first.label)
            return
        collected = Collected(obj, kind, api_version, source, position)
        self._by_key[key] = collected
        self.collected.append(collected)
        if self.documents is not None and kind.name in _KINDS_OF_DOCUMENTS:
            self.documents[kind.name, place_of(obj)] = bytes(data)


def _named(obj: AnyObject, kind: Kind, source: str) -> AnyObject:
    """Give a namespaced object its namespace, and one with generateName a name that stays the same."""
    metadata = obj.metadata
    namespace = (metadata.namespace or "default") if kind.is_namespaced else ""
    name = metadata.name
    if not name and metadata.generate_name:
        suffix = zlib.crc32(source.encode()) % _MAX_FORWARD_SUFFIX
        name = f"{metadata.generate_name}{suffix:05x}"
    if not name:
        raise InvalidFieldError("metadata.name", "Required value: name or generateName is required")
    if name == metadata.name and namespace == metadata.namespace:
        return obj
    return replace(obj, metadata=replace(metadata, name=name, namespace=namespace))


def _label(data: bytes | memoryview | msgspec.Raw, kind: str) -> str:
    """Name an object that could not be decoded, as far as its name can be."""
    try:
        metadata = msgspec.json.decode(data, type=_Named).metadata or _Name()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return kind
    namespace = metadata.namespace or ""
    if not namespace and KINDS[kind].is_namespaced:
        namespace = "default"
    return object_label(kind, namespace, metadata.name or "?")


def _not_an_object(error: msgspec.ValidationError) -> str:
    reason, _, path = str(error).partition(" - at `$.")
    found = reason.rpartition("got `")[2].rstrip("`") or "another value"
    found = _FOUND.get(found, found)
    if not path:
        return f"found {found}, expected an object, a mapping with apiVersion and kind"
    wanted = "a list" if path.startswith("items") else "a string"
    return f"{path.rstrip('`')}: found {found}, expected {wanted}"
