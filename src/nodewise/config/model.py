"""A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) in memory, after defaulting."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct, field

from nodewise.api.objects import Int32, Int64
from nodewise.config.go_types import GoType

API_GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{API_GROUP}/v1"
KIND = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME = "default-scheduler"

DurationNs = Annotated[Int64, GoType("v1.Duration")]
Float32 = Annotated[float, GoType("float32")]


class ConfigObject(Struct, frozen=True, rename="camel", gc=False, forbid_unknown_fields=True):
    """Base of every struct here: frozen, camelCase on the wire, unknown fields refused."""


class PluginRef(ConfigObject, frozen=True):
    """A plugin named in a profile; weight 0 means that none was given."""

    name: str = ""
    weight: Int32 = 0


class PluginSet(ConfigObject, frozen=True):
    """What a profile says about one extension point."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(ConfigObject, frozen=True):
    """A profile's plugins by extension point; `multi_point` stands for all points that a plugin implements."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()

    def at(self, point: str) -> PluginSet:
        """Return the set of the extension point with this name on the wire, such as `preFilter`."""
        plugin_set: PluginSet = getattr(self, FIELD_OF_POINT[point])
        return plugin_set


FIELD_OF_POINT = dict(zip(Plugins.__struct_encode_fields__, Plugins.__struct_fields__, strict=True))
"""Attribute of `Plugins` by extension point, `multiPoint` among them, in the order of the API."""


class PluginConfig(ConfigObject, frozen=True):
    """Arguments of one plugin: a struct of `config.arguments`, or plain JSON values for a plugin without one."""

    name: str = ""
    args: Any = None


class Profile(ConfigObject, frozen=True):
    """How pods of one scheduler name are scheduled."""

    scheduler_name: str = ""
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins | None = None
    plugin_config: tuple[PluginConfig, ...] = ()

    def args_of(self, plugin: str) -> Any:
        """Return the arguments of a plugin, None when there are none."""
        return next((config.args for config in self.plugin_config if config.name == plugin), None)


class LeaderElectionConfiguration(ConfigObject, frozen=True):
    """How one of several schedulers becomes the active one."""

    leader_elect: bool | None = None
    lease_duration_ns: DurationNs = field(default=0, name="leaseDuration")
    renew_deadline_ns: DurationNs = field(default=0, name="renewDeadline")
    retry_period_ns: DurationNs = field(default=0, name="retryPeriod")
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""


class ClientConnectionConfiguration(ConfigObject, frozen=True):
    """How the scheduler talks to the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: Float32 = 0.0
    burst: Int32 = 0


class ExtenderManagedResource(ConfigObject, frozen=True):
    """An extended resource that makes an extender interested in a pod."""

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(ConfigObject, frozen=True):
    """How to trust an extender, and to be trusted by it."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(ConfigObject, frozen=True):
    """A web service that takes part in decisions."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = field(default=False, name="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout_ns: DurationNs = field(default=0, name="httpTimeout")
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(ConfigObject, frozen=True):
    """Everything that a configuration file says."""

    parallelism: Int32 = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[Profile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
