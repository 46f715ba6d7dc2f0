"""What a plain YAML scalar means: the rules of go-yaml v2, which kubectl and kube-scheduler read by."""

from __future__ import annotations

import base64
import binascii
import math
import re
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_CONSTANTS: dict[str, Scalar] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))",
    re.ASCII,
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_MAX_DIGITS = 400
_TAG_PREFIX = "tag:yaml.org,2002:"


@lru_cache(maxsize=1 << 16)
def resolve_plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar without a tag: timestamps stay text, there is no base 60."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "0123456789+-.":
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    if text[0] != "." and (integer := _resolve_integer(plain)) is not None:
        return integer
    if len(plain) <= _MAX_DIGITS and _FLOAT.fullmatch(plain) and math.isfinite(number := float(plain)):
        return number
    return text


def _resolve_integer(plain: str) -> int | None:
    match = _INTEGER.fullmatch(plain) if len(plain) <= _MAX_DIGITS else None
    if match is None or match.lastgroup is None:
        return None
    value = int(match[match.lastgroup], _BASES[match.lastgroup])
    if match["sign"] == "-":
        value = -value
    # ParseUint, Go's second try, takes no sign.
    in_range = -(2**63) <= value < 2**63 or (not match["sign"] and value < 2**64)
    return value if in_range else None


def whole_number(number: float) -> int | float:
    """Return a float as Go's encoding/json writes it: without a fraction when it has none."""
    if number.is_integer() and abs(number) < 2**63:
        return int(Decimal(repr(number)))
    return number


def resolve_tagged(tag: str, text: str, *, is_plain: bool) -> Scalar:
    """Return the value of a scalar with an explicit tag.

    Raises
    ------
    ValueError
        When the text is not what the tag says.
    """
    name = tag.removeprefix(_TAG_PREFIX) if tag.startswith(_TAG_PREFIX) else tag
    if name == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError) as error:
            raise ValueError("!!binary value contains invalid base64 data") from error
    if name == "null":
        return None
    if name not in ("bool", "int", "float"):
        return text
    value = resolve_plain(text)
    is_right = {
        "bool": isinstance(value, bool),
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": isinstance(value, (int, float)) and not isinstance(value, bool),
    }[name]
    if not is_right:
        raise ValueError(f"cannot decode {text[:40]!r} as a !!{name}")
    return value


def key_text(key: Scalar) -> str:
    """Return a mapping key as JSON wants it, a string.

    Raises
    ------
    ValueError
        For a null key, which JSON has no way to write.
    """
    if isinstance(key, str):
        return key
    if key is None:
        raise ValueError("a mapping key is null")
    if isinstance(key, bool):
        return "true" if key else "false"
    return f"{key:g}" if isinstance(key, float) else str(key)
