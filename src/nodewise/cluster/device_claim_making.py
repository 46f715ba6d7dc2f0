"""Makes the ResourceClaims that the resource claim controller would make for pods from templates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from nodewise.api.admission import identified
from nodewise.api.devices import PodResourceClaimStatus, ResourceClaim, ResourceClaimTemplate
from nodewise.api.objects import AnyObject, ObjectMeta, OwnerReference, Pod, replace

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation with the name that a claim made from a template has in its pod."""
_SUFFIX_LENGTH = 5


class DeviceClaimMaker:
    """Knows the templates and claims of a cluster, and makes the claims that pending pods lack.

    Attributes
    ----------
    notes : list[str]
        What was made.
    """

    def __init__(self, objects: Iterable[AnyObject]) -> None:
        self._templates: dict[tuple[str, str], ResourceClaimTemplate] = {}
        self._claims: dict[tuple[str, str], ResourceClaim] = {}
        self._made: dict[tuple[str, str], ResourceClaim] = {}
        self._n_made = 0
        for obj in objects:
            key = (obj.metadata.namespace, obj.metadata.name)
            if isinstance(obj, ResourceClaimTemplate):
                self._templates[key] = obj
            elif isinstance(obj, ResourceClaim):
                self._claims[key] = obj
                self._remember_owner(obj)

    @property
    def notes(self) -> list[str]:
        return [f"made {self._n_made} ResourceClaims from templates"] if self._n_made else []

    def _remember_owner(self, claim: ResourceClaim) -> None:
        name = claim.metadata.annotations.get(POD_CLAIM_NAME, "")
        for owner in claim.metadata.owner_references:
            if owner.controller and name:
                self._made[owner.uid, name] = claim

    def make(self, obj: AnyObject, position: int) -> tuple[AnyObject, list[ResourceClaim]]:
        """Return a pod that knows its claims, and those that are new; other objects as they are.

        A claim that was made for the pod before is taken, as the controller does; a missing template leaves the pod
        waiting.
        """
        if not isinstance(obj, Pod) or obj.spec.node_name or not obj.spec.resource_claims:
            return obj, []
        known = {status.name for status in obj.status.resource_claim_statuses}
        statuses, made = list(obj.status.resource_claim_statuses), []
        for reference in obj.spec.resource_claims:
            template_name = reference.resource_claim_template_name
            if template_name is None or reference.name in known:
                continue
            claim = self._made.get((obj.metadata.uid, reference.name))
            if claim is None:
                template = self._templates.get((obj.metadata.namespace, template_name))
                if template is None:
                    continue
                claim = self._claim(obj, reference.name, template, position)
                made.append(claim)
            statuses.append(PodResourceClaimStatus(reference.name, claim.metadata.name))
        if len(statuses) == len(known):
            return obj, []
        return replace(obj, status=replace(obj.status, resource_claim_statuses=tuple(statuses))), made

    def _claim(self, pod: Pod, name: str, template: ResourceClaimTemplate, position: int) -> ResourceClaim:
        metadata = pod.metadata
        generate_name = f"{metadata.name}-{name}-"
        suffix = hashlib.sha256(f"{metadata.uid}/{name}".encode()).hexdigest()[:_SUFFIX_LENGTH]
        made = ObjectMeta(
            name=generate_name + suffix,
            generate_name=generate_name,
            namespace=metadata.namespace,
            labels=template.spec.metadata.labels,
            annotations={**template.spec.metadata.annotations, POD_CLAIM_NAME: name},
            owner_references=(OwnerReference("v1", "Pod", metadata.name, metadata.uid, controller=True),),
        )
        self._n_made += 1
        return ResourceClaim(identified(made, "ResourceClaim", position), template.spec.spec)
