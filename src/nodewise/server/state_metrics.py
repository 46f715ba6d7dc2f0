"""Metrics that are read off when somebody asks: sizes of the cache and the queue, classes, watches, events."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from nodewise import __version__
from nodewise.queue.queued_pod_group import QueuedPodGroup
from nodewise.scheduler.control_loop import ControlLoop
from nodewise.server import metric_catalog as catalog
from nodewise.server.metric_values import Description, Labels, numbers_family
from nodewise.server.scheduler_metrics import PrometheusMetrics

KUBERNETES_VERSION = "1.37.2"
Values = Iterable[tuple[Labels, float]]
_QUEUES = ("active", "backoff", "unschedulable", "gated")


class WatchedResource(Protocol):
    """What is asked of a watch of one resource; `Reflector` is one."""

    @property
    def resource(self) -> NamedResource: ...
    @property
    def n_lists(self) -> int: ...
    @property
    def n_watches(self) -> int: ...
    @property
    def n_events(self) -> int: ...
    @property
    def n_objects(self) -> int: ...


class NamedResource(Protocol):
    """A resource by its name in the API, such as `pods`."""

    @property
    def plural(self) -> str: ...


class RecordedEvents(Protocol):
    """How many events about pods came to what; `RecorderCounts` is one."""

    written: int
    dropped: int
    spam: int
    failed: int


class StateMetrics(Collector):
    """Reads a scheduler's state when Prometheus asks.

    Parameters
    ----------
    loop : ControlLoop
    operations : Callable[[], Mapping[str, int]]
        How many tasks of which kind are under way.
    watches : Sequence[WatchedResource]
    events : RecordedEvents | None
        None: events are not recorded.
    """

    def __init__(
        self,
        loop: ControlLoop,
        *,
        operations: Callable[[], Mapping[str, int]],
        watches: Sequence[WatchedResource] = (),
        events: RecordedEvents | None = None,
    ) -> None:
        self._loop = loop
        self._operations = operations
        self._watches = watches
        self._events = events

    def collect(self) -> Iterable[Metric]:
        """Return everything as it is now."""
        return [numbers_family(description, values) for description, values in self._read()]

    def _read(self) -> Iterator[tuple[Description, Values]]:
        yield from self._cache()
        yield from self._queue()
        yield from self._classes()
        yield catalog.GOROUTINES, _by_name(self._operations())
        for description, number_of in _WATCH_NUMBERS:
            yield description, [((watch.resource.plural,), number_of(watch)) for watch in self._watches]
        if self._events is not None:
            results = ("written", "dropped", "spam", "failed")
            yield catalog.RECORDED_EVENTS, [((result,), getattr(self._events, result)) for result in results]
        version = (__version__, KUBERNETES_VERSION, platform.python_version())
        yield catalog.BUILD_INFO, [(version, 1)]

    def _cache(self) -> Iterator[tuple[Description, Values]]:
        cache = self._loop.scheduler.cache
        sizes = cache.sizes()
        counts = {"assumed_pods": sizes.assumed_pods, "pods": sizes.pods, "nodes": sizes.nodes}
        yield catalog.CACHE_SIZE, _by_name(counts)
        yield catalog.BOUND_ELSEWHERE, [((), cache.counters.n_confirmed_elsewhere)]

    def _queue(self) -> Iterator[tuple[Description, Values]]:
        queue = self._loop.queue
        pods: Counter[str] = Counter(dict.fromkeys(_QUEUES, 0))
        entities: Counter[Labels] = Counter({(name, "pod"): 0 for name in _QUEUES})
        for place, entity in queue.entities():
            pods[place] += len(entity.members)
            entities[place, "podgroup" if isinstance(entity, QueuedPodGroup) else "pod"] += 1
        if queue.has_pod_groups:
            pods["incomplete"], pods["pending"] = len(queue.incomplete_group_pods()), len(queue.pending_group_pods())
        yield catalog.PENDING_PODS, _by_name(pods)
        yield catalog.QUEUED_ENTITIES, entities.items()
        yield catalog.INFLIGHT_EVENTS, _by_name(queue.in_flight_events())

    def _classes(self) -> Iterator[tuple[Description, Values]]:
        classes = self._loop.scheduler.classes
        yield catalog.CLASSES, [((profile,), len(kept)) for profile, kept in classes.items()]
        yield catalog.CLASSES_BYTES, [((profile,), kept.nbytes) for profile, kept in classes.items()]
        yield catalog.CLASSES_COMPILED, [((profile,), kept.n_compiled) for profile, kept in classes.items()]


_WATCH_NUMBERS: tuple[tuple[Description, Callable[[WatchedResource], int]], ...] = (
    (catalog.WATCH_LISTS, lambda watch: watch.n_lists),
    (catalog.WATCHES, lambda watch: watch.n_watches),
    (catalog.WATCH_EVENTS, lambda watch: watch.n_events),
    (catalog.WATCHED_OBJECTS, lambda watch: watch.n_objects),
)


def _by_name(counts: Mapping[str, int]) -> Values:
    return [((name,), number) for name, number in counts.items()]


def build_registry(metrics: PrometheusMetrics, *others: Collector) -> CollectorRegistry:
    """Return all that /metrics shows: what happened, what is read off, and the process itself."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics.families)
    for collector in others:
        registry.register(collector)
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return registry
