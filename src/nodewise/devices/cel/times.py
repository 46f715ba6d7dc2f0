"""Timestamps and durations: to the nanosecond, timestamps with the offset that they were written with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import total_ordering
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from nodewise.devices.cel.go_text import plain_double_text, quoted

NANOS = 1_000_000_000
MIN_UNIX_S, MAX_UNIX_S = -62_135_596_800, 253_402_300_799
_INT64_MAX = 2**63 - 1
_EPOCH = datetime(1970, 1, 1)
_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)", re.ASCII)
_UNIT_NANOS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": NANOS,
    "m": 60 * NANOS,
    "h": 3600 * NANOS,
}
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]+)")


class TimeError(ValueError):
    """A text is no time, duration or time zone; the text is Go's."""


@total_ordering
@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time.

    Attributes
    ----------
    nanos : int
        Within int64.
    """

    nanos: int

    def __lt__(self, other: Duration) -> bool:
        return self.nanos < other.nanos

    def __str__(self) -> str:
        return plain_double_text(self.seconds()) + "s"

    def go_text(self) -> str:
        """Return the span as Go shows it, such as `1h0m1.5s` (time.Duration.String)."""
        sign, nanos = "-" if self.nanos < 0 else "", abs(self.nanos)
        for unit, unit_nanos in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
            if 0 < nanos < unit_nanos * 1_000:
                return f"{sign}{plain_double_text(nanos / unit_nanos)}{unit}"
        minutes, rest = divmod(nanos, 60 * NANOS)
        seconds = f"{rest // NANOS}.{rest % NANOS:09d}".rstrip("0").rstrip(".")
        hours, minutes = divmod(minutes, 60)
        shown_minutes = f"{minutes}m" if hours or minutes else ""
        return f"{sign}{f'{hours}h' if hours else ''}{shown_minutes}{seconds}s"

    def seconds(self) -> float:
        """Return the span in seconds (time.Duration.Seconds)."""
        return self._in(NANOS)

    def _in(self, unit_nanos: int) -> float:
        whole = abs(self.nanos) // unit_nanos * (1 if self.nanos >= 0 else -1)
        return float(whole) + float(self.nanos - whole * unit_nanos) / unit_nanos

    def whole(self, unit_nanos: int) -> int:
        """Return how many whole units there are, rounded towards zero."""
        return int(self._in(unit_nanos))


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Timestamp:
    """A moment.

    Attributes
    ----------
    unix_s, nanos : int
        Seconds since 1970, and nanoseconds of that second.
    offset_s : int
        East of UTC, as written; it does not count in comparisons.
    """

    unix_s: int
    nanos: int = 0
    offset_s: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and (self.unix_s, self.nanos) == (other.unix_s, other.nanos)

    def __hash__(self) -> int:
        return hash((self.unix_s, self.nanos))

    def __lt__(self, other: Timestamp) -> bool:
        return (self.unix_s, self.nanos) < (other.unix_s, other.nanos)

    def __str__(self) -> str:
        fraction = f".{self.nanos:09d}".rstrip("0") if self.nanos else ""
        year, rest = _calendar(self.unix_s + self.offset_s)
        return f"{year:04d}-{rest:%m-%dT%H:%M:%S}{fraction}{_offset_text(self.offset_s)}"

    def go_text(self) -> str:
        """Return the moment as Go shows it (time.Time.String)."""
        fraction = f".{self.nanos:09d}".rstrip("0") if self.nanos else ""
        year, rest = _calendar(self.unix_s + self.offset_s)
        return f"{year:04d}-{rest:%m-%d %H:%M:%S}{fraction} {_go_offset(self.offset_s)}"


_CYCLE_YEARS, _CYCLE_S = 400, 146_097 * 86_400


def _go_offset(offset_s: int) -> str:
    text = _offset_text(offset_s).replace(":", "") if offset_s else "+0000"
    return f"{text} {text if offset_s else 'UTC'}"


def _calendar(wall_s: int) -> tuple[int, datetime]:
    """Return the year, and a moment that is like it but for the year, as some years are out of datetime's reach."""
    cycles = -1 if wall_s > MAX_UNIX_S else 1 if wall_s < MIN_UNIX_S else 0
    moment = _EPOCH + timedelta(seconds=wall_s + cycles * _CYCLE_S)
    return moment.year - cycles * _CYCLE_YEARS, moment


def _offset_text(offset_s: int) -> str:
    if offset_s == 0:
        return "Z"
    minutes = abs(offset_s) // 60
    return f"{'-' if offset_s < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def parse_timestamp(text: str) -> Timestamp:
    """Read a timestamp such as `2026-01-02T03:04:05.6+02:00` (time.Parse with RFC3339).

    Raises
    ------
    TimeError
        It is none, with an empty text.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise TimeError("")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        # a year that is like year 0, which Python lacks
        moment = datetime(year or 400, month, day, hour, minute, second)
    except ValueError as error:
        raise TimeError("") from error
    unix_s = (moment - _EPOCH) // timedelta(seconds=1) - (0 if year else _CYCLE_S)
    offset_s = 0
    if match[8] != "Z":
        hours, minutes = int(match[8][1:3]), int(match[8][4:])
        if hours > 24 or minutes > 60:
            raise TimeError("")
        offset_s = (hours * 60 + minutes) * 60 * (-1 if match[8][0] == "-" else 1)
    nanos = int((match[7] or "0")[:9].ljust(9, "0"))
    return Timestamp(unix_s - offset_s, nanos, offset_s)


def parse_duration(text: str) -> Duration:
    """Read a duration such as `1h30m` (time.ParseDuration).

    Raises
    ------
    TimeError
        It is none, with an empty text.
    """
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return Duration(0)
    if not rest:
        raise TimeError("")
    total = position = 0
    while position < len(rest):
        match = _DURATION_PART.match(rest, position)
        if match is None or not (match[1] or match[2]) or match[3] not in _UNIT_NANOS:
            raise TimeError("")
        total += _part_nanos(match[1], match[2] or "", _UNIT_NANOS[match[3]])
        if total > _INT64_MAX + 1:
            raise TimeError("")
        position = match.end()
    if text[0] == "-":
        return Duration(-total)
    if total > _INT64_MAX:
        raise TimeError("")
    return Duration(total)


def _part_nanos(whole: str, fraction: str, unit: int) -> int:
    nanos = int(whole or "0") * unit
    if nanos > _INT64_MAX + 1:
        raise TimeError("")
    value, scale = 0, 1.0
    for digit in fraction:
        if value > _INT64_MAX // 10 or value * 10 + int(digit) > _INT64_MAX + 1:
            break
        value, scale = value * 10 + int(digit), scale * 10
    return nanos + int(float(value) * (float(unit) / scale)) if value else nanos


def wall_clock(timestamp: Timestamp, zone: str = "") -> tuple[int, datetime]:
    """Return what a clock in a time zone shows: the year, and a moment of which all but the year counts.

    Raises
    ------
    TimeError
        There is no such zone; with Go's text.
    """
    return _calendar(timestamp.unix_s + _offset_s(zone, timestamp.unix_s))


def _offset_s(zone: str, unix_s: int) -> int:
    if ":" in zone:
        hours, minutes = (_offset_part(part) for part in zone.split(":", 1))
        return 60 * (hours * 60 - minutes if zone[0] == "-" else hours * 60 + minutes)
    # Local is the zone of the scheduler's container, which is UTC.
    if zone in ("", "UTC", "Local"):
        return 0
    if ".." in zone or zone[0] in "/\\":
        raise TimeError("time: invalid location name")
    try:
        found = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise TimeError(f"unknown time zone {zone}") from error
    offset = _within_reach(unix_s).astimezone(found).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _within_reach(unix_s: int) -> datetime:
    """Return a moment, or the nearest one that can be told in every zone."""
    low, high = MIN_UNIX_S + 2 * 86_400, MAX_UNIX_S - 2 * 86_400
    return (_EPOCH + timedelta(seconds=min(max(unix_s, low), high))).replace(tzinfo=UTC)


_FIXED_PART = re.compile(r"[+-]?[0-9]+")


def _offset_part(text: str) -> int:
    if not _FIXED_PART.fullmatch(text):
        raise TimeError(f"strconv.Atoi: parsing {quoted(text)}: invalid syntax")
    if abs(int(text)) > _INT64_MAX:
        raise TimeError(f"strconv.Atoi: parsing {quoted(text)}: value out of range")
    return int(text)
