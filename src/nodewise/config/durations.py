"""Durations as Go writes them: `1h30m`, `1.5ms`; nanoseconds inside."""

from __future__ import annotations

import re
from decimal import Decimal

_NS_OF_UNIT = {
    "ns": 1,
    "us": 10**3,
    "\u00b5s": 10**3,
    "\u03bcs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"(?P<number>[0-9]*(?:\.[0-9]*)?)(?P<unit>[^0-9.]*)", re.ASCII)
_MAX_NS = 2**63


def parse_duration(text: str) -> int:
    """Return nanoseconds (time.ParseDuration).

    Raises
    ------
    ValueError
        With Go's text.
    """
    invalid = ValueError(f"time: invalid duration {_quote(text)}")
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = 0
    while rest:
        match = _PART.match(rest)
        if match is None or match["number"] in ("", "."):
            raise invalid
        unit = match["unit"]
        if not unit:
            raise ValueError(f"time: missing unit in duration {_quote(text)}")
        if unit not in _NS_OF_UNIT:
            raise ValueError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")
        number = match["number"]
        whole = int(number.split(".")[0] or "0") * _NS_OF_UNIT[unit]
        fraction = number.partition(".")[2]
        total += whole + int(Decimal(f"0.{fraction or '0'}") * _NS_OF_UNIT[unit])
        if total > (_MAX_NS if sign < 0 else _MAX_NS - 1):
            raise invalid
        rest = rest[match.end() :]
    return sign * total


def format_duration(duration_ns: int) -> str:
    """Write nanoseconds as Go's Duration.String does."""
    if duration_ns == 0:
        return "0s"
    sign, amount = ("-", -duration_ns) if duration_ns < 0 else ("", duration_ns)
    if amount < 10**9:
        unit = "ns" if amount < 10**3 else "\u00b5s" if amount < 10**6 else "ms"
        return f"{sign}{_decimal(amount, _NS_OF_UNIT[unit])}{unit}"
    minutes, ns = divmod(amount, _NS_OF_UNIT["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(ns, 10**9)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    if hours:
        text = f"{hours}h{text}"
    return sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    fraction = f"{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


def _quote(text: str) -> str:
    """Quote as package time does: anything but plain ASCII as bytes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(_ascii(char) for char in escaped) + '"'


def _ascii(char: str) -> str:
    return char if " " <= char < "\x80" else "".join(f"\\x{byte:02x}" for byte in char.encode())
