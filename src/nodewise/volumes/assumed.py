"""What a scheduler assumes of volumes and claims until the API says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from nodewise.api.storage import PersistentVolume, PersistentVolumeClaim
from nodewise.state.storage_listers import StorageListers
from nodewise.volumes.matching import KnownVolume


class AssumedStorage:
    """Storage with one scheduler profile's own decisions on top (PVAssumeCache, PVCAssumeCache).

    An assumption holds as long as the object that it was made of is the API's newest. Other profiles do not see it, as
    each has a cache of its own.

    Attributes
    ----------
    api : StorageListers
        What the API says.
    """

    def __init__(self, api: StorageListers) -> None:
        self.api = api
        self._claims: dict[str, PersistentVolumeClaim] = {}
        self._volumes: dict[str, PersistentVolume] = {}
        self._known: dict[str, KnownVolume] = {}
        self._claimed: Counter[str] = Counter()
        self._versions: dict[str, int] = {}

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """Return a claim as the scheduler knows it."""
        stored = self.api.claims.get(key)
        assumed = self._claims.get(key)
        return assumed if assumed is not None and _is_of(assumed, stored) else stored

    def volume(self, name: str) -> PersistentVolume | None:
        """Return a volume as the scheduler knows it."""
        stored = self.api.volumes.get(name)
        assumed = self._volumes.get(name)
        return assumed if assumed is not None and _is_of(assumed, stored) else stored

    def volumes_of(self, class_name: str) -> Iterator[PersistentVolume]:
        """Yield the volumes of a storage class as the scheduler knows them."""
        if not self._volumes:
            yield from self.api.volumes_of(class_name)
            return
        for stored in self.api.volumes_of(class_name):
            assumed = self._volumes.get(stored.metadata.name)
            yield assumed if assumed is not None and _is_of(assumed, stored) else stored

    def known_volumes_of(self, class_name: str) -> list[KnownVolume]:
        """Return the volumes of a storage class, each read once as long as it stays the same."""
        found: list[KnownVolume] = []
        known = self._known
        for volume in self.volumes_of(class_name):
            name = volume.metadata.name
            entry = known.get(name)
            if entry is None or entry.volume is not volume:
                entry = known[name] = KnownVolume.of(volume)
            found.append(entry)
        return found

    def class_version(self, class_name: str) -> Hashable:
        """Return what changes with every change of a class's volumes, assumptions included."""
        return self.api.class_version(class_name), self._versions.get(class_name, 0)

    def is_claimed_for(self, claim: PersistentVolumeClaim) -> bool:
        """Tell whether some volume may be for this claim."""
        return self.api.is_claimed_for(claim.key) or claim.key in self._claimed

    def assume_claim(self, claim: PersistentVolumeClaim) -> None:
        """Take a claim to be like this until the API says otherwise."""
        self._claims[claim.key] = claim

    def assume_volume(self, volume: PersistentVolume) -> None:
        """Take a volume to be like this until the API says otherwise."""
        self.restore_volume(volume.metadata.name)
        self._volumes[volume.metadata.name] = volume
        self._touch(volume, 1)

    def restore_claim(self, key: str) -> None:
        """Take a claim to be what the API says."""
        self._claims.pop(key, None)

    def restore_volume(self, name: str) -> None:
        """Take a volume to be what the API says."""
        assumed = self._volumes.pop(name, None)
        if assumed is not None:
            self._touch(assumed, -1)

    def _touch(self, volume: PersistentVolume, change: int) -> None:
        ref = volume.spec.claim_ref
        if ref is not None:
            key = f"{ref.namespace}/{ref.name}"
            self._claimed[key] += change
            if not self._claimed[key]:
                del self._claimed[key]
        self._versions[volume.class_name] = self._versions.get(volume.class_name, 0) + 1


def _is_of(
    assumed: PersistentVolume | PersistentVolumeClaim, stored: PersistentVolume | PersistentVolumeClaim | None
) -> bool:
    """Tell whether what is assumed was made of just the stored object."""
    return stored is not None and assumed.metadata.resource_version == stored.metadata.resource_version
