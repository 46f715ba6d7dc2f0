"""A JSON tree to a struct, strictly, with the errors of sigs.k8s.io/json: unknown and repeated fields, wrong types."""

from __future__ import annotations

import binascii
import string
import types
from base64 import b64decode
from contextlib import suppress
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import Meta

from nodewise.api.objects import LabelSelectorRequirement, NodeSelectorRequirement, TopologySpreadConstraint
from nodewise.config.documents import Fields, Number
from nodewise.config.durations import parse_duration
from nodewise.config.errors import ConfigError
from nodewise.config.go_text import quote
from nodewise.config.go_types import GoType, WrittenEmpty

_GO_NAMES = {"Profile": "KubeSchedulerProfile", "PluginRef": "Plugin"}
_V1ALPHA1 = {"LeaderElectionConfiguration", "ClientConnectionConfiguration"}
# Structs that the API package shares: their string types are known here only.
_SHARED_TYPES: dict[tuple[type, str], str] = {
    (NodeSelectorRequirement, "operator"): "v1.NodeSelectorOperator",
    (LabelSelectorRequirement, "operator"): "v1.LabelSelectorOperator",
    (TopologySpreadConstraint, "when_unsatisfiable"): "v1.UnsatisfiableConstraintAction",
    (TopologySpreadConstraint, "node_affinity_policy"): "v1.NodeInclusionPolicy",
    (TopologySpreadConstraint, "node_taints_policy"): "v1.NodeInclusionPolicy",
}
_DEBUGGING, _DEBUGGING_FIELDS = "DebuggingConfiguration", ("enableProfiling", "enableContentionProfiling")
_MAX_STRICT_ERRORS = 100
_BASE64 = frozenset(f"{string.ascii_letters}{string.digits}+/=\r\n")
_MAX_FLOAT32 = 3.4028235677973366e38


class _Kind(NamedTuple):
    """What a field takes."""

    shape: Literal["string", "bool", "int", "float", "bytes", "duration", "list", "map", "struct", "any"]
    go_name: str
    item: Any = None
    is_pointer: bool = False


class _Field(NamedTuple):
    attribute: str
    kind: _Kind


class _WrongTypeError(Exception):
    """A value that does not fit; reported once the rest has been read."""


def decode_strictly(tree: Any, struct: type[Any], *, has_type_meta: bool) -> tuple[Any, list[str]]:
    """Decode a tree into a struct.

    Parameters
    ----------
    tree
        JSON values, objects as `Fields`.
    struct
        A msgspec struct type; null and absent fields keep its defaults.
    has_type_meta
        Whether apiVersion and kind may stand beside the struct's own fields.

    Returns
    -------
    The struct, and what strictness objects to: unknown and repeated fields.

    Raises
    ------
    ConfigError
        With the first wrong type; everything else is read before it is reported.
    """
    decoder = _Decoder()
    value = decoder.struct(tree, struct, has_type_meta=has_type_meta)
    if decoder.wrong_type is not None:
        raise ConfigError(decoder.wrong_type)
    return value, decoder.strict_errors


def json_type(value: Any) -> str:
    """Return what Go calls the JSON type of a value."""
    if isinstance(value, Number):
        return "number"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Fields) else "array" if isinstance(value, list) else "null"


class _Decoder:
    """One pass over one tree."""

    def __init__(self) -> None:
        self.wrong_type: str | None = None
        self.strict_errors: list[str] = []
        self._struct_name = ""
        self._names: list[str] = []  # field names only: encoding/json leaves out indices
        self._path: list[str] = []

    def struct(self, tree: Any, struct: type[Any], *, has_type_meta: bool = False) -> Any:
        if tree is None:
            return struct()
        if not isinstance(tree, Fields):
            self._save(json_type(tree), _go_name(struct))
            return struct()
        known = _fields(struct)
        outer = self._struct_name
        seen: set[str] = set()
        found: dict[str, Any] = {}
        for name, value in tree:
            field = known.get(name) or (_TYPE_META if has_type_meta and name in ("apiVersion", "kind") else None)
            if field is None:
                self._object_to("unknown", name)
                continue
            if name in seen:
                self._object_to("duplicate", name)
            seen.add(name)
            self._struct_name = _go_name(struct).rpartition(".")[2]
            # QUIRK: encoding/json names the embedded struct of these fields, though they stand beside the others.
            self._names.append(f"{_DEBUGGING}.{name}" if name in _DEBUGGING_FIELDS else name)
            self._path.append(f".{name}" if self._path else name)
            with suppress(_WrongTypeError):
                result = self._value(value, field.kind)
                if field is not _TYPE_META and result is not None:
                    found[field.attribute] = result
            self._names.pop()
            self._path.pop()
            self._struct_name = outer
        return struct(**found)

    def _value(self, value: Any, kind: _Kind) -> Any:
        if kind.shape == "duration" and not (value is None and kind.is_pointer):
            return self._duration(value)
        if value is None or kind.shape == "any":
            return value
        if kind.shape == "struct":
            return self.struct(value, kind.item)
        if kind.shape == "list":
            return self._list(value, kind)
        if kind.shape == "map":
            return self._map(value, kind)
        if isinstance(value, Number) and kind.shape in ("int", "float"):
            return self._number(value, kind)
        if isinstance(value, bool) and kind.shape == "bool":
            return value
        if json_type(value) == "string":
            if kind.shape == "string":
                return value
            if kind.shape == "bytes":
                return self._bytes(value)
        self._save(json_type(value), kind.go_name)
        raise _WrongTypeError

    def _list(self, value: Any, kind: _Kind) -> tuple[Any, ...]:
        if json_type(value) != "array":
            self._save(json_type(value), kind.go_name)
            raise _WrongTypeError
        items = []
        for position, item in enumerate(value):
            self._path.append(f"[{position}]")
            with suppress(_WrongTypeError):
                items.append(_zero(kind.item) if item is None else self._value(item, kind.item))
            self._path.pop()
        return tuple(items) if items else WrittenEmpty()

    def _map(self, value: Any, kind: _Kind) -> dict[str, Any]:
        if not isinstance(value, Fields):
            self._save(json_type(value), kind.go_name)
            raise _WrongTypeError
        found: dict[str, Any] = {}
        for name, item in value:
            if name in found:
                self._object_to("duplicate", name)
            self._path.append(f".{name}")
            with suppress(_WrongTypeError):
                found[name] = _zero(kind.item) if item is None else self._value(item, kind.item)
            self._path.pop()
        return found

    def _number(self, text: Number, kind: _Kind) -> int | float:
        if kind.shape == "float":
            number = float(text)
            if abs(number) < _MAX_FLOAT32:
                return number
        elif text.removeprefix("-").isdecimal():
            bound = 2 ** (int(kind.go_name.removeprefix("int")) - 1)
            if -bound <= (whole := int(text)) < bound:
                return whole
        self._save(f"number {text}", kind.go_name)
        raise _WrongTypeError

    def _duration(self, value: Any) -> int:
        # metav1.Duration reads itself: its errors end the decoding at once.
        if value is not None and json_type(value) != "string":
            raise ConfigError(self._wrong_type(json_type(value), "string"))
        try:
            return parse_duration(value or "")
        except ValueError as error:
            raise ConfigError(str(error)) from error

    def _bytes(self, text: str) -> bytes:
        try:
            return b64decode("".join(text.split("\n")).replace("\r", ""), validate=True)
        except (binascii.Error, ValueError) as error:
            wrong = next((at for at, char in enumerate(text) if char not in _BASE64), None)
            position = len(text) // 4 * 4 if wrong is None else wrong
            self.wrong_type = self.wrong_type or f"illegal base64 data at input byte {position}"
            raise _WrongTypeError from error

    def _wrong_type(self, found: str, wanted: str) -> str:
        if not self._names:
            return f"json: cannot unmarshal {found} into Go value of type {wanted}"
        place = f"{self._struct_name}.{'.'.join(self._names)}"
        return f"json: cannot unmarshal {found} into Go struct field {place} of type {wanted}"

    def _save(self, found: str, wanted: str) -> None:
        self.wrong_type = self.wrong_type or self._wrong_type(found, wanted)

    def _object_to(self, problem: str, name: str) -> None:
        path = "".join(self._path)
        message = f"{problem} field {quote(f'{path}.{name}' if path else name)}"
        if message not in self.strict_errors and len(self.strict_errors) < _MAX_STRICT_ERRORS:
            self.strict_errors.append(message)


_TYPE_META = _Field("", _Kind("string", "string"))


def _zero(kind: _Kind) -> Any:
    """Return the Go zero value: what null in a list gives."""
    if kind.shape == "struct":
        return kind.item()
    return {"string": "", "bool": False, "int": 0, "float": 0.0, "list": (), "map": {}}.get(kind.shape)


def _go_name(struct: type[Any]) -> str:
    name = _GO_NAMES.get(struct.__name__, struct.__name__)
    return f"v1alpha1.{name}" if name in _V1ALPHA1 else f"v1.{name}"


_FIELDS: dict[type, dict[str, _Field]] = {}


def _fields(struct: type[Any]) -> dict[str, _Field]:
    """Return the fields of a struct by their name on the wire."""
    if struct in _FIELDS:
        return _FIELDS[struct]
    hints = get_type_hints(struct, include_extras=True)
    fields: dict[str, _Field] = {}
    for attribute, name in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        kind = _kind(hints[attribute])
        shared = _SHARED_TYPES.get((struct, attribute))
        fields[name] = _Field(attribute, kind._replace(go_name=shared) if shared else kind)
    _FIELDS[struct] = fields
    return fields


def _kind(hint: Any) -> _Kind:
    """Read a type annotation."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _kind(next(option for option in get_args(hint) if option is not type(None)))
    if origin is Annotated:
        return _annotated_kind(hint)
    if origin is tuple:
        item = _kind(get_args(hint)[0])
        return _Kind("list", f"[]{item.go_name}", item)
    if origin is dict:
        item = _kind(get_args(hint)[1])
        return _Kind("map", f"map[string]{item.go_name}", item)
    if hint is Any:
        return _Kind("any", "")
    simple = {str: _Kind("string", "string"), bool: _Kind("bool", "bool"), bytes: _Kind("bytes", "[]uint8")}
    return simple.get(hint) or _Kind("struct", _go_name(hint), hint)


def _annotated_kind(hint: Any) -> _Kind:
    base, *notes = get_args(hint)
    go_type = next((note for note in notes if isinstance(note, GoType)), None)
    if go_type is None:
        bits = int(next(note.le for note in notes if isinstance(note, Meta)) or 0).bit_length() + 1
        return _Kind("int", f"int{bits}")
    if go_type.name == "v1.Duration":
        return _Kind("duration", go_type.name, is_pointer=go_type.is_pointer)
    return _Kind("float" if base is float else "string", go_type.name)
