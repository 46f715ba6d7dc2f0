"""Device selectors with other words in them that select the same devices."""

from __future__ import annotations

import ast
import re
from functools import cache

from nodewise.cluster.anonymous_words import AnonymousWords
from nodewise.devices.cel.declarations import declarations

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*)"
    r"|(?P<text>[rRbB]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'))"
    r"|(?P<call>[A-Za-z_]\w*(?=\s*\())"
    r"|(?P<member>(?<=\.)\s*[A-Za-z_]\w*|(?<=\.\?)\s*[A-Za-z_]\w*|`[^`\n]*`)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<number>0x[0-9a-fA-F]+u?|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?u?)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_KEYWORDS = frozenset({"device", "true", "false", "null", "in"})
_MACROS = frozenset({"has", "all", "exists", "exists_one", "existsOne", "map", "filter", "cel", "bind", "sortBy"})
_MORE_MACROS = frozenset({"transformList", "transformMap", "transformMapEntry", "optional", "optMap", "optFlatMap"})
_PARSERS = frozenset({"quantity", "isQuantity", "semver", "isSemver", "duration", "timestamp", "int", "double", "uint"})
_AMOUNT = re.compile(r"[-+]?(?:\d[\d.]*(?:e[-+]?\d+|[kKMGTPE]i?|ms|us|ns|[munsh])?)+|\d{4}-\d\d-\d\dT[\d:.]+Z")
_LOOKS_INTO_TEXT = re.compile(
    r"\.\s*(?:startsWith|endsWith|contains|matches|find|findAll|replace|split|substring|indexOf|lastIndexOf|charAt|"
    r"lowerAscii|upperAscii|trim|reverse)\s*\("
)


def looks_into_texts(expression: str) -> bool:
    """Tell whether a selector asks for more of a text than whether it is another one."""
    return _LOOKS_INTO_TEXT.search(expression) is not None


def anonymous_selector(words: AnonymousWords, expression: str) -> str:
    """Replace texts and names in a CEL expression; amounts, versions and functions stay, comments go."""
    out: list[str] = []
    before: list[str] = []
    for token in _TOKEN.finditer(expression):
        kind, text = token.lastgroup, token[0]
        if kind == "comment":
            continue
        if kind == "text":
            is_parsed = before[-1:] == ["("] and not _PARSERS.isdisjoint(before[-2:-1])
            text = _anonymous_text(words, text, is_parsed=is_parsed)
        elif kind == "member":
            text = words.word(text.strip().strip("`"))
        elif kind in ("call", "name") and text not in _public_names():
            text = words.word(text)
        out.append(text)
        if text.strip():
            before.append(text)
    return "".join(out)


@cache
def _public_names() -> frozenset[str]:
    """Return the names that mean the same in every selector: those of functions and what they belong to."""
    functions = {part for function in declarations() for part in function.split(".")}
    return _KEYWORDS | _MACROS | _MORE_MACROS | functions


def _anonymous_text(words: AnonymousWords, literal: str, *, is_parsed: bool) -> str:
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        value = literal
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    if not is_parsed:
        text = words.word(text)
    elif not _AMOUNT.fullmatch(text):
        text = words.version(text)
    prefix = "b" if isinstance(value, bytes) else ""
    return f'{prefix}"{text}"'
