"""What a plain YAML scalar means to go-yaml v2, which kube-scheduler reads its configuration with."""

from __future__ import annotations

import re

_CONSTANTS: dict[str, bool | float | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII)
_BASES = (16, 2, 8, 10)


def resolve_plain(text: str) -> str | int | float | bool | None:
    """Return the value of an unquoted scalar: no base 60, and a date stays text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in "0123456789+-.":
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    if match := _INTEGER.fullmatch(plain):
        sign, *digits = match.groups()
        value = next(int(group, base) for group, base in zip(digits, _BASES, strict=True) if group is not None)
        value = -value if sign == "-" else value
        if -(2**63) <= value < (2**63 if sign else 2**64):
            return value
    if _FLOAT.fullmatch(plain) and abs(number := float(plain)) != float("inf"):
        return number
    return text
