"""What claims ask for, made ready for the search: one entry for each request, or for each alternative of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nodewise.api.devices import (
    ALL_DEVICES,
    EXACT_COUNT,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.devices.inventory import DeviceEntry
from nodewise.devices.selectors import Failure, Profile, Selectors
from nodewise.errors import NodewiseError


class AllocationError(NodewiseError):
    """Something is wrong with a claim or a class: it ends the pod's scheduling; the text is kube-scheduler's."""


@dataclass(slots=True, eq=False)
class WantedDevices:
    """One request, or one alternative of a request.

    Attributes
    ----------
    claim : str
        `namespace/name`, for messages.
    parent : str
        The request that this is an alternative of, "" when it is a request itself.
    count : int
        How many devices; with `takes_all` what the pools make of it.
    rank : int
        The position among the alternatives.
    expressions : tuple[tuple[str, str], ...]
        CEL selectors of the class and the request, each with the beginning of what is said when it fails.
    matches : dict[Profile, bool]
        Answers by what a device looks like.
    """

    claim: str
    name: str
    parent: str
    class_name: str
    takes_all: bool
    count: int
    is_admin: bool
    tolerations: tuple[DeviceToleration, ...]
    expressions: tuple[tuple[str, str], ...]
    capacity: Mapping[str, Quantity]
    rank: int
    matches: dict[Profile, bool] = field(default_factory=dict)
    _tolerated: dict[tuple[tuple[str, str, str], ...], bool] = field(default_factory=dict)

    @property
    def result_name(self) -> str:
        """The name in an allocation's results."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    def selects(self, entry: DeviceEntry, selectors: Selectors) -> bool:
        """Tell whether all selectors are true of a device.

        Raises
        ------
        AllocationError
            One of them fails.
        """
        profile = entry.profile
        answer = self.matches.get(profile)
        if answer is None:
            answer = self.matches[profile] = self._evaluate(entry, selectors)
        return answer

    def _evaluate(self, entry: DeviceEntry, selectors: Selectors) -> bool:
        for expression, place in self.expressions:
            failure = selectors.compile_failure(expression)
            if failure is not None:
                raise AllocationError(f"{place}: CEL compile error: {failure.text}")
            answer = selectors.matches(expression, entry.profile)
            if isinstance(answer, Failure):
                raise AllocationError(f"{place} on device {entry.text}: CEL runtime error: {answer.text}")
            if not answer:
                return False
        return True

    def tolerates(self, taints: tuple[tuple[str, str, str], ...]) -> bool:
        """Tell whether every taint is tolerated."""
        known = self._tolerated.get(taints)
        if known is None:
            known = self._tolerated[taints] = all(
                any(_tolerates(t, *taint) for t in self.tolerations) for taint in taints
            )
        return known


@dataclass(slots=True, eq=False)
class WantedClaim:
    """One claim to allocate.

    Attributes
    ----------
    requests : list[list[WantedDevices]]
        The alternatives of each request, in order; those of an exact request are one.
    failures : dict[tuple[int, int], AllocationError]
        By request and alternative, what keeps it from being allocated on any node.
    """

    claim: ResourceClaim
    requests: list[list[WantedDevices]]
    failures: dict[tuple[int, int], AllocationError]


def prepare(claim: ResourceClaim, classes: Mapping[str, DeviceClass]) -> WantedClaim:
    """Make a claim ready; what is wrong with it is kept until a node is looked at."""
    wanted = WantedClaim(claim, [], {})
    for position, request in enumerate(claim.spec.devices.requests):
        alternatives: list[WantedDevices] = []
        for index, (name, spec) in enumerate(_specs(request)):
            parent = request.name if request.first_available else ""
            problem = _problem(name, spec, claim, classes)
            if problem is not None:
                wanted.failures[position, index] = problem
            alternatives.append(_wanted(name, parent, index, spec, claim, classes))
        wanted.requests.append(alternatives)
    return wanted


def _specs(request: DeviceRequest) -> Sequence[tuple[str, ExactDeviceRequest | DeviceSubRequest]]:
    if request.first_available:
        return [(sub.name, sub) for sub in request.first_available]
    return [(request.name, request.exactly or ExactDeviceRequest())]


def _problem(
    name: str, spec: ExactDeviceRequest | DeviceSubRequest, claim: ResourceClaim, classes: Mapping[str, DeviceClass]
) -> AllocationError | None:
    """Return what kube-scheduler refuses in a request before it looks at devices (validateDeviceRequest)."""
    place = f"claim {claim.key}, request {name}"
    if spec.derived_attributes:
        return AllocationError(f"{place}: cannot handle request with derived attributes, the feature is disabled")
    for index, selector in enumerate(spec.selectors):
        if selector.cel is None:
            return AllocationError(f"{place}, selector #{index}: CEL expression empty (unsupported selector type?)")
    if not spec.device_class_name:
        return AllocationError(f"{place}: missing device class name (unsupported request type?)")
    if spec.device_class_name not in classes:
        missing = f'deviceclass.resource.k8s.io "{spec.device_class_name}" not found'
        return AllocationError(f"{place}: could not retrieve device class {spec.device_class_name}: {missing}")
    if spec.allocation_mode not in (EXACT_COUNT, ALL_DEVICES):
        return AllocationError(f"{place}: unsupported count mode {spec.allocation_mode}")
    return None


def _wanted(
    name: str,
    parent: str,
    rank: int,
    spec: ExactDeviceRequest | DeviceSubRequest,
    claim: ResourceClaim,
    classes: Mapping[str, DeviceClass],
) -> WantedDevices:
    device_class = classes.get(spec.device_class_name)
    of_class: tuple[DeviceSelector, ...] = device_class.spec.selectors if device_class is not None else ()
    expressions = [(_expression(s), f"class {spec.device_class_name}: selector #{n}") for n, s in enumerate(of_class)]
    expressions += [(_expression(s), f"claim {claim.key}: selector #{n}") for n, s in enumerate(spec.selectors)]
    requests = spec.capacity.requests if spec.capacity is not None else {}
    return WantedDevices(
        claim.key,
        name,
        parent,
        spec.device_class_name,
        spec.allocation_mode == ALL_DEVICES,
        spec.count if spec.allocation_mode == EXACT_COUNT else 0,
        isinstance(spec, ExactDeviceRequest) and bool(spec.admin_access),
        spec.tolerations,
        tuple(expressions),
        {key: parse_quantity(amount) for key, amount in requests.items()},
        rank,
    )


def _expression(selector: DeviceSelector) -> str:
    return selector.cel.expression if selector.cel is not None else ""


def _tolerates(toleration: DeviceToleration, key: str, value: str, effect: str) -> bool:
    """Tell whether a toleration covers a taint (resourceclaim.ToleratesTaint)."""
    if toleration.effect and toleration.effect != effect:
        return False
    if toleration.key and toleration.key != key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == value
    return toleration.operator == "Exists"
