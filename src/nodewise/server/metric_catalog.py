"""All metrics of the scheduler: names, labels, buckets. Those that kube-scheduler has mean what they mean there."""

from __future__ import annotations

from nodewise.server.metric_values import Description, Kind, exponential

_MILLISECONDS = exponential(0.001, 2, 15)
_TENTHS_OF_MILLISECONDS = exponential(0.0001, 2, 12)
_TENS_OF_MICROSECONDS = exponential(0.00001, 1.5, 20)
_COUNTER, _GAUGE, _HISTOGRAM = Kind.COUNTER, Kind.GAUGE, Kind.HISTOGRAM

SCHEDULE_ATTEMPTS = Description(
    "scheduler_schedule_attempts_total",
    _COUNTER,
    "Attempts to schedule a pod: scheduled, unschedulable (it fits nowhere), or error (something went wrong).",
    ("result", "profile"),
)
SCHEDULING_ATTEMPT_DURATION = Description(
    "scheduler_scheduling_attempt_duration_seconds",
    _HISTOGRAM,
    "Time of an attempt from taking the pod from the queue to its end, the binding included.",
    ("result", "profile"),
    _MILLISECONDS,
)
SCHEDULING_ALGORITHM_DURATION = Description(
    "scheduler_scheduling_algorithm_duration_seconds",
    _HISTOGRAM,
    "Time to decide on a pod, preemption included.",
    (),
    _MILLISECONDS,
)
POD_SCHEDULING_ATTEMPTS = Description(
    "scheduler_pod_scheduling_attempts",
    _HISTOGRAM,
    "Attempts that pods took until they were bound.",
    (),
    exponential(1, 2, 5),
)
POD_SCHEDULING_SLI_DURATION = Description(
    "scheduler_pod_scheduling_sli_duration_seconds",
    _HISTOGRAM,
    "Time from when a pod could first be tried until it was bound, over all its attempts.",
    ("attempts",),
    exponential(0.01, 2, 20),
)
POD_SCHEDULED_AFTER_FLUSH = Description(
    "scheduler_pod_scheduled_after_flush_total",
    _COUNTER,
    "Pods bound in an attempt that no event caused but the time they had waited: a hint may be missing an event.",
)
PENDING_PODS = Description(
    "scheduler_pending_pods",
    _GAUGE,
    "Pods that wait: active, backoff, unschedulable (tried in vain), gated (never tried), incomplete (for the object "
    "of their group), pending (for their group to come back).",
    ("queue",),
)
QUEUED_ENTITIES = Description(
    "scheduler_queued_entities",
    _GAUGE,
    "What waits as one, a pod or a pod group, by queue: active, backoff, unschedulable, gated.",
    ("queue", "type"),
)
QUEUE_INCOMING_PODS = Description(
    "scheduler_queue_incoming_pods_total",
    _COUNTER,
    "Pods put into a queue, by the event that did it.",
    ("queue", "event"),
)
QUEUE_INCOMING_ENTITIES = Description(
    "scheduler_queue_incoming_entities_total",
    _COUNTER,
    "Pods and pod groups put into a queue, by the event that did it.",
    ("queue", "event", "type"),
)
UNSCHEDULABLE_PODS = Description(
    "scheduler_unschedulable_pods",
    _GAUGE,
    "Pods that a plugin rejected last; a pod counts once for each of its plugins.",
    ("plugin", "profile"),
)
QUEUEING_HINT_DURATION = Description(
    "scheduler_queueing_hint_execution_duration_seconds",
    _HISTOGRAM,
    "Time of a plugin's queueing hint.",
    ("plugin", "event", "hint"),
    _TENS_OF_MICROSECONDS,
)
INFLIGHT_EVENTS = Description(
    "scheduler_inflight_events",
    _GAUGE,
    "Events kept for pods whose attempt is not over, and these pods as PodPopped.",
    ("event",),
)
PREEMPTION_ATTEMPTS = Description(
    "scheduler_preemption_attempts_total",
    _COUNTER,
    "Times that room was looked for by preemption.",
)
PREEMPTION_VICTIMS = Description(
    "scheduler_preemption_victims",
    _HISTOGRAM,
    "Victims of a preemption.",
    (),
    exponential(1, 2, 7),
)
PREEMPTION_TASKS = Description(
    "scheduler_preemption_goroutines_execution_total",
    _COUNTER,
    "Tasks that evicted the victims of one preemption: success or error.",
    ("result",),
)
EXTENSION_POINT_DURATION = Description(
    "scheduler_framework_extension_point_duration_seconds",
    _HISTOGRAM,
    "Time of all plugins of an extension point for one pod. PreFilter only runs for the first pod of a class; Score "
    "has PreScore and normalising in it.",
    ("extension_point", "status", "profile"),
    _TENTHS_OF_MILLISECONDS,
)
PLUGIN_DURATION = Description(
    "scheduler_plugin_execution_duration_seconds",
    _HISTOGRAM,
    "Time of one plugin, measured in one of ten attempts. At Filter and Score it is that of all nodes together.",
    ("plugin", "extension_point", "status"),
    _TENS_OF_MICROSECONDS,
)
PERMIT_WAIT_DURATION = Description(
    "scheduler_permit_wait_duration_seconds",
    _HISTOGRAM,
    "Time that pods waited for Permit plugins.",
    ("result",),
    _MILLISECONDS,
)
CACHE_SIZE = Description(
    "scheduler_cache_size",
    _GAUGE,
    "What is in the scheduler cache: nodes, pods, and assumed_pods among these.",
    ("type",),
)
EVENT_HANDLING_DURATION = Description(
    "scheduler_event_handling_duration_seconds",
    _HISTOGRAM,
    "Time to take in a change in the cluster.",
    ("event",),
    _TENTHS_OF_MILLISECONDS,
)
GOROUTINES = Description(
    "scheduler_goroutines",
    _GAUGE,
    "Tasks under way beside the scheduling loop, by what they do: binding, preemption, permit, status.",
    ("operation",),
)
LEADER = Description(
    "leader_election_master_status",
    _GAUGE,
    "Whether this process is the leader: 1, or a standby: 0.",
    ("name",),
)
LEADER_SLOW_PATH = Description(
    "leader_election_slowpath_total",
    _COUNTER,
    "Renewals of the lease that had to read it first.",
    ("name",),
)
HEALTH_CHECK = Description(
    "kubernetes_healthcheck",
    _GAUGE,
    "Whether a check of an endpoint passed when it was asked last.",
    ("name", "type"),
)
HEALTH_CHECKS = Description(
    "kubernetes_healthchecks_total",
    _COUNTER,
    "Results of the checks of an endpoint.",
    ("name", "status", "type"),
)
BUILD_INFO = Description(
    "nodewise_build_info",
    _GAUGE,
    "Always 1; the version of nodewise, and that of the kube-scheduler whose decisions it makes.",
    ("version", "kubernetes_version", "python_version"),
)
BIND_FAILURES = Description(
    "nodewise_bind_failures_total",
    _COUNTER,
    "Bindings that did not come about: conflict (somebody else was first, or the pod is another one) or error.",
    ("reason",),
)
BOUND_ELSEWHERE = Description(
    "nodewise_pods_bound_elsewhere_total",
    _COUNTER,
    "Pods that somebody else bound to another node while this scheduler counted them on the one that it had chosen.",
)
CLASSES = Description(
    "nodewise_pod_classes",
    _GAUGE,
    "Classes of pods that no plugin can tell apart whose answers are kept.",
    ("profile",),
)
CLASSES_BYTES = Description(
    "nodewise_pod_classes_bytes",
    _GAUGE,
    "About how much memory these answers take.",
    ("profile",),
)
CLASSES_COMPILED = Description(
    "nodewise_pod_classes_compiled_total",
    _COUNTER,
    "Pods that found no class; all others used what was known.",
    ("profile",),
)
WATCH_LISTS = Description(
    "nodewise_watch_lists_total",
    _COUNTER,
    "Lists of a resource; more than one says that a watch could not go on where it ended.",
    ("resource",),
)
WATCHES = Description(
    "nodewise_watches_total",
    _COUNTER,
    "Watches of a resource that were begun.",
    ("resource",),
)
WATCH_EVENTS = Description(
    "nodewise_watch_events_total",
    _COUNTER,
    "Changes of a resource that watches told of.",
    ("resource",),
)
WATCHED_OBJECTS = Description(
    "nodewise_watched_objects",
    _GAUGE,
    "Objects of a resource that are known.",
    ("resource",),
)
RECORDED_EVENTS = Description(
    "nodewise_recorded_events_total",
    _COUNTER,
    "Events about pods: written, dropped (the queue was full), spam (too many about one pod), failed.",
    ("result",),
)
POD_REQUEST = Description(
    "kube_pod_resource_request",
    _GAUGE,
    "What pods request, as the scheduler counts it.",
    ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit"),
)
POD_LIMIT = Description(
    "kube_pod_resource_limit",
    _GAUGE,
    "What pods are limited to.",
    POD_REQUEST.labels,
)

RESOURCE_METRICS = (POD_REQUEST, POD_LIMIT)
"""Those of /metrics/resources."""
SLI_METRICS = (HEALTH_CHECK, HEALTH_CHECKS)
"""Those of /metrics/slis."""
METRICS = tuple(
    description
    for description in list(globals().values())
    if isinstance(description, Description) and description not in (*RESOURCE_METRICS, *SLI_METRICS)
)
"""Those of /metrics, beside what prometheus_client tells of the process."""
