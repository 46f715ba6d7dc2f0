"""From a configuration to the plugins that run: one Framework per profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nodewise.config.extender_validation import with_ignored_resources
from nodewise.config.missing_state import filter_failures, score_failure
from nodewise.config.model import KubeSchedulerConfiguration, PluginRef, Plugins, Profile
from nodewise.config.plugins import IN_TREE_POINTS, Expanded, expand_profiles, in_tree_implements, needed_plugins
from nodewise.errors import NodewiseError, PluginError
from nodewise.framework.guard import describe, guarded
from nodewise.framework.plugin import EXTENSION_POINTS
from nodewise.framework.registry import Registry
from nodewise.runtime.failing_filter import FailingFilter
from nodewise.runtime.profile import Framework, implemented_points
from nodewise.scheduler.handle import SchedulerHandle

Placed = dict[str, list[tuple[Any, int]]]
"""Plugins with their weights by extension point, in the order they run."""


def build_frameworks(
    configuration: KubeSchedulerConfiguration,
    registry: Registry,
    handle: SchedulerHandle,
    added: Sequence[str] = (),
) -> dict[str, Framework]:
    """Make every profile's plugins and put them in their places, by scheduler name.

    Parameters
    ----------
    added : Sequence[str]
        Plugins that run in every profile besides those that it names, as if enabled under multiPoint.

    Raises
    ------
    ConfigError
        With kube-scheduler's text when the profiles do not fit together.
    """
    profiles = with_ignored_resources(configuration.profiles, configuration.extenders)
    profiles = tuple(_with_added(profile, added) for profile in profiles)
    configuration = msgspec.structs.replace(configuration, profiles=profiles)
    made = {profile.scheduler_name: _make_plugins(profile, registry, handle) for profile in profiles}
    points_of = {name: implemented_points(plugin) for plugins in made.values() for name, plugin in plugins.items()}

    def implements(name: str, point: str) -> bool:
        if name in IN_TREE_POINTS:
            return in_tree_implements(name, point)
        return point in points_of.get(name, ())

    frameworks: dict[str, Framework] = {}
    expanded = expand_profiles(configuration, tuple(EXTENSION_POINTS), implements, lambda name: name in registry)
    has_capacity_score = handle.feature_gates.enabled("StorageCapacityScoring")
    for profile in profiles:
        placed = _placed(made[profile.scheduler_name], expanded[profile.scheduler_name], points_of)
        named = {point: [ref.name for ref in refs] for point, refs in expanded[profile.scheduler_name].items()}
        frameworks[profile.scheduler_name] = Framework(
            profile.scheduler_name,
            profile.percentage_of_nodes_to_score,
            _with_failing_filters(placed, named),
            score_failure(named, () if has_capacity_score else ("VolumeBinding",)),
        )
    return frameworks


def _placed(plugins: Mapping[str, Any], expanded: Expanded, points_of: Mapping[str, frozenset[str]]) -> Placed:
    """Put a profile's plugins where they run, and tell those that want to know where that is."""
    placed: Placed = {
        # An in-tree plugin may be allowed at a point where, built this way, it has nothing to do.
        point: [(plugins[ref.name], ref.weight) for ref in refs if point in points_of[ref.name]]
        for point, refs in expanded.items()
    }
    for name, plugin in plugins.items():
        if name in IN_TREE_POINTS and hasattr(plugin, "placed"):
            plugin.placed(frozenset(point for point, refs in placed.items() if any(plugin is p for p, _ in refs)))
    return placed


def _with_failing_filters(placed: Placed, named: Mapping[str, Sequence[str]]) -> Placed:
    """Replace the filters that lack their PreFilter: they fail on every node, as kube-scheduler's do."""
    failing = {name: FailingFilter(name, text) for name, text in filter_failures(named).items()}
    if not failing:
        return placed
    looking = ("preFilter", "filter", "preScore", "score")
    kept = {
        point: [(plugin, weight) for plugin, weight in refs if point not in looking or plugin.name not in failing]
        for point, refs in placed.items()
    }
    kept["filter"] = [(failing.get(plugin.name, plugin), weight) for plugin, weight in placed["filter"]]
    return kept


def _with_added(profile: Profile, added: Sequence[str]) -> Profile:
    plugins = profile.plugins or Plugins()
    enabled = plugins.multi_point.enabled
    new = tuple(PluginRef(name) for name in added if name not in {ref.name for ref in enabled})
    multi_point = msgspec.structs.replace(plugins.multi_point, enabled=(*enabled, *new))
    return msgspec.structs.replace(profile, plugins=msgspec.structs.replace(plugins, multi_point=multi_point))


def _make_plugins(profile: Profile, registry: Registry, handle: SchedulerHandle) -> dict[str, Any]:
    """Make the plugins that a profile names; names that do not exist are left to the expansion to refuse."""
    names = [name for name in sorted(needed_plugins(profile)) if name in registry]
    return {name: _make_plugin(name, profile.args_of(name), registry, handle) for name in names}


def _make_plugin(name: str, args: Any, registry: Registry, handle: SchedulerHandle) -> Any:
    """Make one plugin; one that is not in-tree is kept from taking the scheduler down with it."""
    if name in IN_TREE_POINTS:
        return registry.make(name, args, handle)
    try:
        return guarded(registry.make(name, args, handle))
    except NodewiseError as error:
        raise PluginError(f'initializing plugin "{name}": {error}') from error
    except (Exception, SystemExit) as error:
        problem = describe(error, registry[name])
        raise PluginError(f'initializing plugin "{name}": {problem}') from error
