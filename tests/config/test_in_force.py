"""What a configuration comes to, and where each value of it comes from."""

import json
from pathlib import Path
from random import Random

import msgspec
import pytest
import yaml
from hypothesis import given, settings, strategies as st

from nodewise.config.difference import Difference, differences
from nodewise.config.encode import configuration_document
from nodewise.config.errors import ConfigError
from nodewise.config.feature_gates import FeatureGates
from nodewise.config.in_force import POINTS, InForce, configuration_in_force
from nodewise.config.plugins import CONSTRUCTION_ORDER
from nodewise.config.positions import line_numbers
from tests.config.mutation import random_configuration
from tests.config.test_validation_texts import HEADER

PACKED = f"""{HEADER}parallelism: 16
podMaxBackoffSeconds: 20
profiles:
- schedulerName: mine
  percentageOfNodesToScore: 30
  plugins:
    multiPoint:
      enabled: [{{name: TaintToleration, weight: 7}}]
    score:
      disabled: [{{name: ImageLocality}}]
      enabled:
      - name: NodeAffinity
        weight: 10
      - name: NodeResourcesFit
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{{name: cpu}}]
"""


def in_force(text: str, *, gates: FeatureGates | None = None) -> InForce:
    return configuration_in_force(text.encode(), "f.yaml", gates or FeatureGates())


def origins(found: InForce) -> dict[str, str]:
    (profile,) = found.profiles
    return {value.path: value.origin for value in (*found.values, *profile.values, *profile.arguments)}


def test_a_written_value_has_its_line_and_a_default_says_so() -> None:
    found = origins(in_force(PACKED))

    assert found["parallelism"] == "f.yaml:3"
    assert found["podMaxBackoffSeconds"] == "f.yaml:4"
    assert found["podInitialBackoffSeconds"] == "default"
    assert found["schedulerName"] == "f.yaml:6"
    assert found["percentageOfNodesToScore"] == "f.yaml:7"


def test_arguments_have_the_lines_of_their_fields() -> None:
    found = origins(in_force(PACKED))

    assert found["NodeResourcesFit.scoringStrategy.type"] == "f.yaml:21"
    assert found["NodeResourcesFit.scoringStrategy.resources[0].name"] == "f.yaml:22"
    assert found["NodeResourcesFit.scoringStrategy.resources[0].weight"] == "default"
    assert found["InterPodAffinity.hardPodAffinityWeight"] == "default"


def test_a_plugin_has_the_line_that_put_it_there() -> None:
    scores = {plugin.name: plugin for plugin in in_force(PACKED).profiles[0].points["score"]}

    assert scores["NodeAffinity"][1:] == (10, "f.yaml:14", "f.yaml:14")
    assert scores["NodeResourcesFit"][1:] == (1, "f.yaml:16", "default")
    assert scores["TaintToleration"][1:] == (7, "f.yaml:10 (multiPoint)", "f.yaml:10 (multiPoint)")
    assert scores["VolumeBinding"][1:] == (1, "default", "default")


def test_what_the_file_takes_away_is_told() -> None:
    assert in_force(PACKED).profiles[0].disabled == [("score", "ImageLocality", "f.yaml:12")]


def test_a_written_value_that_defaulting_replaces_is_a_default() -> None:
    found = origins(in_force(f"{HEADER}leaderElection: {{leaderElect: true, resourceName: ''}}"))

    assert found["leaderElection.leaderElect"] == "f.yaml:3"
    assert found["leaderElection.resourceName"] == "default"


def test_without_a_file_everything_is_default() -> None:
    found = configuration_in_force(None, "default")

    assert set(origins(found).values()) == {"default"}
    assert {plugin.origin for plugins in found.profiles[0].points.values() for plugin in plugins} == {"default"}


def test_an_alias_has_the_lines_of_its_anchor() -> None:
    text = f"""{HEADER}profiles:
- schedulerName: a
  plugins: &same
    score:
      enabled:
      - {{name: NodeAffinity, weight: 3}}
- schedulerName: b
  plugins: *same
"""
    lines = line_numbers(text.encode())

    assert lines["profiles[1].plugins"] == 10
    assert lines["profiles[1].plugins.score.enabled[0]"] == 8


def test_a_merge_key_brings_its_lines() -> None:
    lines = line_numbers(b"base: &base\n  x: 1\n  y: 2\nother:\n  <<: *base\n  y: 3\n")

    assert (lines["other.x"], lines["other.y"]) == (2, 6)


@pytest.mark.parametrize("text", ["", "a: [", "{", "- a\n- b", "a: 1\n---\nb: 2"])
def test_text_that_cannot_be_read_has_the_lines_that_can(text: str) -> None:
    assert "b" not in line_numbers(text.encode())


def test_json_has_lines_too() -> None:
    assert line_numbers(b'{\n "a": 1,\n "b": {"c": [1,\n 2]}\n}')["b.c[1]"] == 4


def test_what_is_wrong_is_refused_as_on_loading() -> None:
    with pytest.raises(ConfigError, match=r"^parallelism: Invalid value: -1"):
        in_force(f"{HEADER}parallelism: -1")


# --- differences ------------------------------------------------------------------------------------------------------


def test_equal_configurations_do_not_differ_however_they_are_written() -> None:
    explicit = f"""{HEADER}profiles:
- schedulerName: default-scheduler
  plugins: {{score: {{enabled: [{{name: TaintToleration, weight: 3}}]}}}}
  pluginConfig: [{{name: InterPodAffinity, args: {{hardPodAffinityWeight: 1}}}}]
"""

    assert differences(configuration_in_force(None, "default"), in_force(explicit)) == []


def test_weights_plugins_order_arguments_and_fields_differ_one_by_one() -> None:
    text = PACKED.replace("schedulerName: mine", "schedulerName: default-scheduler")
    found = differences(configuration_in_force(None, "default"), in_force(text))

    assert Difference("podMaxBackoffSeconds", 10, 20) in found
    assert Difference("default-scheduler: percentageOfNodesToScore", None, 30) in found
    assert Difference("default-scheduler: score NodeAffinity", 2, 10) in found
    assert Difference("default-scheduler: score ImageLocality", 1, None) in found
    kind = "default-scheduler: NodeResourcesFit.scoringStrategy.type"
    assert Difference(kind, "LeastAllocated", "MostAllocated") in found
    (order,) = [difference for difference in found if difference.is_order]
    assert order.where == "default-scheduler: score order"
    assert order.second[:2] == ["NodeAffinity", "NodeResourcesFit"]


def test_profiles_that_only_one_side_has_are_named() -> None:
    found = differences(configuration_in_force(None, "default"), in_force(PACKED))

    assert Difference("profile default-scheduler", "there", None) in found
    assert Difference("profile mine", None, "there") in found


def test_gates_make_a_difference() -> None:
    off = configuration_in_force(None, "default", FeatureGates.of(StorageCapacityScoring=False))

    assert "default-scheduler: VolumeBinding.shape[0].score" in {
        difference.where for difference in differences(configuration_in_force(None, "default"), off)
    }


@settings(max_examples=40)
@given(st.integers(0, 2**32))
def test_what_is_written_out_in_full_comes_to_the_same(seed: int) -> None:
    text = json.dumps(random_configuration(Random(seed)))
    try:
        found = in_force(text)
    except ConfigError:
        return
    document = configuration_document(found.configuration)
    for profile, expanded in zip(document["profiles"], found.profiles, strict=True):
        points = {
            point: {"enabled": [{"name": p.name, "weight": p.weight} for p in plugins]}
            for point, plugins in expanded.points.items()
        }
        profile["plugins"] = {"multiPoint": {"disabled": [{"name": "*"}]}, **points}

    again = in_force(yaml.safe_dump(document))

    assert differences(found, again) == []
    assert msgspec.json.encode(configuration_document(again.configuration)["profiles"][0].get("pluginConfig"))


def test_a_file_in_force_is_what_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(PACKED)

    found = configuration_in_force(path.read_bytes(), "f.yaml")

    assert [profile.scheduler_name for profile in found.configuration.profiles] == ["mine"]


def test_all_extension_points_are_shown() -> None:
    assert set(POINTS) == set(CONSTRUCTION_ORDER)


def test_resources_that_extenders_manage_come_from_them() -> None:
    found = in_force(f"""{HEADER}extenders:
- urlPrefix: http://127.0.0.1:1
  managedResources: [{{name: example.com/a, ignoredByScheduler: true}}]
""")

    assert origins(found)["NodeResourcesFit.ignoredResources[0]"] == "extenders"
    assert origins(found)["extenders[0].managedResources[0].name"] == "f.yaml:5"
