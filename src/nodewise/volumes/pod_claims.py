"""Which claims a pod's volumes use, and which of them are bound, can wait for a node, or should be bound already."""

from __future__ import annotations

from dataclasses import dataclass

from nodewise.api.objects import Pod, Volume
from nodewise.api.storage import WAIT_FOR_FIRST_CONSUMER, PersistentVolumeClaim
from nodewise.framework.status import Status
from nodewise.volumes.assumed import AssumedStorage

SELECTED_NODE = "volume.kubernetes.io/selected-node"
_BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_UNBOUND = Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")


@dataclass(frozen=True, slots=True)
class PodClaims:
    """The claims of a pod's volumes, in the order of the volumes.

    Attributes
    ----------
    bound : tuple[PersistentVolumeClaim, ...]
    delayed : tuple[PersistentVolumeClaim, ...]
        Unbound ones whose class waits for a pod.
    """

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]


def used_claim(pod: Pod, volume: Volume) -> tuple[str, bool] | None:
    """Return the name of the claim that a volume uses, and whether it is made for the pod; None: it uses none."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name, False
    if volume.ephemeral is not None:
        return ephemeral_claim_name(pod.metadata.name, volume.name), True
    return None


def refers_to(pod: Pod, claim: PersistentVolumeClaim, *, with_ephemeral: bool) -> bool:
    """Tell whether a volume of the pod uses a claim; those made for the pod count only `with_ephemeral`."""
    if claim.metadata.namespace != pod.metadata.namespace:
        return False
    used = (used_claim(pod, volume) for volume in pod.spec.volumes)
    name = claim.metadata.name
    return any(found is not None and found[0] == name and (with_ephemeral or not found[1]) for found in used)


def ephemeral_claim_name(pod_name: str, volume_name: str) -> str:
    """Return the name of the claim that is made for a generic ephemeral volume."""
    return f"{pod_name}-{volume_name}"


def ownership_problem(pod: Pod, claim: PersistentVolumeClaim) -> str:
    """Say that a claim was not made for the pod, "" when it was (ephemeral.VolumeIsForPod)."""
    metadata = claim.metadata
    for owner in metadata.owner_references:
        if owner.controller:
            if owner.uid == pod.metadata.uid:
                return ""
            break
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def not_found(claim_name: str) -> str:
    """Return the API's words for a claim that does not exist."""
    return f'persistentvolumeclaim "{claim_name}" not found'


def is_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Tell whether a claim has a volume and the binding is done."""
    return bool(claim.spec.volume_name) and _BIND_COMPLETED in claim.metadata.annotations


def is_any_unbound(pod: Pod, storage: AssumedStorage) -> bool:
    """Tell whether some claim of a pod still has to be bound (arePodVolumesBound)."""
    for volume in pod.spec.volumes:
        used = used_claim(pod, volume)
        if used is not None:
            claim = storage.claim(f"{pod.metadata.namespace}/{used[0]}")
            if claim is None or not is_fully_bound(claim):
                return True
    return False


def claims_of(pod: Pod, storage: AssumedStorage) -> PodClaims | Status | None:
    """Return a pod's claims, or why it cannot be scheduled with them; None: it has none (VolumeBinding.PreFilter).

    An error of looking them up comes as a Status too.
    """
    found: list[PersistentVolumeClaim] = []
    for volume in pod.spec.volumes:
        used = used_claim(pod, volume)
        if used is None:
            continue
        name, is_ephemeral = used
        key = f"{pod.metadata.namespace}/{name}"
        stored = storage.api.claims.get(key)
        if stored is None:
            if is_ephemeral:
                text = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
                return Status.unresolvable(text)
            return Status.unresolvable(not_found(name))
        problem = _problem(pod, stored, is_ephemeral=is_ephemeral)
        if problem:
            return Status.unresolvable(problem)
        found.append(storage.claim(key) or stored)
    return _classified(found, storage) if found else None


def immediate_claims(pod: Pod, storage: AssumedStorage) -> list[PersistentVolumeClaim]:
    """Return the claims of a pod that are not bound though they should be."""
    found = []
    for volume in pod.spec.volumes:
        used = used_claim(pod, volume)
        claim = storage.claim(f"{pod.metadata.namespace}/{used[0]}") if used is not None else None
        if claim is not None and not is_fully_bound(claim) and not _is_delayed(claim, storage):
            found.append(claim)
    return found


def _is_delayed(claim: PersistentVolumeClaim, storage: AssumedStorage) -> bool:
    """Tell whether an unbound claim waits for a pod."""
    storage_class = storage.api.classes.get(claim.class_name)
    is_waiting = storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    return is_waiting and not claim.spec.volume_name


def _problem(pod: Pod, claim: PersistentVolumeClaim, *, is_ephemeral: bool) -> str:
    name = claim.metadata.name
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    return ownership_problem(pod, claim) if is_ephemeral else ""


def _classified(claims: list[PersistentVolumeClaim], storage: AssumedStorage) -> PodClaims | Status:
    """Sort claims by what is to be done about them (GetPodVolumeClaims)."""
    bound: list[PersistentVolumeClaim] = []
    delayed: list[PersistentVolumeClaim] = []
    has_immediate = False
    for claim in claims:
        if is_fully_bound(claim):
            bound.append(claim)
            continue
        storage_class = storage.api.classes.get(claim.class_name)
        if storage_class is not None and storage_class.volume_binding_mode is None:
            return Status.error(f'VolumeBindingMode not set for StorageClass "{claim.class_name}"')
        if _is_delayed(claim, storage):
            delayed.append(claim)
        else:
            has_immediate = True
    return _UNBOUND if has_immediate else PodClaims(tuple(bound), tuple(delayed))
