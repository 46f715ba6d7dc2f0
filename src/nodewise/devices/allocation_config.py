"""What drivers are told about the devices of an allocation: the configuration of classes, then that of the claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.api.devices import DeviceClass, ResourceClaim
from nodewise.devices.allocator import GivenDevice

Json = dict[str, Any]


def allocation_config(
    claim: ResourceClaim, given: Sequence[GivenDevice], classes: Mapping[str, DeviceClass]
) -> list[Json] | None:
    """Return the entries of an allocation's `devices.config`; None: there are none.

    Those of a class come once, for all requests that chose it. One that is for all requests names none.
    """
    chosen = {device.wanted.parent or device.wanted.name: device.wanted for device in given}
    order = [chosen[request.name] for request in claim.spec.devices.requests if request.name in chosen]
    requests_of: dict[str, list[str]] = {}
    for wanted in order:
        requests_of.setdefault(wanted.class_name, []).append(wanted.result_name)
    found: list[Json] = []
    for class_name, requests in requests_of.items():
        device_class = classes.get(class_name)
        for config in device_class.spec.config or () if device_class is not None else ():
            found.append({"source": "FromClass", "requests": requests, **config})
    names = {wanted.parent or wanted.name for wanted in order} | {wanted.result_name for wanted in order}
    for config in claim.spec.devices.config or ():
        if not config.get("requests") or names.intersection(config["requests"]):
            found.append({"source": "FromClaim", **config})
    pairs = [{wanted.parent or wanted.name, wanted.result_name} for wanted in order]
    return [_for_all(config, pairs) for config in found] or None


def _for_all(config: Json, pairs: Sequence[set[str]]) -> Json:
    """Leave out the requests of an entry that is for all of them."""
    requests = config.get("requests") or []
    if all(pair.intersection(requests) for pair in pairs):
        return {key: value for key, value in config.items() if key != "requests"}
    return config
