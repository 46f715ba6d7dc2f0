"""The claims that controllers would still make: of StatefulSets' templates and for pods' ephemeral volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from nodewise.api.admission import identified
from nodewise.api.objects import AnyObject, ObjectMeta, OwnerReference, Pod, StatefulSet, StorageObject, replace
from nodewise.api.storage import (
    STORAGE,
    ClaimReference,
    CSISource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PersistentVolumeClaimTemplate,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
)

_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_BOUND = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
_NO_PROVISIONER = "kubernetes.io/no-provisioner"


class ClaimMaker:
    """Makes the missing claims of one object after another, and the volumes of those that do not wait for a pod.

    Parameters
    ----------
    objects : Iterable[AnyObject]
        Every admitted object.
    """

    def __init__(self, objects: Iterable[AnyObject]) -> None:
        self.n_made: Counter[str] = Counter()
        self._taken: set[str] = set()
        self._classes: dict[str, StorageClass] = {}
        for obj in objects:
            if isinstance(obj, PersistentVolumeClaim):
                self._taken.add(obj.key)
            elif isinstance(obj, StorageClass):
                self._classes[obj.metadata.name] = obj
        self._default_class = _default_class(self._classes)

    @property
    def notes(self) -> list[str]:
        """What was made."""
        found = []
        claims = {kind: count for kind, count in self.n_made.items() if kind != "volume"}
        if claims:
            parts = [f"{count:,} {kind}" for kind, count in sorted(claims.items())]
            found.append(f"made the claims that controllers lack: {', '.join(parts)}")
        if self.n_made["volume"]:
            found.append(
                f"bound {self.n_made['volume']:,} of these claims at once, as their classes do not wait for a pod; "
                "their volumes are taken to be usable from every node"
            )
        return found

    def make(self, obj: AnyObject, position: int) -> Iterator[StorageObject]:
        """Yield the claims that would be made for this object, each before its volume."""
        if isinstance(obj, StatefulSet) and obj.spec.volume_claim_templates:
            start = obj.spec.ordinals.start if obj.spec.ordinals is not None else 0
            labels = obj.spec.selector.match_labels if obj.spec.selector is not None else {}
            for ordinal in range(start, start + (obj.spec.replicas or 0)):
                for template in obj.spec.volume_claim_templates:
                    name = f"{template.metadata.name}-{obj.metadata.name}-{ordinal}"
                    yield from self._made(name, obj.metadata, template, position, labels=labels, kind="of StatefulSets")
        elif isinstance(obj, Pod) and obj.spec.volumes and not obj.is_terminating:
            owner = OwnerReference("v1", "Pod", obj.metadata.name, obj.metadata.uid, controller=True)
            for volume in obj.spec.volumes:
                if volume.ephemeral is None or volume.ephemeral.volume_claim_template is None:
                    continue
                template = volume.ephemeral.volume_claim_template
                name = f"{obj.metadata.name}-{volume.name}"
                kind = "for ephemeral volumes"
                yield from self._made(name, obj.metadata, template, position, owners=(owner,), kind=kind)

    def _made(
        self,
        name: str,
        made_for: ObjectMeta,
        template: PersistentVolumeClaimTemplate,
        position: int,
        *,
        kind: str,
        labels: Mapping[str, str] | None = None,
        owners: tuple[OwnerReference, ...] = (),
    ) -> Iterator[StorageObject]:
        key = f"{made_for.namespace}/{name}"
        if key in self._taken:
            return
        self._taken.add(key)
        self.n_made[kind] += 1
        metadata = ObjectMeta(
            name=name,
            namespace=made_for.namespace,
            labels={**template.metadata.labels, **(labels or {})},
            annotations=template.metadata.annotations,
            creation_timestamp=made_for.creation_timestamp,
            owner_references=owners,
        )
        claim = PersistentVolumeClaim(
            identified(metadata, "PersistentVolumeClaim", position),
            self._with_class(template.spec),
            PersistentVolumeClaimStatus("Pending"),
        )
        storage_class = self._classes.get(claim.class_name)
        if storage_class is None or not _is_provisioned_at_once(storage_class):
            yield claim
            return
        self.n_made["volume"] += 1
        volume = _volume_for(claim, storage_class.provisioner, position)
        metadata = replace(claim.metadata, annotations={**claim.metadata.annotations, **_BOUND})
        spec = replace(claim.spec, volume_name=volume.metadata.name)
        yield PersistentVolumeClaim(metadata, spec, PersistentVolumeClaimStatus("Bound"))
        yield volume

    def _with_class(self, spec: PersistentVolumeClaimSpec) -> PersistentVolumeClaimSpec:
        """Give a claim that names no class the default one, as admission does."""
        if spec.storage_class_name is not None or not self._default_class:
            return spec
        return replace(spec, storage_class_name=self._default_class)


def _default_class(classes: Mapping[str, StorageClass]) -> str:
    """Return the newest default class, of several the first by name, "" for none (GetDefaultClass)."""
    found = [
        storage_class.metadata
        for storage_class in classes.values()
        if any(storage_class.metadata.annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    ]
    found.sort(key=lambda m: (-m.creation_timestamp.timestamp() if m.creation_timestamp is not None else 0.0, m.name))
    return found[0].name if found else ""


def _is_provisioned_at_once(storage_class: StorageClass) -> bool:
    return storage_class.volume_binding_mode == "Immediate" and storage_class.provisioner not in ("", _NO_PROVISIONER)


def _volume_for(claim: PersistentVolumeClaim, driver: str, position: int) -> PersistentVolume:
    metadata, spec = claim.metadata, claim.spec
    name = f"pvc-{metadata.uid}"
    return PersistentVolume(
        identified(ObjectMeta(name=name, creation_timestamp=metadata.creation_timestamp), "PersistentVolume", position),
        PersistentVolumeSpec(
            capacity={STORAGE: spec.resources.requests.get(STORAGE, "0")},
            access_modes=spec.access_modes,
            claim_ref=ClaimReference(metadata.namespace, metadata.name, metadata.uid),
            storage_class_name=claim.class_name,
            volume_mode=spec.volume_mode,
            csi=CSISource(driver, name),
        ),
        PersistentVolumeStatus("Bound"),
    )
