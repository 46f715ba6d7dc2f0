"""Functions on strings in device expressions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from nodewise.devices.cel import list_functions
from nodewise.devices.cel.values import NO_SUCH_OVERLOAD, CelError, is_number, type_name

_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise CelError(NO_SUCH_OVERLOAD)
    return value


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise CelError(f"error parsing regexp: {error}") from error


def _matches(text: Any, pattern: Any) -> bool:
    return _pattern(_text(pattern)).search(_text(text)) is not None


def _find(text: Any, pattern: Any) -> str:
    match = _pattern(_text(pattern)).search(_text(text))
    return match[0] if match else ""


def _find_all(text: Any, pattern: Any, limit: int = -1) -> list[str]:
    found = [match[0] for match in _pattern(_text(pattern)).finditer(_text(text))]
    return found if limit < 0 else found[:limit]


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(_text(text)):
        raise CelError(f"index out of range: {position}")
    return text[position : position + 1]


def _index_of(value: Any, wanted: Any, offset: int = 0) -> int:
    if isinstance(value, (list, tuple)):
        return list_functions.index_of(value, wanted)
    text = _text(value)
    if wanted == "":
        return offset
    if not 0 <= offset < max(len(text), 1):
        raise CelError(f"index out of range: {offset}")
    return text.find(_text(wanted), offset)


def _last_index_of(value: Any, wanted: Any, offset: int | None = None) -> int:
    if isinstance(value, (list, tuple)):
        return list_functions.last_index_of(value, wanted)
    text = _text(value)
    if offset is None:
        return text.rfind(_text(wanted))
    if wanted == "":
        return offset
    if not 0 <= offset < max(len(text), 1):
        raise CelError(f"index out of range: {offset}")
    return text.rfind(_text(wanted), 0, offset + len(wanted))


def _join(items: Any, separator: str = "") -> str:
    return separator.join([_text(item) for item in items])


def _replace(text: Any, old: str, new: str, limit: int = -1) -> str:
    return _text(text).replace(old, new, limit)


def _split(text: Any, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator == "":
        letters = list(_text(text))
        return letters if limit < 0 or limit >= len(letters) else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
    return _text(text).split(separator, limit - 1 if limit > 0 else -1)


def _substring(text: Any, start: int, end: int | None = None) -> str:
    length = len(_text(text))
    if end is None:
        if not 0 <= start <= length:
            raise CelError(f"index out of range: {start}")
        return str(text[start:])
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    if start < 0 or start > length:
        raise CelError(f"index out of range: {start}")
    if end > length:
        raise CelError(f"index out of range: {end}")
    return str(text[start:end])


def double_text(value: float) -> str:
    """Return a double as Go's strconv writes it with format 'g'."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(value)
    mantissa, has_exponent, exponent = text.partition("e")
    if has_exponent:
        return f"{mantissa.removesuffix('.0')}e{exponent[0]}{exponent[1:].rjust(2, '0')}"
    return text.removesuffix(".0")


def _format(text: Any, arguments: Any) -> str:
    """Fill in %s and %d, the two clauses that are supported."""
    pieces, left = [], list(arguments)
    position = 0
    for match in re.finditer(r"%(%|s|d)", _text(text)):
        pieces.append(text[position : match.start()])
        position = match.end()
        if match[1] == "%":
            pieces.append("%")
            continue
        if not left:
            raise CelError("index 0 out of range")
        pieces.append(_formatted(match[1], left.pop(0)))
    return "".join([*pieces, text[position:]])


def _formatted(clause: str, value: Any) -> str:
    if clause == "d" and not (is_number(value) and not isinstance(value, float)):
        raise CelError(
            f"error during formatting: decimal clause can only be used on integers, was given {type_name(value)}"
        )
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, (str, int)):
        return str(value)
    raise CelError(f"error during formatting: string clause on {type_name(value)} is not supported")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "contains": lambda text, part: _text(part) in _text(text),
    "startsWith": lambda text, part: _text(text).startswith(_text(part)),
    "endsWith": lambda text, part: _text(text).endswith(_text(part)),
    "matches": _matches,
    "find": _find,
    "findAll": _find_all,
    "charAt": _char_at,
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "join": _join,
    "lowerAscii": lambda text: _text(text).translate(_LOWER),
    "upperAscii": lambda text: _text(text).translate(_UPPER),
    "trim": lambda text: _text(text).strip(),
    "replace": _replace,
    "split": _split,
    "substring": _substring,
    "format": _format,
    "strings.quote": lambda text: f'"{_text(text).translate(_QUOTED)}"',
}
