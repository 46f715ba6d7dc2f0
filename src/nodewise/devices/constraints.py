"""What the devices of one claim must have in common, or must not."""

from __future__ import annotations

from typing import Any

from nodewise.api.devices import Device, DeviceAttribute, DeviceConstraint
from nodewise.devices.inventory import DeviceEntry


class Constraint:
    """One constraint while devices are tried; `add` and `remove` go in pairs, last in first out."""

    __slots__ = ("_name", "_requests", "_taken")

    def __init__(self, constraint: DeviceConstraint, name: str) -> None:
        self._requests = frozenset(constraint.requests)
        self._name = name
        self._taken: list[tuple[str, Any]] = []

    def add(self, request: str, subrequest: str, entry: DeviceEntry) -> bool:
        """Count a device in, unless that breaks the constraint."""
        if not self._applies(request, subrequest):
            return True
        value = attribute_value(entry, self._name)
        if value is None or not self._accepts(value):
            return False
        self._taken.append(value)
        return True

    def remove(self, request: str, subrequest: str) -> None:
        """Count the last device out."""
        if self._applies(request, subrequest):
            self._taken.pop()

    def _applies(self, request: str, subrequest: str) -> bool:
        if not self._requests or request in self._requests:
            return True
        return bool(subrequest) and f"{request}/{subrequest}" in self._requests

    def _accepts(self, value: tuple[str, Any]) -> bool:
        raise NotImplementedError


class MatchAttribute(Constraint):
    """All devices have the same value of an attribute."""

    __slots__ = ()

    def _accepts(self, value: tuple[str, Any]) -> bool:
        if not self._taken:
            return True
        return value[0] != _UNKNOWN and value == self._taken[0]


class DistinctAttribute(Constraint):
    """All devices have different values of an attribute."""

    __slots__ = ()

    def _accepts(self, value: tuple[str, Any]) -> bool:
        return not self._taken or (value[0] != _UNKNOWN and value not in self._taken)


_UNKNOWN = "unknown"


def attribute_value(entry: DeviceEntry, name: str) -> tuple[str, Any] | None:
    """Return the kind and value of a fully qualified attribute; None: the device does not have it."""
    attribute = _lookup(entry.device, entry.id[0], name)
    if attribute is None:
        return None
    for kind, value in (
        ("string", attribute.string_value),
        ("int", attribute.int_value),
        ("bool", attribute.bool_value),
        ("version", attribute.version_value),
    ):
        if value is not None:
            return kind, value
    return _UNKNOWN, None


def _lookup(device: Device, driver: str, name: str) -> DeviceAttribute | None:
    found = device.attributes.get(name)
    if found is not None:
        return found
    domain, slash, identifier = name.partition("/")
    return device.attributes.get(identifier) if slash and domain == driver else None
