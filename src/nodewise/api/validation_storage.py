"""What an API server refuses in volumes, claims and storage classes, as far as scheduling reads them."""

from __future__ import annotations

from typing import Any

from nodewise.api.field_errors import FieldError, invalid, not_supported, required
from nodewise.api.meta import ResourceList
from nodewise.api.quantity import parse_quantity
from nodewise.api.storage import (
    READ_WRITE_ONCE_POD,
    STORAGE,
    WAIT_FOR_FIRST_CONSUMER,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    StorageClass,
    StorageObject,
)
from nodewise.api.validation_names import check_label_selector

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", READ_WRITE_ONCE_POD)
_BINDING_MODES = ("Immediate", WAIT_FOR_FIRST_CONSUMER)
_VOLUME_MODES = ("Block", "Filesystem")
_NOT_ALONE = "may not use ReadWriteOncePod with other access modes"


def check_storage(obj: StorageObject) -> list[FieldError]:
    """Return what is wrong with a defaulted storage object, its metadata aside."""
    if isinstance(obj, PersistentVolumeClaim):
        return check_claim_spec(obj.spec, "spec", is_stored=bool(obj.metadata.uid))
    if isinstance(obj, PersistentVolume):
        errors = _check_access_modes(obj.spec.access_modes, "spec.accessModes")
        errors += _check_volume_mode(obj.spec.volume_mode, "spec.volumeMode")
        return errors + _check_size(obj.spec.capacity, "spec.capacity")
    if isinstance(obj, StorageClass):
        mode = obj.volume_binding_mode
        if not mode:
            return [required("volumeBindingMode")]
        return [] if mode in _BINDING_MODES else [not_supported("volumeBindingMode", mode, _BINDING_MODES)]
    if isinstance(obj, CSIStorageCapacity):
        return check_label_selector(obj.node_topology, "nodeTopology", any_value=bool(obj.metadata.uid))
    return []


def check_claim_spec(spec: PersistentVolumeClaimSpec, field: str, *, is_stored: bool) -> list[FieldError]:
    """Return what is wrong with a claim, or with a template of claims."""
    errors = _check_access_modes(spec.access_modes, f"{field}.accessModes")
    if READ_WRITE_ONCE_POD in spec.access_modes and len(spec.access_modes) > 1:
        errors.append(FieldError(f"{field}.accessModes", f"Forbidden: {_NOT_ALONE}"))
    if spec.selector is not None:
        errors += check_label_selector(spec.selector, f"{field}.selector", any_value=is_stored)
    errors += _check_volume_mode(spec.volume_mode, f"{field}.volumeMode")
    return errors + _check_size(spec.resources.requests, f"{field}.resources.requests")


def _check_access_modes(modes: tuple[str, ...], field: str) -> list[FieldError]:
    return [not_supported(field, mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]


def _check_volume_mode(mode: str | None, field: str) -> list[FieldError]:
    return [not_supported(field, mode, _VOLUME_MODES)] if mode and mode not in _VOLUME_MODES else []


def _check_size(amounts: ResourceList, field: str) -> list[FieldError]:
    raw: Any = amounts.get(STORAGE)
    if raw is not None and parse_quantity(raw).sign <= 0:
        return [invalid(f"{field}[{STORAGE}]", str(raw), "must be greater than zero")]
    return []
