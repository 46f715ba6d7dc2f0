"""The three places where pods wait, and the moves between them."""

from __future__ import annotations

from collections.abc import Iterable

from nodewise.errors import QueueError
from nodewise.queue.backoff import BackoffQueue
from nodewise.queue.gates import Gates
from nodewise.queue.heap import KeyedHeap
from nodewise.queue.metrics import QueueMetrics
from nodewise.queue.queued_pod import QueuedEntity
from nodewise.queue.requeueing import QueueingStrategy
from nodewise.queue.settings import QueueSettings
from nodewise.queue.unschedulable import UnschedulableEntities
from nodewise.state.pod_info import PodInfo

ACTIVE = "active"
BACKOFF = "backoff"
UNSCHEDULABLE = "unschedulable"
POP_FROM_BACKOFF = "PopFromBackoffQ"


class Places:
    """Entities that are active, back off, or wait for an event; each is in one place at most.

    Methods that move something take the label of the event that is the cause, and report to the metrics.

    Attributes
    ----------
    active : KeyedHeap[QueuedEntity]
        In the order of the QueueSort plugin.
    backoff : BackoffQueue
    unschedulable : UnschedulableEntities
        Gated ones too.
    """

    def __init__(self, settings: QueueSettings, gates: Gates, metrics: QueueMetrics) -> None:
        self.active: KeyedHeap[QueuedEntity] = KeyedHeap()
        self.backoff = BackoffQueue(settings)
        self.unschedulable = UnschedulableEntities()
        self._pops_early = settings.pop_from_backoff_queue
        self._gates = gates
        self._metrics = metrics

    def pop(self) -> QueuedEntity | None:
        """Take out what is next in turn: the first active entity, or else the first that may be popped from backoff."""
        entity = self.active.pop()
        if entity is None and self._pops_early:
            entity = self.backoff.pop_early()
            if entity is not None:
                self._count_incoming(ACTIVE, entity, POP_FROM_BACKOFF, None)
        if entity is not None:
            self.count_rejectors(entity, -1)
        return entity

    def can_pop(self) -> bool:
        """Tell whether `pop` would find something."""
        return len(self.active) > 0 or (self._pops_early and self.backoff.has_early())

    def requeue(self, entity: QueuedEntity, strategy: QueueingStrategy, label: str, now: float) -> str:
        """Put an entity where a strategy leads, and return where that is (requeueEntityWithQueueingStrategy)."""
        if strategy is QueueingStrategy.SKIP:
            self._keep_waiting(entity, label, strategy)
            return UNSCHEDULABLE
        if strategy is QueueingStrategy.AFTER_BACKOFF and self.backoff.is_backing_off(entity, now):
            return BACKOFF if self._move_to_backoff(entity, label, strategy) else UNSCHEDULABLE
        return ACTIVE if self.move_to_active(entity, label, now, strategy=strategy) else UNSCHEDULABLE

    def enqueue(self, entity: QueuedEntity, label: str, now: float) -> None:
        """Let an entity back off that has to, and make it active else."""
        if self.backoff.is_backing_off(entity, now):
            self._move_to_backoff(entity, label, None)
        else:
            self.move_to_active(entity, label, now)

    def move_to_active(
        self,
        entity: QueuedEntity,
        label: str,
        now: float,
        *,
        is_from_backoff: bool = False,
        strategy: QueueingStrategy | None = None,
    ) -> bool:
        """Make an entity active unless a plugin gates it (moveToActiveQ).

        Parameters
        ----------
        is_from_backoff : bool
            Where pops take entities from backoff early, the gates were asked before it, and are not asked again.
        strategy : QueueingStrategy | None
            What the event asked for; None when it was not asked.
        """
        if not (is_from_backoff and self._pops_early):
            self._gates.check(entity)
            if entity.gating_plugin:
                self._keep_gated(entity, label, strategy)
                return False
        entity.mark_active(now)
        self.unschedulable.remove(entity.key)
        self.active.put(entity, entity.order)
        self._count_incoming(ACTIVE, entity, label, strategy)
        return True

    def _move_to_backoff(self, entity: QueuedEntity, label: str, strategy: QueueingStrategy | None) -> bool:
        """Let an entity back off, unless it may be popped from there and a plugin gates it (moveToBackoffQ)."""
        if self._pops_early:
            self._gates.check(entity)
            if entity.gating_plugin:
                self._keep_gated(entity, label, strategy)
                return False
        self.unschedulable.remove(entity.key)
        self.backoff.put(entity)
        self._count_incoming(BACKOFF, entity, label, strategy)
        return True

    def _keep_gated(self, entity: QueuedEntity, label: str, strategy: QueueingStrategy | None) -> None:
        entity.mark_flushed(is_flushed=False)  # the flush did not lead to an attempt
        self._keep_waiting(entity, label, strategy)

    def _keep_waiting(self, entity: QueuedEntity, label: str, strategy: QueueingStrategy | None) -> None:
        if self.unschedulable.put(entity):
            self._count_incoming(UNSCHEDULABLE, entity, label, strategy)

    def drop(self, key: str) -> None:
        """Let go of what waits under a key, wherever it does."""
        entity = self.active.remove(key) or self.backoff.remove(key) or self.unschedulable.remove(key)
        if entity is not None:
            self.count_rejectors(entity, -1)

    def find(self, key: str) -> QueuedEntity | None:
        """Return what waits under a key, wherever it does; None when nothing does."""
        return self.active.get(key) or self.backoff.get(key) or self.unschedulable.get(key)

    def check_absent(self, key: str, *, what: str) -> None:
        """Refuse what waits already.

        Raises
        ------
        QueueError
            With kube-scheduler's text.
        """
        if key in self.unschedulable:
            raise QueueError(f"{what} is already present in unschedulable queue")
        if key in self.active:
            raise QueueError(f"{what} is already present in the active queue")
        if key in self.backoff:
            raise QueueError(f"{what} is already present in the backoff queue")

    def count_rejectors(self, entity: QueuedEntity, change: int) -> None:
        """Report that there is one pod more or less of each plugin that rejected an entity's pods."""
        for member in entity.members:
            for plugin in member.rejectors:
                self._metrics.unschedulable(plugin, member.profile, change)

    def _count_incoming(self, queue: str, entity: QueuedEntity, label: str, strategy: QueueingStrategy | None) -> None:
        is_new = strategy is None or strategy.queue != queue
        self._metrics.incoming(queue, label, entity.kind, len(entity.members), is_new=is_new)


def pods_of(entities: Iterable[QueuedEntity]) -> list[PodInfo]:
    """Return the pods of entities."""
    return [member.info for entity in entities for member in entity.members]
