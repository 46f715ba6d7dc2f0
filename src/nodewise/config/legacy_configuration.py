"""KubeSchedulerConfigurations of v1alpha1 to v1beta3: an algorithm source, or profiles with plugins that are gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodewise.config.errors import ConfigError
from nodewise.config.go_text import json_text, quote
from nodewise.config.legacy_names import (
    DEFAULT_PREDICATES,
    DEFAULT_PROVIDER,
    FIT,
    LEAST,
    MOST,
    PROVIDERS,
    RATIO,
)
from nodewise.config.legacy_profile import LegacyAlgorithm
from nodewise.config.model import FIELD_OF_POINT

Document = dict[str, Any]
ReadFile = Callable[[str], bytes]
"""Returns the content of a file that a configuration names."""

_STRATEGIES = {
    "NodeResourcesLeastAllocated": LEAST,
    "NodeResourcesMostAllocated": MOST,
    "RequestedToCapacityRatio": RATIO,
}
_RENAMED = {
    "SelectorSpread": "PodTopologySpread",
    "DefaultPodTopologySpread": "PodTopologySpread",
    "EBSLimits": "NodeVolumeLimits",
    "GCEPDLimits": "NodeVolumeLimits",
    "AzureDiskLimits": "NodeVolumeLimits",
    "CinderLimits": "NodeVolumeLimits",
}
_GONE = ("NodePreferAvoidPods", "NodeLabel", "ServiceAffinity", "NodeResourceLimits", "NodeResourcesResourceLimits")
_TOP_LEVEL = (
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "extenders",
)
_HANDLED = (
    "apiVersion",
    "kind",
    "profiles",
    "schedulerName",
    "algorithmSource",
    "hardPodAffinitySymmetricWeight",
    "disablePreemption",
    "bindTimeoutSeconds",
    "plugins",
    "pluginConfig",
)
# Until v1beta2 these weighed 1, and less than they do by default now.
_OLD_WEIGHTS = ("TaintToleration", "NodeAffinity", "InterPodAffinity")


def an_object(value: Any, path: str) -> Document:
    """Return an object; nothing is an empty one.

    Raises
    ------
    ConfigError
        When it is something else.
    """
    if value is not None and not isinstance(value, dict):
        raise ConfigError(f"{path}: found {json_text(value)}, expected an object")
    return value or {}


def objects(value: Any, path: str) -> list[Document]:
    """Return a list of objects; nothing is an empty one.

    Raises
    ------
    ConfigError
        When it is something else.
    """
    if value is not None and not isinstance(value, list):
        raise ConfigError(f"{path}: found {json_text(value)}, expected a list")
    return [an_object(item, f"{path}[{index}]") for index, item in enumerate(value or ())]


def top_level_fields(old: Document) -> tuple[Document, list[str]]:
    """Return what has kept its meaning above the profiles, and notes on what has not."""
    fields = {name: old[name] for name in _TOP_LEVEL if old.get(name) is not None}
    notes = [f"{name} has no successor" for name in old if name not in _TOP_LEVEL and name not in _HANDLED]
    election = fields.get("leaderElection")
    if isinstance(election, dict):
        renamed = {"lockObjectNamespace": "resourceNamespace", "lockObjectName": "resourceName"}
        moved = {renamed.get(name, name): value for name, value in election.items() if value not in (None, "")}
        if moved.get("resourceLock", "leases") != "leases":
            notes.append(f"leaderElection.resourceLock {moved['resourceLock']} has no successor: leases are used")
            moved["resourceLock"] = "leases"
        fields["leaderElection"] = moved
    return fields, notes


def provider_algorithm(name: str) -> LegacyAlgorithm:
    """Return what an algorithm provider selects (CreateFromProvider).

    Raises
    ------
    ConfigError
        With the text of older versions, when there was no such provider.
    """
    if name not in PROVIDERS:
        raise ConfigError(f"algorithm provider {quote(name)} is not registered")
    return LegacyAlgorithm(list(DEFAULT_PREDICATES), dict(PROVIDERS[name]))


def algorithm_source(old: Document, read_file: ReadFile) -> tuple[str, bytes]:
    """Return the name of the provider, or the text of the policy, that a v1alpha1 configuration is about.

    Raises
    ------
    ConfigError
        When the policy cannot be had: it stands in a ConfigMap, or its file cannot be read.
    """
    source = an_object(old.get("algorithmSource"), "algorithmSource")
    if source.get("policy") is None:
        return str(source.get("provider") or DEFAULT_PROVIDER), b""
    policy = an_object(source["policy"], "algorithmSource.policy")
    path = an_object(policy.get("file"), "algorithmSource.policy.file").get("path")
    if not path:
        raise ConfigError("algorithmSource.policy.configMap: a policy is read from files only; translate that instead")
    return "", read_file(str(path))


def translated_profile(old: Document, *, has_old_weights: bool) -> tuple[Document, list[str]]:
    """Return a profile of v1beta1 to v1beta3 with the plugins of v1, and notes on those that are gone."""
    notes: list[str] = []
    profile: Document = {"schedulerName": old["schedulerName"]} if old.get("schedulerName") else {}
    plugins = an_object(old.get("plugins"), "plugins")
    if "unreserve" in plugins:
        notes.append("plugins.unreserve has no successor: Reserve plugins take back what they reserved")
    new: Document = {}
    for point in FIELD_OF_POINT:
        if plugins.get(point) is not None:
            new[point] = _translated_set(point, an_object(plugins[point], f"plugins.{point}"), notes)
    strategy = _strategy(an_object(plugins.get("score"), "plugins.score"), new)
    if has_old_weights:
        named = {ref.get("name") for ref in new.get("multiPoint", {}).get("enabled", ())}
        weights = [{"name": name, "weight": 1} for name in _OLD_WEIGHTS if name not in named]
        multi_point = new.setdefault("multiPoint", {})
        multi_point["enabled"] = [*weights, *multi_point.get("enabled", ())]
        notes.append(f"weights are those of that version: {', '.join(_OLD_WEIGHTS)} 1")
    if new:
        profile["plugins"] = new
    configs = _translated_configs(objects(old.get("pluginConfig"), "pluginConfig"), strategy, notes)
    if configs:
        profile["pluginConfig"] = configs
    return profile, notes


def _translated_set(point: str, plugin_set: Document, notes: list[str]) -> Document:
    result: Document = {}
    for kind in ("enabled", "disabled"):
        refs: dict[str, Document] = {}
        for ref in objects(plugin_set.get(kind), f"plugins.{point}.{kind}"):
            name = str(ref.get("name", ""))
            if name in _STRATEGIES:
                continue
            if name in _GONE:
                if kind == "enabled":
                    notes.append(f"{name} at {point} has no successor")
                continue
            if name in _RENAMED and kind == "disabled":
                continue
            renamed = _RENAMED.get(name, name)
            if renamed != name:
                notes.append(f"{name} at {point}: {renamed} takes its place")
            refs.setdefault(renamed, {**ref, "name": renamed})
        if refs:
            result[kind] = list(refs.values())
    return result


def _strategy(score: Document, new: Document) -> str:
    """Return the scoring strategy that NodeResourcesFit needs, and have it score with the old plugin's weight."""
    enabled = [ref for ref in objects(score.get("enabled"), "enabled") if str(ref.get("name")) in _STRATEGIES]
    disabled = {str(ref.get("name")) for ref in objects(score.get("disabled"), "disabled")}
    result = new.setdefault("score", {}) if enabled or disabled & _STRATEGIES.keys() else {}
    if not enabled:
        if "NodeResourcesLeastAllocated" in disabled and "*" not in disabled:
            result["disabled"] = [*result.get("disabled", ()), {"name": FIT}]
        return ""
    chosen = max(enabled, key=lambda ref: ref["weight"] if isinstance(ref.get("weight"), int) else 1)
    fit = {"name": FIT} | ({"weight": chosen["weight"]} if chosen.get("weight") else {})
    result["enabled"] = [*result.get("enabled", ()), fit]
    return _STRATEGIES[chosen["name"]]


def _translated_configs(old: list[Document], strategy: str, notes: list[str]) -> list[Document]:
    configs: dict[str, Document] = {}
    scoring: Document = {"type": strategy} if strategy not in ("", LEAST) else {}
    for config in old:
        name, args = str(config.get("name", "")), dict(an_object(config.get("args"), "pluginConfig.args"))
        args.pop("apiVersion", None)
        args.pop("kind", None)
        if name in _STRATEGIES:
            if _STRATEGIES[name] == (strategy or LEAST):
                scoring.setdefault("type", _STRATEGIES[name])
                if args.get("resources"):
                    scoring["resources"] = args["resources"]
                if args.get("shape"):
                    scoring["requestedToCapacityRatio"] = {"shape": args["shape"]}
        elif name in _GONE:
            notes.append(f"arguments of {name} have no successor")
        else:
            configs[name] = {"name": name, "args": args}
    if scoring:
        fit = configs.setdefault(FIT, {"name": FIT, "args": {}})
        fit["args"].setdefault("scoringStrategy", scoring)
    return list(configs.values())
