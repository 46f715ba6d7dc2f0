"""What an API server refuses in requests, limits, overhead and a node's amounts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from nodewise.api.field_errors import FieldError, duplicate, forbidden, invalid, not_supported, required
from nodewise.api.objects import PodSpec, ResourceClaimUse, ResourceList, ResourceRequirements
from nodewise.api.pod_level_resources import HUGE_PAGES_PREFIX, aggregate, is_pod_level_resource
from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.api.validation_names import dns_label_problems, invalid_each, label_key_problems
from nodewise.errors import QuantityError

_CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
_INTEGER_RESOURCES = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_QUOTA_RESOURCES = (
    _INTEGER_RESOURCES
    | _CONTAINER_RESOURCES
    | {
        "storage",
        "requests.storage",
        *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER_RESOURCES),
    }
)
_CACHE_SIZE = 1 << 12
# Limits and requests that have passed already: a cluster has few distinct ones.
_accepted_requirements: set[tuple[object, ...]] = set()
_MAX_ACCEPTED = 1 << 15
_NOT_NEGATIVE = "must be greater than or equal to 0"


def is_native_resource(name: str) -> bool:
    """Tell whether a resource is one of Kubernetes itself (IsNativeResource)."""
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(_CACHE_SIZE)
def is_extended_resource(name: str) -> bool:
    """Tell whether a name has an owner outside Kubernetes and would also do in a quota (IsExtendedResourceName)."""
    if is_native_resource(name) or name.startswith("requests."):
        return False
    return not label_key_problems(f"requests.{name}")


@lru_cache(_CACHE_SIZE)
def _is_overcommittable(name: str) -> bool:
    return is_native_resource(name) and not name.startswith(HUGE_PAGES_PREFIX)


def _is_whole_number_resource(name: str) -> bool:
    return name in _INTEGER_RESOURCES or is_extended_resource(name)


@lru_cache(_CACHE_SIZE)
def _container_name_problems(name: str) -> tuple[str, ...]:
    """Return what is wrong with the name of a container's resource (ValidateContainerResourceName)."""
    problems = list(label_key_problems(name))
    is_huge_pages = name.startswith((HUGE_PAGES_PREFIX, f"requests.{HUGE_PAGES_PREFIX}"))
    if "/" not in name:
        if not problems and name not in _QUOTA_RESOURCES and not is_huge_pages:
            problems.append("must be a standard resource type or fully qualified")
        if name not in _CONTAINER_RESOURCES and not name.startswith(HUGE_PAGES_PREFIX):
            problems.append("must be a standard resource for containers")
    elif not is_native_resource(name) and not is_extended_resource(name):
        problems.append("doesn't follow extended resource name standard")
    return tuple(problems)


def _check_container_name(name: str, path: str) -> list[FieldError]:
    return invalid_each(path, name, _container_name_problems(name))


def _check_pod_level_name(name: str, path: str) -> list[FieldError]:
    problems = label_key_problems(name)
    if problems:
        return invalid_each(path, name, problems)
    if not is_pod_level_resource(name):
        return [not_supported(path, name, ("cpu", HUGE_PAGES_PREFIX, "memory"))]
    return []


def check_amount(name: str, amount: Quantity, path: str) -> list[FieldError]:
    """Return what is wrong with one amount of a resource (ValidateResourceQuantityValue)."""
    errors: list[FieldError] = []
    if amount.sign < 0:
        errors.append(invalid(path, str(amount), _NOT_NEGATIVE))
    if amount.milli_value() % 1000 and _is_whole_number_resource(name):
        errors.append(invalid(path, str(amount), "must be an integer"))
    return errors


def check_container_resources(
    requirements: ResourceRequirements, claim_names: frozenset[str], field: str, *, is_stored: bool
) -> list[FieldError]:
    """Return what is wrong with a container's requests, limits and claims."""
    if not (requirements.requests or requirements.limits or requirements.claims):
        return []
    errors: list[FieldError] = []
    key = (tuple(requirements.limits.items()), tuple(requirements.requests.items()), is_stored)
    if key not in _accepted_requirements:
        errors = _check_requirements(requirements, _check_container_name, field, is_stored=is_stored)
        if not errors and len(_accepted_requirements) < _MAX_ACCEPTED:
            _accepted_requirements.add(key)
    return (
        errors + _check_claims(requirements.claims, claim_names, f"{field}.claims") if requirements.claims else errors
    )


def check_overhead(overhead: ResourceList, field: str, *, is_stored: bool) -> list[FieldError]:
    """Return what is wrong with a pod's overhead, which the API checks as if it were limits."""
    if not overhead:
        return []
    return _check_requirements(ResourceRequirements(limits=overhead), _check_container_name, field, is_stored=is_stored)


def _check_requirements(
    requirements: ResourceRequirements,
    check_name: Callable[[str, str], list[FieldError]],
    field: str,
    *,
    is_stored: bool,
) -> list[FieldError]:
    errors: list[FieldError] = []
    limits = {name: parse_quantity(raw) for name, raw in requirements.limits.items()}
    requests = {name: parse_quantity(raw) for name, raw in requirements.requests.items()}
    for amounts, kind in ((limits, "limits"), (requests, "requests")):
        for name, amount in amounts.items():
            if name in ("cpu", "memory") and amount.sign >= 0:
                continue
            path = f"{field}.{kind}[{name}]"
            errors += check_name(name, path)
            errors += check_amount(name, amount, path)
            if name.startswith(HUGE_PAGES_PREFIX) and not is_stored and not _is_whole_pages(name, amount):
                errors.append(invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}"))
    for name, amount in requests.items():
        limit = limits.get(name)
        if limit is None:
            if not _is_overcommittable(name):
                errors.append(required(f"{field}.limits", "Limit must be set for non overcommitable resources"))
        elif amount != limit and not _is_overcommittable(name):
            errors.append(invalid(f"{field}.requests", str(amount), f"must be equal to {name} limit of {limit}"))
        elif amount > limit:
            detail = f"must be less than or equal to {name} limit of {limit}"
            errors.append(invalid(f"{field}.requests", str(amount), detail))
    names = limits.keys() | requests.keys()
    if any(name.startswith(HUGE_PAGES_PREFIX) for name in names) and not names & {"cpu", "memory"}:
        errors.append(forbidden(field, "HugePages require cpu or memory"))
    return errors


def _is_whole_pages(name: str, amount: Quantity) -> bool:
    try:
        page_size = parse_quantity(name.removeprefix(HUGE_PAGES_PREFIX))
    except QuantityError:
        return False
    page_bytes = page_size.value()
    return (
        page_size.sign > 0
        and page_size.milli_value() % 1000 == 0
        and page_bytes != 0
        and amount.value() % page_bytes == 0
    )


def _check_claims(claims: tuple[ResourceClaimUse, ...], claim_names: frozenset[str], field: str) -> list[FieldError]:
    """Check that a container names each claim of its pod, or each request of one, only once."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        path = f"{field}[{index}]"
        if not claim.name:
            errors.append(required(path))
            continue
        key = f"{claim.name}/{claim.request}" if claim.request else claim.name
        if claim.request:
            errors += invalid_each(f"{path}.request", claim.request, dns_label_problems(claim.request))
        overlaps = not claim.request and any(other.partition("/")[0] == claim.name for other in seen)
        if claim.name in seen or key in seen or overlaps:
            errors.append(duplicate(path, claim.name if claim.name in seen or overlaps else key))
        seen.add(key)
        if claim.name not in claim_names:
            names = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
            detail = f'Not found: "{claim.name}": must be one of the names in pod.spec.resourceClaims{names}'
            errors.append(FieldError(path, detail))
    return errors


def check_pod_level_resources(
    spec: PodSpec, claim_names: frozenset[str], field: str, *, is_stored: bool
) -> list[FieldError]:
    """Return what is wrong with pod-level resources, alone and beside the containers' (validatePodResources)."""
    resources = spec.resources
    if resources is None:
        return []
    errors: list[FieldError] = []
    if resources.claims:
        errors.append(forbidden(f"{field}.claims", "claims may not be set for Resources at pod-level"))
    errors += _check_requirements(resources, _check_pod_level_name, field, is_stored=is_stored)
    errors += _check_claims(resources.claims, claim_names, f"{field}.claims")
    limits = {name: parse_quantity(raw) for name, raw in resources.limits.items()}
    for name, needed in aggregate(spec, "requests").items():
        own = parse_quantity(resources.requests[name]) if name in resources.requests else None
        if own is not None and needed > own:
            detail = f"must be greater than or equal to aggregate container requests of {needed}"
            errors.append(invalid(f"{field}.requests[{name}]", str(own), detail))
    for name, needed in aggregate(spec, "limits").items():
        if name.startswith(HUGE_PAGES_PREFIX) and name in limits and needed > limits[name]:
            detail = f"must be greater than or equal to aggregate container limits of {needed}"
            errors.append(invalid(f"{field}.limits[{name}]", str(limits[name]), detail))
    for index, container in enumerate(spec.containers):
        for name, raw in container.resources.limits.items():
            limit = parse_quantity(raw)
            if name in limits and limit > limits[name]:
                path = f"{field}.containers[{index}][{name}].limits"
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                errors.append(invalid(path, str(limit), detail))
    return errors


def check_node_amounts(amounts: ResourceList | None, field: str) -> list[FieldError]:
    """Return what is wrong with a node's capacity or allocatable amounts."""
    errors: list[FieldError] = []
    for name, raw in (amounts or {}).items():
        errors += check_amount(name, parse_quantity(raw), f"{field}.{name}")
    return errors
