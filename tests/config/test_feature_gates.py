"""Which feature gates can be set, and what is said about the others."""

import pytest

from nodewise.config.default_plugins import default_multi_point
from nodewise.config.errors import ConfigError
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates, parse_feature_gates

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
    "InPlacePodVerticalScalingSchedulerPreemption=true": (
        "feature gate InPlacePodVerticalScalingSchedulerPreemption is not supported yet with another value than its "
        "default, false"
    ),
    "GenericWorkload=true,kube:PodLevelResources=true": (
        "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"
    ),
    "wardle:GenericWorkload=true": "component not registered: wardle",
}


@pytest.mark.parametrize(("text", "refusal"), REFUSED.items())
def test_a_gate_is_refused_with_its_reason(text: str, refusal: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_feature_gates(text)

    assert str(raised.value) == refusal


@pytest.mark.parametrize("text", ["", "NodeDeclaredFeatures=true", " GenericWorkload = false ,,PodLevelResources=T"])
def test_setting_gates_to_their_defaults_changes_nothing(text: str) -> None:
    assert parse_feature_gates(text) == FeatureGates()


def test_a_gate_that_no_decision_depends_on_can_be_switched() -> None:
    assert not parse_feature_gates("OpportunisticBatching=false").enabled("OpportunisticBatching")


def test_a_gate_may_name_its_component() -> None:
    assert not parse_feature_gates("kube:StorageCapacityScoring=false").enabled("StorageCapacityScoring")


def test_a_later_setting_replaces_an_earlier_one() -> None:
    assert parse_feature_gates("StorageCapacityScoring=false,StorageCapacityScoring=true") == DEFAULT_GATES


def test_all_beta_reaches_gates_that_are_not_named_themselves() -> None:
    with pytest.raises(ConfigError) as raised:
        parse_feature_gates("AllBeta=false,VolumeLimitScaling=true")

    refused = " ".join(raised.value.messages)
    assert "DRAConsumableCapacity" in refused
    assert "VolumeLimitScaling" not in refused
    assert "GenericWorkload" not in refused


def test_a_gate_that_nobody_knows_cannot_be_asked_for() -> None:
    with pytest.raises(KeyError):
        DEFAULT_GATES.enabled("Foo")


BASE = (
    "SchedulingGates PrioritySort NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts {}NodeResourcesFit "
    "VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources "
    "DefaultPreemption NodeResourcesBalancedAllocation ImageLocality DefaultBinder NodeDeclaredFeatures{}"
)


@pytest.mark.parametrize(
    ("gates", "names"),
    [
        (FeatureGates(), BASE.format("", "")),
        (FeatureGates.of(GenericWorkload=True), BASE.format("", " GangScheduling")),
        (
            FeatureGates.of(GenericWorkload=True, TopologyAwareWorkloadScheduling=True),
            BASE.format("", " GangScheduling TopologyPlacementGenerator PodGroupPodsCount"),
        ),
        (
            FeatureGates.of(InPlacePodVerticalScalingSchedulerPreemption=True),
            BASE.format("DeferredPodScheduling ", ""),
        ),
    ],
)
def test_gates_edit_the_default_plugins(gates: FeatureGates, names: str) -> None:
    assert [ref.name for ref in default_multi_point(gates)] == names.split()
