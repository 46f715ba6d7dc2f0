"""Traces as they are written: what each form means, and what is refused with which words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nodewise.api.admission import SYSTEM_PRIORITY_CLASSES
from nodewise.cluster.trace import Arrival, Deletion, NodeDown, NodeUp, Trace
from nodewise.cluster.trace_file import read_trace

HEAD = "apiVersion: nodewise/v1\nkind: Trace\n"


def read(folder: Path, text: str, name: str = "trace.yaml") -> Trace:
    path = folder / name
    path.write_text(text)
    return read_trace(str(path), SYSTEM_PRIORITY_CLASSES)


def arrivals(trace: Trace) -> list[tuple[float, str, float | None]]:
    assert not trace.errors
    return [(e.at_s, e.pod.key, e.duration_s) for e in trace.events if isinstance(e, Arrival)]


def errors(trace: Trace, folder: Path) -> list[str]:
    return [str(error).replace(f"{folder}/", "") for error in trace.errors]


def test_a_few_fields_make_a_pod(tmp_path: Path) -> None:
    event = (
        "events:\n- {at: 90, pod: web, namespace: shop, requests: {cpu: 500m, example.com/gpu: 1}, labels: {app: web},"
        " nodeSelector: {disk: ssd}, priority: 7, duration: 1h30m}\n"
    )
    trace = read(tmp_path, HEAD + event)
    assert arrivals(trace) == [(90.0, "shop/web", 5400.0)]
    (arrival,) = trace.events
    assert isinstance(arrival, Arrival)
    spec = arrival.pod.spec
    assert (spec.priority, spec.node_selector, spec.scheduler_name) == (7, {"disk": "ssd"}, "default-scheduler")
    assert spec.containers[0].resources.requests == {"cpu": "500m", "example.com/gpu": "1"}
    assert arrival.pod.metadata.labels == {"app": "web"}
    assert len(spec.tolerations) == 2  # those that an API server adds


def test_a_manifest_makes_a_pod(tmp_path: Path) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"hostNetwork": True, "containers": [{"name": "c", "image": "i"}]}}
    document = {"apiVersion": "nodewise/v1", "kind": "Trace", "events": [{"at": "1m", "manifest": pod}]}
    trace = read(tmp_path, json.dumps(document), "trace.json")
    assert arrivals(trace) == [(60.0, "default/p", None)]
    (arrival,) = trace.events
    assert isinstance(arrival, Arrival)
    assert arrival.pod.spec.host_network


def test_a_count_makes_numbered_pods_one_after_another(tmp_path: Path) -> None:
    trace = read(tmp_path, HEAD + "events:\n- {at: 10s, pod: web, count: 3, every: 1m}\n")
    assert arrivals(trace) == [
        (10.0, "default/web-1", None),
        (70.0, "default/web-2", None),
        (130.0, "default/web-3", None),
    ]


def test_times_are_seconds_durations_or_times_of_day_and_events_are_put_in_order(tmp_path: Path) -> None:
    text = (
        "start: 2026-01-01T00:00:00Z\nevents:\n- {at: '2026-01-01T01:00:00Z', nodeDown: n1}\n"
        "- {at: 2h, nodeUp: n1}\n- {at: 0.5, delete: web}\n- {at: 0.5, delete: shop/web}\n"
    )
    trace = read(tmp_path, HEAD + text)
    assert trace.start == datetime(2026, 1, 1, tzinfo=UTC)
    assert trace.events == [
        Deletion(0.5, "default/web"),
        Deletion(0.5, "shop/web"),
        NodeDown(3600.0, "n1"),
        NodeUp(7200.0, "n1"),
    ]


def test_csv_has_a_column_for_each_field_and_resource(tmp_path: Path) -> None:
    head = "at,pod,cpu,example.com/gpu,labels,nodeDown,duration,count\n"
    text = head + "0,a,1,2,app=x;tier=y,,10m,\n5,,,,,n1,,\n7,b,,,,,,2\n"
    trace = read(tmp_path, text, "t.CSV")
    assert arrivals(trace) == [(0.0, "default/a", 600.0), (7.0, "default/b-1", None), (7.0, "default/b-2", None)]
    first = trace.events[0]
    assert isinstance(first, Arrival)
    assert first.pod.metadata.labels == {"app": "x", "tier": "y"}
    assert first.pod.spec.containers[0].resources.limits == {"example.com/gpu": "2"}
    assert NodeDown(5.0, "n1") in trace.events


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ("{at: 1}", "found none, expected one of pod, manifest, delete, nodeDown, nodeUp"),
        (
            "{at: 1, pod: a, nodeDown: n1}",
            "found pod and nodeDown, expected one of pod, manifest, delete, nodeDown, nodeUp",
        ),
        ("{at: -1, nodeUp: n1}", "at: found -1, expected 0 or more seconds"),
        ("{at: soon, nodeUp: n1}", 'at: time: invalid duration "soon", expected seconds or a duration such as 1h30m'),
        ("{at: 1, pod: a, count: 0}", "count: found 0, expected 1..1,000,000"),
        ("{at: 1, pod: a, colour: red}", "object contains unknown field `colour`"),
        ("{at: 1, pod: a, requests: {cpu: lots}}", "spec.containers[0].resources.requests[cpu]"),
        ("{at: 1, pod: a, priorityClassName: none}", 'no PriorityClass with name "none" was found'),
        ("{at: 1, manifest: {spec: {containers: []}}}", "pod: found no name"),
        ("{at: 1, pod: a, manifest: {spec: {containers: 7}}}", "spec.containers: found the number 7, expected a list"),
        ("{at: '2026-05-31T00:00:00Z', nodeUp: n1}", "which is before the start 2026-06-01T00:00:00+00:00"),
        ("{nodeUp: n1}", "object missing required field `at`"),
        ("7", "expected `object`, got `int`"),
    ],
)
def test_a_bad_event_is_refused_by_place_and_field_and_the_others_are_kept(
    tmp_path: Path, event: str, error: str
) -> None:
    trace = read(tmp_path, HEAD + f"events:\n- {{at: 3, nodeUp: n1}}\n- {event}\n- {{at: 4, nodeUp: n2}}\n")
    assert [e.at_s for e in trace.events] == [3.0, 4.0]
    (found,) = errors(trace, tmp_path)
    assert found.startswith("trace.yaml: events[1]: ")
    assert error in found


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "t.csv: "),
        ("at,pod\n1\n", "line 2: has another number of values than there are column names"),
        ("at,pod,colour\n1,a,red\n", "line 2: colour: is no column of a trace"),
        ("at,pod,count\n1,a,many\n", "line 2: count: found 'many', expected a whole number"),
        ("at,pod,restarts\n1,a,maybe\n", "line 2: restarts: found 'maybe', expected true or false"),
        ("at,pod,labels\n1,a,b\n", "line 2: labels: found 'b', expected key=value;key=value"),
        ("pod\na\n", "line 2: object missing required field `at`"),
    ],
)
def test_a_bad_line_is_refused_by_number_and_column(tmp_path: Path, text: str, error: str) -> None:
    trace = read(tmp_path, text, "t.csv")
    assert not trace.events
    assert all(error in found for found in errors(trace, tmp_path))


@pytest.mark.parametrize(
    "text", ["kind: Pod\n", "- 1\n", "{", "a: [", "apiVersion: nodewise/v1\nkind: List\n", "events: 3\n"]
)
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, text: str) -> None:
    trace = read(tmp_path, text)
    assert len(trace.errors) == 1
    assert not trace.events
