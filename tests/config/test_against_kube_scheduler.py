"""Configurations of all kinds, right and wrong, are judged as kube-scheduler judges them, and come to the same."""

import json
import subprocess
from pathlib import Path
from random import Random

import pytest

from nodewise.config.feature_gate_table import FEATURE_GATES
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates, parse_feature_gates
from tests.config.mutation import ARGS, HEADER, Tree, mutated, random_configuration
from tests.config.test_validation_texts import RECORDED, whole_text
from tests.config.upstream import own_verdict, upstream_verdicts, write_configurations
from tests.seeds import derived_seed

N_CONFIGURATIONS = 400
# Gates that kube-scheduler's own main function adds; the oracle has none.
OF_THE_COMMAND = {"ContextualLogging", "LoggingAlphaOptions", "LoggingBetaOptions", "NativeHistograms"}
GATES = {
    "": DEFAULT_GATES,
    "StorageCapacityScoring=false": FeatureGates.of(StorageCapacityScoring=False),
    "DRASchedulerFilterTimeout=false": FeatureGates.of(DRASchedulerFilterTimeout=False),
    "DRADeviceBindingConditions=false": FeatureGates.of(DRADeviceBindingConditions=False),
    "GenericWorkload=true,TopologyAwareWorkloadScheduling=true": FeatureGates.of(
        GenericWorkload=True, TopologyAwareWorkloadScheduling=True
    ),
    "InPlacePodVerticalScalingSchedulerPreemption=true": FeatureGates.of(
        InPlacePodVerticalScalingSchedulerPreemption=True
    ),
}


@pytest.mark.parametrize("part", range(4))
def test_random_configurations_with_mistakes_get_the_same_verdict(oracle: Path, tmp_path: Path, part: int) -> None:
    random = Random(derived_seed("mutated configurations", part))
    trees = [mutated(random, random_configuration(random)) for _ in range(N_CONFIGURATIONS // 4)]
    files = write_configurations(tmp_path, trees)

    for file, verdict in zip(files, upstream_verdicts(oracle, files), strict=True):
        assert own_verdict(file) == verdict, file.read_text()


def test_random_configurations_without_mistakes_come_to_the_same(oracle: Path, tmp_path: Path) -> None:
    random = Random(derived_seed("configurations"))
    files = write_configurations(tmp_path, [random_configuration(random) for _ in range(N_CONFIGURATIONS // 4)])
    verdicts = upstream_verdicts(oracle, files)

    assert sum("config" in verdict for verdict in verdicts) > len(verdicts) // 2
    for file, verdict in zip(files, verdicts, strict=True):
        assert own_verdict(file) == verdict, file.read_text()


def test_the_recorded_texts_are_still_those_of_kube_scheduler(oracle: Path, tmp_path: Path) -> None:
    files = []
    for number, case in enumerate(RECORDED):
        files.append(tmp_path / f"{number}.yaml")
        files[-1].write_text(whole_text(case))

    found = [verdict.get("error", "") for verdict in upstream_verdicts(oracle, files)]

    assert found == [case["error"] for case in RECORDED]


@pytest.mark.parametrize(("text", "gates"), GATES.items())
def test_gates_change_defaults_and_what_is_allowed_as_in_kube_scheduler(
    oracle: Path, tmp_path: Path, text: str, gates: FeatureGates
) -> None:
    arguments = [{"name": name, "args": args} for name, several in ARGS.items() for args in several]
    empty_shape = {"name": "VolumeBinding", "args": {"shape": []}}
    timeouts = {"name": "DynamicResources", "args": {"bindingTimeout": "0s", "filterTimeout": "-1s"}}
    trees: list[Tree] = [dict(HEADER)]
    trees += [{**HEADER, "profiles": [{"pluginConfig": [config]}]} for config in (*arguments, empty_shape, timeouts)]
    files = write_configurations(tmp_path, trees)

    for file, verdict in zip(files, upstream_verdicts(oracle, files, text), strict=True):
        assert own_verdict(file, gates) == verdict, file.read_text()


def test_there_are_the_gates_that_kube_scheduler_has(oracle: Path) -> None:
    listed = json.loads(subprocess.run([oracle, "config", "--list-gates"], capture_output=True, check=True).stdout)
    known = {
        gate["name"]: (gate["default"], gate["stage"], gate.get("locked", False), tuple(gate.get("dependsOn", ())))
        for gate in listed
        if gate["name"] not in ("AllAlpha", "AllBeta")
    }

    assert known == {
        name: (gate.is_on, gate.stage if gate.stage == "GA" else gate.stage.upper(), gate.is_locked, gate.depends_on)
        for name, gate in FEATURE_GATES.items()
        if name not in OF_THE_COMMAND
    }


@pytest.mark.parametrize(
    "text",
    [
        "Foo=true",
        "GenericWorkload",
        "GenericWorkload=x",
        "NodeDeclaredFeatures=false",
        "TopologyAwareWorkloadScheduling=true",
        "CompositePodGroup=true",
        "DRADeviceTaints=false",
        "NodeDeclaredFeatures=false,Foo=",
        "PodLevelResourcesFixKubeletQOSClass=true,DRAFractionalCapacityRange=true,DRAConsumableCapacity=false",
    ],
)
def test_gates_are_refused_in_the_words_of_kube_scheduler(oracle: Path, text: str) -> None:
    refused = subprocess.run([oracle, "config", "--feature-gates", text], capture_output=True, text=True, check=False)

    with pytest.raises(Exception) as raised:  # noqa: PT011 - the text is compared below
        parse_feature_gates(text)

    assert f"oracle: {raised.value}\n" == refused.stderr
