"""How much of a device's capacity a request takes, and whether that is left (consumable capacity)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from nodewise.api.devices import CapacityRequestPolicyRange, DeviceCapacity
from nodewise.api.quantity import Quantity, parse_quantity
from nodewise.errors import NodewiseError

_MAX_INT64 = 2**63 - 1
_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"


class CapacityError(NodewiseError):
    """A request that no device can answer: it ends the pod's scheduling; the text is kube-scheduler's."""


def fits_capacity(
    requests: Mapping[str, Quantity],
    capacity: Mapping[str, DeviceCapacity],
    taken: Mapping[str, Quantity],
    being_taken: Mapping[str, Quantity],
) -> bool:
    """Tell whether a device has room for a request (CmpRequestOverCapacity).

    Raises
    ------
    CapacityError
        With the text of the first capacity, in the order of names, that has no answer.
    """
    if any(name not in capacity for name in requests):
        return False
    consumed = consumed_capacity(requests, capacity)
    for name, amount in consumed.items():
        if amount.sign < 0:
            raise CapacityError(f'capacity "{name}": capacity value is negative')
    for name, amount in consumed.items():
        if _violates_policy(amount, capacity[name]):
            return False
        for other in (taken, being_taken):
            if name in other:
                amount = amount + other[name]
        if amount > parse_quantity(capacity[name].value):
            return False
    return True


def consumed_capacity(requests: Mapping[str, Quantity], capacity: Mapping[str, DeviceCapacity]) -> dict[str, Quantity]:
    """Return what a request takes of each capacity (GetConsumedCapacityFromRequest).

    Raises
    ------
    CapacityError
        A request cannot be rounded.
    """
    found: dict[str, Quantity] = {}
    for name in sorted(capacity):
        try:
            found[name] = _consumed(requests.get(name), capacity[name])
        except CapacityError as error:
            raise CapacityError(f'capacity "{name}": {error}') from error
    return found


def _consumed(requested: Quantity | None, capacity: DeviceCapacity) -> Quantity:
    policy = capacity.request_policy
    if requested is None:
        has_default = policy is not None and policy.default is not None
        return parse_quantity(policy.default if policy is not None and has_default else capacity.value)
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_up(requested, policy.valid_range)
    if policy.valid_values is not None:
        return next((value for value in map(parse_quantity, policy.valid_values) if requested <= value), requested)
    return requested


def _round_up(requested: Quantity, allowed: CapacityRequestPolicyRange) -> Quantity:
    """Round up to the next step of a range (roundUpRange)."""
    least = parse_quantity(allowed.min)
    if requested < least:
        return least
    if allowed.step is None:
        return requested
    step = parse_quantity(allowed.step)
    if _is_in_milli(allowed):
        milli = _milli(requested)
        if milli is None:
            raise CapacityError(f"{_NOT_REPRESENTABLE}: request {requested} is not a representable milli value")
        first, width = least.milli_value(), step.milli_value()
        n_steps = -(-(milli - first) // width)
        if n_steps > (_MAX_INT64 - first) // width:
            raise CapacityError(
                f"{_NOT_REPRESENTABLE}: rounding request {requested} up to the next step passes the milli-value range"
            )
        rounded = first + width * n_steps
        return Quantity(rounded // 1000, 0, step.format) if rounded % 1000 == 0 else Quantity(rounded, -3, step.format)
    if requested > Quantity(_MAX_INT64):
        raise CapacityError(f"{_NOT_REPRESENTABLE}: request {requested} exceeds MaxInt64")
    first, width = least.value(), step.value()
    n_steps = -(-(requested.value() - first) // width)
    if first >= 0 and n_steps > (_MAX_INT64 - first) // width:
        raise CapacityError(f"{_NOT_REPRESENTABLE}: rounding request {requested} up to the next step passes MaxInt64")
    return Quantity(first + width * n_steps, 0, step.format)


def _violates_policy(amount: Quantity, capacity: DeviceCapacity) -> bool:
    policy = capacity.request_policy
    if policy is None or (policy.default is not None and amount == parse_quantity(policy.default)):
        return False
    if policy.valid_range is not None:
        return _is_out_of_range(amount, policy.valid_range)
    if policy.valid_values:
        return amount not in [parse_quantity(value) for value in policy.valid_values]
    return False


def _is_out_of_range(amount: Quantity, allowed: CapacityRequestPolicyRange) -> bool:
    if allowed.max is not None and amount > parse_quantity(allowed.max):
        return True
    if allowed.step is None:
        return False
    least, step = parse_quantity(allowed.min or 0), parse_quantity(allowed.step)
    if _is_in_milli(allowed):
        milli = _milli(amount)
        return milli is None or (milli - least.milli_value()) % step.milli_value() != 0
    return (amount.value() - least.value()) % step.value() != 0


@lru_cache(maxsize=1024)
def _is_in_milli_of(least: Any, most: Any, step: Any) -> bool:
    for amount in (least, most, step):
        if amount is not None and _milli(parse_quantity(amount)) is None:
            return False
    return step is None or (_milli(parse_quantity(step)) or 0) >= 1


def _is_in_milli(allowed: CapacityRequestPolicyRange) -> bool:
    """Tell whether a range is counted in thousandths: whenever all its bounds can be (useMilli)."""
    return _is_in_milli_of(allowed.min, allowed.max, allowed.step)


def _milli(amount: Quantity) -> int | None:
    """Return an amount in thousandths, if it is a whole number of them (safeMilliValue)."""
    milli = amount.milli_value()
    return milli if Quantity(milli, -3) == amount else None
