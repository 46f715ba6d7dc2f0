"""A cluster's objects in this process: what an API server does for a scheduler, without one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from msgspec.structs import replace

from nodewise.api.objects import Pod, PodCondition
from nodewise.cluster.client import PodEvent
from nodewise.framework.status import SUCCESS, Status
from nodewise.state.pod_info import PodInfo

T = TypeVar("T")
Watcher = Callable[[Any, Any], None]
"""Takes an object as it was and as it is; None where there is none."""
SCHEDULED = PodCondition("PodScheduled", "True")


class EmbeddedCluster:
    """Objects by kind and name; every change gets a resource version and is told to the watchers at once.

    Parameters
    ----------
    now : Callable[[], datetime]
        The clock of this cluster.

    Attributes
    ----------
    events : list[PodEvent]
        What was recorded, oldest first.
    objects : None
        Plugins write nothing: what they assume is what is.
    """

    objects: ClassVar[None] = None

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._objects: dict[type, dict[str, Any]] = {}
        self._watchers: list[Watcher] = []
        self._resource_version = 0
        self.events: list[PodEvent] = []

    # --- reading ------------------------------------------------------------------------------------------------------

    def watch(self, watcher: Watcher) -> None:
        """Tell a watcher all there is, and from now on everything that changes."""
        for objects in list(self._objects.values()):
            for obj in list(objects.values()):
                watcher(None, obj)
        self._watchers.append(watcher)

    def get(self, kind: type[T], key: str) -> T | None:
        """Return an object by `namespace/name`, or by its name when it has no namespace; None: there is none."""
        return self._objects.get(kind, {}).get(key)

    def list(self, kind: type[T]) -> list[T]:
        """Return all objects of a kind, in the order they came."""
        return list(self._objects.get(kind, {}).values())

    # --- writing ------------------------------------------------------------------------------------------------------

    def put(self, obj: Any) -> Any:
        """Create an object or replace the one of its name; return it as it is kept, with its resource version."""
        self._resource_version += 1
        metadata = replace(obj.metadata, resource_version=str(self._resource_version))
        new = replace(obj, metadata=metadata)
        objects = self._objects.setdefault(type(obj), {})
        key = key_of(obj)
        old = objects.get(key)
        objects[key] = new
        self._tell(old, new)
        return new

    def put_all(self, objects: Iterable[Any]) -> None:
        """Create or replace objects, in their order."""
        for obj in objects:
            self.put(obj)

    def remove(self, kind: type, key: str) -> Any | None:
        """Remove an object at once; return it, None when there was none."""
        old = self._objects.get(kind, {}).pop(key, None)
        if old is not None:
            self._tell(old, None)
        return old

    def _tell(self, old: Any | None, new: Any | None) -> None:
        for watcher in self._watchers:
            watcher(old, new)

    # --- what a scheduler asks for ------------------------------------------------------------------------------------

    async def bind(self, pod: PodInfo, node_name: str) -> Status:
        """Set a pod's node, as the binding subresource does; the pod starts there at once."""
        found = self.get(Pod, pod.key)
        if found is None or (found.metadata.uid or found.key) != pod.uid:
            return Status.error(f'pods "{pod.pod.metadata.name}" not found')
        if found.spec.node_name:
            name = found.metadata.name
            taken = f"pod {name} is already assigned to node {found.spec.node_name!r}".replace("'", '"')
            return Status.error(f'Operation cannot be fulfilled on pods/binding "{name}": {taken}')
        start = found.status.start_time or self._now()
        status = replace(found.status, nominated_node_name="", conditions=_with(found, SCHEDULED), start_time=start)
        self.put(replace(found, spec=replace(found.spec, node_name=node_name), status=status))
        return SUCCESS

    async def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> None:
        """Set a condition and the nominated node of a pod; a patch that changes nothing is none."""
        found = self.get(Pod, pod.key)
        if found is None or found.metadata.uid != pod.metadata.uid:
            return
        conditions = found.status.conditions if condition is None else _with(found, condition)
        nominated = found.status.nominated_node_name if nominated_node_name is None else nominated_node_name
        status = replace(found.status, conditions=conditions, nominated_node_name=nominated)
        if status != found.status:
            self.put(replace(found, status=status))

    async def delete_pod(self, pod: PodInfo) -> None:
        """Begin to delete a pod; what runs its containers removes it. One that runs nowhere is gone at once."""
        found = self.get(Pod, pod.key)
        if found is None or found.is_terminating or (found.metadata.uid or found.key) != pod.uid:
            return
        if not found.spec.node_name:
            self.remove(Pod, pod.key)
            return
        self.put(replace(found, metadata=replace(found.metadata, deletion_timestamp=self._now())))

    def record(self, event: PodEvent) -> None:
        """Keep an event."""
        self.events.append(event)


def key_of(obj: Any) -> str:
    """Return `namespace/name`, or the name of an object without a namespace."""
    metadata = obj.metadata
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else str(metadata.name)


def _with(pod: Pod, condition: PodCondition) -> tuple[PodCondition, ...]:
    others = tuple(other for other in pod.status.conditions if other.type != condition.type)
    return (*others, condition)
