"""The defaults of dynamic resource allocation, and older API versions brought into the form of v1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from nodewise.api.devices import (
    EXACT_COUNT,
    Device,
    DeviceObject,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceSlice,
    ResourceSliceSpec,
)
from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.quantity import parse_quantity
from nodewise.errors import QuantityError

_Wanted = TypeVar("_Wanted", ExactDeviceRequest, DeviceSubRequest)


def default_device_object(obj: DeviceObject) -> DeviceObject:
    """Return the object with allocation modes and counts filled in (SetDefaults_ExactDeviceRequest).

    Raises
    ------
    InvalidFieldError
        When an amount is not a quantity.
    """
    if isinstance(obj, ResourceClaim):
        spec = _default_claim_spec(obj.spec)
        return obj if spec is obj.spec else replace(obj, spec=spec)
    if isinstance(obj, ResourceClaimTemplate):
        spec = _default_claim_spec(obj.spec.spec)
        return obj if spec is obj.spec.spec else replace(obj, spec=replace(obj.spec, spec=spec))
    if isinstance(obj, ResourceSlice):
        slice_spec = _without_basic(obj.spec)
        _check_amounts(_slice_amounts(slice_spec))
        return obj if slice_spec is obj.spec else replace(obj, spec=slice_spec)
    return obj


def _default_claim_spec(spec: ResourceClaimSpec) -> ResourceClaimSpec:
    _check_amounts(_claim_amounts(spec))
    requests = tuple([_default_request(request) for request in spec.devices.requests])
    if all(new is old for new, old in zip(requests, spec.devices.requests, strict=True)):
        return spec
    return ResourceClaimSpec(replace(spec.devices, requests=requests))


def _default_request(request: DeviceRequest) -> DeviceRequest:
    if request.exactly is None and request.device_class_name:
        # v1beta1 has these fields in the request itself
        request = DeviceRequest(
            request.name,
            ExactDeviceRequest(
                request.device_class_name,
                request.selectors,
                request.allocation_mode,
                request.count,
                request.admin_access,
                request.tolerations,
                request.capacity,
            ),
        )
    if request.exactly is not None:
        exactly = _with_count(request.exactly)
        return request if exactly is request.exactly else replace(request, exactly=exactly)
    alternatives = tuple([_with_count(alternative) for alternative in request.first_available])
    if all(new is old for new, old in zip(alternatives, request.first_available, strict=True)):
        return request
    return replace(request, first_available=alternatives)


def _with_count(wanted: _Wanted) -> _Wanted:
    if not wanted.allocation_mode:
        wanted = replace(wanted, allocation_mode=EXACT_COUNT)
    if wanted.allocation_mode == EXACT_COUNT and wanted.count == 0:
        wanted = replace(wanted, count=1)
    return wanted


def _without_basic(spec: ResourceSliceSpec) -> ResourceSliceSpec:
    """Move what v1beta1 keeps under `basic` into the devices themselves."""
    if all(device.basic is None for device in spec.devices):
        return spec
    return replace(spec, devices=tuple([_flat(device) for device in spec.devices]))


def _flat(device: Device) -> Device:
    basic = device.basic
    if basic is None:
        return device
    return Device(device.name, **{name: getattr(basic, name) for name in basic.__struct_fields__})


def _check_amounts(amounts: Iterator[tuple[str, Any]]) -> None:
    for path, amount in amounts:
        try:
            parse_quantity(amount)
        except QuantityError as error:
            raise InvalidFieldError(path, str(error)) from error


def _claim_amounts(spec: ResourceClaimSpec) -> Iterator[tuple[str, Any]]:
    for index, request in enumerate(spec.devices.requests):
        path = f"spec.devices.requests[{index}]"
        places: list[tuple[str, ExactDeviceRequest | DeviceSubRequest | DeviceRequest]]
        places = [(f"{path}.exactly", request.exactly or request)]
        places += [(f"{path}.firstAvailable[{n}]", other) for n, other in enumerate(request.first_available)]
        for place, wanted in places:
            for name, amount in (wanted.capacity.requests if wanted.capacity is not None else {}).items():
                yield f"{place}.capacity.requests[{name}]", amount


def _slice_amounts(spec: ResourceSliceSpec) -> Iterator[tuple[str, Any]]:
    for index, counter_set in enumerate(spec.shared_counters):
        for name, counter in counter_set.counters.items():
            yield f"spec.sharedCounters[{index}].counters[{name}].value", counter.value
    for index, device in enumerate(spec.devices):
        path = f"spec.devices[{index}]"
        for name, capacity in device.capacity.items():
            yield f"{path}.capacity[{name}].value", capacity.value
            policy = capacity.request_policy
            if policy is None:
                continue
            allowed = policy.valid_range
            amounts = [policy.default, *(policy.valid_values or ())]
            amounts += [allowed.min, allowed.max, allowed.step] if allowed is not None else []
            for amount in amounts:
                if amount is not None:
                    yield f"{path}.capacity[{name}].requestPolicy", amount
        for use_index, use in enumerate(device.consumes_counters):
            for name, counter in use.counters.items():
                yield f"{path}.consumesCounters[{use_index}].counters[{name}].value", counter.value
