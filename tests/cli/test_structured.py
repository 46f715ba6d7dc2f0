"""Documents are whole, whatever happens, and the same in every format."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.small_clusters import node, pod, write
from tests.command import nodewise

VOLUME = "volumes: [{name: v, persistentVolumeClaim: {claimName: c}}], "


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    needing = pod("needing").replace("spec: {", "spec: {" + VOLUME)
    broken = "apiVersion: v1\nkind: Pod\nmetadata: {name: broken}\nspec: {containers: 5}\n"
    return write(tmp_path / "c.yaml", node() + pod("web") + pod("big", "9") + needing + broken)


@pytest.mark.parametrize("verb", ["simulate", "explain"])
def test_yaml_and_json_say_the_same(cluster: str, verb: str) -> None:
    as_json = nodewise(verb, cluster, "-o", "json")
    as_yaml = nodewise(verb, cluster, "-o", "yaml")
    document, other = as_json.json(), yaml.safe_load(as_yaml.stdout)
    assert list(document) == list(other)
    for each in (document, other):
        each.get("summary", {}).pop("seconds", None)
    assert document == other
    assert (as_json.exit_code, as_yaml.exit_code) == (2, 2)
    assert as_json.stdout.endswith("\n}\n")


@pytest.mark.parametrize("verb", ["simulate", "explain"])
def test_json_lines_are_the_pods_of_the_document(cluster: str, verb: str) -> None:
    lines = nodewise(verb, cluster, "-o", "jsonl").json_lines()
    assert lines == nodewise(verb, cluster, "-o", "json").json()["pods"]


def test_a_document_is_laid_out_as_jq_would(cluster: str) -> None:
    text = nodewise("simulate", cluster, "-o", "json").stdout
    assert text == json.dumps(json.loads(text), indent=2) + "\n"


@pytest.mark.parametrize("verb", ["simulate", "explain"])
@pytest.mark.parametrize("output", ["json", "yaml"])
def test_a_document_without_pods_is_whole(tmp_path: Path, verb: str, output: str) -> None:
    completed = nodewise(verb, write(tmp_path / "c.yaml", node()), "-o", output)
    document = json.loads(completed.stdout) if output == "json" else yaml.safe_load(completed.stdout)
    assert document["pods"] == []
    assert document["inputErrors"] == []
    assert completed.exit_code == 0


def test_all_that_was_refused_stands_in_the_document_and_on_standard_error(cluster: str) -> None:
    for verb in ("simulate", "explain"):
        completed = nodewise(verb, cluster, "-o", "json")
        errors = completed.json()["inputErrors"]
        assert errors[0]["source"].endswith("c.yaml#5")
        assert errors[0]["object"] == "Pod default/broken"
        said = [line.removeprefix("nodewise: ") for line in completed.stderr.splitlines()]
        for error, line in zip(errors, said, strict=True):
            assert line == ": ".join(error[key] for key in ("source", "object", "field", "message"))


def test_a_pod_of_another_scheduler_is_listed_as_one_that_would_not_be_tried(tmp_path: Path) -> None:
    foreign = pod("foreign").replace("spec: {", "spec: {schedulerName: other, ")
    lines = nodewise("explain", write(tmp_path / "c.yaml", node() + foreign), "--all", "-o", "jsonl").json_lines()
    assert lines == [{"pod": "default/foreign", "skipped": 'no profile for scheduler name "other"'}]


def test_feature_gates_are_checked_as_kube_scheduler_checks_them(cluster: str) -> None:
    unknown = nodewise("simulate", cluster, "--feature-gates", "Foo=true")
    assert (unknown.exit_code, unknown.stderr) == (2, "nodewise: unrecognized feature gate: Foo\n")
    asked = "WorkloadWithJob=true,GenericWorkload=true"
    assert "not supported yet" in nodewise("simulate", cluster, "--feature-gates", asked).stderr
    assert nodewise("simulate", cluster, "--feature-gates", "GenericWorkload=false").stdout
