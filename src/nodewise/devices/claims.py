"""Which claims a pod uses, and what keeps it from using them."""

from __future__ import annotations

from nodewise.api.devices import ResourceClaim
from nodewise.api.objects import Pod, PodResourceClaim
from nodewise.errors import NodewiseError
from nodewise.state.device_listers import DeviceListers


class ClaimError(NodewiseError):
    """A claim of a pod cannot be used; the text is kube-scheduler's."""


def claims_of(pod: Pod, listers: DeviceListers) -> list[ResourceClaim]:
    """Return the claims of a pod in the order of its spec (foreachPodResourceClaim).

    Raises
    ------
    ClaimError
        One is not there, is being deleted, or belongs to another pod.
    """
    found: list[ResourceClaim] = []
    namespace = pod.metadata.namespace
    for reference in pod.spec.resource_claims:
        name, is_made_for_pod = _name(pod, reference)
        if name is None:
            continue
        claim = listers.claims.get((namespace, name))
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{namespace}/{name}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimError(f'resourceclaim "{name}" is being deleted')
        if is_made_for_pod and not _is_controlled_by(claim, pod):
            raise ClaimError(f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)")
        found.append(claim)
    return found


def _name(pod: Pod, reference: PodResourceClaim) -> tuple[str | None, bool]:
    """Return the name of a claim, and whether it was made for this pod; no name: none is needed."""
    if reference.resource_claim_name is not None:
        return reference.resource_claim_name, False
    if reference.resource_claim_template_name is None:
        raise ClaimError(
            f'pod "{pod.key}", spec.resourceClaim "{reference.name}": none of the supported fields are set'
        )
    for status in pod.status.resource_claim_statuses:
        if status.name == reference.name:
            return status.resource_claim_name, True
    raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')


def _is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    return any(owner.controller and owner.uid == pod.metadata.uid for owner in claim.metadata.owner_references)
