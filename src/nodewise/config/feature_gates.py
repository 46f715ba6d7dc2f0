"""Feature gates: kube-scheduler 1.37's defaults, and what can be switched here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nodewise.config.errors import ConfigError
from nodewise.config.go_text import quote


class Gate(NamedTuple):
    """One feature gate.

    Attributes
    ----------
    is_on : bool
        The default.
    stage : str
        Alpha, Beta or GA.
    is_locked : bool
        Whether the default is the only value.
    depends_on : tuple[str, ...]
        Gates that have to be on when this one is.
    is_switchable : bool
        Whether nodewise decides rightly with either value.
    """

    is_on: bool
    stage: str
    is_locked: bool = False
    depends_on: tuple[str, ...] = ()
    is_switchable: bool = False


def _locked(stage: str = "GA") -> Gate:
    return Gate(is_on=True, stage=stage, is_locked=True)


_ON = Gate(is_on=True, stage="Beta")
_OFF = Gate(is_on=False, stage="Alpha")
_WORKLOAD = ("GenericWorkload",)

FEATURE_GATES: dict[str, Gate] = {
    "GenericWorkload": Gate(is_on=False, stage="Beta"),
    "CompositePodGroup": _OFF._replace(depends_on=("GenericWorkload", "TopologyAwareWorkloadScheduling")),
    "TopologyAwareWorkloadScheduling": _OFF._replace(depends_on=_WORKLOAD),
    "PodGroupPreemptionPolicy": _OFF._replace(depends_on=_WORKLOAD),
    "WorkloadWithJob": _OFF._replace(depends_on=_WORKLOAD),
    "DRAWorkloadResourceClaims": Gate(
        is_on=False, stage="Beta", depends_on=("DynamicResourceAllocation", "GenericWorkload")
    ),
    "InPlacePodVerticalScalingSchedulerPreemption": _OFF._replace(depends_on=("InPlacePodVerticalScaling",)),
    # Fast paths and how calls are made: no decision depends on these.
    "InterPodAffinityHostnameFastPath": _OFF._replace(is_switchable=True),
    "SchedulerPreQueueingHints": _OFF._replace(is_switchable=True),
    "SchedulerAsyncAPICalls": Gate(is_on=False, stage="Beta", is_switchable=True),
    "OpportunisticBatching": _ON._replace(is_switchable=True),
    "SchedulerAsyncPreemption": _ON._replace(is_switchable=True),
    "StorageCapacityScoring": _ON,
    "VolumeLimitScaling": _ON,
    "SchedulerPopFromBackoffQ": _ON,
    "NominatedNodeNameForExpectation": _ON,
    "ClearingNominatedNodeNameAfterBinding": _ON,
    "NodeDeclaredFeatures": _locked(),
    "InPlacePodVerticalScaling": _locked(),
    "InPlacePodLevelResourcesVerticalScaling": _ON._replace(depends_on=("PodLevelResources",)),
    "PodLevelResources": _ON,
    "PodLevelResourcesFixDefaulting": _ON._replace(depends_on=("PodLevelResources",)),
    "TaintTolerationComparisonOperators": _OFF,
    "NodeInclusionPolicyInPodTopologySpread": _locked(),
    "MatchLabelKeysInPodTopologySpread": _ON,
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": _ON._replace(depends_on=("MatchLabelKeysInPodTopologySpread",)),
    "MatchLabelKeysInPodAffinity": _locked(),
    "PodSchedulingReadiness": _locked(),
    "PodTopologyLabelsAdmission": _ON,
    "ImageVolume": _locked(),
    "VolumeAttributesClass": _locked(),
    "MutablePVNodeAffinity": _OFF,
    "DynamicResourceAllocation": _locked(),
    "DRAAdminAccess": _locked(),
    "DRAPrioritizedList": _locked(),
    "DRAExtendedResource": _locked(),
    "DRAResourceClaimDeviceStatus": _locked(),
    "DRADeviceTaints": Gate(is_on=True, stage="GA"),
    "DRADeviceTaintRules": Gate(is_on=True, stage="GA", depends_on=("DRADeviceTaints",)),
    "DRAConsumableCapacity": _ON,
    "DRAPartitionableDevices": _ON,
    "DRADeviceBindingConditions": _ON,
    "DRAFractionalCapacityRange": _ON,
    "DRASchedulerFilterTimeout": _ON,
    "DRANodeAllocatableResources": _OFF,
    "DRAListTypeAttributes": _OFF,
    "DRAPartitionableDevicesType": _OFF,
    "DRAOptionalNodeOperations": _OFF,
    "DRADeviceCompatibilityGroups": _OFF,
    "DRADerivedAttributes": _OFF,
    "CoordinatedLeaderElection": _OFF,
}
"""The gates that matter to a scheduler, by name."""

_STAGE_OF_GROUP = {"AllAlpha": "Alpha", "AllBeta": "Beta"}
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def parse_feature_gates(text: str) -> dict[str, bool]:
    """Return every gate's value after `A=true,B=false` has been applied to the defaults.

    Raises
    ------
    ConfigError
        With kube-scheduler's text for a gate that it refuses, or naming a gate that cannot be switched here yet.
    """
    wanted = _read(text)
    errors = []
    for name, value in wanted.items():
        gate = FEATURE_GATES.get(name)
        if gate is None and name not in _STAGE_OF_GROUP:
            raise ConfigError(f"unrecognized feature gate: {name}")
        if gate is not None and gate.is_locked and value != gate.is_on:
            shown, default = _shown(value), _shown(gate.is_on)
            errors.append(f"cannot set feature gate {name} to {shown}, feature is locked to {default}")
    if errors:
        raise ConfigError(errors)
    values = {name: wanted.get(name, _default(gate, wanted)) for name, gate in FEATURE_GATES.items()}
    _check_dependencies(values)
    _check_supported(values)
    return values


def _read(text: str) -> dict[str, bool]:
    wanted: dict[str, bool] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise ConfigError(f"missing bool value for {name}")
        if value not in _BOOLEANS:
            detail = f"strconv.ParseBool: parsing {quote(value)}: invalid syntax"
            raise ConfigError(f"invalid value of {name}={value}, err: {detail}")
        wanted[name] = _BOOLEANS[value]
    return wanted


def _default(gate: Gate, wanted: Mapping[str, bool]) -> bool:
    """Return a gate's value when it is not named: AllAlpha and AllBeta reach it by its stage."""
    group = next((name for name, stage in _STAGE_OF_GROUP.items() if stage == gate.stage and name in wanted), None)
    return gate.is_on if group is None or gate.is_locked else wanted[group]


def _check_dependencies(values: Mapping[str, bool]) -> None:
    errors = []
    for name, gate in FEATURE_GATES.items():
        missing = [needed for needed in gate.depends_on if not values[needed]]
        if values[name] and missing:
            errors.append(f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]")
    if errors:
        raise ConfigError(errors)


def _check_supported(values: Mapping[str, bool]) -> None:
    switched = [name for name, gate in FEATURE_GATES.items() if values[name] != gate.is_on and not gate.is_switchable]
    if switched:
        raise ConfigError(
            f"feature gate {name} is not supported yet with another value than its default, "
            f"{_shown(FEATURE_GATES[name].is_on)}"
            for name in switched
        )


def _shown(value: bool) -> str:
    return "true" if value else "false"
