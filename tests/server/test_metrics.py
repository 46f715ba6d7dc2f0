"""What /metrics says: kube-scheduler's names, and what happened."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from nodewise.api.objects import Container, Pod, PodSchedulingGate, PodStatus, ResourceRequirements
from nodewise.cluster.embedded import EmbeddedCluster
from nodewise.config.load import default_configuration
from nodewise.framework.status import Status
from nodewise.plugins import in_tree_registry
from nodewise.scheduler.assembly import SchedulerOptions, assemble_scheduler
from nodewise.scheduler.control_loop import ControlLoop, build_control_loop
from nodewise.server import metric_catalog as catalog
from nodewise.server.metric_values import Distribution, Kind, exponential
from nodewise.server.resource_metrics import ResourceMetrics
from nodewise.server.scheduler_metrics import PrometheusMetrics
from nodewise.server.state_metrics import StateMetrics, build_registry
from nodewise.simulation.virtual_time import VirtualTime
from nodewise.state.listers import Listers
from nodewise.testing.builders import make_node, make_pod
from tests.scheduler.worlds import ours
from tests.server.metrics_page import PAGE, UPSTREAM, with_tables

ALL = (*catalog.METRICS, *catalog.RESOURCE_METRICS, *catalog.SLI_METRICS)
PROFILE = "default-scheduler"


class Play:
    """A scheduler with metrics in a cluster in memory; time passes as it is told to."""

    def __init__(self) -> None:
        self.time = VirtualTime(1_000_000.0)
        self.cluster = EmbeddedCluster(lambda: datetime.fromtimestamp(self.time.now(), UTC))
        self.metrics = PrometheusMetrics()
        configuration = default_configuration()
        scheduler, handle = assemble_scheduler(
            Listers(),
            configuration,
            in_tree_registry(),
            SchedulerOptions(),
            lambda: datetime.fromtimestamp(self.time.now(), UTC),
        )
        self.loop: ControlLoop = build_control_loop(
            scheduler,
            handle,
            configuration,
            client=self.cluster,
            tasks=self.time,
            clock=self.time,
            metrics=self.metrics,
            scheduler_metrics=self.metrics,
        )
        self.cluster.watch(self.loop.handlers.on_change)
        state = StateMetrics(self.loop, operations=lambda: {"binding": 2})
        self.registry = build_registry(self.metrics, state)

    def create(self, *pods: Pod) -> None:
        for pod in pods:
            self.cluster.put(ours(pod))
            self.loop.run_ready()

    def wait(self, seconds: float) -> None:
        self.time.advance_to(self.time.now() + seconds)
        self.loop.run_ready()

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


@pytest.fixture
def play() -> Play:
    return Play()


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("description", ALL, ids=lambda description: description.name)
def test_a_metric_is_named_labelled_and_divided_as_in_kube_scheduler_or_begins_with_nodewise(
    description: Any,
) -> None:
    if description.name.startswith("nodewise_"):
        return
    upstream = UPSTREAM[description.name]
    assert description.kind.value == upstream["kind"]
    assert set(description.labels) == set(upstream["labels"])
    expected = exponential(*upstream["buckets"]) if upstream["buckets"] else ()
    assert description.bounds == pytest.approx(expected)


def test_names_say_what_kind_a_metric_is_as_prometheus_wants_it() -> None:
    names = [description.name for description in ALL]
    assert len(names) == len(set(names))
    for description in ALL:
        assert description.name.endswith("_total") == (description.kind is Kind.COUNTER)


# --- values -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 10, allow_nan=False)))
def test_a_bucket_counts_all_values_up_to_its_bound(values: list[float]) -> None:
    distribution = Distribution((0.5, 1.0, 2.0))
    for value in values:
        distribution.observe(value)
    assert dict(distribution.buckets()) == {
        "0.5": sum(value <= 0.5 for value in values),
        "1": sum(value <= 1 for value in values),
        "2": sum(value <= 2 for value in values),
        "+Inf": len(values),
    }
    assert distribution.total == pytest.approx(sum(values))


def test_a_pod_that_is_bound_is_counted_and_timed(play: Play) -> None:
    play.cluster.put(make_node("n1"))
    play.create(make_pod("a"), make_pod("b"))
    assert play.value("scheduler_schedule_attempts_total", result="scheduled", profile=PROFILE) == 2
    seconds = "scheduler_scheduling_attempt_duration_seconds_count"
    assert play.value(seconds, result="scheduled", profile=PROFILE) == 2
    assert play.value("scheduler_scheduling_algorithm_duration_seconds_count") == 2
    assert play.value("scheduler_pod_scheduling_attempts_sum") == 2
    assert play.value("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="1") == 2
    for point, count in {"PreFilter": 1, "Filter": 2, "Reserve": 2, "PreBind": 2, "Bind": 2}.items():
        labels = {"extension_point": point, "status": "Success", "profile": PROFILE}
        assert play.value("scheduler_framework_extension_point_duration_seconds_count", **labels) == count, point
    assert play.value("scheduler_cache_size", type="pods") == 2
    assert play.value("scheduler_cache_size", type="nodes") == 1
    assert play.value("nodewise_pod_classes", profile=PROFILE) == 1
    assert play.value("nodewise_pod_classes_compiled_total", profile=PROFILE) == 1
    for event in ("NodeAdd", "UnscheduledPodAdd", "AssignedPodAdd"):
        n_events = play.value("scheduler_event_handling_duration_seconds_count", event=event)
        assert n_events == (1 if event == "NodeAdd" else 2), event


def test_a_pod_that_fits_nowhere_is_counted_by_plugin_until_it_fits(play: Play) -> None:
    play.cluster.put(make_node("n1", cpu="1"))
    play.create(make_pod("big", cpu="2"))
    assert play.value("scheduler_schedule_attempts_total", result="unschedulable", profile=PROFILE) == 1
    assert play.value("scheduler_unschedulable_pods", plugin="NodeResourcesFit", profile=PROFILE) == 1
    assert play.value("scheduler_pending_pods", queue="unschedulable") == 1
    assert play.value("scheduler_queued_entities", queue="unschedulable", type="pod") == 1
    assert play.value("scheduler_preemption_attempts_total") == 1
    play.cluster.put(make_node("n2", cpu="4"))
    play.wait(2)
    assert play.value("scheduler_unschedulable_pods", plugin="NodeResourcesFit", profile=PROFILE) == 0
    assert play.value("scheduler_pending_pods", queue="unschedulable") == 0
    assert play.value("scheduler_pod_scheduling_attempts_sum") == 2
    assert play.value("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="2") == 1
    assert play.value("scheduler_queue_incoming_pods_total", queue="active", event="UnscheduledPodAdd") == 1


def test_the_victims_of_a_preemption_are_counted(play: Play) -> None:
    play.cluster.put(make_node("n1", cpu="1"))
    play.create(make_pod("low", cpu="1", priority=0))
    play.create(make_pod("high", cpu="1", priority=10))
    assert play.value("scheduler_preemption_victims_sum") == 1
    assert play.value("scheduler_preemption_goroutines_execution_total", result="success") == 1


def test_a_gated_pod_is_counted_as_gated(play: Play) -> None:
    play.create(make_pod("gated", scheduling_gates=(PodSchedulingGate("example.com/wait"),)))
    assert play.value("scheduler_pending_pods", queue="gated") == 1
    assert play.value("scheduler_pending_pods", queue="unschedulable") == 0


def test_each_tenth_cycle_times_every_plugin(play: Play) -> None:
    play.cluster.put(make_node("n1"))
    play.cluster.put(make_node("n2"))
    play.create(*(make_pod(f"p{number}") for number in range(20)))
    name = "scheduler_plugin_execution_duration_seconds_count"
    for plugin, point in (
        ("NodeResourcesFit", "Filter"),
        ("NodeResourcesFit", "Score"),
        ("TaintToleration", "Score"),
        ("VolumeBinding", "Reserve"),
        ("VolumeBinding", "PreBind"),
        ("DefaultBinder", "Bind"),
    ):
        found = play.value(name, plugin=plugin, extension_point=point, status="Success")
        assert found == 2, (plugin, point)


def test_timing_plugins_does_not_change_decisions() -> None:
    nodes = {}
    for timed_every in (1, 10**9):
        play = Play()
        play.metrics.timed_every = timed_every
        for number in range(7):
            play.cluster.put(make_node(f"n{number}", cpu=str(2 + number)))
        play.create(*(make_pod(f"p{number}", cpu=f"{100 * (number % 5 + 1)}m") for number in range(30)))
        pods = [play.cluster.get(Pod, f"default/p{number}") for number in range(30)]
        nodes[timed_every] = [pod.spec.node_name for pod in pods if pod is not None]
    assert nodes[1] == nodes[10**9]
    assert all(nodes[1])


def test_a_binding_that_somebody_else_made_first_is_a_conflict() -> None:
    metrics = PrometheusMetrics()
    text = 'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n"'
    metrics.bind_failed(Status.error(f'running Bind plugin "DefaultBinder": {text}'))
    metrics.bind_failed(Status.error("the server has a headache"))
    registry = build_registry(metrics)
    for reason in ("conflict", "error"):
        assert registry.get_sample_value("nodewise_bind_failures_total", {"reason": reason}) == 1


def test_a_reset_forgets_what_was_counted_and_keeps_what_is(play: Play) -> None:
    play.cluster.put(make_node("n1", cpu="1"))
    play.create(make_pod("a"), make_pod("big", cpu="2"))
    play.metrics.reset()
    assert play.value("scheduler_scheduling_algorithm_duration_seconds_count") == 0
    assert play.value("scheduler_schedule_attempts_total", result="scheduled", profile=PROFILE) is None
    assert play.value("scheduler_unschedulable_pods", plugin="NodeResourcesFit", profile=PROFILE) == 1
    play.create(make_pod("b"))
    assert play.value("scheduler_schedule_attempts_total", result="scheduled", profile=PROFILE) == 1
    labels = {"extension_point": "Filter", "status": "Success", "profile": PROFILE}
    assert play.value("scheduler_framework_extension_point_duration_seconds_count", **labels) == 1


def test_everything_is_readable_by_prometheus_and_every_metric_of_the_catalog_can_appear(play: Play) -> None:
    play.cluster.put(make_node("n1"))
    play.create(make_pod("a"))
    text = generate_latest(play.registry).decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert "process_resident_memory_bytes" in families
    shown = {name.removesuffix("_total") for name in families}
    not_here = {
        description.name for description in catalog.METRICS if description.name.removesuffix("_total") not in shown
    }
    assert not_here == {"nodewise_recorded_events_total"}  # nobody records events here


# --- /metrics/resources -----------------------------------------------------------------------------------------------


def resources_of(*pods: Pod) -> Iterator[tuple[str, str, str, str, float]]:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ResourceMetrics(lambda: pods))
    for family in registry.collect():
        for sample in family.samples:
            labels = sample.labels
            yield sample.name, labels["pod"], labels["resource"], labels["unit"], sample.value


def test_requests_of_pods_are_told_in_the_units_of_kube_scheduler() -> None:
    pod = make_pod("a", cpu="700m", memory="1Gi", node="n1")
    assert set(resources_of(pod)) == {
        ("kube_pod_resource_request", "a", "cpu", "cores", 0.7),
        ("kube_pod_resource_request", "a", "memory", "bytes", 1024.0**3),
    }


def test_limits_have_overhead_where_there_is_a_limit_and_pods_that_ended_are_left_out() -> None:
    limits = ResourceRequirements(limits={"cpu": "1", "example.com/gpu": "2", "hugepages-2Mi": "4Mi", "memory": "0"})
    containers = (Container("c", resources=limits),)
    overhead = {"cpu": "100m", "memory": "1Gi"}
    pod = make_pod("a", containers=containers, overhead=overhead)
    ended = make_pod("old", cpu="1", node="n1", status=PodStatus(phase="Succeeded"))
    found = {value for value in resources_of(pod, ended) if value[0] == "kube_pod_resource_limit"}
    assert found == {
        ("kube_pod_resource_limit", "a", "cpu", "cores", 1.1),
        ("kube_pod_resource_limit", "a", "example.com/gpu", "", 2.0),
        ("kube_pod_resource_limit", "a", "hugepages-2Mi", "bytes", 4.0 * 1024**2),
    }
    assert not any(name == "old" for _, name, _, _, _ in resources_of(pod, ended))


def test_the_page_about_metrics_lists_what_there_is() -> None:
    text = PAGE.read_text()
    assert with_tables(text) == text
    for description in ALL:
        assert f"`{description.name}`" in text
