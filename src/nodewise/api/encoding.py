"""Pods and nodes as JSON, in the form in which Go writes them: what is empty is left out, but for required fields.

The structs here hold what scheduling reads; others read the rest too. So a tree can be made from an object together
with the document that it was read from: what the struct knows comes from the struct, with defaults and admission
applied, everything else from the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from nodewise.api.meta import Object, ResourceList
from nodewise.api.objects import Node, Pod
from nodewise.api.quantity import parse_quantity

Json = dict[str, Any]

_REQUIRED: dict[str, dict[str, Any]] = {
    "Container": {"name": "", "resources": {}},
    "ContainerExtendedResourceRequest": {"containerName": "", "resourceName": "", "requestName": ""},
    "ContainerImage": {"names": None},
    "ContainerPort": {"containerPort": 0},
    "ContainerStatus": {
        "name": "",
        "state": {},
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": "",
        "imageID": "",
    },
    "LabelSelectorRequirement": {"key": "", "operator": ""},
    "Node": {"metadata": {}, "spec": {}, "status": {}},
    "NodeCondition": {"type": "", "status": "", "lastHeartbeatTime": None, "lastTransitionTime": None},
    "NodeSelector": {"nodeSelectorTerms": None},
    "NodeSelectorRequirement": {"key": "", "operator": ""},
    "NodeStatus": {
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": dict.fromkeys(
            (
                "machineID",
                "systemUUID",
                "bootID",
                "kernelVersion",
                "osImage",
                "containerRuntimeVersion",
                "kubeletVersion",
                "kubeProxyVersion",
                "operatingSystem",
                "architecture",
            ),
            "",
        ),
    },
    "OwnerReference": {"apiVersion": "", "kind": "", "name": "", "uid": ""},
    "PersistentVolumeClaimSpec": {"resources": {}},
    "PersistentVolumeClaimTemplate": {"metadata": {}, "spec": {}},
    "PersistentVolumeClaimVolumeSource": {"claimName": ""},
    "Pod": {"metadata": {}, "spec": {}, "status": {}},
    "PodAffinityTerm": {"topologyKey": ""},
    "PodCondition": {"type": "", "status": "", "lastProbeTime": None, "lastTransitionTime": None},
    "PodExtendedResourceClaimStatus": {"requestMappings": None, "resourceClaimName": ""},
    "PodResourceClaim": {"name": ""},
    "PodResourceClaimStatus": {"name": ""},
    "PodSchedulingGate": {"name": ""},
    "PodSpec": {"containers": None},
    "PreferredSchedulingTerm": {"weight": 0, "preference": {}},
    "ResourceClaimUse": {"name": ""},
    "Taint": {"key": "", "effect": ""},
    "TopologySpreadConstraint": {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": ""},
    "Volume": {"name": ""},
    "VolumeMount": {"name": "", "mountPath": ""},
    "WeightedPodAffinityTerm": {"weight": 0, "podAffinityTerm": {}},
}
"""Fields that Go writes even when they are empty, and what it writes then, by struct."""


class _Field(NamedTuple):
    attribute: str
    name: str
    is_pointer: bool
    is_amounts: bool


@cache
def _fields(struct: type[Object]) -> tuple[_Field, ...]:
    hints = get_type_hints(struct)
    return tuple(
        _Field(field.name, field.encode_name, field.default is None, _is_amounts(hints[field.name]))
        for field in msgspec.structs.fields(struct)
    )


def _is_amounts(hint: Any) -> bool:
    """Tell whether a field is a resource list, or None."""
    return hint == ResourceList or (get_origin(hint) is not dict and ResourceList in get_args(hint))


def pod_tree(pod: Pod, document: Mapping[str, Any] | None = None) -> Json:
    """Return a pod as JSON values.

    Parameters
    ----------
    document : Mapping | None
        What the pod was read from.
    """
    return _tree(pod, document or {})


def node_tree(node: Node, document: Mapping[str, Any] | None = None) -> Json:
    """Return a node as JSON values; see `pod_tree`."""
    return _tree(node, document or {})


def _tree(obj: Pod | Node, document: Mapping[str, Any]) -> Json:
    tree = _struct(obj, document)
    # Neither stands in what kube-scheduler's informers keep.
    for name in ("apiVersion", "kind"):
        tree.pop(name, None)
    tree["metadata"].pop("managedFields", None)
    return tree


def _struct(value: Object, original: Any) -> Json:
    """Return a struct's fields, after those of the original that the struct does not know."""
    fields = _fields(type(value))
    original = original if isinstance(original, Mapping) else {}
    known = {field.name for field in fields}
    tree: Json = {
        name: _without_nulls(item) for name, item in original.items() if item is not None and name not in known
    }
    for field in fields:
        item = getattr(value, field.attribute)
        if item is None or (not item and not (field.is_pointer and not isinstance(item, (tuple, dict)))):
            continue
        before = original.get(field.name)
        if field.is_amounts:
            tree[field.name] = {name: str(parse_quantity(amount)) for name, amount in item.items()}
            continue
        written = _value(item, before)
        if written or field.is_pointer or not isinstance(item, Object):
            tree[field.name] = written
    for name, empty in _REQUIRED.get(type(value).__name__, {}).items():
        if name not in tree:
            tree[name] = _copy(empty)
        elif isinstance(empty, dict) and empty:
            tree[name] = _completed(tree[name], empty)
    return tree


def _value(value: Any, original: Any) -> Any:
    if isinstance(value, Object):
        return _struct(value, original)
    if isinstance(value, tuple):
        before = original if isinstance(original, list) else []
        return [_value(item, before[i] if i < len(before) else None) for i, item in enumerate(value)]
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value


def _without_nulls(value: Any) -> Any:
    """Return JSON values without the null members of objects, which Go takes for absent."""
    if isinstance(value, Mapping):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _completed(value: Any, required: Json) -> Any:
    if not isinstance(value, dict):
        return value
    completed = dict(value)
    for name, empty in required.items():
        present = completed.get(name)
        if present is None:
            completed[name] = _copy(empty)
        elif isinstance(empty, dict):
            completed[name] = _completed(present, empty)
    return completed


def _copy(value: Any) -> Any:
    return {name: _copy(item) for name, item in value.items()} if isinstance(value, dict) else value
