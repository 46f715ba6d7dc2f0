"""Nodewise and the real kube-scheduler ask extenders the same, and make the same of what these answer."""

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import seeds
from tests.command import nodewise
from tests.extenders.server import ExtenderServer, extender_server, rules
from tests.oracle import Oracle
from tests.parity.comparison import compare_answers
from tests.parity.trial import cluster_of, trial_for

PROFILES = ("basic", "affinity", "spread", "mixed", "volumes")
N_SEEDS = int(os.environ.get("NODEWISE_PARITY_SEEDS", "4"))
Json = dict[str, Any]


def configuration(seed: int, servers: Sequence[ExtenderServer]) -> Json:
    """Return a configuration with an extender behind each server."""
    generator = random.Random(seed)
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [_extender(generator, server.url, number) for number, server in enumerate(servers)],
    }


def _extender(generator: random.Random, url: str, number: int) -> Json:
    extender: Json = {"urlPrefix": url + generator.choice(["", "/", "/api//"])}
    for field, verb, share in (
        ("filterVerb", "filter", 0.8),
        ("prioritizeVerb", "prioritize", 0.7),
        ("preemptVerb", "preempt", 0.6),
    ):
        if generator.random() < share:
            extender[field] = verb
    extender["weight"] = generator.choice([1, 2, 5, 20])
    extender["nodeCacheCapable"] = generator.random() < 0.5
    extender["ignorable"] = generator.random() < 0.5
    if generator.random() < 0.3:
        resource = ("example.com/gpu", "example.com/fpga", "example.com/none")[number]
        extender["managedResources"] = [{"name": resource, "ignoredByScheduler": generator.random() < 0.5}]
    return extender


@pytest.mark.parametrize("number", range(N_SEEDS))
@pytest.mark.parametrize("profile", PROFILES)
def test_every_verdict_and_placement_is_that_of_kube_scheduler_with_the_same_extenders(
    oracle: Path, tmp_path: Path, profile: str, number: int
) -> None:
    seed = seeds.derived_seed("extenders", profile, number)
    trial = trial_for(profile, seed)
    cluster, config = tmp_path / "cluster.json", tmp_path / "config.json"
    cluster.write_bytes(cluster_of(Oracle(oracle), trial))
    n_refused = seed % 11
    with (
        extender_server(rules("one", n_refused=n_refused)) as one,
        extender_server(rules("two")) as two,
        extender_server(rules("three", n_refused=1)) as three,
    ):
        servers = (one, two, three)[: 1 + seed % 3]
        config.write_text(json.dumps(configuration(seed, servers)))
        outcome = compare_answers(Oracle(oracle), cluster, f"{trial}\n  {trial.command}\n{config.read_text()}", config)
    assert outcome.is_equal, outcome


@pytest.mark.parametrize("number", range(N_SEEDS))
@pytest.mark.parametrize("profile", PROFILES)
def test_extenders_are_asked_in_kube_schedulers_very_words(
    oracle: Path, tmp_path: Path, profile: str, number: int
) -> None:
    seed = seeds.derived_seed("extender requests", profile, number)
    trial = trial_for(profile, seed)
    cluster, config = tmp_path / "cluster.json", tmp_path / "config.json"
    cluster.write_bytes(cluster_of(Oracle(oracle), trial))
    # As an API server stores it: fields that no scheduler reads have their defaults only then.
    cluster.write_bytes(Oracle(oracle).admit(cluster))

    def ask(ask_all: Callable[[], object]) -> list[str]:
        one.requests.clear()
        ask_all()
        return sorted({json.dumps([path, _unordered(body)], sort_keys=True) for path, body in one.requests})

    with extender_server(rules("one", n_refused=seed % 11)) as one:
        document = configuration(seed, [one])
        document["extenders"][0] |= {"filterVerb": "filter", "prioritizeVerb": "prioritize", "preemptVerb": "preempt"}
        config.write_text(json.dumps(document))
        theirs = ask(lambda: Oracle(oracle).evaluate(cluster, config))
        flags = ["--workloads", "ignore", "--percentage-of-nodes-to-score", "100", "--config", str(config)]
        ours = ask(lambda: nodewise("explain", str(cluster), *flags, "--all", "-o", "jsonl"))
    assert [json.loads(request) for request in ours] == [json.loads(request) for request in theirs]


def _unordered(body: Json) -> Json:
    """Return a request with its nodes in order: where PreFilter names nodes, kube-scheduler's order is a map's."""
    body = dict(body)
    if body.get("NodeNames") is not None:
        body["NodeNames"] = sorted(body["NodeNames"])
    if body.get("Nodes") is not None:
        items = sorted(body["Nodes"]["items"], key=lambda node: str(node["metadata"]["name"]))
        body["Nodes"] = body["Nodes"] | {"items": items}
    return body
