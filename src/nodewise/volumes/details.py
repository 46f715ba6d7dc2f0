"""What explanations say beyond kube-scheduler's reasons: which claim, which volume, which class."""

from __future__ import annotations

import numpy as np

from nodewise.api.objects import Pod
from nodewise.api.storage import STORAGE, PersistentVolumeClaim
from nodewise.framework.status import Status
from nodewise.state.columns import Columns
from nodewise.volumes.assumed import AssumedStorage
from nodewise.volumes.binding import PodBinding
from nodewise.volumes.matching import NONE, ClaimSelectorError, FittingVolumes, requested_storage
from nodewise.volumes.pod_claims import SELECTED_NODE, PodClaims, claims_of, immediate_claims
from nodewise.volumes.provisioning import Provisioning


def binding_detail(pod: Pod, storage: AssumedStorage, columns: Columns, row: int | None) -> str:
    """Say which claims keep a pod from a node, or with row None from every node; "" for none."""
    claims = claims_of(pod, storage)
    if row is None:
        waiting = immediate_claims(pod, storage) if isinstance(claims, Status) else []
        return "; ".join(f"{_named(claim)} is not bound and its class does not wait for a pod" for claim in waiting)
    if not isinstance(claims, PodClaims):
        return ""
    parts = (_bound_detail(claims, storage, columns, row), _delayed_detail(claims, storage, columns, row))
    return "; ".join(part for part in parts if part)


def _bound_detail(claims: PodClaims, storage: AssumedStorage, columns: Columns, row: int) -> str:
    rows = np.array([row], np.intp)
    for claim in claims.bound:
        volume = storage.volume(claim.spec.volume_name)
        if volume is None:
            return f"{_named(claim)} is bound to volume {claim.spec.volume_name}, which does not exist"
        if PodBinding(PodClaims((claim,), ()), storage).judge(columns, rows).codes[0]:
            return f"{_named(claim)}: volume {volume.metadata.name} cannot be used from this node"
    return ""


def _delayed_detail(claims: PodClaims, storage: AssumedStorage, columns: Columns, row: int) -> str:
    """Name the first claim that has no volume here and cannot get a new one."""
    rows = np.array([row], np.intp)
    for claim in claims.delayed:
        node_name = claim.metadata.annotations.get(SELECTED_NODE)
        if node_name is not None and node_name != columns.names[row]:
            return f"{_named(claim)} is to get its volume on node {node_name}"
    taken: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]] = []
    chosen = [claim for claim in claims.delayed if SELECTED_NODE in claim.metadata.annotations]
    others = [claim for claim in claims.delayed if SELECTED_NODE not in claim.metadata.annotations]
    to_be_made = chosen
    numbers = {name: number for number, name in enumerate(storage.api.volumes)}
    for claim in sorted(others, key=requested_storage):
        volumes = [(numbers[known.volume.metadata.name], known) for known in storage.known_volumes_of(claim.class_name)]
        try:
            found = FittingVolumes(claim, volumes).choose(columns, rows, taken)
        except ClaimSelectorError as error:
            return str(error)
        taken.append(found)
        if found[0] == NONE:
            to_be_made = [*to_be_made, claim]
    for claim in to_be_made:
        provisioning = Provisioning(claim, storage.api.classes[claim.class_name], storage.api)
        if not provisioning.can_reach(columns, rows)[0]:
            return f"{_named(claim)} finds no volume, and none can be made for it here"
        if not provisioning.capacity(columns, rows)[0][0]:
            return f"{_named(claim)} does not fit the storage of its class within reach of this node"
    return ""


def _named(claim: PersistentVolumeClaim) -> str:
    size = claim.spec.resources.requests.get(STORAGE)
    facts = [
        f"class {claim.class_name}" if claim.class_name else "no class",
        *([str(size)] if size is not None else []),
    ]
    return f"claim {claim.metadata.name} ({', '.join(facts)})"
