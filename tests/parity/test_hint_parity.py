"""Queueing hints, and the events that updates are made into, are those of the real kube-scheduler."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from nodewise.api.decoding import decode_object, kind_of
from nodewise.api.defaults import default_object
from nodewise.api.objects import AnyObject, Node, Pod
from nodewise.cluster.load import load_cluster
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from nodewise.framework.object_events import node_update_events, pod_resource, pod_update_events
from nodewise.state.listers import Listers
from nodewise.testing.builders import FakeHandle, make_snapshot
from tests import seeds
from tests.oracle import Oracle
from tests.parity.device_clusters import DeviceClusters
from tests.parity.hint_questions import Questions, lines_of
from tests.parity.trial import PROFILES
from tests.plugins.hints import make_plugin, rows_of, single_actions
from tests.plugins.test_hints_table import DEFAULT_PROFILE

N_SEEDS = int(os.environ.get("NODEWISE_PARITY_SEEDS", "2"))
N_QUESTIONS = 400
Json = dict[str, Any]


def stored_cluster(oracle: Oracle, profile: str, seed: int, folder: Path) -> Path:
    """Write a random cluster as an API server would have stored it."""
    if profile == "devices":
        made = DeviceClusters(seed).make()
    else:
        made = oracle.generate(profile, seed=seed, n_nodes=12, n_pods=40, n_pending=25)
    new, cluster = folder / "new.json", folder / "cluster.json"
    new.write_bytes(made)
    cluster.write_bytes(oracle.admit(new))
    return cluster


def object_of(document: Json | None) -> AnyObject | None:
    """Read an object as an API server gives it out."""
    if document is None:
        return None
    kind = kind_of(document["apiVersion"], document["kind"])
    assert kind is not None
    return default_object(decode_object(json.dumps(document).encode(), kind), document["apiVersion"])


def make_plugins(cluster: Path, gates: FeatureGates) -> list[Any]:
    """Make the plugins of the default profile over the objects of a cluster."""
    listers = Listers()
    listers.fill(*load_cluster([str(cluster)], workloads="ignore").objects.listed())
    handle = FakeHandle(make_snapshot([], listers=listers), feature_gates=gates)
    return [make_plugin(name, handle) for name in DEFAULT_PROFILE]


def answer_of(plugins: list[Any], question: Json) -> Json:
    """Answer a question as the oracle does."""
    pod, old, new = (object_of(question[part]) for part in ("pod", "old", "new"))
    event = ClusterEvent(EventResource(question["resource"]), ActionType(question["action"]))
    hints = {
        plugin.name: answer
        for plugin in plugins
        if hasattr(plugin, "events_to_register")
        for registered in plugin.events_to_register()
        if (answer := asked(registered, event, pod, old, new))
    }
    events: list[ClusterEvent] = []
    if isinstance(old, Pod) and isinstance(new, Pod):
        is_target = event.resource is EventResource.TARGET_POD
        events = pod_update_events(new, old, pod_resource(new, is_target=is_target))
    if isinstance(old, Node) and isinstance(new, Node):
        events = node_update_events(new, old)
    shown = [{"resource": e.resource.value, "action": int(e.actions), "label": e.label} for e in events]
    return {"hints": hints, **({"events": shown} if shown else {})}


def asked(registered: ClusterEventWithHint, event: ClusterEvent, pod: Any, old: Any, new: Any) -> str:
    """Return what a hint says, "" when the event is none that it is registered for."""
    if not registered.event.matches(event):
        return ""
    if registered.hint is None:
        return "any"
    try:
        answer: QueueingHint = registered.hint(pod, old, new)
    except Exception:
        return "Error"
    return answer.value


def compare(oracle: Oracle, profile: str, seed: int, folder: Path, gates: FeatureGates = DEFAULT_GATES) -> None:
    """Put the same questions to both."""
    cluster = stored_cluster(oracle, profile, seed, folder)
    questions = Questions(json.loads(cluster.read_text()), seed)
    asked_all = [questions.one() for _ in range(N_QUESTIONS)]
    file = folder / "questions.jsonl"
    file.write_text(lines_of(asked_all))
    plugins = make_plugins(cluster, gates)
    expected = oracle.hints(cluster, file, ",".join(f"{name}=true" for name in sorted(gates.switched)))
    assert len(expected) == len(asked_all)
    for question, theirs in zip(asked_all, expected, strict=True):
        theirs["hints"].pop("DeferredPodScheduling", None)  # no plugin of nodewise
        ours = answer_of(plugins, question)
        assert ours == theirs, f"{json.dumps(question)}\n{profile}, {seeds.VARIABLE}={seeds.base_seed()}"


@pytest.mark.parametrize("number", range(N_SEEDS))
@pytest.mark.parametrize("profile", [*PROFILES, "devices"])
def test_every_hint_and_every_event_is_that_of_kube_scheduler(
    oracle: Path, tmp_path: Path, profile: str, number: int
) -> None:
    compare(Oracle(oracle), profile, seeds.derived_seed("hints", profile, number), tmp_path)


@pytest.mark.parametrize("number", range(N_SEEDS))
def test_hints_for_deferred_resizes_are_those_of_kube_scheduler(oracle: Path, tmp_path: Path, number: int) -> None:
    gates = FeatureGates.of(InPlacePodVerticalScalingSchedulerPreemption=True)
    compare(Oracle(oracle), "mixed", seeds.derived_seed("resizes", number), tmp_path, gates)


def test_the_default_profile_registers_what_the_real_one_does(oracle: Path, tmp_path: Path) -> None:
    real = Oracle(oracle)
    lines = real.registrations(stored_cluster(real, "basic", 1, tmp_path))
    registered = {
        (EventResource(line["resource"]), action, line["plugin"], line["hint"])
        for line in lines
        for action in single_actions(ActionType(line["action"]))
    }
    assert rows_of(make_plugin(name) for name in DEFAULT_PROFILE) == registered
