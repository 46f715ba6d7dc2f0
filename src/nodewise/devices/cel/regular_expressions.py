"""Regular expressions with RE2's syntax and meaning, which Go's are too; the library is google-re2."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import Any

from nodewise.devices.cel.libraries import CelLibraryError

_CACHE_SIZE = 256
_GO_TEXTS = (
    ("missing ]", "missing closing ]"),
    ("missing )", "missing closing )"),
    ("unexpected )", "unexpected )"),
    ("invalid escape sequence", "invalid escape sequence"),
    ("invalid character class range", "invalid character class range"),
    ("invalid character class", "invalid character class"),
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("invalid repetition size", "invalid repeat count"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("invalid named capture group", "invalid named capture"),
    ("invalid UTF-8", "invalid UTF-8"),
)
"""What RE2 calls an error, and what Go calls it."""
_TRAILING_BACKSLASH = "trailing backslash at end of expression"


class PatternError(ValueError):
    """A text is no regular expression; the text is Go's."""


@lru_cache(_CACHE_SIZE)
def compile_pattern(pattern: str) -> Any:
    """Return a compiled regular expression (regexp.Compile).

    Raises
    ------
    PatternError
        It is none.
    CelLibraryError
        The library is missing.
    """
    re2 = _library()
    options = re2.Options()
    options.log_errors = False
    # \C would match a single byte, which Go refuses.
    if r"\C" in pattern.replace(r"\\", ""):
        raise PatternError("error parsing regexp: invalid escape sequence: `\\C`")
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise PatternError(f"error parsing regexp: {_go_text(_message(error), pattern)}") from error


def _message(error: Exception) -> str:
    text = error.args[0] if error.args else ""
    return text.decode() if isinstance(text, bytes) else str(text)


def _go_text(message: str, pattern: str) -> str:
    if message.startswith("trailing \\"):
        return f"{_TRAILING_BACKSLASH}: ``"
    for theirs, ours in _GO_TEXTS:
        if message.startswith(theirs):
            detail = message.removeprefix(theirs).removeprefix(": ")
            return f"{ours}: `{detail or pattern}`"
    return message


def is_match(pattern: str, text: str) -> bool:
    """Tell whether a text has a match in it (Regexp.MatchString)."""
    return compile_pattern(pattern).search(text) is not None


def first_match(pattern: str, text: str) -> str:
    """Return the leftmost match, "" when there is none (Regexp.FindString)."""
    match = compile_pattern(pattern).search(text)
    return str(match[0]) if match else ""


def all_matches(pattern: str, text: str, limit: int = -1) -> list[str]:
    """Return the matches that do not overlap, up to a limit unless it is negative (Regexp.FindAllString)."""
    compiled = compile_pattern(pattern)
    found: list[str] = []
    position, last_end = 0, -1
    while position <= len(text) and (limit < 0 or len(found) < limit):
        match = compiled.search(text, position)
        if match is None:
            break
        start, end = match.span()
        # an empty match right after another does not count
        if end > start or start != last_end:
            found.append(str(match[0]))
        position = end if end > start else end + 1
        last_end = end
    return found


def _library() -> ModuleType:
    try:
        import re2
    except ImportError as error:
        raise CelLibraryError(
            "regular expressions in device selectors need the library google-re2, which cannot be imported: "
            f"{error}; expected it beside nodewise (pip install google-re2)"
        ) from error
    library: ModuleType = re2
    return library
