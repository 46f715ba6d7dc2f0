"""A configuration in force as the document that kube-scheduler's `--write-config-to` writes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

from msgspec import Struct, to_builtins

from nodewise.config.arguments import ARGS_OF, DynamicResourcesArgs
from nodewise.config.durations import format_duration
from nodewise.config.model import (
    API_VERSION,
    FIELD_OF_POINT,
    KIND,
    Extender,
    KubeSchedulerConfiguration,
    PluginConfig,
    PluginRef,
    Plugins,
    PluginSet,
    Profile,
)
from nodewise.config.plugins import needed_plugins

Document = dict[str, Any]
DEFAULT_EXTENDER_TIMEOUT_NS = 5 * 10**9
# What Go's structs write even when it is empty.
_ALWAYS = frozenset(
    {
        "bindTimeoutSeconds",
        "hardPodAffinityWeight",
        "ignorePreferredTermsOfExistingPods",
        "key",
        "maxSkew",
        "minCandidateNodesAbsolute",
        "minCandidateNodesPercentage",
        "minDomains",
        "name",
        "nodeSelectorTerms",
        "operator",
        "preference",
        "score",
        "topologyKey",
        "utilization",
        "whenUnsatisfiable",
    }
)
_ALWAYS_IN_TERMS = frozenset({"weight"})  # but not in a resource's weight
_EMPTY: tuple[Any, ...] = (None, "", False, 0, [], {})


def configuration_document(configuration: KubeSchedulerConfiguration) -> Document:
    """Return a defaulted configuration as JSON values (LogOrWriteConfig, EncoderForVersion).

    Every profile has its merged plugins, multiPoint included, and the arguments of the plugins that it makes, by name.
    """
    election, client = configuration.leader_election, configuration.client_connection
    document: Document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "parallelism": configuration.parallelism,
        "leaderElection": {
            "leaderElect": election.leader_elect,
            "leaseDuration": format_duration(election.lease_duration_ns),
            "renewDeadline": format_duration(election.renew_deadline_ns),
            "retryPeriod": format_duration(election.retry_period_ns),
            "resourceLock": election.resource_lock,
            "resourceName": election.resource_name,
            "resourceNamespace": election.resource_namespace,
        },
        "clientConnection": {
            "kubeconfig": client.kubeconfig,
            "acceptContentTypes": client.accept_content_types,
            "contentType": client.content_type,
            "qps": _number(client.qps),
            "burst": client.burst,
        },
        "enableProfiling": configuration.enable_profiling,
        "enableContentionProfiling": bool(configuration.enable_contention_profiling),
        "percentageOfNodesToScore": configuration.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": configuration.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": configuration.pod_max_backoff_seconds,
        "profiles": [profile_document(profile) for profile in configuration.profiles],
    }
    if configuration.extenders:
        document["extenders"] = [extender_document(extender) for extender in configuration.extenders]
    if configuration.delay_cache_until_active:
        document["delayCacheUntilActive"] = True
    return document


def profile_document(profile: Profile) -> Document:
    """Return one profile, its plugins as merged and not expanded."""
    document: Document = {"schedulerName": profile.scheduler_name}
    if profile.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    plugins = profile.plugins or Plugins()
    document["plugins"] = {point: _plugin_set(plugins.at(point)) for point in FIELD_OF_POINT}
    configs = plugin_configs(profile)
    if configs:
        document["pluginConfig"] = [_plugin_config(config) for config in configs]
    return document


def plugin_configs(profile: Profile) -> list[PluginConfig]:
    """Return the arguments of the plugins that a profile makes, by name."""
    needed = needed_plugins(profile)
    configs = (config for config in profile.plugin_config if config.name in needed and config.args is not None)
    return sorted(configs, key=lambda config: config.name)


def args_document(name: str, args: Any) -> Document:
    """Return the arguments of a plugin without their apiVersion and kind."""
    if isinstance(args, DynamicResourcesArgs):
        limit, wait = args.filter_timeout_ns, args.binding_timeout_ns
        timeouts: Document = {"filterTimeout": None if limit is None else format_duration(limit)}
        return timeouts | ({} if wait is None else {"bindingTimeout": format_duration(wait)})
    if isinstance(args, Struct):
        document: Document = _without_empty(to_builtins(args), is_resource=False)
        return document
    plain: Document = dict(args) if isinstance(args, dict) else {}
    return plain


def extender_document(extender: Extender) -> Document:
    """Return one extender."""
    document: Document = {"urlPrefix": extender.url_prefix}
    document |= _filled(
        filterVerb=extender.filter_verb,
        preemptVerb=extender.preempt_verb,
        prioritizeVerb=extender.prioritize_verb,
        weight=extender.weight,
        bindVerb=extender.bind_verb,
        enableHTTPS=extender.enable_https,
    )
    tls = extender.tls_config
    if tls is not None:
        document["tlsConfig"] = _filled(
            insecure=tls.insecure,
            serverName=tls.server_name,
            certFile=tls.cert_file,
            keyFile=tls.key_file,
            caFile=tls.ca_file,
            certData=b64encode(tls.cert_data).decode(),
            keyData=b64encode(tls.key_data).decode(),
            caData=b64encode(tls.ca_data).decode(),
        )
    document["httpTimeout"] = format_duration(extender.http_timeout_ns or DEFAULT_EXTENDER_TIMEOUT_NS)
    return document | _filled(
        nodeCacheCapable=extender.node_cache_capable,
        managedResources=[
            {"name": resource.name} | _filled(ignoredByScheduler=resource.ignored_by_scheduler)
            for resource in extender.managed_resources
        ],
        ignorable=extender.ignorable,
    )


def _plugin_config(config: PluginConfig) -> Document:
    args = args_document(config.name, config.args)
    if config.name in ARGS_OF:
        args = {"apiVersion": API_VERSION, "kind": f"{config.name}Args", **args}
    return {"name": config.name, "args": args}


def _plugin_set(plugin_set: PluginSet) -> Document:
    lists = {"enabled": plugin_set.enabled, "disabled": plugin_set.disabled}
    return {name: _refs(refs) for name, refs in lists.items() if refs}


def _refs(refs: Iterable[PluginRef]) -> list[Document]:
    return [{"name": ref.name, "weight": ref.weight} for ref in refs]


def _filled(**values: Any) -> Document:
    return {name: value for name, value in values.items() if value not in _EMPTY}


def _without_empty(value: Any, *, is_resource: bool) -> Any:
    """Drop what Go's omitempty drops."""
    if isinstance(value, (list, tuple)):
        return [_without_empty(item, is_resource=is_resource) for item in value]
    if not isinstance(value, dict):
        return value
    found: Document = {}
    for name, item in value.items():
        shown = _without_empty(item, is_resource=name == "resources")
        if name == "nodeSelectorTerms":
            found[name] = shown or None  # a nil slice
            continue
        is_kept = name in _ALWAYS or (name in _ALWAYS_IN_TERMS and not is_resource)
        if shown is not None and (is_kept or isinstance(item, Struct) or shown not in _EMPTY):
            found[name] = shown
    return found


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value
