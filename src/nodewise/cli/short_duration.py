"""Durations for people."""

from __future__ import annotations

from nodewise.config.durations import format_duration


def short_duration(seconds: float) -> str:
    """Return seconds as Go writes a duration, without fractions where it is long."""
    return format_duration(round(seconds) * 10**9 if seconds >= 100 else round(seconds * 1000) * 10**6)
