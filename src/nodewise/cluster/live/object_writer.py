"""Writes volumes and claims to an API server, for plugins that have something to do before a pod is bound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec

from nodewise.api.decoding import decode_object
from nodewise.api.devices import CLAIM_FINALIZER, ResourceClaim
from nodewise.api.objects import AnyObject, ObjectMeta, PodExtendedResourceClaimStatus
from nodewise.api.storage import PersistentVolume, PersistentVolumeClaim
from nodewise.cluster.live.api_client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiClient
from nodewise.cluster.live.errors import ApiError
from nodewise.cluster.live.resources import RESOURCES, Resource
from nodewise.framework.object_writer import ConflictError
from nodewise.state.pod_info import PodInfo

T = TypeVar("T", bound=AnyObject)
_VOLUMES, _VOLUME_CLAIMS = RESOURCES["PersistentVolume"], RESOURCES["PersistentVolumeClaim"]
_CLAIMS, _PODS = RESOURCES["ResourceClaim"], RESOURCES["Pod"]


class LiveObjectWriter:
    """An ObjectWriter for a real cluster.

    Objects here have only the fields that scheduling reads, so nothing is replaced as a whole: patches name what
    changes, and the resource version that the change is meant for. kube-scheduler updates whole objects, with the same
    outcome. Writes to one device claim keep their order.
    """

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # --- volumes ------------------------------------------------------------------------------------------------------

    async def bind_volume(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
        """Write the claim's reference and the annotations of a volume."""
        metadata = claim.metadata
        reference = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": metadata.namespace,
            "name": metadata.name,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        }
        body = {"metadata": _changed(volume.metadata), "spec": {"claimRef": reference}}
        return await self._patch(_VOLUMES, volume, body)

    async def annotate_volume_claim(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Write the annotations of a claim for a volume."""
        return await self._patch(_VOLUME_CLAIMS, claim, {"metadata": _changed(claim.metadata)})

    # --- device claims ------------------------------------------------------------------------------------------------

    async def get_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Read a claim as it is now."""
        return _decoded(await self._client.get(_path(_CLAIMS, claim)), claim, _CLAIMS)

    async def create_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Create a claim under a name that the API server makes of its generateName."""
        metadata = claim.metadata
        body = {
            "apiVersion": _CLAIMS.api_version,
            "kind": "ResourceClaim",
            "metadata": {
                "generateName": metadata.generate_name,
                "namespace": metadata.namespace,
                "annotations": metadata.annotations,
                "ownerReferences": _plain(metadata.owner_references),
            },
            "spec": {"devices": {"requests": [_plain_request(request) for request in claim.spec.devices.requests]}},
        }
        return _decoded(await self._client.post(_CLAIMS.path_in(metadata.namespace), body), claim, _CLAIMS)

    async def protect_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Add the finalizer; one that is there stays."""
        metadata = {"resourceVersion": claim.metadata.resource_version, "finalizers": [CLAIM_FINALIZER]}
        async with self._in_turn(claim):
            return await self._patch(_CLAIMS, claim, {"metadata": metadata}, content_type=STRATEGIC_MERGE_PATCH)

    async def write_claim_status(self, claim: ResourceClaim) -> ResourceClaim:
        """Write the allocation and who uses the claim."""
        status = {"allocation": _plain(claim.status.allocation), "reservedFor": _plain(claim.status.reserved_for)}
        body = {"metadata": _meant_for(claim.metadata), "status": status}
        async with self._in_turn(claim):
            return await self._patch(_CLAIMS, claim, body, "/status")

    async def release_claim(self, claim: ResourceClaim, pod_uid: str) -> None:
        """Take a pod from those that use a claim."""
        gone = [{"$patch": "delete", "uid": pod_uid}]
        body = {"metadata": {"uid": claim.metadata.uid}, "status": {"reservedFor": gone}}
        async with self._in_turn(claim):
            await self._patch(_CLAIMS, claim, body, "/status", content_type=STRATEGIC_MERGE_PATCH)

    async def deallocate_claim(self, claim: ResourceClaim) -> None:
        """Give back the devices of a claim."""
        nothing = {"allocation": None, "reservedFor": None, "devices": None}
        async with self._in_turn(claim):
            await self._patch(_CLAIMS, claim, {"metadata": _meant_for(claim.metadata), "status": nothing}, "/status")

    async def delete_claim(self, claim: ResourceClaim) -> None:
        """Delete a claim; one that is gone is no error."""
        uid = {"uid": claim.metadata.uid}
        gone = {"metadata": {**uid, "$deleteFromPrimitiveList/finalizers": [CLAIM_FINALIZER]}}
        async with self._in_turn(claim):
            try:
                await self._patch(_CLAIMS, claim, gone, content_type=STRATEGIC_MERGE_PATCH)
                await self._client.delete(_path(_CLAIMS, claim), {"preconditions": uid})
            except ApiError as error:
                if not error.is_not_found:
                    raise

    async def write_extended_claim(self, pod: PodInfo, status: PodExtendedResourceClaimStatus) -> None:
        """Write which claim has the devices for a pod's extended resources."""
        metadata = pod.pod.metadata
        body = {"metadata": {"uid": metadata.uid}, "status": {"extendedResourceClaimStatus": _plain(status)}}
        path = f"{_PODS.path_of(metadata.namespace, metadata.name)}/status"
        await self._client.patch(path, body)

    # --- how ----------------------------------------------------------------------------------------------------------

    async def _patch(
        self, resource: Resource, obj: T, body: Any, subresource: str = "", *, content_type: str = MERGE_PATCH
    ) -> T:
        try:
            answer = await self._client.patch(f"{_path(resource, obj)}{subresource}", body, content_type=content_type)
        except ApiError as error:
            if error.is_conflict:
                raise ConflictError(str(error)) from error
            raise
        return _decoded(answer, obj, resource)

    @asynccontextmanager
    async def _in_turn(self, claim: ResourceClaim) -> AsyncIterator[None]:
        """Let writes to a claim that began earlier end first."""
        lock = self._locks.get(claim.metadata.uid)
        if lock is None:
            lock = self._locks[claim.metadata.uid] = asyncio.Lock()
        async with lock:
            yield


def _path(resource: Resource, obj: AnyObject) -> str:
    return resource.path_of(obj.metadata.namespace, obj.metadata.name)


def _meant_for(metadata: ObjectMeta) -> dict[str, Any]:
    return {"uid": metadata.uid, "resourceVersion": metadata.resource_version}


def _changed(metadata: ObjectMeta) -> dict[str, Any]:
    return {**_meant_for(metadata), "annotations": metadata.annotations}


def _decoded(answer: bytes, like: T, resource: Resource) -> T:
    found = decode_object(answer, resource.kind)
    assert isinstance(found, type(like))
    return found


def _plain(value: Any) -> Any:
    """Return a struct as JSON values without what is empty, as Go leaves it out."""
    return _without_nothing(msgspec.to_builtins(value))


def _plain_request(request: Any) -> Any:
    """Return a device request in its v1 form: what v1beta1 had beside `exactly` is not sent."""
    names = ("name", "exactly", "firstAvailable")
    return {key: value for key, value in _plain(request).items() if key in names}


def _without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        found = {key: _without_nothing(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item is not None and item not in ("", [], {})}
    if isinstance(value, (list, tuple)):
        return [_without_nothing(item) for item in value]
    return value
