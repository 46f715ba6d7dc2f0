"""Parsing: text to tree, by the library `cel-expr-python`, Google's C++ implementation, in the words of cel-go.

The library's parser has cel-go's grammar. Its type checker is not used: it knows neither loops over two variables nor
literals of one type alone, and does not tell which form of a function a call is, which costs depend on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from nodewise.devices.cel.libraries import CelLibraryError
from nodewise.devices.cel.nodes import Parsed, ParsedExprError, read_parsed
from nodewise.errors import NodewiseError

_PREFIX = "INVALID_ARGUMENT: "
_SUFFIX = " [INVALID_ARGUMENT]"
_MAX_SNIPPET_CHARS = 16_384
_MAX_ISSUES = 100
_NO_NAME = "argument must be a simple name"


class CompileError(NodewiseError):
    """An expression does not parse or type-check; the text is cel-go's."""


@dataclass(frozen=True, slots=True)
class Issue:
    """Something wrong with an expression.

    Attributes
    ----------
    offset : int
        Where, in code points.
    """

    offset: int
    message: str


def issues_text(text: str, issues: Iterable[Issue]) -> str:
    """Return all that is wrong as cel-go shows it, by line and column (Errors.ToDisplayString)."""
    ordered = sorted(issues, key=lambda issue: issue.offset)
    shown = [_issue_text(text, issue) for issue in ordered[:_MAX_ISSUES]]
    if len(ordered) > _MAX_ISSUES:
        shown.append(f"{len(ordered) - _MAX_ISSUES} more errors were truncated")
    return "\n".join(shown)


def _issue_text(text: str, issue: Issue) -> str:
    before = text[: issue.offset]
    line, column = before.count("\n"), issue.offset - (before.rfind("\n") + 1)
    snippet = text.split("\n")[line]
    shown = f"ERROR: <input>:{line + 1}:{column + 1}: {issue.message}"
    if len(snippet.encode()) > _MAX_SNIPPET_CHARS:
        return shown
    snippet = snippet.replace("\t", " ")
    dots = "".join(["." if letter.isascii() else "．" for letter in snippet[:column]])  # noqa: RUF001 - cel-go's
    mark = "^" if snippet[column : column + 1].isascii() else "＾"  # noqa: RUF001 - cel-go's
    return f"{shown}\n | {snippet}\n | {dots}{mark}"


def parse(text: str) -> Parsed:
    """Parse an expression and expand its macros.

    Raises
    ------
    CompileError
        It is wrong.
    CelLibraryError
        The library is missing.
    """
    try:
        compiled = _environment().compile(text, disable_check=True)
    except RuntimeError as error:
        raise CompileError(f"compilation failed: {_words_of_cel_go(str(error))}") from error
    try:
        parsed = read_parsed(compiled.serialize(), text)
    except ParsedExprError as error:
        raise CompileError(f"compilation failed: not supported: {error}") from error
    if parsed.infinite:
        # the library reads what is too large for a double as infinite
        issues = [Issue(parsed.positions.get(expr_id, 0), "invalid double literal") for expr_id in parsed.infinite]
        raise CompileError(f"compilation failed: {issues_text(text, issues)}")
    return parsed


_THEIR_WORDS = (
    (re.compile(r"has\(\) argument must be a field selection"), "invalid argument to has() macro"),
    (re.compile(r"(?:all|exists|exists_one)\(\) variable name must be a simple identifier"), _NO_NAME),
    (re.compile(r"(?:map|filter)\(\) variable name must be a simple identifier"), "argument is not an identifier"),
    (
        re.compile(r"cel\.bind\(\) variable name must be a simple identifier"),
        "cel.bind() variable names must be simple identifiers",
    ),
    (re.compile(r"\nERROR: <input>:4294967295:0: <<nil>> parsetree"), ""),
)
"""What the library says, and what cel-go says."""


def _words_of_cel_go(text: str) -> str:
    text = text.removeprefix(_PREFIX).removesuffix(_SUFFIX)
    for theirs, ours in _THEIR_WORDS:
        text = theirs.sub(ours, text)
    return text


@cache
def _environment() -> Any:
    try:
        from cel_expr_python import cel
        from cel_expr_python.ext import ext_bindings, ext_optional
    except ImportError as error:
        raise CelLibraryError(
            "device selectors need the library cel-expr-python, which cannot be imported: "
            f"{error}; expected it beside nodewise (pip install cel-expr-python)"
        ) from error
    return cel.NewEnv(extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional()])
