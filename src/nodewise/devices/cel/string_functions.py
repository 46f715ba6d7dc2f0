"""Functions on strings in device expressions, by overload id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodewise.devices.cel import regular_expressions
from nodewise.devices.cel.regular_expressions import PatternError
from nodewise.devices.cel.string_format import FormatError, ValueFormatter, fill_in
from nodewise.devices.cel.values import NO_SUCH_OVERLOAD, Failure, shown

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
_GO_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def _out_of_range(position: int) -> Failure:
    return Failure(f"index out of range: {position}")


def _of_two_strings(run: Callable[[str, str], Any]) -> Callable[[Any, Any], Any]:
    """Make a function that tells by itself whether it got strings."""

    def checked(text: Any, part: Any) -> Any:
        return run(text, part) if isinstance(text, str) and isinstance(part, str) else NO_SUCH_OVERLOAD

    return checked


def _find(text: str, pattern: str) -> Any:
    return _searched(regular_expressions.first_match, pattern, text)


def _find_all(text: str, pattern: str, limit: int = -1) -> Any:
    return _searched(regular_expressions.all_matches, pattern, text, limit)


def _searched(search: Callable[..., Any], *args: Any) -> Any:
    try:
        return search(*args)
    except PatternError as error:
        return Failure(f"Illegal regex: {error}")


def _char_at(text: str, position: int) -> Any:
    return text[position : position + 1] if 0 <= position <= len(text) else _out_of_range(position)


def _index_of(text: str, wanted: str, offset: int = 0) -> Any:
    if offset < 0:
        return _out_of_range(offset)
    if not wanted:
        return min(offset, len(text))
    return text.find(wanted, offset) if offset < len(text) else -1


def _last_index_of(text: str, wanted: str, offset: int | None = None) -> Any:
    if offset is None:
        return text.rfind(wanted)
    if offset < 0:
        return _out_of_range(offset)
    if not wanted:
        return min(offset, len(text))
    return text.rfind(wanted, 0, offset + len(wanted)) if offset < len(text) else -1


def _join(items: list[Any], separator: str = "") -> Any:
    for item in items:
        if not isinstance(item, str):
            return Failure(f"join: invalid input: {shown(item)}")
    return separator.join(items)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    return text.replace(old, new, max(limit, -1) if limit <= len(text) + 1 else -1)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:
        letters = list(text)
        return letters if limit < 0 or limit >= len(letters) else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
    return text.split(separator, limit - 1 if 0 < limit <= len(text) + 1 else -1)


def _substring(text: str, start: int, end: int | None = None) -> Any:
    if end is None:
        return text[start:] if 0 <= start <= len(text) else _out_of_range(start)
    if start > end:
        return Failure(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        return _out_of_range(start)
    return text[start:end] if end <= len(text) else _out_of_range(end)


def _format(text: str, arguments: list[Any]) -> Any:
    try:
        return fill_in(text, ValueFormatter(arguments))[0]
    except FormatError as error:
        return Failure(str(error))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "contains_string": _of_two_strings(lambda text, part: part in text),
    "starts_with_string": _of_two_strings(lambda text, part: text.startswith(part)),
    "ends_with_string": _of_two_strings(lambda text, part: text.endswith(part)),
    "string_find_string": _find,
    "string_find_all_string": _find_all,
    "string_find_all_string_int": _find_all,
    "string_char_at_int": _char_at,
    "string_index_of_string": _index_of,
    "string_index_of_string_int": _index_of,
    "string_last_index_of_string": _last_index_of,
    "string_last_index_of_string_int": _last_index_of,
    "list_join": _join,
    "list_join_string": _join,
    "string_lower_ascii": lambda text: text.translate(_LOWER),
    "string_upper_ascii": lambda text: text.translate(_UPPER),
    "string_trim": lambda text: text.strip(_GO_SPACES),
    "string_replace_string_string": _replace,
    "string_replace_string_string_int": _replace,
    "string_split_string": _split,
    "string_split_string_int": _split,
    "string_substring_int": _substring,
    "string_substring_int_int": _substring,
    "string_format": _format,
    "strings_quote": lambda text: f'"{text.translate(_QUOTED)}"',
}
