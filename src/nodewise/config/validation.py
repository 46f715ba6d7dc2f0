"""Checks of a whole configuration after defaulting (ValidateKubeSchedulerConfiguration)."""

from __future__ import annotations

from typing import Any

from nodewise.config.argument_validation import args_errors
from nodewise.config.durations import format_duration
from nodewise.config.errors import ConfigError
from nodewise.config.extender_validation import extender_errors
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.field_messages import duplicate, invalid, required
from nodewise.config.go_text import json_text, quote
from nodewise.config.model import (
    API_VERSION,
    KubeSchedulerConfiguration,
    LeaderElectionConfiguration,
    Plugins,
    PluginSet,
    Profile,
)

_REMOVED_PLUGINS = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
_REMOVED = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
_CHECKED_POINTS = (
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
    "podGroupPostFilter",
)


def check_configuration(configuration: KubeSchedulerConfiguration, gates: FeatureGates = DEFAULT_GATES) -> None:
    """Refuse a configuration that kube-scheduler refuses.

    Raises
    ------
    ConfigError
        With everything that is wrong.
    """
    errors = validate_configuration(configuration, gates)
    if errors:
        raise ConfigError(errors)


def validate_configuration(configuration: KubeSchedulerConfiguration, gates: FeatureGates = DEFAULT_GATES) -> list[str]:
    """Return everything that is wrong, in kube-scheduler's order and words."""
    errors: list[str] = []
    if configuration.client_connection.burst < 0:
        burst = configuration.client_connection.burst
        errors.append(invalid("clientConnection.burst", burst, "must be non-negative"))
    errors += _leader_election_errors(configuration.leader_election)
    if configuration.parallelism <= 0:
        detail = "should be an integer value greater than zero"
        errors.append(invalid("parallelism", configuration.parallelism, detail))
    errors += _profiles_errors(configuration.profiles, gates)
    errors += _percentage_errors("percentageOfNodesToScore", configuration.percentage_of_nodes_to_score)
    initial, longest = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
    if initial <= 0:
        errors.append(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if longest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        errors.append(invalid("podMaxBackoffSeconds", longest, detail))
    errors += extender_errors(configuration.extenders)
    return errors


def _leader_election_errors(election: LeaderElectionConfiguration) -> list[str]:
    if not election.leader_elect:
        return []
    errors: list[str] = []
    for name, duration_ns in (
        ("leaseDuration", election.lease_duration_ns),
        ("renewDeadline", election.renew_deadline_ns),
        ("retryPeriod", election.retry_period_ns),
    ):
        if duration_ns <= 0:
            shown = quote(format_duration(duration_ns))
            errors.append(invalid(f"leaderElection.{name}", shown, "must be greater than zero"))
    if election.lease_duration_ns <= election.renew_deadline_ns:
        # QUIRK: upstream shows the value of renewDeadline here.
        shown = quote(format_duration(election.renew_deadline_ns))
        errors.append(invalid("leaderElection.leaseDuration", shown, "must be greater than `RenewDeadline`"))
    # A file cannot leave these empty, but flags can.
    for name, value in (
        ("resourceLock", election.resource_lock),
        ("resourceNamespace", election.resource_namespace),
        ("resourceName", election.resource_name),
    ):
        if not value:
            errors.append(required(f"leaderElection.{name}"))
    if election.resource_lock != "leases":
        detail = 'resourceLock value must be "leases"'
        errors.append(invalid("leaderElection.resourceLock", quote(election.resource_lock), detail))
    return errors


def _percentage_errors(path: str, percentage: int | None) -> list[str]:
    if percentage is None or 0 <= percentage <= 100:
        return []
    return [invalid(path, percentage, "not in valid range [0-100]")]


def _profiles_errors(profiles: tuple[Profile, ...], gates: FeatureGates) -> list[str]:
    if not profiles:
        return [required("profiles")]
    errors: list[str] = []
    names: set[str] = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        if not profile.scheduler_name:
            errors.append(required(f"{path}.schedulerName"))
        errors += _percentage_errors(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
        errors += _plugins_errors(path, profile, gates)
        if profile.scheduler_name in names:
            # QUIRK: upstream prints the path of the first one as an empty JSON object.
            errors.append(duplicate(f"{path}.schedulerName", "{}"))
        names.add(profile.scheduler_name)
    return errors + _queue_sort_errors(profiles)


def _plugins_errors(path: str, profile: Profile, gates: FeatureGates) -> list[str]:
    errors: list[str] = []
    plugins = profile.plugins or Plugins()
    for point in _CHECKED_POINTS:  # upstream walks these in random order
        for index, ref in enumerate(plugins.at(point).enabled):
            if ref.name in _REMOVED_PLUGINS:
                errors.append(invalid(f"{path}.plugins.{point}.enabled[{index}]", quote(ref.name), _REMOVED))
    seen: set[str] = set()
    for index, config in enumerate(profile.plugin_config):
        at = f"{path}.pluginConfig[{index}]"
        if config.name in seen:
            errors.append(duplicate(at, quote(config.name)))
        seen.add(config.name)
        if config.name in _REMOVED_PLUGINS:
            errors.append(invalid(at, quote(config.name), _REMOVED))
        else:
            errors += args_errors(f"{at}.args", config.args, gates)
    return errors


def _queue_sort_errors(profiles: tuple[Profile, ...]) -> list[str]:
    """Check that all profiles sort the queue alike (validateCommonQueueSort)."""
    errors: list[str] = []
    wanted = _queue_sort(profiles[0])
    if len(wanted.enabled) > 1:
        detail = "only one queue sort plugin can be enabled"
        errors.append(invalid("profiles[0].plugins.queueSort.Enabled", len(wanted.enabled), detail))
    name = wanted.enabled[0].name if wanted.enabled else ""
    args = profiles[0].args_of(name) if name else None
    for index, profile in enumerate(profiles[1:], start=1):
        found = _queue_sort(profile)
        if found != wanted:
            path = f"profiles[{index}].plugins.queueSort"
            errors.append(invalid(path, _shown_plugin_set(found), "must be the same for all profiles"))
        for config in profile.plugin_config:
            if config.name == name and config.args != args:
                path = f"profiles[{index}].pluginConfig.args"
                detail = "queueSort must be the same for all profiles"
                errors.append(invalid(path, json_text(config.args), detail))
    return errors


def _queue_sort(profile: Profile) -> PluginSet:
    return profile.plugins.queue_sort if profile.plugins is not None else PluginSet()


def _shown_plugin_set(plugin_set: PluginSet) -> str:
    def shown(refs: tuple[Any, ...]) -> list[dict[str, Any]] | None:
        return [{"Name": ref.name, "Weight": ref.weight} for ref in refs] or None

    return json_text({"Enabled": shown(plugin_set.enabled), "Disabled": shown(plugin_set.disabled)})
