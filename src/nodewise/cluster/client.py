"""What the scheduler asks of a cluster, be it in this process or behind an API server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from nodewise.api.objects import Pod, PodCondition
from nodewise.framework.object_writer import ObjectWriter
from nodewise.framework.status import Status
from nodewise.state.pod_info import PodInfo


@dataclass(frozen=True, slots=True)
class PodEvent:
    """An event to be recorded about a pod (events.k8s.io/v1).

    Attributes
    ----------
    pod : PodInfo
        What it regards.
    type : str
        Normal or Warning.
    reason, action, note : str
    reporting_controller : str
        The scheduler name.
    related : PodInfo | None
        Whom it is also about: the pod that another one was evicted for.
    """

    pod: PodInfo
    type: str
    reason: str
    action: str
    note: str
    reporting_controller: str
    related: PodInfo | None = None


class ClusterClient(Protocol):
    """Writes to the cluster; what comes of it is heard from the watch, as everything that others do."""

    @property
    def objects(self) -> ObjectWriter | None:
        """Where plugins write volumes and claims; None: what they assume is what is."""
        ...

    async def bind(self, pod: PodInfo, node_name: str) -> Status:
        """Create the Binding of a pod to a node."""
        ...

    async def patch_pod_status(
        self, pod: Pod, *, condition: PodCondition | None = None, nominated_node_name: str | None = None
    ) -> None:
        """Set a condition and the nominated node ("" clears it) of a pod; None leaves one as it is."""
        ...

    async def delete_pod(self, pod: PodInfo) -> None:
        """Delete a pod with its own grace period; one that is gone is no error."""
        ...

    def record(self, event: PodEvent) -> None:
        """Take an event to be written; it may be dropped."""
        ...
