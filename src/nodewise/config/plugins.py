"""Which plugins run at which extension point of a profile, in which order and with which weight."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from nodewise.config.argument_validation import validate_fit_args
from nodewise.config.arguments import ARGS_OF, NodeResourcesFitArgs
from nodewise.config.default_plugins import default_multi_point
from nodewise.config.errors import ConfigError, aggregate
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.go_text import quote
from nodewise.config.model import (
    FIELD_OF_POINT,
    KubeSchedulerConfiguration,
    PluginRef,
    Plugins,
    PluginSet,
    Profile,
)

Implements = Callable[[str, str], bool]
"""Whether the plugin of this name implements the extension point of this name."""
Expanded = dict[str, tuple[PluginRef, ...]]
"""Plugins by extension point, in the order they run; weights are set where scores are added up."""

CONSTRUCTION_ORDER = (
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
)
"""All extension points, in the order in which kube-scheduler fills them (and so finds mistakes)."""

_FILTERS = frozenset({"preFilter", "filter"})
_SCORES = frozenset({"preScore", "score"})
IN_TREE_POINTS: dict[str, frozenset[str]] = {
    "SchedulingGates": frozenset({"preEnqueue"}),
    "PrioritySort": frozenset({"queueSort"}),
    "NodeName": _FILTERS,
    "NodeUnschedulable": _FILTERS,
    "TaintToleration": _FILTERS | _SCORES,
    "NodeAffinity": _FILTERS | _SCORES,
    "NodePorts": _FILTERS,
    "NodeResourcesFit": _FILTERS | _SCORES | {"placementScore"},
    "VolumeRestrictions": _FILTERS,
    "NodeVolumeLimits": _FILTERS,
    "VolumeBinding": _FILTERS | _SCORES | {"reserve", "preBind"},
    "VolumeZone": _FILTERS,
    "PodTopologySpread": _FILTERS | _SCORES,
    "InterPodAffinity": _FILTERS | _SCORES,
    "DynamicResources": _FILTERS | {"preEnqueue", "postFilter", "score", "reserve", "preBind", "podGroupPostFilter"},
    "DefaultPreemption": frozenset({"preEnqueue", "postFilter", "podGroupPostFilter"}),
    "NodeResourcesBalancedAllocation": _SCORES,
    "ImageLocality": frozenset({"score"}),
    "DefaultBinder": frozenset({"bind"}),
    "NodeDeclaredFeatures": _FILTERS,
    "DeferredPodScheduling": _FILTERS | {"permit"},
    "GangScheduling": frozenset({"preEnqueue", "permit"}),
    "TopologyPlacementGenerator": frozenset({"placementGenerate"}),
    "PodGroupPodsCount": frozenset({"placementScore"}),
}
"""Extension points of kube-scheduler's own plugins, those of gated features included."""

_MAX_SCORE = 100
_MAX_INT64 = 2**63 - 1


def in_tree_implements(plugin: str, point: str) -> bool:
    """Return whether kube-scheduler's plugin of this name implements the extension point."""
    return point in IN_TREE_POINTS.get(plugin, ())


# --- step A: a profile's plugins into the default ones ----------------------------------------------------------------


def merge_plugins(custom: Plugins | None, gates: FeatureGates = DEFAULT_GATES) -> Plugins:
    """Merge a profile's plugins into the default ones (mergePlugins)."""
    default = default_multi_point(gates)
    if custom is None:
        return Plugins(multi_point=PluginSet(default))
    merged = {
        attribute: merge_plugin_set(default if point == "multiPoint" else (), custom.at(point))
        for point, attribute in FIELD_OF_POINT.items()
    }
    return Plugins(**merged)


def merge_plugin_set(default: tuple[PluginRef, ...], custom: PluginSet) -> PluginSet:
    """Merge one point's plugins: a default that is enabled again keeps its place, unless it is disabled as well."""
    disabled = {ref.name for ref in custom.disabled}
    last_index = {ref.name: index for index, ref in enumerate(custom.enabled)}
    enabled: list[PluginRef] = []
    replacing: set[int] = set()
    for ref in () if "*" in disabled else default:
        if ref.name in disabled:
            continue
        index = last_index.get(ref.name)
        if index is None:
            enabled.append(ref)
        else:
            enabled.append(custom.enabled[index])
            replacing.add(index)
    enabled += [ref for index, ref in enumerate(custom.enabled) if index not in replacing]
    return PluginSet(tuple(enabled), tuple(PluginRef(ref.name) for ref in custom.disabled))


# --- step B: multiPoint to the single points --------------------------------------------------------------------------


def expand(
    profile: Profile,
    points: Collection[str] = CONSTRUCTION_ORDER,
    implements: Implements = in_tree_implements,
    exists: Callable[[str], bool] | None = None,
) -> Expanded:
    """Expand the merged plugins of a profile (NewFramework, expandMultiPointPlugins).

    Parameters
    ----------
    profile
        A profile after defaulting.
    points
        The extension points that the caller knows.
    implements
        Whether a plugin implements a point.
    exists
        Whether a plugin of this name is known; by default those of kube-scheduler, and those with any point.

    Raises
    ------
    ConfigError
        With kube-scheduler's text, without its `creating profile for scheduler name` in front.
    """
    plugins = profile.plugins or Plugins()
    ordered = [point for point in CONSTRUCTION_ORDER if point in points]

    def is_known(name: str) -> bool:
        return name in IN_TREE_POINTS or any(implements(name, point) for point in ordered)

    is_existing = exists or is_known
    _check_repeated_config(profile)
    for point in ordered:
        _check_point(point, plugins.at(point).enabled, implements, is_existing)
    expanded = {point: _expand_point(point, plugins, implements, is_existing) for point in ordered}
    _check_counts(profile.scheduler_name, expanded)
    for point, subject in (("score", "score"), ("placementScore", "placement score")):
        if point in expanded:
            weights = _weights(point, subject, plugins, implements)
            expanded[point] = tuple(PluginRef(ref.name, weights[ref.name]) for ref in expanded[point])
    return expanded


def expand_profiles(
    configuration: KubeSchedulerConfiguration,
    points: Collection[str] = CONSTRUCTION_ORDER,
    implements: Implements = in_tree_implements,
    exists: Callable[[str], bool] | None = None,
) -> dict[str, Expanded]:
    """Expand every profile, by scheduler name, with the checks between profiles (profile.NewMap).

    Raises
    ------
    ConfigError
        With kube-scheduler's text, `initializing profiles: ` in front.
    """
    expanded: dict[str, Expanded] = {}
    for profile in configuration.profiles:
        name = profile.scheduler_name
        try:
            check_plugin_args(profile)
            expanded[name] = expand(profile, points, implements, exists)
        except ConfigError as error:
            raise ConfigError(f"initializing profiles: creating profile for scheduler name {name}: {error}") from error
        _check_same_queue_sort(configuration.profiles[0], profile, expanded)
    return expanded


def needed_plugins(profile: Profile) -> frozenset[str]:
    """Return the names of all plugins that a profile makes (pluginsNeeded)."""
    plugins = profile.plugins or Plugins()
    return frozenset(ref.name for point in FIELD_OF_POINT for ref in plugins.at(point).enabled)


def _check_repeated_config(profile: Profile) -> None:
    seen: set[str] = set()
    for config in profile.plugin_config:
        if config.name in seen:
            raise ConfigError(f"repeated config for plugin {config.name}")
        seen.add(config.name)


def check_plugin_args(profile: Profile) -> None:
    """Check the arguments that kube-scheduler's plugins refuse when they are made.

    Raises
    ------
    ConfigError
        With kube-scheduler's text, `initializing plugin` in front.
    """
    for name in sorted(needed_plugins(profile) & ARGS_OF.keys()):
        args = profile.args_of(name)
        if args is None:
            # QUIRK: defaulting leaves out plugins that only podGroupPostFilter names.
            raise ConfigError(f"initializing plugin {quote(name)}: {_no_args_text(name)}")
        errors = validate_fit_args(args) if isinstance(args, NodeResourcesFitArgs) else []
        if errors:
            raise ConfigError(f"initializing plugin {quote(name)}: {aggregate(errors)}")


def _no_args_text(name: str) -> str:
    if name in ("DefaultPreemption", "DynamicResources"):
        return f"got args of type <nil>, want *{name}Args"
    wanted = "args are not" if name == "NodeAffinity" else "want args to be"
    return f"{wanted} of type {name}Args, got <nil>"


def _check_point(
    point: str, enabled: Iterable[PluginRef], implements: Implements, exists: Callable[[str], bool]
) -> None:
    """Check a point's own list (updatePluginList)."""
    seen: set[str] = set()
    for ref in enabled:
        if not exists(ref.name):
            raise ConfigError(f"{_go_interface(point)} {quote(ref.name)} does not exist")
        if not implements(ref.name, point):
            raise ConfigError(f"plugin {quote(ref.name)} does not extend {_go_interface(point)} plugin")
        if ref.name in seen:
            raise ConfigError(f"plugin {quote(ref.name)} already registered as {quote(_go_interface(point))}")
        seen.add(ref.name)


def _expand_point(
    point: str, plugins: Plugins, implements: Implements, exists: Callable[[str], bool]
) -> tuple[PluginRef, ...]:
    """Order one point: multiPoint plugins that the point names itself, the other multiPoint ones, the point's rest."""
    own = [ref.name for ref in plugins.at(point).enabled]
    disabled = {ref.name for ref in plugins.at(point).disabled}
    if "*" in disabled:
        return tuple(PluginRef(name) for name in own)
    overriding: set[str] = set()
    multi_point: list[str] = []
    for ref in plugins.multi_point.enabled:
        if not exists(ref.name):
            raise ConfigError(f"{_go_interface(point)} {quote(ref.name)} does not exist")
        if not implements(ref.name, point) or ref.name in disabled:
            continue
        if ref.name in own:
            overriding.add(ref.name)
        elif ref.name in multi_point:
            raise ConfigError(f"plugin {quote(ref.name)} already registered as {quote(_go_interface(point))}")
        else:
            multi_point.append(ref.name)
    first = [name for name in own if name in overriding]
    last = [name for name in own if name not in overriding]
    return tuple(PluginRef(name) for name in (*first, *multi_point, *last))


def _check_counts(scheduler_name: str, expanded: Mapping[str, tuple[PluginRef, ...]]) -> None:
    suffix = f"for profile with scheduler name {quote(scheduler_name)}"
    n_queue_sorts = len(expanded.get("queueSort", ()))
    if "queueSort" in expanded and n_queue_sorts != 1:
        raise ConfigError(f"only one queue sort plugin required {suffix}, but got {n_queue_sorts}")
    if "bind" in expanded and not expanded["bind"]:
        raise ConfigError(f"at least one bind plugin is needed {suffix}")
    if len(expanded.get("placementGenerate", ())) > 1:
        raise ConfigError(f"at most one placement generate plugin is allowed {suffix}")


def _weights(point: str, subject: str, plugins: Plugins, implements: Implements) -> dict[str, int]:
    """Return weights by plugin: the point's own list counts before multiPoint, 0 is 1 (getValidScoreWeights)."""
    weights: dict[str, int] = {}
    total = 0
    for ref in (*plugins.at(point).enabled, *plugins.multi_point.enabled):
        if ref.name in weights or not implements(ref.name, point):
            continue
        weights[ref.name] = ref.weight or 1
        room = (_MAX_INT64 - total + 2**63) % 2**64 - 2**63  # Go's int64 wraps once a negative weight came before
        if weights[ref.name] * _MAX_SCORE > room:
            raise ConfigError(f"{subject} plugins: total score of Score plugins could overflow")
        total += weights[ref.name] * _MAX_SCORE
    return weights


def _check_same_queue_sort(first: Profile, profile: Profile, expanded: Mapping[str, Expanded]) -> None:
    """Check that all profiles sort the queue alike (cfgValidator.validate)."""
    name = profile.scheduler_name
    if "queueSort" not in expanded[name]:
        return
    wanted = expanded[first.scheduler_name]["queueSort"][0].name
    found = expanded[name]["queueSort"][0].name
    if found != wanted:
        raise ConfigError(
            "initializing profiles: different queue sort plugins for profile "
            f"{quote(name)}: {quote(found)}, first: {quote(wanted)}"
        )
    if first.args_of(wanted) != profile.args_of(found):
        raise ConfigError(f"initializing profiles: different queue sort plugin args for profile {quote(name)}")


def _go_interface(point: str) -> str:
    return f"{point[0].upper()}{point[1:]}Plugin"
