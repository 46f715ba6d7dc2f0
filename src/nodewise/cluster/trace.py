"""What happens to a cluster from outside: pods that arrive and run for a while, nodes that fail and come back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from nodewise.api.objects import Pod
from nodewise.cluster.object_set import InputError

DEFAULT_START = datetime(2026, 6, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A pod that is created.

    Attributes
    ----------
    at_s : float
        Seconds since the start of the trace.
    pod : Pod
        As an API server would have stored it; without uid and creation time.
    duration_s : float | None
        How long it runs once it is bound; None: for ever.
    restarts : bool
        Whether it is created again, as by a controller, when it is evicted or loses its node.
    """

    at_s: float
    pod: Pod
    duration_s: float | None = None
    restarts: bool = True


@dataclass(frozen=True, slots=True)
class Deletion:
    """A pod, by `namespace/name`, that somebody deletes."""

    at_s: float
    pod: str


@dataclass(frozen=True, slots=True)
class NodeDown:
    """A node that fails: it is gone, and so are its pods."""

    at_s: float
    node: str


@dataclass(frozen=True, slots=True)
class NodeUp:
    """A node that comes back as it was."""

    at_s: float
    node: str


TraceEvent = Arrival | Deletion | NodeDown | NodeUp


@dataclass(slots=True)
class Trace:
    """Events in the order of their times, equal times in the order of the file.

    Attributes
    ----------
    start : datetime
        When the trace's second 0 is.
    """

    start: datetime = DEFAULT_START
    events: list[TraceEvent] = field(default_factory=list)
    errors: list[InputError] = field(default_factory=list)
