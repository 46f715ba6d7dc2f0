"""Computes what a pod requests and what a node offers, in scheduler units.

CPU is in millicores, everything else in the units of Value(). The results of the functions named after their use are
memoised and shared: callers must not change them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from nodewise.api.objects import Container, ContainerStatus, Node, Pod, ResourceList
from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.api.selectors import label_key_errors
from nodewise.errors import QuantityError

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"

NON_ZERO_DEFAULTS: Final[Mapping[str, Quantity]] = {CPU: Quantity(100, -3), MEMORY: Quantity(200 * 1024 * 1024)}

_FIRST_CLASS: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE, PODS})
_HUGE_PAGES_PREFIX: Final = "hugepages-"
_NATIVE_PREFIX: Final = "kubernetes.io/"
_MAX_MEMOISED: Final = 65536
_MAX_KEY_LENGTH: Final = 8192

Amounts = dict[str, Quantity]
ContainerReader = Callable[[Container, ContainerStatus | None], ResourceList]


@lru_cache(maxsize=4096)
def is_extended_resource_name(name: str) -> bool:
    """Return whether the name is outside kubernetes.io and valid (v1helper.IsExtendedResourceName)."""
    if "/" not in name or _NATIVE_PREFIX in name or name.startswith("requests."):
        return False
    return not label_key_errors(f"requests.{name}")


@lru_cache(maxsize=4096)
def is_scalar_resource_name(name: str) -> bool:
    """Return whether NodeInfo and NodeResourcesFit keep the name among the scalar resources."""
    is_native = _NATIVE_PREFIX in name or name.startswith((_HUGE_PAGES_PREFIX, "attachable-volumes-"))
    return is_native or is_extended_resource_name(name)


@dataclass(frozen=True, slots=True)
class PodAmounts:
    """Every aggregate of one pod's requests that a scheduling rule reads; shared, so not to be changed.

    Attributes
    ----------
    requested
        Status-aware, with pod-level resources: what the pod adds to NodeInfo.Requested.
    non_zero_requested
        CPU in millicores and memory in bytes that the pod adds to NodeInfo.NonZeroRequested.
    fit
        What NodeResourcesFit filters by: the spec alone, with pod-level resources.
    scoring
        What NodeResourcesFit scores by: the spec alone, pod-level resources ignored, with defaults.
    balanced
        What NodeResourcesBalancedAllocation scores by: status-aware, no defaults.
    """

    requested: dict[str, int]
    non_zero_requested: tuple[int, int]
    fit: dict[str, int]
    scoring: dict[str, int]
    balanced: dict[str, int]


def pod_amounts(pod: Pod) -> PodAmounts:
    """Return all aggregates of the pod, memoised over pods with the same resources.

    Raises
    ------
    QuantityError
        When an amount in the pod is not a quantity.
    """
    global _last
    if _last is not None and _last[0] is pod:
        return _last[1]
    key = _memo_key(pod)
    amounts = _memo.get(key)
    if amounts is None:
        amounts = _compute_amounts(pod)
        if len(str(key)) <= _MAX_KEY_LENGTH:
            if len(_memo) >= _MAX_MEMOISED:
                _memo.clear()
            _memo[key] = amounts
    _last = pod, amounts
    return amounts


def requested(pod: Pod) -> dict[str, int]:
    """Return what the pod adds to NodeInfo.Requested."""
    return pod_amounts(pod).requested


def non_zero_requested(pod: Pod) -> tuple[int, int]:
    """Return the CPU (millicores) and memory (bytes) that the pod adds to NodeInfo.NonZeroRequested."""
    return pod_amounts(pod).non_zero_requested


def fit_request(pod: Pod) -> dict[str, int]:
    """Return what NodeResourcesFit filters by; never negative, and without pods."""
    return pod_amounts(pod).fit


def scoring_request(pod: Pod) -> dict[str, int]:
    """Return what NodeResourcesFit scores by: pod-level resources ignored, 100m and 200Mi where unset."""
    return pod_amounts(pod).scoring


def balanced_request(pod: Pod) -> dict[str, int]:
    """Return what NodeResourcesBalancedAllocation scores by."""
    return pod_amounts(pod).balanced


def pod_requests(
    pod: Pod,
    *,
    use_status: bool = False,
    pod_level: bool = True,
    non_missing_container_requests: Mapping[str, Quantity] | None = None,
) -> dict[str, int]:
    """Return the pod's effective requests, overhead included (component-helpers PodRequests).

    Parameters
    ----------
    use_status
        Whether in-place resizes in the pod's status count: for pods that have a node.
    pod_level
        Whether spec.resources replaces the aggregate of the containers.
    non_missing_container_requests
        Amounts that stand in for a resource that a container does not request; an explicit zero is a request.

    Raises
    ------
    QuantityError
        When an amount in the pod is not a quantity.
    """
    defaults = non_missing_container_requests or {}
    return _in_scheduler_units(_pod_request_amounts(pod, defaults, use_status=use_status, pod_level=pod_level))


def request_quantities(pod: Pod, *, use_status: bool = True) -> dict[str, Quantity]:
    """Return the pod's effective requests of every resource that it names.

    Parameters
    ----------
    use_status
        Whether in-place resizes in the pod's status count.

    Raises
    ------
    QuantityError
        When an amount in the pod is not a quantity.
    """
    return _pod_request_amounts(pod, {}, use_status=use_status, pod_level=True)


def allocatable_quantities(node: Node) -> dict[str, Quantity]:
    """Return what the node offers to pods, of every resource that it names.

    Raises
    ------
    QuantityError
        When an amount in the node is not a quantity.
    """
    status = node.status
    return _read(status.capacity if status.allocatable is None else status.allocatable, f"node {node.name}")


def node_allocatable(node: Node) -> dict[str, int]:
    """Return what the node offers to pods: status.allocatable, or capacity where that is absent.

    Raises
    ------
    QuantityError
        When an amount in the node is not a quantity.
    """
    return _in_scheduler_units(allocatable_quantities(node))


def _read(resources: ResourceList, owner: str) -> Amounts:
    """Read a resource list as the API's defaulting leaves it: rounded up to thousandths."""
    amounts = {}
    for name, raw in resources.items():
        try:
            amounts[name] = parse_quantity(raw).round_up_milli()
        except QuantityError as error:
            raise QuantityError(error.found, error.reason, place=f"{owner}: {name}") from error
    return amounts


def _in_scheduler_units(amounts: Amounts) -> dict[str, int]:
    """Convert to millicores and Value() units, leaving out names that the scheduler ignores."""
    return {
        name: amount.milli_value() if name == CPU else amount.value()
        for name, amount in amounts.items()
        if name in _FIRST_CLASS or is_scalar_resource_name(name)
    }


def _add(total: Amounts, amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise_to(greatest: Amounts, amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        known = greatest.get(name)
        if known is None:
            greatest[name] = amount
        elif amount > known:
            # Quantity.Cmp leaves the amount in the form it was compared in, and 50E reads differently in each
            greatest[name] = amount.as_exact() if known.is_exact else amount


def _greatest(lists: Iterable[Mapping[str, Quantity]]) -> Amounts:
    greatest: Amounts = {}
    for amounts in lists:
        _raise_to(greatest, amounts)
    return greatest


def _pod_request_amounts(pod: Pod, defaults: Mapping[str, Quantity], *, use_status: bool, pod_level: bool) -> Amounts:
    owner = f"pod {pod.key}"
    total = _status_aware_aggregate(pod, defaults) if use_status else _aggregate(pod, _spec_requests, defaults)
    if pod_level and _has_pod_level_requests(pod):
        for name, amount in _pod_level_amounts(pod, owner, use_status=use_status).items():
            if _is_pod_level_name(name):
                total[name] = amount
    _add(total, _read(pod.spec.overhead, owner))
    return total


def _aggregate(
    pod: Pod, read_requests: ContainerReader, defaults: Mapping[str, Quantity], *, use_status: bool = False
) -> Amounts:
    """Return the greatest need over start-up and running (AggregateContainerRequests).

    A sidecar counts from its own start on, so an init container after it needs both at once.
    """
    owner = f"pod {pod.key}"
    statuses = _statuses_by_name(pod) if use_status else {}

    def request_of(container: Container) -> Amounts:
        amounts = _read(read_requests(container, statuses.get(container.name)), owner)
        for name, amount in defaults.items():
            amounts.setdefault(name, amount)
        return amounts

    running: Amounts = {}
    for container in pod.spec.containers:
        _add(running, request_of(container))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in pod.spec.init_containers:
        request = request_of(container)
        if container.restart_policy == "Always":
            _add(running, request)
            _add(sidecars, request)
            _raise_to(starting, sidecars)
        else:
            _add(request, sidecars)
            _raise_to(starting, request)
    _raise_to(running, starting)
    return running


def _statuses_by_name(pod: Pod) -> dict[str, ContainerStatus]:
    """Index the container statuses; the first of a name counts, regular containers before init containers."""
    statuses: dict[str, ContainerStatus] = {}
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        statuses.setdefault(status.name, status)
    return statuses


def _status_aware_aggregate(pod: Pod, defaults: Mapping[str, Quantity]) -> Amounts:
    """Return the greatest of what the pod asks for, was allocated and runs with."""
    status = pod.status
    is_infeasible = _is_resize_infeasible(pod)

    def allocated_requests(container: Container, found: ContainerStatus | None) -> ResourceList:
        if found is not None and found.allocated_resources is not None:
            return found.allocated_resources
        return {} if is_infeasible else container.resources.requests

    def actuated_requests(container: Container, found: ContainerStatus | None) -> ResourceList:
        # an empty map counts as absent: the API never writes one
        if found is not None and found.resources is not None and found.resources.requests:
            return found.resources.requests
        return allocated_requests(container, found)

    lists = [] if is_infeasible else [_aggregate(pod, _spec_requests, defaults)]
    if status.allocated_resources is not None and status.resources is not None and status.resources.requests:
        owner = f"pod {pod.key} status"
        lists += [_read(status.resources.requests, owner), _read(status.allocated_resources, owner)]
    else:
        lists.append(_aggregate(pod, actuated_requests, defaults, use_status=True))
        lists.append(_aggregate(pod, allocated_requests, defaults, use_status=True))
    return _greatest(lists)


def _spec_requests(container: Container, _: ContainerStatus | None) -> ResourceList:
    return container.resources.requests


def _is_pod_level_name(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith(_HUGE_PAGES_PREFIX)


def _has_pod_level_requests(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(_is_pod_level_name(name) for name in resources.requests)


def _pod_level_amounts(pod: Pod, owner: str, *, use_status: bool) -> Amounts:
    """Return the pod-level requests, those that a resize has reached so far included."""
    resources, status = pod.spec.resources, pod.status
    spec = _read(resources.requests, owner) if resources is not None else {}
    if not use_status or status.resources is None:
        return spec
    lists = [] if _is_resize_infeasible(pod) else [spec]
    lists += [_read(status.resources.requests, owner), _read(status.allocated_resources or {}, owner)]
    return _greatest(lists)


def is_resize_deferred(pod: Pod) -> bool:
    """Tell whether the pod's node has no room yet for an in-place resize (IsPodResizeDeferred)."""
    return _resize_pending_reason(pod) == "Deferred"


def _is_resize_infeasible(pod: Pod) -> bool:
    return _resize_pending_reason(pod) == "Infeasible"


def _resize_pending_reason(pod: Pod) -> str:
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason
    return ""


def _compute_amounts(pod: Pod) -> PodAmounts:
    requests = _pod_request_amounts(pod, {}, use_status=True, pod_level=True)
    defaults: Mapping[str, Quantity] = NON_ZERO_DEFAULTS
    if _has_pod_level_requests(pod):
        defaults = {name: amount for name, amount in NON_ZERO_DEFAULTS.items() if name not in requests}
    non_zero = requests
    if defaults:
        non_zero = _pod_request_amounts(pod, defaults, use_status=True, pod_level=True)
    zero = Quantity(0)
    status_aware = _in_scheduler_units(requests)
    return PodAmounts(
        requested=status_aware,
        non_zero_requested=(non_zero.get(CPU, zero).milli_value(), non_zero.get(MEMORY, zero).value()),
        # Resource.SetMaxResource starts from zero and does not know pods
        fit={name: max(0, amount) for name, amount in pod_requests(pod).items() if name != PODS},
        scoring=pod_requests(pod, pod_level=False, non_missing_container_requests=NON_ZERO_DEFAULTS),
        balanced=status_aware,
    )


_memo: dict[Hashable, PodAmounts] = {}
_last: tuple[Pod, PodAmounts] | None = None  # one pod is asked about several times in a row


def _memo_key(pod: Pod) -> Hashable:
    """Return a key that two pods share only if all their amounts are equal.

    Amounts that are no strings go by their text, because 1, 1.0 and True are one dictionary key but not one amount.
    """
    spec, status = pod.spec, pod.status
    if not (spec.init_containers or spec.overhead or spec.resources or status.resources or _has_resized(pod)):
        containers = spec.containers
        if len(containers) == 1:
            requests = containers[0].resources.requests
            parts = (*requests, *requests.values())
            try:
                "".join(parts)  # the quickest way to see that all are strings
            except TypeError:
                return str(requests)
            return parts
        return "\n".join([str(container.resources.requests) for container in containers])
    return str(
        (
            [(container.name, container.resources.requests) for container in spec.containers],
            [(init.name, init.restart_policy == "Always", init.resources.requests) for init in spec.init_containers],
            [(found.name, found.allocated_resources, found.resources) for found in status.container_statuses],
            [(found.name, found.allocated_resources, found.resources) for found in status.init_container_statuses],
            (spec.overhead, spec.resources, status.resources, status.allocated_resources, _is_resize_infeasible(pod)),
        )
    )


def _has_resized(pod: Pod) -> bool:
    """Return whether the status may say something else than the spec."""
    status = pod.status
    if status.conditions and _is_resize_infeasible(pod):
        return True
    for statuses in (status.container_statuses, status.init_container_statuses):
        for found in statuses:
            if found.allocated_resources is not None or found.resources is not None:
                return True
    return False
