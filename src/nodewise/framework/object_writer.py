"""What plugins may write to a cluster before a pod is bound, and how they wait for what others make of it."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, Protocol, cast

from nodewise.api.devices import ResourceClaim
from nodewise.api.objects import PodExtendedResourceClaimStatus
from nodewise.api.storage import PersistentVolume, PersistentVolumeClaim
from nodewise.errors import NodewiseError
from nodewise.state.pod_info import PodInfo


class ConflictError(NodewiseError):
    """An object was changed by somebody else since it was read, or made anew; nothing was written."""


class ObjectWriter(Protocol):
    """Writes volumes and claims. Every method returns the object as the cluster has it then.

    What cannot be written is raised as a NodewiseError: a ConflictError when the object has changed since.
    """

    async def bind_volume(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
        """Write which claim a volume is for, and its annotations."""
        ...

    async def annotate_volume_claim(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Write the annotations of a claim for a volume."""
        ...

    async def get_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Read a device claim as it is now."""
        ...

    async def create_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Create a device claim under a name that the cluster makes of its generateName."""
        ...

    async def protect_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Add the finalizer that keeps an allocated device claim from being deleted."""
        ...

    async def write_claim_status(self, claim: ResourceClaim) -> ResourceClaim:
        """Write which devices a claim has, and who uses it."""
        ...

    async def release_claim(self, claim: ResourceClaim, pod_uid: str) -> None:
        """Take a pod from those that use a device claim, whatever else has changed in it."""
        ...

    async def deallocate_claim(self, claim: ResourceClaim) -> None:
        """Give back the devices of a claim that nobody uses."""
        ...

    async def delete_claim(self, claim: ResourceClaim) -> None:
        """Delete a device claim, its finalizer included."""
        ...

    async def write_extended_claim(self, pod: PodInfo, status: PodExtendedResourceClaimStatus) -> None:
        """Write into a pod's status which claim has the devices for its extended resources."""
        ...


class WritingHandle(Protocol):
    """A scheduler whose plugins may write, where `writer` is set.

    Attributes
    ----------
    writer : ObjectWriter | None
        None: there is no API server; what plugins assume is what is.
    pods : Mapping[str, PodInfo]
        The newest version of every pod, by `namespace/name`.
    """

    @property
    def writer(self) -> ObjectWriter | None: ...

    @property
    def pods(self) -> Mapping[str, PodInfo]: ...

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait by the clock of this run."""
        ...

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> object:
        """Let a write go on by itself."""
        ...


def writing(handle: object) -> WritingHandle | None:
    """Return a plugin's handle if there is something to write to; asked for anew each time."""
    return cast("WritingHandle", handle) if getattr(handle, "writer", None) is not None else None
