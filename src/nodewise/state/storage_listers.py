"""Volumes, claims and what the cluster says about storage, as the API has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodewise.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StorageObject,
    VolumeAttachment,
)


class StorageListers:
    """Storage objects by name, in the order they came.

    Attributes
    ----------
    version : int
        Grows with every change.
    claims : dict[str, PersistentVolumeClaim]
        By `namespace/name`.
    capacities : dict[str, CSIStorageCapacity]
        By `namespace/name`.
    attachments : dict[str, dict[str, VolumeAttachment]]
        By node, then by name.
    """

    def __init__(self) -> None:
        self.version = 0
        self.claims: dict[str, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self.csi_drivers: dict[str, CSIDriver] = {}
        self.capacities: dict[str, CSIStorageCapacity] = {}
        self.attachments: dict[str, dict[str, VolumeAttachment]] = {}
        self._attached_to: dict[str, str] = {}
        self._by_class: dict[str, dict[str, None]] = {}
        self._class_versions: dict[str, int] = {}
        self._claimed: dict[str, int] = {}

    def fill(self, objects: Iterable[StorageObject]) -> None:
        """Add objects, or replace older ones."""
        for obj in objects:
            self.put(obj)

    def put(self, obj: StorageObject) -> None:
        """Add an object, or replace an older one."""
        self.version += 1
        name = obj.metadata.name
        if isinstance(obj, PersistentVolumeClaim):
            self.claims[obj.key] = obj
        elif isinstance(obj, PersistentVolume):
            self._put_volume(obj)
        elif isinstance(obj, StorageClass):
            self.classes[name] = obj
        elif isinstance(obj, CSINode):
            self.csi_nodes[name] = obj
        elif isinstance(obj, CSIDriver):
            self.csi_drivers[name] = obj
        elif isinstance(obj, CSIStorageCapacity):
            self.capacities[f"{obj.metadata.namespace}/{name}"] = obj
        else:
            self._drop_attachment(name)
            self.attachments.setdefault(obj.spec.node_name, {})[name] = obj
            self._attached_to[name] = obj.spec.node_name

    def remove(self, obj: StorageObject) -> None:
        """Forget an object."""
        self.version += 1
        name = obj.metadata.name
        if isinstance(obj, PersistentVolumeClaim):
            self.claims.pop(obj.key, None)
        elif isinstance(obj, PersistentVolume):
            self._drop_volume(name)
        elif isinstance(obj, StorageClass):
            self.classes.pop(name, None)
        elif isinstance(obj, CSINode):
            self.csi_nodes.pop(name, None)
        elif isinstance(obj, CSIDriver):
            self.csi_drivers.pop(name, None)
        elif isinstance(obj, CSIStorageCapacity):
            self.capacities.pop(f"{obj.metadata.namespace}/{name}", None)
        else:
            self._drop_attachment(name)

    def _put_volume(self, volume: PersistentVolume) -> None:
        name = volume.metadata.name
        old = self.volumes.get(name)
        if old is not None and old.class_name != volume.class_name:
            self._drop_volume(name)
        elif old is not None:
            self._claim(old, -1)
        self.volumes[name] = volume
        self._by_class.setdefault(volume.class_name, {})[name] = None
        self._claim(volume, 1)
        self._touch(volume.class_name)

    def _drop_volume(self, name: str) -> None:
        old = self.volumes.pop(name, None)
        if old is not None:
            self._claim(old, -1)
            self._by_class[old.class_name].pop(name, None)
            self._touch(old.class_name)

    def _drop_attachment(self, name: str) -> None:
        node_name = self._attached_to.pop(name, None)
        if node_name is not None:
            self.attachments[node_name].pop(name, None)

    def _touch(self, class_name: str) -> None:
        self._class_versions[class_name] = self._class_versions.get(class_name, 0) + 1

    def _claim(self, volume: PersistentVolume, change: int) -> None:
        """Note, or forget, which claim a volume is for."""
        ref = volume.spec.claim_ref
        if ref is not None:
            key = f"{ref.namespace}/{ref.name}"
            self._claimed[key] = self._claimed.get(key, 0) + change
            if not self._claimed[key]:
                del self._claimed[key]

    # --- finding ------------------------------------------------------------------------------------------------------

    def volumes_of(self, class_name: str) -> Iterator[PersistentVolume]:
        """Yield the volumes of a storage class."""
        for name in self._by_class.get(class_name, ()):
            yield self.volumes[name]

    def class_version(self, class_name: str) -> int:
        """Return a number that grows with every change of a class's volumes."""
        return self._class_versions.get(class_name, 0)

    def is_claimed_for(self, key: str) -> bool:
        """Tell whether some volume names this claim."""
        return key in self._claimed
