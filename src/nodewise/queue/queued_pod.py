"""A pod that waits, with all that its waiting has come to so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from nodewise.api.objects import Pod
from nodewise.framework.status import Status
from nodewise.state.pod_info import PodInfo

NO_PLUGINS: frozenset[str] = frozenset()


class QueuedEntity(ABC):
    """What waits as one: a pod, or several pods that are tried together (QueueingParams).

    Attributes
    ----------
    key : str
        `namespace/name` of a pod.
    timestamp : float
        When the last decision to queue it was made, seconds since the epoch.
    sequence : int
        Tells apart what has the same timestamp: who got it earlier goes first.
    order : Any
        Its place in the active queue: sort key, timestamp, sequence.
    attempts : int
        How often it was popped.
    unschedulable_count, consecutive_errors_count : int
        How often it was rejected; how often attempts failed since the last rejection.
    backoff_expiration : float | None
        Kept by the backoff queue; None when not worked out for the timestamp.
    initial_attempt_timestamp : float | None
        When it first got into the active queue; time spent gated is not counted.
    gating_plugin : str
        The PreEnqueue plugin that holds it back; "" when none does.
    was_flushed_from_unschedulable : bool
        Whether it was tried last because it had waited for too long, not because of an event.
    flush_timestamp : float
        When that happened; 0.0 for never.
    """

    __slots__ = (
        "attempts",
        "backoff_expiration",
        "consecutive_errors_count",
        "flush_timestamp",
        "gating_plugin",
        "initial_attempt_timestamp",
        "key",
        "order",
        "sequence",
        "timestamp",
        "unschedulable_count",
        "was_flushed_from_unschedulable",
    )

    kind: str
    """`pod` or `podgroup`, in metrics."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.timestamp = 0.0
        self.sequence = 0
        self.order: Any = None
        self.attempts = 0
        self.unschedulable_count = 0
        self.consecutive_errors_count = 0
        self.backoff_expiration: float | None = None
        self.initial_attempt_timestamp: float | None = None
        self.gating_plugin = ""
        self.was_flushed_from_unschedulable = False
        self.flush_timestamp = 0.0

    @property
    @abstractmethod
    def members(self) -> Sequence[QueuedPod]:
        """The pods that wait as one."""

    @property
    @abstractmethod
    def rejection(self) -> Hashable:
        """What decides which events can help; entities that share it are looked at together."""

    @property
    @abstractmethod
    def is_error(self) -> bool:
        """Whether the last attempt failed without any plugin's rejection."""

    @property
    def is_gated(self) -> bool:
        return self.gating_plugin != ""

    @property
    def waiting_since(self) -> float:
        """When its age began, by which it is flushed from the unschedulable ones."""
        return max(self.timestamp, self.flush_timestamp)

    def mark_active(self, now: float) -> None:
        """Note that it became active; only the first time counts."""
        if self.initial_attempt_timestamp is None:
            self.initial_attempt_timestamp = now

    def mark_flushed(self, *, is_flushed: bool) -> None:
        """Note whether age is what brings it back, not an event."""
        self.was_flushed_from_unschedulable = is_flushed

    def mark_popped(self) -> None:
        """Count an attempt."""
        self.attempts += 1

    def clear_flush(self) -> None:
        """Forget that it was ever flushed: an attempt has come in between."""
        self.was_flushed_from_unschedulable = False
        self.flush_timestamp = 0.0


class QueuedPod(QueuedEntity):
    """A pod that waits (QueuedPodInfo).

    Attributes
    ----------
    info : PodInfo
        Its latest version known to the queue.
    unschedulable_plugins, pending_plugins : frozenset[str]
        Who rejected it last; who rejected it with Pending, and so will say when it can go on.
    gating_status : Status | None
        What the gating plugin said.
    """

    __slots__ = ("gating_status", "info", "pending_plugins", "uid", "unschedulable_plugins")

    kind = "pod"

    def __init__(self, info: PodInfo) -> None:
        super().__init__(info.key)
        self.info = info
        self.uid = info.uid
        self.unschedulable_plugins = NO_PLUGINS
        self.pending_plugins = NO_PLUGINS
        self.gating_status: Status | None = None

    @property
    def pod(self) -> Pod:
        return self.info.pod

    @property
    def profile(self) -> str:
        """The scheduler name."""
        return self.info.pod.spec.scheduler_name

    @property
    def rejectors(self) -> frozenset[str]:
        """All plugins that rejected or gated it."""
        if self.pending_plugins:
            return self.unschedulable_plugins | self.pending_plugins
        return self.unschedulable_plugins

    @property
    def members(self) -> Sequence[QueuedPod]:
        return (self,)

    @property
    def rejection(self) -> Hashable:
        return self.profile, self.unschedulable_plugins, self.pending_plugins, self.gating_plugin

    @property
    def is_error(self) -> bool:
        return not self.unschedulable_plugins and not self.pending_plugins

    def update(self, info: PodInfo) -> None:
        """Take over a newer version of the pod."""
        self.info = info
        self.uid = info.uid

    def rejected_by(self, unschedulable: Iterable[str] = (), pending: Iterable[str] = ()) -> None:
        """Note who rejected it in the attempt that ends now; nobody did when it failed by an error."""
        self.pending_plugins = frozenset(pending)
        self.unschedulable_plugins = frozenset(unschedulable) | self.pending_plugins
        self.gating_plugin = ""
        self.gating_status = None

    def __repr__(self) -> str:
        return f"QueuedPod({self.key}, attempts={self.attempts})"
