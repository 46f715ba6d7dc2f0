"""`nodewise config`: what is in force, what is wrong, what differs, and what old files become."""

import json
from pathlib import Path

import pytest
import yaml

from nodewise.config.load import load_configuration
from tests.cli.small_clusters import node, pod, write
from tests.command import nodewise
from tests.config.test_validation_texts import HEADER

PACKED = f"""{HEADER}profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      disabled: [{{name: ImageLocality}}]
      enabled: [{{name: NodeAffinity, weight: 10}}]
"""
POLICY = {
    "kind": "Policy",
    "apiVersion": "v1",
    "predicates": [{"name": "PodFitsResources"}],
    "priorities": [{"name": "MostRequestedPriority", "weight": 2}, {"name": "EqualPriority", "weight": 1}],
}
NOTE = "EqualPriority has no successor: rates all nodes alike, which changes nothing"


@pytest.fixture
def packed(tmp_path: Path) -> str:
    return write(tmp_path / "packed.yaml", PACKED)


@pytest.fixture
def policy(tmp_path: Path) -> str:
    return write(tmp_path / "policy.json", json.dumps(POLICY))


# --- view -------------------------------------------------------------------------------------------------------------


def test_view_says_where_every_value_comes_from(packed: str) -> None:
    completed = nodewise("config", "view", packed)
    rows = [line.split() for line in completed.stdout.splitlines()]

    assert completed.exit_code == 0
    assert ["parallelism", "16", "default"] in rows
    assert ["schedulerName", "default-scheduler", f"{packed}:4"] in rows
    assert ["score", "NodeAffinity", "10", f"{packed}:8"] in rows
    assert ["score", "ImageLocality", f"{packed}:7"] in rows
    assert ["NodeResourcesFit.scoringStrategy.type", "LeastAllocated", "default"] in rows


def test_view_without_a_file_shows_the_defaults() -> None:
    assert nodewise("config", "view").stdout == nodewise("config", "view", "default").stdout


def test_view_as_a_document_has_the_whole_configuration(packed: str) -> None:
    document = nodewise("config", "view", packed, "-o", "json").json()

    assert document["kind"] == "ConfigurationView"
    assert document["configuration"]["profiles"][0]["plugins"]["score"]["enabled"] == [
        {"name": "NodeAffinity", "weight": 10}
    ]
    assert document["origins"]["parallelism"] == "default"
    (profile,) = document["profiles"]
    assert profile["plugins"]["score"][0] == {
        "name": "NodeAffinity",
        "from": f"{packed}:8",
        "weight": 10,
        "weightFrom": f"{packed}:8",
    }
    assert profile["plugins"]["bind"] == [{"name": "DefaultBinder", "from": "default"}]
    assert yaml.safe_load(nodewise("config", "view", packed, "-o", "yaml").stdout) == document


def test_a_viewed_configuration_can_be_used(packed: str, tmp_path: Path) -> None:
    document = nodewise("config", "view", packed, "-o", "json").json()["configuration"]
    again = tmp_path / "again.json"
    again.write_text(json.dumps(document))

    assert nodewise("config", "diff", packed, str(again)).exit_code == 0


def test_view_shows_gates_and_what_they_change() -> None:
    on = nodewise("config", "view").stdout
    off = nodewise("config", "view", "--feature-gates", "StorageCapacityScoring=false").stdout

    assert "VolumeBinding.shape[0].score" in on
    assert "VolumeBinding.shape" not in off
    assert ["feature", "gate", "StorageCapacityScoring", "false", "--feature-gates"] in map(str.split, off.splitlines())


def test_view_of_a_policy_names_the_file_without_lines(policy: str) -> None:
    completed = nodewise("config", "view", policy)
    rows = [line.split() for line in completed.stdout.splitlines()]

    assert ["score", "NodeResourcesFit", "2", policy] in rows
    assert f"note: {policy}: {NOTE}\n" in completed.stderr


# --- validate ---------------------------------------------------------------------------------------------------------


def test_validate_gives_a_line_for_every_mistake_with_the_name_of_its_file(packed: str, tmp_path: Path) -> None:
    wrong = write(tmp_path / "wrong.yaml", f"{HEADER}parallelism: -1\npercentageOfNodesToScore: 200\n")
    completed = nodewise("config", "validate", packed, wrong)

    assert completed.exit_code == 2
    assert completed.stdout.splitlines() == [
        f"{packed}: valid",
        f"{wrong}: parallelism: Invalid value: -1: should be an integer value greater than zero",
        f"{wrong}: percentageOfNodesToScore: Invalid value: 200: not in valid range [0-100]",
    ]


def test_validate_finds_what_only_shows_when_plugins_are_put_in_place(tmp_path: Path) -> None:
    wrong = write(tmp_path / "c.yaml", f"{HEADER}profiles: [{{plugins: {{score: {{enabled: [{{name: Foo}}]}}}}}}]")

    assert nodewise("config", "validate", wrong).stdout == (
        f"{wrong}: initializing profiles: creating profile for scheduler name default-scheduler: "
        'ScorePlugin "Foo" does not exist\n'
    )


def test_validate_knows_plugins_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """class Own:
    name = "Own"
    def __init__(self, args, handle): ...
    def filter(self, pod, node): ...
"""
    (tmp_path / "own_rules_of_config.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    named = write(tmp_path / "c.yaml", f"{HEADER}profiles: [{{plugins: {{filter: {{enabled: [{{name: Own}}]}}}}}}]")
    scoring = write(tmp_path / "d.yaml", f"{HEADER}profiles: [{{plugins: {{score: {{enabled: [{{name: Own}}]}}}}}}]")
    own = ("--plugin", "own_rules_of_config:Own")

    assert nodewise("config", "validate", *own, named).stdout == f"{named}: valid\n"
    assert 'plugin "Own" does not extend ScorePlugin plugin' in nodewise("config", "validate", *own, scoring).stdout


def test_validate_says_what_is_wrong_with_old_files_and_missing_ones(tmp_path: Path) -> None:
    wrong = write(tmp_path / "p.json", json.dumps({**POLICY, "predicates": [{"name": "Mine"}]}))
    missing = str(tmp_path / "missing.yaml")
    completed = nodewise("config", "validate", wrong, missing)

    assert completed.exit_code == 2
    assert completed.stdout.splitlines() == [
        f'{wrong}: predicate type not found for "Mine"',
        f"{missing}: no such file or directory",
    ]


# --- diff -------------------------------------------------------------------------------------------------------------


def test_diff_of_equal_configurations_says_so(packed: str) -> None:
    completed = nodewise("config", "diff", packed, packed)

    assert (completed.exit_code, completed.stdout) == (0, "the same is in force\n")


def test_diff_shows_what_is_in_force_on_either_side(packed: str) -> None:
    completed = nodewise("config", "diff", "default", packed)
    rows = [line.split() for line in completed.stdout.splitlines()]

    assert completed.exit_code == 1
    assert rows[0] == ["WHERE", "default", packed]
    assert ["default-scheduler:", "score", "NodeAffinity", "2", "10"] in rows
    assert ["default-scheduler:", "score", "ImageLocality", "1", "-"] in rows
    assert ["default-scheduler:", "score", "order"] in rows


def test_diff_as_a_document(packed: str) -> None:
    completed = nodewise("config", "diff", "default", packed, "-o", "json")

    assert completed.exit_code == 1
    assert completed.json()["differences"][0] == {"where": "default-scheduler: score NodeAffinity", "a": 2, "b": 10}
    assert nodewise("config", "diff", packed, packed, "-o", "yaml").exit_code == 0


def test_diff_fails_on_a_file_that_is_wrong(tmp_path: Path, packed: str) -> None:
    wrong = write(tmp_path / "wrong.yaml", f"{HEADER}parallelism: x\n")
    completed = nodewise("config", "diff", packed, wrong)

    assert completed.exit_code == 2
    assert completed.stderr.startswith(f"nodewise: {wrong}: json: cannot unmarshal string into Go struct field")


# --- translate, and old files elsewhere -------------------------------------------------------------------------------


def test_translate_prints_a_configuration_and_notes(policy: str) -> None:
    completed = nodewise("config", "translate", policy)

    assert completed.exit_code == 0
    assert load_configuration(completed.stdout.encode()).profiles[0].scheduler_name == "default-scheduler"
    assert f"note: {NOTE}" in completed.stderr.splitlines()


def test_translate_takes_names_and_providers() -> None:
    by_name = nodewise(
        "config", "translate", "--predicates", "HostName", "--priorities", "ImageLocalityPriority=3,EqualPriority"
    )
    provider = nodewise("config", "translate", "--provider", "ClusterAutoscalerProvider", "-o", "json")

    plugins = yaml.safe_load(by_name.stdout)["profiles"][0]["plugins"]
    assert plugins["score"]["enabled"] == [{"name": "ImageLocality", "weight": 3}]
    assert provider.json()["profiles"][0]["pluginConfig"][0]["args"]["scoringStrategy"] == {"type": "MostAllocated"}


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "config translate: give a FILE, or --provider, or --predicates and --priorities"),
        (("--provider", "Mine"), 'algorithm provider "Mine" is not registered'),
        (("--predicates", "Mine"), 'predicate type not found for "Mine"'),
        (
            ("--priorities", "EqualPriority=x"),
            "--priorities: found weight 'x' of EqualPriority, expected a whole number from 1 on",
        ),
    ],
)
def test_translate_says_what_it_cannot_do(flags: tuple[str, ...], text: str) -> None:
    completed = nodewise("config", "translate", *flags)

    assert (completed.exit_code, completed.stderr) == (2, f"nodewise: {text}\n")


def test_a_policy_beside_a_configuration_is_found_from_anywhere(tmp_path: Path, policy: str) -> None:
    old = write(
        tmp_path / "old.yaml",
        "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration\n"
        "algorithmSource: {policy: {file: {path: policy.json}}}\n",
    )

    assert nodewise("config", "diff", policy, old).exit_code == 0


@pytest.mark.parametrize("verb", ["simulate", "explain"])
def test_a_policy_can_be_used_where_a_configuration_can(verb: str, tmp_path: Path, policy: str) -> None:
    cluster = write(tmp_path / "c.yaml", node("n1") + node("n2") + pod())
    completed = nodewise(verb, cluster, "--config", policy)

    assert completed.exit_code == 0
    assert f"note: --config {policy}: {NOTE}" in completed.stderr


def test_standard_input_is_a_file_too(packed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(packed, encoding="utf-8") as file:
        monkeypatch.setattr("sys.stdin", file)

        assert nodewise("config", "diff", packed, "-").exit_code == 0
