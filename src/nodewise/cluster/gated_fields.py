"""Fields that an API server drops, and a scheduler overlooks, while a feature gate is off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodewise.api.devices import DeviceTaintRule, ResourceSlice
from nodewise.api.objects import AnyObject, Pod, PodSpec, replace
from nodewise.config.feature_gates import FeatureGates


def is_overlooked(obj: AnyObject, gates: FeatureGates) -> bool:
    """Return whether nobody looks at objects of this kind, since their feature is off."""
    return isinstance(obj, DeviceTaintRule) and not gates.enabled("DRADeviceTaintRules")


def without_gated_fields(obj: AnyObject, gates: FeatureGates) -> AnyObject:
    """Return an object, pod templates included, without the fields of features that are off (dropDisabledFields)."""
    if not gates.enabled("PodLevelResources"):
        obj = _with_pod_spec(obj, _without_resources)
    if not gates.enabled("MatchLabelKeysInPodTopologySpread"):
        obj = _with_pod_spec(obj, _without_spread_label_keys)
    if isinstance(obj, Pod) and not gates.enabled("InPlacePodLevelResourcesVerticalScaling"):
        status = obj.status
        if status.resources is not None or status.allocated_resources is not None:
            obj = replace(obj, status=replace(status, resources=None, allocated_resources=None))
    if isinstance(obj, ResourceSlice) and not gates.enabled("DRADeviceTaints"):
        devices = tuple(replace(device, taints=()) for device in obj.spec.devices)
        obj = replace(obj, spec=replace(obj.spec, devices=devices))
    return obj


def _with_pod_spec(obj: Any, change: Callable[[PodSpec], PodSpec]) -> Any:
    """Change the pod spec that an object has somewhere."""
    if isinstance(obj, PodSpec):
        return change(obj)
    for field in ("spec", "template", "job_template"):
        inner = getattr(obj, field, None)
        if inner is not None:
            changed = _with_pod_spec(inner, change)
            return obj if changed is inner else replace(obj, **{field: changed})
    return obj


def _without_resources(spec: PodSpec) -> PodSpec:
    return spec if spec.resources is None else replace(spec, resources=None)


def _without_spread_label_keys(spec: PodSpec) -> PodSpec:
    constraints = spec.topology_spread_constraints
    if not any(constraint.match_label_keys for constraint in constraints):
        return spec
    return replace(spec, topology_spread_constraints=tuple(replace(c, match_label_keys=()) for c in constraints))
