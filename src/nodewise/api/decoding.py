"""Typed decoding of one Kubernetes object from JSON, with errors that name the field and what stands there."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect as struct_inspect

from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.kinds import KINDS, Kind
from nodewise.api.objects import AnyObject, Object

_PATH = re.compile(r"^(?P<reason>.*?)(?: - at `(?P<key>key in )?\$?(?P<path>.*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[(\.\.\.)\]")
_EXPECTED = re.compile(r"^Expected `([^`]*)`(?:, got `([^`]*)`)?(.*)$", re.DOTALL)
_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
    "datetime": "an RFC 3339 time such as 2026-01-01T00:00:00Z",
}
_MAX_SHOWN_CHARS = 60


class DecodingError(InvalidFieldError):
    """One object that is not what its kind's schema says, at one field (empty when the whole text is bad)."""


@cache
def _decoder(struct: type[Object]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(struct, float_hook=str)


def decode_object(data: bytes | memoryview | msgspec.Raw, kind: Kind) -> AnyObject:
    """Decode one object; JSON null means absent, unknown fields are skipped.

    Raises
    ------
    DecodingError
        With the path of the first field whose value has a wrong type.
    """
    decoder = _decoder(kind.struct)
    try:
        return decoder.decode(data)  # type: ignore[no-any-return]
    except msgspec.ValidationError as error:
        return _decode_with_nulls_filled(data, kind, error)
    except RecursionError as error:
        raise DecodingError("", "is nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DecodingError("", f"is not valid JSON: {error}") from error


def _decode_with_nulls_filled(
    data: bytes | memoryview | msgspec.Raw, kind: Kind, first_error: msgspec.ValidationError
) -> AnyObject:
    """Decode again with every null replaced by what Go makes of it; explain what is still wrong."""
    try:
        tree = _TREE_DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _explained(first_error, None) from first_error
    if "null" not in str(first_error):
        raise _explained(first_error, tree) from first_error
    filled = _fill_nulls(tree, struct_inspect.type_info(kind.struct))
    try:
        return _decoder(kind.struct).decode(msgspec.json.encode(filled, enc_hook=_raw_float))  # type: ignore[no-any-return]
    except msgspec.ValidationError as error:
        raise _explained(error, filled) from error


class _FloatText:
    """A JSON float kept as its text, so that encoding it again changes nothing."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


_TREE_DECODER = msgspec.json.Decoder(float_hook=_FloatText)


def _raw_float(value: Any) -> msgspec.Raw:
    return msgspec.Raw(value.text.encode())


def _fill_nulls(value: Any, wanted: struct_inspect.Type) -> Any:
    """Return `value` without nulls: an absent field in a struct, Go's zero value in a list or map."""
    if isinstance(wanted, struct_inspect.UnionType):
        if value is None:
            return None
        wanted = next(t for t in wanted.types if not isinstance(t, struct_inspect.NoneType))
    if isinstance(wanted, struct_inspect.StructType) and isinstance(value, dict):
        types = {f.encode_name: f.type for f in wanted.fields}
        return {
            key: _fill_nulls(item, types[key]) if key in types else item
            for key, item in value.items()
            if item is not None
        }
    if isinstance(wanted, struct_inspect.DictType) and isinstance(value, dict):
        return {key: _fill_nulls(item, wanted.value_type) for key, item in value.items()}
    if isinstance(wanted, struct_inspect.VarTupleType) and isinstance(value, list):
        return [_fill_nulls(item, wanted.item_type) for item in value]
    if value is None and isinstance(wanted, struct_inspect.StructType):
        return {}
    if value is None and isinstance(wanted, struct_inspect.StrType):
        return ""
    return value


def _explained(error: msgspec.ValidationError, tree: Any) -> DecodingError:
    """Turn msgspec's words into a Kubernetes field path, what was found and what was expected."""
    match = _PATH.match(str(error))
    reason = match["reason"] if match else str(error)
    path, found = _walk(match["path"] or "" if match else "", tree, reason)
    expected = _EXPECTED.match(reason)
    if expected is None:
        return DecodingError(path, f"found {_shown(found)}: {reason[:1].lower()}{reason[1:]}")
    words = [_WORDS.get(name.strip(), name.strip()) for name in expected[1].split("|") if name.strip() != "null"]
    bound = expected[3].strip()
    wanted = " or ".join(words) + (f" {bound}" if bound else "")
    hint = ", put it in quotes" if expected[1].startswith("str") and expected[2] in ("int", "float", "bool") else ""
    return DecodingError(path, f"found {_shown(found, expected[2])}, expected {wanted}{hint}")


def _walk(path: str, tree: Any, reason: str) -> tuple[str, Any]:
    """Follow `path` into `tree`; a map key that msgspec leaves out is found by the kind of value it complains of."""
    shown, value = "", tree
    for name, position, any_key in _STEP.findall(path):
        if any_key:
            key = _offending_key(value, reason)
            shown += f"[{key}]"
            value = value.get(key) if isinstance(value, dict) else None
        elif position:
            shown += f"[{position}]"
            value = value[int(position)] if isinstance(value, list) and int(position) < len(value) else None
        else:
            shown += f".{name}" if shown else name
            value = value.get(name) if isinstance(value, dict) else None
    return shown, value


def _offending_key(value: Any, reason: str) -> str:
    expected = _EXPECTED.match(reason)
    if not isinstance(value, dict) or expected is None or expected[2] is None:
        return "..."
    return next((key for key, item in value.items() if _json_type(item) == expected[2]), "...")


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    for python_type, name in ((str, "str"), (int, "int"), (_FloatText, "float"), (list, "array"), (dict, "object")):
        if isinstance(value, python_type):
            return name
    return "?"


def _shown(value: Any, json_type: str | None = None) -> str:
    if isinstance(value, (dict, list)) or json_type in ("object", "array"):
        return _WORDS[json_type or _json_type(value)]
    if value is None:
        return _WORDS.get(json_type or "", json_type or "another value")
    text = msgspec.json.encode(value).decode() if isinstance(value, (str, bool)) else repr(value)
    if len(text) > _MAX_SHOWN_CHARS:
        text = text[: _MAX_SHOWN_CHARS - 3] + "..."
    kind = {"str": "the string ", "int": "the number ", "float": "the number ", "bool": ""}
    return kind.get(_json_type(value), "") + text


def kind_of(api_version: str, kind: str) -> Kind | None:
    """Return the readable kind of this name in this API version, if there is one."""
    known = KINDS.get(kind)
    return known if known is not None and api_version in known.api_versions else None
