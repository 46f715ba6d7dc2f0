"""What plugins can reach."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.framework.extender import Extender
from nodewise.framework.object_writer import ObjectWriter
from nodewise.framework.status import SUCCESS, Status
from nodewise.preemption.ongoing import OngoingPreemptions
from nodewise.queue.nominator import Nominations
from nodewise.runtime.waiting_pods import WaitingPods
from nodewise.scheduler.tasks import Tasks
from nodewise.state.cache import SchedulerCache
from nodewise.state.listers import Listers
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot


async def bind_nowhere(pod: PodInfo, node_name: str) -> Status:
    """Bind a pod where there is no cluster to tell."""
    return SUCCESS


@dataclass(slots=True)
class SchedulerHandle:
    """The scheduler as its plugins see it (framework.Handle).

    Attributes
    ----------
    listers : Listers
    snapshot : Snapshot
        The nodes and pods of the current cycle.
    now : Callable[[], datetime]
        The clock.
    bind : Callable[[PodInfo, str], Awaitable[Status]]
        Tells the cluster that a pod is to run on a node.
    nominator : Nominations
        Those of the scheduler.
    waiting_pods : WaitingPods
        Pods that Permit plugins hold back.
    preemptions : OngoingPreemptions
        Evictions under way.
    pods : dict[str, PodInfo]
        The newest version of every pod, by `namespace/name`, where somebody watches the cluster.
    feature_gates : FeatureGates
    extenders : Sequence[Extender]
        In the order in which they are asked.
    pod_groups : PodGroupStates | None
        Those of the scheduler's cache; None while pod groups are off.
    cache : SchedulerCache | None
        What the snapshot is taken of.
    writer : ObjectWriter | None
        Where plugins write volumes and claims; None: what they assume is what is.
    tasks : Tasks | None
        Where plugins' writes go on, and what they wait by.
    """

    listers: Listers
    snapshot: Snapshot
    now: Callable[[], datetime]
    bind: Callable[[PodInfo, str], Awaitable[Status]] = bind_nowhere
    nominator: Nominations = field(init=False)
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    preemptions: OngoingPreemptions = field(init=False)
    pods: dict[str, PodInfo] = field(default_factory=dict)
    feature_gates: FeatureGates = DEFAULT_GATES
    extenders: Sequence[Extender] = ()
    pod_groups: PodGroupStates | None = None
    cache: SchedulerCache | None = None
    writer: ObjectWriter | None = None
    tasks: Tasks | None = None

    def __post_init__(self) -> None:
        self.preemptions = OngoingPreemptions(self.pods.get)
        self.nominator = Nominations()

    def sleep(self, seconds: float) -> Awaitable[None]:
        """Wait by the clock of this run."""
        assert self.tasks is not None, "nobody runs tasks"
        return self.tasks.sleep(seconds)

    def spawn(self, coroutine: Coroutine[Any, Any, None], *, name: str) -> object:
        """Let a plugin's write go on by itself."""
        assert self.tasks is not None, "nobody runs tasks"
        return self.tasks.spawn(coroutine, name=name)
