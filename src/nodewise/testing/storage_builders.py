"""Short ways to make claims, volumes and what belongs to them for tests.

>>> claim = make_claim("data", volume="vol-1")
>>> claim.key, claim.spec.volume_name
('default/data', 'vol-1')
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nodewise.api.objects import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    PersistentVolumeClaimVolumeSource,
    Volume,
)
from nodewise.api.storage import (
    STORAGE,
    WAIT_FOR_FIRST_CONSUMER,
    ClaimReference,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSISource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
    VolumeNodeResources,
    VolumeResources,
)

BIND_COMPLETED = {"pv.kubernetes.io/bind-completed": "yes"}


def make_claim(
    name: str,
    size: str | None = "1Gi",
    *,
    namespace: str = "default",
    storage_class: str | None = None,
    volume: str = "",
    access_modes: tuple[str, ...] = ("ReadWriteOnce",),
    annotations: Mapping[str, str] | None = None,
    phase: str = "",
    **spec: Any,
) -> PersistentVolumeClaim:
    """Make a claim; with a volume it is bound."""
    return PersistentVolumeClaim(
        ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"claim {namespace}/{name}",
            annotations={**(BIND_COMPLETED if volume else {}), **(annotations or {})},
        ),
        PersistentVolumeClaimSpec(
            access_modes=access_modes,
            resources=VolumeResources({} if size is None else {STORAGE: size}),
            volume_name=volume,
            storage_class_name=storage_class,
            **spec,
        ),
        PersistentVolumeClaimStatus(phase or ("Bound" if volume else "Pending")),
    )


def make_volume(
    name: str,
    size: str = "1Gi",
    *,
    storage_class: str = "",
    labels: Mapping[str, str] | None = None,
    nodes: Mapping[str, str] | None = None,
    claim: PersistentVolumeClaim | None = None,
    driver: str = "",
    access_modes: tuple[str, ...] = ("ReadWriteOnce",),
    phase: str = "",
    **spec: Any,
) -> PersistentVolume:
    """Make a volume.

    Parameters
    ----------
    nodes : Mapping[str, str] | None
        Labels of the nodes that can use it.
    claim : PersistentVolumeClaim | None
        The claim that it is for.
    driver : str
        Of a CSI volume.
    """
    affinity = None
    if nodes:
        requirements = tuple(NodeSelectorRequirement(key, "In", (value,)) for key, value in nodes.items())
        affinity = VolumeNodeAffinity(NodeSelector((NodeSelectorTerm(requirements),)))
    ref = None
    if claim is not None:
        ref = ClaimReference(claim.metadata.namespace, claim.metadata.name, claim.metadata.uid)
    fields: dict[str, Any] = {
        "capacity": {STORAGE: size},
        "access_modes": access_modes,
        "claim_ref": ref,
        "storage_class_name": storage_class,
        "node_affinity": affinity,
        "csi": CSISource(driver, f"handle-{name}") if driver else None,
        **spec,
    }
    return PersistentVolume(
        ObjectMeta(name=name, uid=f"volume {name}", labels=dict(labels or {})),
        PersistentVolumeSpec(**fields),
        PersistentVolumeStatus(phase or ("Bound" if claim is not None else "Available")),
    )


def make_bound(name: str, **volume: Any) -> tuple[PersistentVolumeClaim, PersistentVolume]:
    """Make a claim `name` and the volume `vol-name` that it is bound to."""
    claim = make_claim(name, volume=f"vol-{name}", access_modes=volume.get("access_modes", ("ReadWriteOnce",)))
    return claim, make_volume(f"vol-{name}", claim=claim, **volume)


def make_class(
    name: str, provisioner: str = "csi.test", mode: str = WAIT_FOR_FIRST_CONSUMER, **more: Any
) -> StorageClass:
    """Make a storage class; it waits for a pod unless another mode is given."""
    return StorageClass(ObjectMeta(name=name), provisioner, mode, **more)


def make_csi_node(name: str, limits: Mapping[str, int | None], **annotations: str) -> CSINode:
    """Make a CSINode with its drivers and how many volumes of each it takes; None: any number."""
    drivers = tuple(
        CSINodeDriver(driver, name, None if count is None else VolumeNodeResources(count))
        for driver, count in limits.items()
    )
    return CSINode(ObjectMeta(name=name, annotations=annotations), CSINodeSpec(drivers))


def make_csi_driver(name: str, **spec: Any) -> CSIDriver:
    """Make a CSIDriver."""
    return CSIDriver(ObjectMeta(name=name), CSIDriverSpec(**spec))


def claim_volumes(names: Iterable[str]) -> tuple[Volume, ...]:
    """Make the volumes by which a pod uses claims."""
    return tuple(
        Volume(name=f"v{index}", persistent_volume_claim=PersistentVolumeClaimVolumeSource(name))
        for index, name in enumerate(names)
    )
