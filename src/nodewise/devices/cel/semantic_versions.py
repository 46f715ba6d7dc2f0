"""Semantic versions as the library blang/semver reads and compares them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

from nodewise.devices.cel.go_text import quoted

_UINT64_MAX = 2**64 - 1
_NUMERIC = re.compile(r"0|[1-9][0-9]*")
_ALPHANUMERIC = re.compile(r"[0-9A-Za-z-]+")


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A semantic version; build metadata does not count in comparisons."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()
    build: tuple[str, ...] = ()

    def _key(self) -> tuple[Any, ...]:
        pre = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return (self.major, self.minor, self.patch, not self.pre, pre)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._key() == other._key()

    def __lt__(self, other: Semver) -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def parse_semver(text: str) -> Semver:
    """Read a version such as `1.2.3-rc.1+build`.

    Raises
    ------
    ValueError
        With the text of blang/semver.
    """
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    major, minor = (_number(part, name) for part, name in zip(parts[:2], ("Major", "Minor"), strict=True))
    patch_text, has_build, build_text = parts[2].partition("+")
    patch_text, has_pre, pre_text = patch_text.partition("-")
    patch = _number(patch_text, "Patch")
    pre = tuple(pre_text.split(".")) if has_pre else ()
    for part in pre:
        _check_pre_release(part)
    build = tuple(build_text.split(".")) if has_build else ()
    for part in build:
        if not part:
            raise ValueError("Build meta data is empty")
        if not _ALPHANUMERIC.fullmatch(part):
            raise ValueError(f"Invalid character(s) found in build meta data {quoted(part)}")
    return Semver(major, minor, patch, pre, build)


def normalize_semver(text: str) -> str:
    """Drop a leading v and leading zeros, and fill up short versions (normalizeAndParse).

    Raises
    ------
    ValueError
        A short version has more than numbers.
    """
    parts = text.removeprefix("v").split(".", 2)
    for position, part in enumerate(parts):
        if len(part) > 1:
            short = part.lstrip("0")
            parts[position] = short if short and "0" <= short[0] <= "9" else "0" + short
    if len(parts) < 3:
        if set(parts[-1]) & set("+-"):
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _number(text: str, name: str) -> int:
    if not all("0" <= letter <= "9" for letter in text):
        raise ValueError(f"Invalid character(s) found in {name.lower()} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{name} number must not contain leading zeroes {quoted(text)}")
    if not text:
        raise ValueError('strconv.ParseUint: parsing "": invalid syntax')
    if int(text) > _UINT64_MAX:
        raise ValueError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _check_pre_release(part: str) -> None:
    if not part:
        raise ValueError("Prerelease is empty")
    if part.isascii() and part.isdigit():
        if not _NUMERIC.fullmatch(part):
            raise ValueError(f"Numeric PreRelease version must not contain leading zeroes {quoted(part)}")
    elif not _ALPHANUMERIC.fullmatch(part):
        raise ValueError(f"Invalid character(s) found in prerelease {quoted(part)}")
