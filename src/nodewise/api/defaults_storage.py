"""The defaults of volumes, claims and storage classes."""

from __future__ import annotations

from typing import Any

from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.meta import ResourceList
from nodewise.api.objects import Volume, replace
from nodewise.api.quantity import parse_quantity
from nodewise.api.rounding import rounded
from nodewise.api.storage import (
    AzureDisk,
    CSIDriver,
    CSIDriverSpec,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeClaimTemplate,
    PersistentVolumeStatus,
    StorageClass,
    StorageObject,
    VolumeResources,
)
from nodewise.errors import QuantityError

_FILESYSTEM = "Filesystem"
_SHARED_BLOB_DISK = "Shared"
_RBD_POOL = "rbd"


def default_storage(obj: StorageObject) -> StorageObject:
    """Return a storage object with API defaults filled in.

    Raises
    ------
    InvalidFieldError
        When an amount is not a quantity.
    """
    if isinstance(obj, PersistentVolumeClaim):
        status = obj.status if obj.status.phase else PersistentVolumeClaimStatus("Pending")
        return PersistentVolumeClaim(obj.metadata, default_claim_spec(obj.spec, "spec"), status)
    if isinstance(obj, PersistentVolume):
        return _default_volume(obj)
    if isinstance(obj, StorageClass) and obj.volume_binding_mode is None:
        return replace(obj, volume_binding_mode="Immediate")
    if isinstance(obj, CSIDriver):
        spec = obj.spec
        wanted = CSIDriverSpec(bool(spec.storage_capacity), bool(spec.prevent_pod_scheduling_if_missing))
        return obj if spec == wanted else CSIDriver(obj.metadata, wanted)
    if isinstance(obj, CSIStorageCapacity):
        _check_quantity(obj.capacity, "capacity")
        _check_quantity(obj.maximum_volume_size, "maximumVolumeSize")
    return obj


def default_claim_spec(spec: PersistentVolumeClaimSpec, path: str) -> PersistentVolumeClaimSpec:
    """Round a claim's amounts, and let it ask for a file system when it does not say."""
    resources = VolumeResources(
        _rounded(spec.resources.requests, f"{path}.resources.requests"),
        _rounded(spec.resources.limits, f"{path}.resources.limits"),
    )
    return replace(spec, resources=resources, volume_mode=spec.volume_mode or _FILESYSTEM)


def default_claim_template(template: PersistentVolumeClaimTemplate, path: str) -> PersistentVolumeClaimTemplate:
    """Return a claim template with the defaults of its spec."""
    return PersistentVolumeClaimTemplate(template.metadata, default_claim_spec(template.spec, f"{path}.spec"))


def default_pod_volumes(volumes: tuple[Volume, ...], path: str) -> tuple[Volume, ...]:
    """Return a pod's volumes with the defaults of their sources; themselves when there are none to fill in."""
    if all(v.rbd is None and v.azure_disk is None and v.ephemeral is None for v in volumes):
        return volumes
    return tuple(_default_pod_volume(volume, f"{path}[{index}]") for index, volume in enumerate(volumes))


def _default_pod_volume(volume: Volume, path: str) -> Volume:
    changes: dict[str, Any] = {}
    if volume.rbd is not None and not volume.rbd.pool:
        changes["rbd"] = replace(volume.rbd, pool=_RBD_POOL)
    if volume.azure_disk is not None:
        changes["azure_disk"] = _default_azure_disk(volume.azure_disk)
    if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
        path = f"{path}.ephemeral.volumeClaimTemplate"
        template = default_claim_template(volume.ephemeral.volume_claim_template, path)
        changes["ephemeral"] = replace(volume.ephemeral, volume_claim_template=template)
    return replace(volume, **changes) if changes else volume


def _default_volume(volume: PersistentVolume) -> PersistentVolume:
    spec = volume.spec
    changes: dict[str, Any] = {
        "capacity": _rounded(spec.capacity, "spec.capacity"),
        "volume_mode": spec.volume_mode or _FILESYSTEM,
    }
    if spec.azure_disk is not None:
        changes["azure_disk"] = _default_azure_disk(spec.azure_disk)
    status = volume.status if volume.status.phase else PersistentVolumeStatus("Pending")
    return PersistentVolume(volume.metadata, replace(spec, **changes), status)


def _default_azure_disk(disk: AzureDisk) -> AzureDisk:
    return disk if disk.kind is not None else AzureDisk(disk.disk_uri, _SHARED_BLOB_DISK)


def _rounded(amounts: ResourceList, path: str) -> ResourceList:
    return rounded(amounts, path) if amounts else amounts


def _check_quantity(raw: Any, field: str) -> None:
    try:
        parse_quantity("0" if raw is None else raw)
    except QuantityError as error:
        raise InvalidFieldError(field, str(error)) from error
