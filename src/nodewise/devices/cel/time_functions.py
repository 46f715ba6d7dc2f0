"""Functions on timestamps and durations in device expressions, by overload id."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from nodewise.devices.cel.go_text import trunc_div
from nodewise.devices.cel.times import NANOS, Duration, TimeError, Timestamp, wall_clock
from nodewise.devices.cel.values import Failure

_FIELDS: dict[str, Callable[[int, datetime], int]] = {
    "year": lambda year, moment: year,
    "month": lambda year, moment: moment.month - 1,
    "day_of_year": lambda year, moment: moment.timetuple().tm_yday - 1,
    "day_of_month": lambda year, moment: moment.day - 1,
    "day_of_month_1_based": lambda year, moment: moment.day,
    "day_of_week": lambda year, moment: moment.isoweekday() % 7,
    "hours": lambda year, moment: moment.hour,
    "minutes": lambda year, moment: moment.minute,
    "seconds": lambda year, moment: moment.second,
}


def _field(read: Callable[[int, datetime], int]) -> Callable[..., Any]:
    def run(timestamp: Timestamp, zone: str = "") -> Any:
        try:
            return read(*wall_clock(timestamp, zone))
        except TimeError as error:
            return Failure(str(error))

    return run


def _milliseconds(timestamp: Timestamp, zone: str = "") -> Any:
    try:
        wall_clock(timestamp, zone)
    except TimeError as error:
        return Failure(str(error))
    return timestamp.nanos // 1_000_000


def _in_units(unit_nanos: int) -> Callable[[Duration], int]:
    return lambda duration: duration.whole(unit_nanos)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"timestamp_to_{name}{zone}": _field(read) for name, read in _FIELDS.items() for zone in ("", "_with_tz")},
    "timestamp_to_seconds_tz": _field(_FIELDS["seconds"]),
    "timestamp_to_milliseconds": _milliseconds,
    "timestamp_to_milliseconds_with_tz": _milliseconds,
    "duration_to_hours": _in_units(3600 * NANOS),
    "duration_to_minutes": _in_units(60 * NANOS),
    "duration_to_seconds": _in_units(NANOS),
    "duration_to_milliseconds": lambda duration: trunc_div(duration.nanos, 1_000_000),
}
