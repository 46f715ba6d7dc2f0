"""A configuration in force: what runs where, every value, and where each comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec.structs import replace

from nodewise.config.defaults import default_configuration_fields
from nodewise.config.encode import args_document, configuration_document, plugin_configs
from nodewise.config.extender_validation import with_ignored_resources
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.load import Written, decode_written
from nodewise.config.model import KubeSchedulerConfiguration, PluginRef, Plugins, Profile
from nodewise.config.plugins import Expanded, Implements, expand_profiles, in_tree_implements
from nodewise.config.positions import Lines, line_numbers
from nodewise.config.validation import check_configuration

DEFAULT = "default"
POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
)
"""Extension points in the order in which a pod meets them."""
_WEIGHED = ("score", "placementScore")


class Value(NamedTuple):
    """One value and where it comes from: `FILE:LINE`, or `default`."""

    path: str
    value: Any
    origin: str


class PluginInForce(NamedTuple):
    """A plugin at an extension point.

    Attributes
    ----------
    weight : int
        0 where scores are not added up.
    origin : str
        What put it there: `FILE:LINE`, with ` (multiPoint)` behind it when it is named for all points; or `default`.
    weight_origin : str
    """

    name: str
    weight: int
    origin: str
    weight_origin: str


class Disabled(NamedTuple):
    """A plugin that the file takes away, from one point or (multiPoint) all."""

    point: str
    name: str
    origin: str


@dataclass(slots=True)
class ProfileInForce:
    """One profile.

    Attributes
    ----------
    name : str
        The scheduler name.
    values : list[Value]
        Name and percentage.
    points : dict[str, list[PluginInForce]]
        In the order in which plugins run; only points that have any.
    disabled : list[Disabled]
    arguments : list[Value]
        Of the plugins that the profile makes; paths start with the plugin's name.
    """

    name: str
    values: list[Value] = field(default_factory=list)
    points: dict[str, list[PluginInForce]] = field(default_factory=dict)
    disabled: list[Disabled] = field(default_factory=list)
    arguments: list[Value] = field(default_factory=list)


@dataclass(slots=True)
class InForce:
    """Everything in force.

    Attributes
    ----------
    configuration : KubeSchedulerConfiguration
        With defaults.
    values : list[Value]
        Of fields outside profiles, extenders included.
    profiles : list[ProfileInForce]
    """

    configuration: KubeSchedulerConfiguration
    values: list[Value]
    profiles: list[ProfileInForce]


def configuration_in_force(
    data: bytes | None,
    source: str,
    gates: FeatureGates = DEFAULT_GATES,
    *,
    implements: Implements = in_tree_implements,
    exists: Callable[[str], bool] | None = None,
    has_lines: bool = True,
) -> InForce:
    """Read a configuration and find out what it comes to.

    Parameters
    ----------
    data
        Its text; None: kube-scheduler's defaults.
    source
        What origins call the file.
    implements, exists
        As for `expand`.
    has_lines
        Whether lines of the text mean something to its reader: not for a translation.

    Raises
    ------
    ConfigError
        With kube-scheduler's text.
    """
    written = Written(KubeSchedulerConfiguration(), is_first_named=False) if data is None else decode_written(data)
    lines = {} if data is None else line_numbers(data)
    origins = _Origins(source, lines, has_lines=has_lines)
    configuration = default_configuration_fields(written.configuration, gates, is_first_named=written.is_first_named)
    check_configuration(configuration, gates)
    profiles = with_ignored_resources(configuration.profiles, configuration.extenders)
    configuration = replace(configuration, profiles=profiles)
    expanded = expand_profiles(configuration, implements=implements, exists=exists)
    return _with_origins(configuration, written.configuration, expanded, origins)


def _with_origins(
    configuration: KubeSchedulerConfiguration,
    written: KubeSchedulerConfiguration,
    expanded: Mapping[str, Expanded],
    origins: _Origins,
) -> InForce:
    before = _values(configuration_document(written))
    values = [
        Value(path, value, origins.of(path, is_written=before.get(path) == value))
        for path, value in _values(configuration_document(configuration)).items()
    ]
    profiles = [
        _profile(index, profile, _written_profile(written, index), expanded[profile.scheduler_name], origins)
        for index, profile in enumerate(configuration.profiles)
    ]
    return InForce(configuration, values, profiles)


def flattened(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return every leaf of JSON values by its path; empty lists and objects are leaves."""
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from flattened(item, f"{path}.{name}" if path else name)
    elif isinstance(value, (list, tuple)) and value:
        for index, item in enumerate(value):
            yield from flattened(item, f"{path}[{index}]")
    else:
        yield path, value


@dataclass(frozen=True, slots=True)
class _Origins:
    source: str
    lines: Lines
    has_lines: bool

    def of(self, path: str, *, is_written: bool = True) -> str:
        """Return where the value of a path comes from."""
        line = self.lines.get(path)
        if line is None or not is_written:
            return DEFAULT
        return f"{self.source}:{line}" if self.has_lines else self.source


def _values(document: Mapping[str, Any]) -> dict[str, Any]:
    left_out = ("apiVersion", "kind", "profiles")
    return dict(flattened({name: value for name, value in document.items() if name not in left_out}))


def _written_profile(written: KubeSchedulerConfiguration, index: int) -> Profile:
    return written.profiles[index] if index < len(written.profiles) else Profile()


def _profile(index: int, profile: Profile, written: Profile, expanded: Expanded, origins: _Origins) -> ProfileInForce:
    path = f"profiles[{index}]"
    found = ProfileInForce(profile.scheduler_name)
    is_named = profile.scheduler_name == written.scheduler_name
    found.values.append(
        Value("schedulerName", profile.scheduler_name, origins.of(f"{path}.schedulerName", is_written=is_named))
    )
    if profile.percentage_of_nodes_to_score is not None:
        at = "percentageOfNodesToScore"
        found.values.append(Value(at, profile.percentage_of_nodes_to_score, origins.of(f"{path}.{at}")))
    plugins = written.plugins or Plugins()
    for point in POINTS:
        if expanded.get(point):
            found.points[point] = [_plugin(f"{path}.plugins", point, ref, plugins, origins) for ref in expanded[point]]
    for point in ("multiPoint", *POINTS):
        for position, ref in enumerate(plugins.at(point).disabled):
            at = f"{path}.plugins.{point}.disabled[{position}]"
            found.disabled.append(Disabled(point, ref.name, origins.of(at)))
    found.arguments = list(_arguments(path, profile, written, origins))
    return found


def _plugin(path: str, point: str, ref: PluginRef, plugins: Plugins, origins: _Origins) -> PluginInForce:
    """Find out what put a plugin where it runs, and what gave it its weight."""
    own = _position(plugins.at(point).enabled, ref.name)
    everywhere = _position(plugins.multi_point.enabled, ref.name)
    if own is not None:
        at = f"{path}.{point}.enabled[{own}]"
        origin = weight_at = origins.of(at)
    elif everywhere is not None:
        at = f"{path}.multiPoint.enabled[{everywhere}]"
        origin = weight_at = f"{origins.of(at)} (multiPoint)"
    else:
        at, origin, weight_at = "", DEFAULT, DEFAULT
    if point not in _WEIGHED:
        return PluginInForce(ref.name, 0, origin, "")
    written = None if own is None else plugins.at(point).enabled[own].weight
    if own is None and everywhere is not None:
        written = plugins.multi_point.enabled[everywhere].weight
    return PluginInForce(ref.name, ref.weight, origin, weight_at if written else DEFAULT)


def _position(refs: tuple[PluginRef, ...], name: str) -> int | None:
    return next((index for index, ref in enumerate(refs) if ref.name == name), None)


def _arguments(path: str, profile: Profile, written: Profile, origins: _Origins) -> Iterator[Value]:
    positions = {config.name: index for index, config in reversed(list(enumerate(written.plugin_config)))}
    for config in plugin_configs(profile):
        position = positions.get(config.name)
        before: dict[str, Any] = {}
        if position is not None:
            before = dict(flattened(args_document(config.name, written.plugin_config[position].args)))
        for name, value in flattened(args_document(config.name, config.args)):
            if not name:
                continue
            at = f"{path}.pluginConfig[{position}].args.{name}"
            is_written = position is not None and name in before and before[name] == value
            origin = origins.of(at, is_written=is_written)
            if origin == DEFAULT and name.startswith("ignoredResources"):
                origin = "extenders"  # their managedResources take the place of what is written here
            yield Value(f"{config.name}.{name}", value, origin)
