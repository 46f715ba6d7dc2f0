"""What plugins can reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from nodewise.runtime.nominator import Nominations
from nodewise.state.listers import Listers
from nodewise.state.pod_info import PodInfo
from nodewise.state.snapshot import Snapshot


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
    bind : Callable[[PodInfo, str], None]
        Tells the cluster that a pod is to run on a node.
    nominator : Nominations
        Those of the scheduler.
    """

    listers: Listers
    snapshot: Snapshot
    now: Callable[[], datetime]
    bind: Callable[[PodInfo, str], None]
    nominator: Nominations = field(default_factory=Nominations)
