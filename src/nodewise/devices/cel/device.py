"""A device as expressions see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.api.devices import DeviceAttribute, DeviceCapacity
from nodewise.api.quantity import parse_quantity
from nodewise.devices.cel.semantic_versions import parse_semver
from nodewise.devices.cel.values import CelError, DefaultMap, StringMap


def device_value(
    driver: str, attributes: Mapping[str, DeviceAttribute], capacity: Mapping[str, DeviceCapacity], *, is_shared: bool
) -> dict[str, Any]:
    """Return the value of the variable `device`.

    Raises
    ------
    CelError
        An attribute has no usable value.
    """
    values: dict[str, Any] = {}
    for name, attribute in attributes.items():
        domain, identifier = _qualified(name, driver)
        values.setdefault(domain, StringMap())[identifier] = _attribute_value(name, attribute)
    amounts: dict[str, Any] = {}
    for name, amount in capacity.items():
        domain, identifier = _qualified(name, driver)
        amounts.setdefault(domain, StringMap())[identifier] = parse_quantity(amount.value)
    return StringMap(
        driver=driver,
        allowMultipleAllocations=is_shared,
        attributes=DefaultMap(values),
        capacity=DefaultMap(amounts),
    )


def _qualified(name: str, driver: str) -> tuple[str, str]:
    """Split a name into domain and identifier; without a domain it is the driver's (parseQualifiedName)."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _attribute_value(name: str, attribute: DeviceAttribute) -> Any:
    """Return the one value that is set (getAttributeValue)."""
    for values in (attribute.int_values, attribute.bool_values, attribute.string_values):
        if values is not None:
            return list(values)
    try:
        if attribute.version_values is not None:
            return [parse_semver(text) for text in attribute.version_values]
        for value in (attribute.int_value, attribute.bool_value, attribute.string_value):
            if value is not None:
                return value
        if attribute.version_value is not None:
            return parse_semver(attribute.version_value)
    except ValueError as error:
        raise CelError(f"attribute {name}: parse semantic version: {error}") from error
    raise CelError(f"attribute {name}: unsupported attribute value")
