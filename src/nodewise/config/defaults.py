"""What kube-scheduler fills in where a configuration is silent (SetDefaults_KubeSchedulerConfiguration)."""

from __future__ import annotations

from msgspec.structs import replace

from nodewise.config.arguments import ARGS_OF, default_args, with_defaults
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.model import (
    DEFAULT_SCHEDULER_NAME,
    FIELD_OF_POINT,
    ClientConnectionConfiguration,
    KubeSchedulerConfiguration,
    LeaderElectionConfiguration,
    PluginConfig,
    Plugins,
    Profile,
)
from nodewise.config.plugins import merge_plugins

_NS_PER_S = 10**9


def default_configuration_fields(
    configuration: KubeSchedulerConfiguration, gates: FeatureGates = DEFAULT_GATES, *, is_first_named: bool = False
) -> KubeSchedulerConfiguration:
    """Return a configuration with every default: profiles, merged plugins, arguments of enabled plugins.

    Parameters
    ----------
    configuration
        As decoded.
    gates
        They decide about default plugins and arguments.
    is_first_named
        Whether the first profile has a scheduler name, be it empty: then it gets no other.
    """
    profiles = configuration.profiles or (Profile(),)
    if len(profiles) == 1 and not is_first_named:
        profiles = (replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER_NAME),)
    contention_profiling = configuration.enable_contention_profiling
    return replace(
        configuration,
        profiles=tuple(_default_profile(profile, gates) for profile in profiles),
        leader_election=_default_leader_election(configuration.leader_election),
        client_connection=_default_client_connection(configuration.client_connection),
        enable_contention_profiling=(
            configuration.enable_profiling if contention_profiling is None else contention_profiling
        ),
    )


def _default_profile(profile: Profile, gates: FeatureGates) -> Profile:
    plugins = merge_plugins(profile.plugins, gates)
    configured = [
        PluginConfig(config.name, with_defaults(config.args, gates) if config.name in ARGS_OF else config.args)
        for config in profile.plugin_config
    ]
    names = {config.name for config in configured}
    configured += [
        PluginConfig(name, default_args(name, gates))
        for name in _plugin_names(plugins)
        if name in ARGS_OF and name not in names
    ]
    return replace(profile, plugins=plugins, plugin_config=tuple(configured))


def _plugin_names(plugins: Plugins) -> list[str]:
    points = (point for point in FIELD_OF_POINT if point != "podGroupPostFilter")
    return sorted({ref.name for point in points for ref in plugins.at(point).enabled})


def _default_leader_election(election: LeaderElectionConfiguration) -> LeaderElectionConfiguration:
    return LeaderElectionConfiguration(
        leader_elect=True if election.leader_elect is None else election.leader_elect,
        lease_duration_ns=election.lease_duration_ns or 15 * _NS_PER_S,
        renew_deadline_ns=election.renew_deadline_ns or 10 * _NS_PER_S,
        retry_period_ns=election.retry_period_ns or 2 * _NS_PER_S,
        resource_lock=election.resource_lock or "leases",
        resource_name=election.resource_name or "kube-scheduler",
        resource_namespace=election.resource_namespace or "kube-system",
    )


def _default_client_connection(connection: ClientConnectionConfiguration) -> ClientConnectionConfiguration:
    return replace(
        connection,
        content_type=connection.content_type or "application/vnd.kubernetes.protobuf",
        qps=connection.qps or 50.0,
        burst=connection.burst or 100,
    )
