"""Which feature gates can be set, and what is said about the others."""

import pytest

from nodewise.config.errors import ConfigError
from nodewise.config.feature_gates import FEATURE_GATES, parse_feature_gates

REFUSED = {
    "Foo=true": "unrecognized feature gate: Foo",
    "GenericWorkload": "missing bool value for GenericWorkload",
    "GenericWorkload=x": 'invalid value of GenericWorkload=x, err: strconv.ParseBool: parsing "x": invalid syntax',
    "NodeDeclaredFeatures=false": "cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true",
    "TopologyAwareWorkloadScheduling=true": (
        "TopologyAwareWorkloadScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"
    ),
    "CompositePodGroup=true": (
        "CompositePodGroup is enabled, but depends on features that are disabled: "
        "[GenericWorkload TopologyAwareWorkloadScheduling]"
    ),
    "DRADeviceTaints=false": (
        "DRADeviceTaintRules is enabled, but depends on features that are disabled: [DRADeviceTaints]"
    ),
    "GenericWorkload=true": (
        "feature gate GenericWorkload is not supported yet with another value than its default, false"
    ),
}


@pytest.mark.parametrize(("text", "refusal"), REFUSED.items())
def test_a_gate_is_refused_with_its_reason(text: str, refusal: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_feature_gates(text)

    assert str(raised.value) == refusal


@pytest.mark.parametrize("text", ["", "NodeDeclaredFeatures=true", " GenericWorkload = false ,,PodLevelResources=T"])
def test_setting_gates_to_their_defaults_changes_nothing(text: str) -> None:
    assert parse_feature_gates(text) == {name: gate.is_on for name, gate in FEATURE_GATES.items()}


def test_a_gate_that_no_decision_depends_on_can_be_switched() -> None:
    assert parse_feature_gates("OpportunisticBatching=false")["OpportunisticBatching"] is False
