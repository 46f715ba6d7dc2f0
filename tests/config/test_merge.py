"""A profile's plugins: merged into the default ones, spread over the extension points, weighted."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nodewise.config.default_plugins import DEFAULT_MULTI_POINT
from nodewise.config.errors import ConfigError
from nodewise.config.load import load_configuration
from nodewise.config.model import PluginRef, PluginSet
from nodewise.config.plugins import (
    CONSTRUCTION_ORDER,
    IN_TREE_POINTS,
    Expanded,
    expand,
    expand_profiles,
    in_tree_implements,
    merge_plugin_set,
)
from tests import seeds
from tests.config.test_validation_texts import HEADER

N_RANDOM_PROFILES = 30
DEFAULT_NAMES = [ref.name for ref in DEFAULT_MULTI_POINT]


def expanded(plugins: str) -> Expanded:
    return expand_profiles(load_configuration(f"{HEADER}profiles: [{{plugins: {plugins}}}]".encode()))[
        "default-scheduler"
    ]


def names(refs: tuple[PluginRef, ...]) -> list[str]:
    return [ref.name for ref in refs]


def merged(enabled: Mapping[str, int], disabled: tuple[str, ...] = ()) -> PluginSet:
    refs = tuple(PluginRef(name, weight) for name, weight in enabled.items())
    return merge_plugin_set(DEFAULT_MULTI_POINT, PluginSet(refs, tuple(map(PluginRef, disabled))))


def test_the_default_profile_has_twenty_plugins() -> None:
    assert len(DEFAULT_MULTI_POINT) == 20


def test_the_default_filters_run_in_the_order_of_kube_scheduler() -> None:
    default = expanded("{}")

    assert " ".join(names(default["filter"])) == (
        "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
        "NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources "
        "NodeDeclaredFeatures"
    )
    assert default["preFilter"] == default["filter"]
    assert names(default["postFilter"]) == ["DynamicResources", "DefaultPreemption"]
    assert names(default["preEnqueue"]) == ["SchedulingGates", "DynamicResources", "DefaultPreemption"]


def test_the_default_weights_are_those_of_kube_scheduler() -> None:
    assert {ref.name: ref.weight for ref in expanded("{}")["score"]} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_enabling_a_default_plugin_keeps_its_place_and_takes_the_weight() -> None:
    enabled = merged({"NodeAffinity": 9}).enabled

    assert names(enabled) == DEFAULT_NAMES
    assert PluginRef("NodeAffinity", 9) in enabled


def test_disabling_and_enabling_a_default_plugin_moves_it_to_the_end() -> None:
    assert names(merged({"NodeAffinity": 9}, ("NodeAffinity",)).enabled)[-1] == "NodeAffinity"


def test_a_star_drops_all_defaults() -> None:
    assert names(merged({"X": 0, "NodeName": 0}, ("*",)).enabled) == ["X", "NodeName"]


def test_a_plugin_enabled_twice_stays_there_twice() -> None:
    custom = PluginSet((PluginRef("NodeName", 1), PluginRef("NodeName", 2)))

    enabled = merge_plugin_set(DEFAULT_MULTI_POINT, custom).enabled

    assert [ref for ref in enabled if ref.name == "NodeName"] == [PluginRef("NodeName", 2), PluginRef("NodeName", 1)]


def test_the_disabled_list_stays_for_the_expansion() -> None:
    assert merged({}, ("A", "*")).disabled == (PluginRef("A"), PluginRef("*"))


def test_a_multi_point_plugin_named_at_a_point_moves_to_the_front_there_only() -> None:
    result = expanded("{filter: {enabled: [{name: NodePorts}, {name: TaintToleration}]}}")

    assert names(result["filter"])[:3] == ["NodePorts", "TaintToleration", "NodeName"]
    assert names(result["preFilter"])[:3] == ["NodeName", "NodeUnschedulable", "TaintToleration"]


def test_a_plugin_only_named_at_a_point_comes_last() -> None:
    result = expanded(
        "{multiPoint: {disabled: [{name: NodeName}]}, filter: {enabled: [{name: NodeName}, {name: NodePorts}]}}"
    )

    assert names(result["filter"])[0] == "NodePorts"
    assert names(result["filter"])[-1] == "NodeName"
    assert "NodeName" not in names(result["preFilter"])


def test_a_plugin_disabled_at_a_point_is_left_out_there_only() -> None:
    result = expanded("{score: {disabled: [{name: NodeAffinity}]}}")

    assert "NodeAffinity" not in names(result["score"])
    assert "NodeAffinity" in names(result["preScore"])


def test_a_star_at_a_point_leaves_only_what_the_point_names() -> None:
    result = expanded("{score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality, weight: 5}]}}")

    assert result["score"] == (PluginRef("ImageLocality", 5),)


def test_the_weight_at_score_counts_before_the_one_at_multi_point_even_when_there_is_none() -> None:
    weights = {
        ref.name: ref.weight
        for ref in expanded(
            "{multiPoint: {enabled: [{name: ImageLocality, weight: 4}]},"
            " score: {enabled: [{name: NodeAffinity}, {name: TaintToleration, weight: 8}]}}"
        )["score"]
    }

    assert (weights["NodeAffinity"], weights["TaintToleration"], weights["ImageLocality"]) == (1, 8, 4)


def test_a_third_party_plugin_runs_where_it_says_it_does() -> None:
    def implements(plugin: str, point: str) -> bool:
        return in_tree_implements(plugin, point) or (plugin == "Mine" and point in ("filter", "score"))

    configuration = load_configuration(
        f"{HEADER}profiles: [{{plugins: {{multiPoint: {{enabled: [{{name: Mine, weight: 6}}]}}}}}}]".encode()
    )
    result = expand(configuration.profiles[0], ("filter", "score", "bind", "queueSort"), implements)

    assert names(result["filter"])[-1] == "Mine"
    assert result["score"][-1] == PluginRef("Mine", 6)
    assert set(result) == {"filter", "score", "bind", "queueSort"}


def test_a_plugin_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'PreFilterPlugin "Mine" does not exist$'):
        expanded("{multiPoint: {enabled: [{name: Mine}]}}")


def test_every_profile_has_its_own_plugins() -> None:
    profiles = "[{schedulerName: a}, {schedulerName: b, plugins: {score: {disabled: [{name: '*'}]}}}]"
    configuration = load_configuration(f"{HEADER}profiles: {profiles}".encode())

    result = expand_profiles(configuration)

    assert len(result["a"]["score"]) == 9
    assert result["b"]["score"] == ()


def random_profile(random: Random) -> dict[str, Any]:
    """Make a profile that is often, but not always, one that kube-scheduler takes."""
    points = ["multiPoint", *(point for point in CONSTRUCTION_ORDER if random.random() < 0.2)]
    return {point: random_plugin_set(random, point) for point in points}


def random_plugin_set(random: Random, point: str) -> dict[str, Any]:
    known = [name for name in IN_TREE_POINTS if point == "multiPoint" or in_tree_implements(name, point)]
    choices = known if known and random.random() < 0.97 else [*IN_TREE_POINTS, "Unknown"]
    # Not two here: each lacks its arguments then, and kube-scheduler makes plugins in random order.
    n_most = 1 if point == "podGroupPostFilter" else 3
    enabled = random.sample(choices, min(len(choices), random.randint(0, n_most)))
    disabled = random.sample(list(IN_TREE_POINTS), random.randint(0, 2))
    star = ["*"] if random.random() < 0.08 else []
    return {
        "enabled": [
            {"name": name, **({"weight": random.choice((0, 1, 7, -1))} if random.random() < 0.4 else {})}
            for name in enabled
        ],
        "disabled": [{"name": name} for name in [*disabled, *star]],
    }


def upstream_verdict(oracle: Path, config: Path, cluster: Path) -> str | dict[str, list[tuple[str, int]]]:
    """Give kube-scheduler's plugins by extension point, as it logs them, or its refusal."""
    command = [str(oracle), "evaluate", "-v", "2", "--config", str(config), str(cluster)]
    log = subprocess.run(command, capture_output=True, check=False, text=True).stderr
    logged = re.search(r'starts to work with those plugins" Plugins=(\{.*\})$', log, re.MULTILINE)
    if logged is None:
        refusals = [line for line in log.splitlines() if line.startswith("oracle: ")]
        return refusals[0].removeprefix("oracle: ")
    return {
        point[0].lower() + point[1:]: [(ref["Name"], ref["Weight"]) for ref in plugin_set["Enabled"] or ()]
        for point, plugin_set in json.loads(logged[1]).items()
        if point != "MultiPoint"
    }


def own_verdict(config: Path) -> str | dict[str, list[tuple[str, int]]]:
    try:
        result = expand_profiles(load_configuration(config))["default-scheduler"]
    except ConfigError as error:
        return str(error)
    return {point: [(ref.name, ref.weight) for ref in refs] for point, refs in result.items()}


def test_random_profiles_expand_as_in_kube_scheduler(oracle: Path, tmp_path: Path) -> None:
    random = Random(seeds.base_seed())
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    config = tmp_path / "config.json"
    for _ in range(N_RANDOM_PROFILES):
        profile = {"plugins": random_profile(random)}
        header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        config.write_text(json.dumps({**header, "profiles": [profile]}))

        assert own_verdict(config) == upstream_verdict(oracle, config, cluster), config.read_text()
