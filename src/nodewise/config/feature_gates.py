"""Feature gates in force: what `--feature-gates` says, checked in kube-scheduler's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nodewise.config.errors import ConfigError
from nodewise.config.feature_gate_table import FEATURE_GATES, Gate
from nodewise.config.go_text import quote

NOT_BUILT = frozenset(
    {
        "WorkloadWithJob",
        "InPlacePodVerticalScalingSchedulerPreemption",
        "PodLevelResourcesFixDefaulting",
        "DRAWorkloadResourceClaims",
        "DRAConsumableCapacity",
        "DRAPartitionableDevices",
        "DRADeviceBindingConditions",
        "DRAFractionalCapacityRange",
        "DRANodeAllocatableResources",
        "DRAListTypeAttributes",
        "DRAPartitionableDevicesType",
        "DRAOptionalNodeOperations",
        "DRADeviceCompatibilityGroups",
        "DRADerivedAttributes",
    }
)
"""Gates whose other value would change decisions in a way that nothing here follows yet: it is refused."""

_MATTERS_WITH = {"PodLevelResourcesFixDefaulting": "PodLevelResources"}
_STAGE_OF_GROUP = {"AllAlpha": "Alpha", "AllBeta": "Beta"}
_COMPONENT = "kube"
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The value of every feature gate.

    Attributes
    ----------
    switched : frozenset[str]
        The gates whose value is not their default; `FeatureGates()` is kube-scheduler without flags.

    >>> FeatureGates().enabled("StorageCapacityScoring"), FeatureGates.of(StorageCapacityScoring=False).switched
    (True, frozenset({'StorageCapacityScoring'}))
    """

    switched: frozenset[str] = frozenset()

    @classmethod
    def of(cls, **values: bool) -> FeatureGates:
        """Return the defaults with some gates set, unchecked."""
        return cls(frozenset(name for name, value in values.items() if value != FEATURE_GATES[name].is_on))

    def enabled(self, name: str) -> bool:
        """Return whether a gate is on.

        Raises
        ------
        KeyError
            When kube-scheduler has no such gate.
        """
        return FEATURE_GATES[name].is_on != (name in self.switched)


DEFAULT_GATES = FeatureGates()
"""Those of a kube-scheduler without `--feature-gates`."""


def parse_feature_gates(text: str) -> FeatureGates:
    """Return the gates after `A=true,B=false` has been applied to the defaults.

    Raises
    ------
    ConfigError
        With kube-scheduler's text for a gate that it refuses, or naming gates that cannot be switched here yet.
    """
    wanted = _read(_without_component(text))
    errors: list[str] = []
    for name, value in wanted.items():
        gate = FEATURE_GATES.get(name)
        if gate is None and name not in _STAGE_OF_GROUP:
            raise ConfigError([*errors, f"unrecognized feature gate: {name}"])
        if gate is not None and gate.is_locked and value != gate.is_on:
            shown, default = _shown(value), _shown(gate.is_on)
            errors.append(f"cannot set feature gate {name} to {shown}, feature is locked to {default}")
    if errors:
        raise ConfigError(errors)
    values = {name: wanted.get(name, _default(gate, wanted)) for name, gate in FEATURE_GATES.items()}
    _check_dependencies(values)
    switched = frozenset(name for name, value in values.items() if value != FEATURE_GATES[name].is_on)
    _check_built(sorted(name for name in switched & NOT_BUILT if values.get(_MATTERS_WITH.get(name, ""), True)))
    return FeatureGates(switched)


def _without_component(text: str) -> list[str]:
    """Cut the flag's text into settings; each may have `kube:` in front, or none may (ComponentGlobalsRegistry.Set)."""
    by_component: dict[str, list[str]] = {}
    for part in filter(None, text.split(",")):
        component, _, setting = part.partition(":") if ":" in part else ("", "", part)
        by_component.setdefault(component.strip(), []).append(setting.strip())
    if by_component.keys() >= {"", _COMPONENT}:
        raise ConfigError(
            "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"
        )
    for component in by_component:
        if component not in ("", _COMPONENT):
            raise ConfigError(f"component not registered: {component}")
    return [setting for settings in by_component.values() for setting in settings]


def _read(settings: Iterable[str]) -> dict[str, bool]:
    wanted: dict[str, bool] = {}
    for part in filter(None, settings):
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
    return gate.is_on if group is None else wanted[group]


def _check_dependencies(values: Mapping[str, bool]) -> None:
    errors = []
    for name, gate in FEATURE_GATES.items():
        missing = [needed for needed in gate.depends_on if not values[needed]]
        if values[name] and missing:
            errors.append(f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]")
    if errors:
        raise ConfigError(errors)


def _check_built(names: Iterable[str]) -> None:
    errors = [
        f"feature gate {name} is not supported yet with another value than its default, "
        f"{_shown(FEATURE_GATES[name].is_on)}"
        for name in names
    ]
    if errors:
        raise ConfigError(errors)


def _shown(value: bool) -> str:
    return "true" if value else "false"
