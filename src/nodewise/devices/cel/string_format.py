"""`"...".format([...])`: its clauses, for values at run time and for types before it.

Two formatters fill the same clauses: `ValueFormatter` here, and the type checks of `validators`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Protocol

from nodewise.devices.cel.conversions import to_double, to_string
from nodewise.devices.cel.go_text import quoted
from nodewise.devices.cel.times import Duration, Timestamp
from nodewise.devices.cel.values import Failure, TypeValue, Uint, key_value, type_name

_DEFAULT_PRECISION = 6
_CLAUSE = re.compile(r"%(?:(\.)([0-9]*))?(.?)", re.DOTALL)
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_INT_MAX_DIGITS = 19

TEXTS = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps, was given {}",
    "d": "decimal clause can only be used on integers, was given {}",
    "f": "fixed-point clause can only be used on doubles, was given {}",
    "e": "scientific clause can only be used on doubles, was given {}",
    "b": "only integers and bools can be formatted as binary, was given {}",
    "x": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "o": "octal clause can only be used on integers, was given {}",
}
"""By clause, what is said of a value of the wrong type."""


class FormatError(Exception):
    """A format string is wrong, or a value does not go with its clause."""


class Formatter(Protocol):
    """What is put where a clause stands."""

    n_arguments: int
    counts_first: bool
    """Whether missing arguments are noticed before a missing clause."""

    def fill(self, clause: str, precision: int, index: int) -> str:
        """Return the text for a clause, one of the letters `sdfebxXo`.

        Raises
        ------
        FormatError
            The argument is of the wrong type.
        """


def fill_in(text: str, formatter: Formatter) -> tuple[str, int]:
    """Return a format string with its clauses filled in, and how many there are (parseFormatString).

    Raises
    ------
    FormatError
        With the text of cel-go.
    """
    pieces: list[str] = []
    position = n_used = 0
    while (start := text.find("%", position)) >= 0:
        pieces.append(text[position:start])
        if text.startswith("%%", start):
            pieces.append("%")
            position = start + 2
            continue
        problems = [
            (n_used >= formatter.n_arguments, f"index {n_used} out of range"),
            (start + 1 >= len(text), "unexpected end of string"),
        ]
        for is_there, problem in problems if formatter.counts_first else reversed(problems):
            if is_there:
                raise FormatError(problem)
        match = _CLAUSE.match(text, start)
        assert match is not None
        precision = _precision_of(match)
        pieces.append(_filled(match[3], precision, n_used, formatter))
        position = match.end()
        n_used += 1
    return "".join([*pieces, text[position:]]), n_used


def _precision_of(match: re.Match[str]) -> int:
    if not match[1]:
        return _DEFAULT_PRECISION
    problem = ""
    if not match[3]:
        problem = "could not find end of precision specifier"
    elif not match[2]:
        problem = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
    elif len(match[2].lstrip("0")) >= _INT_MAX_DIGITS and int(match[2]) >= 2**63:
        problem = f'error while converting precision to integer: strconv.Atoi: parsing "{match[2]}": value out of range'
    if problem:
        raise FormatError(f"could not parse formatting clause: error while parsing precision: {problem}")
    return int(match[2])


def _filled(clause: str, precision: int, index: int, formatter: Formatter) -> str:
    if clause not in "sdfebxXo":
        shown = clause.encode()[:1].decode("latin-1")
        raise FormatError(f'could not parse formatting clause: unrecognized formatting clause "{shown}"')
    try:
        return formatter.fill(clause, precision, index)
    except FormatError as error:
        raise FormatError(f"error during formatting: {error}") from error


class ValueFormatter:
    """Puts values into a format string."""

    counts_first = True

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values
        self.n_arguments = len(values)

    def fill(self, clause: str, precision: int, index: int) -> str:
        """Return a value as a clause shows it."""
        value = self._values[index]
        if clause == "s":
            return _string(value)
        if clause == "d":
            return _decimal(value)
        if clause in "fe":
            return _fixed(value, precision) if clause == "f" else _scientific(value, precision)
        if clause == "b" and isinstance(value, bool):
            return str(int(value))
        if clause in "xX":
            return _hex(value) if clause == "x" else _hex(value).upper()
        if type_name(value) not in ("int", "uint"):
            raise _wrong(clause, value)
        return f"{value:{clause}}"


def _wrong(clause: str, value: Any) -> FormatError:
    return FormatError(TEXTS[clause].format(type_name(value)))


def _string(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return _list(value) if isinstance(value, list) else _map(value)
    if value is None:
        return "null"
    if not isinstance(value, (bool, int, float, str, bytes, Timestamp, Duration, TypeValue)):
        raise _wrong("s", value)
    text = to_string(value)
    if isinstance(text, Failure):
        raise FormatError(f"could not convert argument {quoted(text.text)} to string")
    return text


def _decimal(value: Any) -> str:
    if type_name(value) not in ("int", "uint"):
        raise _wrong("d", value)
    return str(int(value))


def _list(items: list[Any]) -> str:
    return f"[{', '.join([_nested(item) for item in items])}]"


def _map(entries: dict[Any, Any]) -> str:
    shown: list[tuple[str, str]] = []
    for stored, value in entries.items():
        key = key_value(stored)
        if not isinstance(key, (str, bool, int)):
            raise FormatError(f"no formatting function for map key of type {type_name(key)}")
        shown.append((_nested(key), _nested(value)))
    return "{" + ", ".join([f"{key}:{value}" for key, value in sorted(shown, key=_first)]) + "}"


def _first(pair: tuple[str, str]) -> bytes:
    return pair[0].encode()


def _nested(value: Any) -> str:
    """Return an element of a list or map as it is shown (clauseForType, quoteForCEL)."""
    if isinstance(value, float):
        text = "NaN" if value != value else f"{value:.6f}"
        if math.isinf(value):
            text = "+Inf" if value > 0 else "-Inf"
        return quoted(text) if math.isinf(value) or value != value else text
    if isinstance(value, (Timestamp, Duration)):
        kind = "timestamp" if isinstance(value, Timestamp) else "duration"
        return f"{kind}({quoted(str(value))})"
    if not isinstance(value, (bool, Uint, int, str, bytes, TypeValue, list, dict, type(None))):
        raise FormatError(f"no formatting function for {type_name(value)}")
    text = _string(value)
    if isinstance(value, str):
        return quoted(text)
    return f"b{quoted(text)}" if isinstance(value, bytes) else text


def _double(clause: str, value: Any) -> float:
    if not isinstance(value, float) and value not in ("NaN", "Infinity", "-Infinity"):
        raise _wrong(clause, value)
    number = to_double(value)
    assert isinstance(number, float)
    return number


def _special(number: float) -> str:
    if number != number:
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return ""


def _fixed(value: Any, precision: int) -> str:
    """Return a double in the American way, with commas between thousands."""
    number = _double("f", value)
    return _special(number) or f"{number or 0.0:,.{precision}f}"


def _scientific(value: Any, precision: int) -> str:
    """Return a double as 1.500000 times 10⁰³; what is written as precision is upstream's least width."""
    number = _double("e", value)
    text = _special(number)
    if not text:
        mantissa, _, exponent = f"{number or 0.0:.6e}".partition("e")
        text = f"{mantissa}×10{exponent.removeprefix('+').translate(_SUPERSCRIPTS)}"  # noqa: RUF001 - Go's
    return text.rjust(precision)


def _hex(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        return (value.encode() if isinstance(value, str) else value).hex()
    if type_name(value) not in ("int", "uint"):
        raise _wrong("x", value)
    return f"{value:x}"
