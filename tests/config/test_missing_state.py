"""A plugin without the point that prepares it fails pods as kube-scheduler's does."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.command import nodewise
from tests.config.test_gated_decisions import node, pod
from tests.config.test_validation_texts import HEADER

SCORES = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeBinding",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "DynamicResources",
)
FILTERS = (
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
)
ONE_POINT = [("score", name) for name in SCORES] + [("filter", name) for name in FILTERS]
Outcome = list[tuple[str, str | None, str]]


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Give two nodes, a plain pod, a pod with preferences, and one that fits nowhere."""
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["n2"]}]}
    preferring = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]}
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    objects = [
        node("n1"),
        node("n2"),
        pod("a"),
        pod("b", affinity={"nodeAffinity": preferring}, topologySpreadConstraints=[spread]),
        pod("c", nodeSelector={"zone": "nowhere"}),
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return path


def own(cluster: Path, config: Path) -> Outcome:
    lines = nodewise(
        "simulate", "-o", "jsonl", "--tie-break", "kube", "--config", str(config), str(cluster)
    ).json_lines()
    return [(found["pod"], found["node"], found["message"]) for found in lines]


def upstream(oracle: Path, cluster: Path, config: Path) -> Outcome:
    command = [str(oracle), "schedule", "--choice", "native", "--config", str(config), str(cluster)]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found = [json.loads(line) for line in output.splitlines()]
    return [(line["pod"], line.get("node"), line.get("error") or line.get("message", "")) for line in found]


@pytest.mark.parametrize(("point", "plugin"), ONE_POINT)
def test_a_plugin_at_one_point_only_does_what_kube_scheduler_does(
    oracle: Path, tmp_path: Path, cluster: Path, point: str, plugin: str
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        f"{HEADER}profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: {plugin}}}]}}, "
        f"{point}: {{enabled: [{{name: {plugin}}}]}}}}}}]"
    )

    assert own(cluster, config) == upstream(oracle, cluster, config)


def test_two_such_plugins_fail_with_the_first_in_the_order_of_the_profile(
    oracle: Path, tmp_path: Path, cluster: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        f"{HEADER}profiles: [{{plugins: {{"
        "multiPoint: {disabled: [{name: InterPodAffinity}, {name: VolumeBinding}]},"
        " preScore: {enabled: [{name: InterPodAffinity}]},"
        " score: {enabled: [{name: VolumeBinding}, {name: InterPodAffinity}]}}}]"
    )

    assert own(cluster, config) == upstream(oracle, cluster, config)
    assert 'plugin "VolumeBinding" failed with: not found' in own(cluster, config)[0][2]


def test_a_pod_that_fits_on_one_node_only_is_not_scored_and_so_does_not_fail(tmp_path: Path) -> None:
    cluster, config = tmp_path / "cluster.json", tmp_path / "config.yaml"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1"), pod("a")]}))
    config.write_text(
        f"{HEADER}profiles: [{{plugins: {{multiPoint: {{disabled: [{{name: TaintToleration}}]}}, "
        "score: {enabled: [{name: TaintToleration}]}}}]"
    )

    assert own(cluster, config) == [("default/a", "n1", "")]
