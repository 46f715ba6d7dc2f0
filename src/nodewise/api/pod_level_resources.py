"""What creating a pod with pod-level resources fills in there (podutil.DefaultPodLevelResources)."""

from __future__ import annotations

from typing import Any, Literal

from nodewise.api.objects import PodSpec, ResourceList, replace
from nodewise.api.quantity import Quantity, parse_quantity

HUGE_PAGES_PREFIX = "hugepages-"
_Amounts = dict[str, Quantity]


def is_pod_level_resource(name: str) -> bool:
    """Tell whether a pod, and not only its containers, can ask for this resource."""
    return name in ("cpu", "memory") or name.startswith(HUGE_PAGES_PREFIX)


def default_pod_level_resources(spec: PodSpec) -> PodSpec:
    """Fill in huge page limits, then requests, then limits, where the pod has some pod-level resources at all."""
    if spec.resources is None or not (spec.resources.requests or spec.resources.limits):
        return spec
    requests, limits = dict(spec.resources.requests), dict(spec.resources.limits)
    container_limits = aggregate(spec, "limits")
    for name, amount in container_limits.items():
        if name.startswith(HUGE_PAGES_PREFIX) and name not in requests and name not in limits:
            limits[name] = str(amount)
    for name, amount in aggregate(spec, "requests").items():
        if name in ("cpu", "memory") and name not in requests:
            requests[name] = str(amount)
    for name, text in limits.items():
        if is_pod_level_resource(name):
            requests.setdefault(name, text)
    for name in sorted(_limited_everywhere(spec, requests, limits) & container_limits.keys()):
        limit = max(container_limits[name], parse_quantity(requests[name]))
        limits[name] = str(limit)
    return replace(spec, resources=replace(spec.resources, requests=requests, limits=limits))


def _limited_everywhere(spec: PodSpec, requests: ResourceList, limits: ResourceList) -> set[str]:
    """Return the requested names without a pod-level limit that every container limits."""
    names = {name for name in requests if is_pod_level_resource(name) and name not in limits}
    for container in (*spec.init_containers, *spec.containers):
        names &= container.resources.limits.keys()
    return names


def aggregate(spec: PodSpec, field: Literal["requests", "limits"]) -> _Amounts:
    """Return what the containers need together: sidecars run on, other init containers one after another."""
    total: _Amounts = {}
    sidecars: _Amounts = {}
    starting: _Amounts = {}
    for container in spec.containers:
        _add(total, _parsed(getattr(container.resources, field)))
    for container in spec.init_containers:
        amounts = _parsed(getattr(container.resources, field))
        if container.restart_policy == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            amounts = sidecars
        else:
            _add(amounts, sidecars)
        _raise_to(starting, amounts)
    _raise_to(total, starting)
    return total


def _parsed(amounts: dict[str, Any]) -> _Amounts:
    return {name: parse_quantity(raw) for name, raw in amounts.items()}


def _add(total: _Amounts, amounts: _Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(total: _Amounts, amounts: _Amounts) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount
