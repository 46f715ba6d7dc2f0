"""What differs between two configurations in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nodewise.config.in_force import POINTS, InForce, PluginInForce, ProfileInForce, Value

ABSENT = None


class Difference(NamedTuple):
    """One thing that differs.

    Attributes
    ----------
    where : str
        A field's path, or the profile's name with the extension point and plugin, or argument, behind it.
    first, second : object
        The value in either, as JSON; None: it is not there.
    is_order : bool
        Whether the values are names of plugins that both have, in different order.
    """

    where: str
    first: Any
    second: Any
    is_order: bool = False


def differences(first: InForce, second: InForce) -> list[Difference]:
    """Compare what two configurations come to, whatever their texts say.

    Plugins are compared by extension point: which there are, with which weight, and in which order.
    """
    found = list(_values("", first.values, second.values))
    profiles = {profile.name: profile for profile in second.profiles}
    for profile in first.profiles:
        other = profiles.pop(profile.name, None)
        if other is None:
            found.append(Difference(f"profile {profile.name}", "there", ABSENT))
        else:
            found += _profiles(profile, other)
    found += [Difference(f"profile {name}", ABSENT, "there") for name in profiles]
    return found


def _values(prefix: str, first: Iterable[Value], second: Iterable[Value]) -> Iterator[Difference]:
    before = {value.path: value.value for value in first}
    after = {value.path: value.value for value in second}
    for path in dict.fromkeys((*before, *after)):
        if before.get(path) != after.get(path) or (path in before) != (path in after):
            yield Difference(f"{prefix}{path}", before.get(path), after.get(path))


def _profiles(first: ProfileInForce, second: ProfileInForce) -> Iterator[Difference]:
    prefix = f"{first.name}: "
    yield from _values(prefix, first.values, second.values)
    for point in POINTS:
        yield from _points(f"{prefix}{point}", first.points.get(point, ()), second.points.get(point, ()))
    yield from _values(prefix, first.arguments, second.arguments)


def _points(where: str, first: Sequence[PluginInForce], second: Sequence[PluginInForce]) -> Iterator[Difference]:
    before, after = _weights(first), _weights(second)
    for name in dict.fromkeys((*before, *after)):
        if before.get(name) != after.get(name):
            yield Difference(f"{where} {name}", _shown(before, name), _shown(after, name))
    common = [name for name in before if name in after]
    reordered = [name for name in after if name in before]
    if common != reordered:
        yield Difference(f"{where} order", common, reordered, is_order=True)


def _weights(plugins: Sequence[PluginInForce]) -> dict[str, int]:
    return {plugin.name: plugin.weight for plugin in plugins}


def _shown(weights: Mapping[str, int], name: str) -> Any:
    """Return a weight, or that the plugin is there where there are no weights."""
    if name not in weights:
        return ABSENT
    return weights[name] or "there"
