"""The scheduling queue: which pod is tried next, and when those are tried again that did not fit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import floor
from typing import Any

from nodewise.api.objects import Pod
from nodewise.api.pod_groups import PodGroupObject
from nodewise.framework.events import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT, UNSCHEDULED_POD_ADD, ClusterEvent
from nodewise.framework.plugin import PreEnqueuePlugin
from nodewise.framework.status import Code
from nodewise.queue.contents import QueueContents
from nodewise.queue.gates import Gates
from nodewise.queue.hints import HintMap
from nodewise.queue.in_flight import InFlight
from nodewise.queue.metrics import NO_METRICS, QueueMetrics
from nodewise.queue.nominator import Nominations
from nodewise.queue.places import UNSCHEDULABLE, Places
from nodewise.queue.pod_groups import PodGroupQueue
from nodewise.queue.queued_pod import QueuedEntity, QueuedPod
from nodewise.queue.queued_pod_group import QueuedPodGroup, entity_key
from nodewise.queue.requeueing import EventPlan, QueueingStrategy, Requeueing
from nodewise.queue.settings import QueueSettings
from nodewise.queue.timers import Ticker
from nodewise.state.log_message import LogMessage
from nodewise.state.pod_info import PodInfo

LOGGER = logging.getLogger("nodewise.queue")

SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
_ADDED = UNSCHEDULED_POD_ADD.label
_ACTIVATED = FORCE_ACTIVATE.label

BACKOFF_FLUSH_PERIOD_S = 1.0
UNSCHEDULABLE_FLUSH_PERIOD_S = 30.0


class SchedulingQueue(QueueContents):
    """Pods that wait, in three places: active, backing off, unschedulable or gated (PriorityQueue).

    It never blocks and reads no clock. Every `now` is in seconds since the epoch and never goes back; `next_wakeup`
    says when the next one is worth while.

    Parameters
    ----------
    sort_key : Callable[[Pod], Any]
        That of the QueueSort plugin: smaller keys first, equal ones by timestamp.
    update_events : Callable[[Pod, Pod], Sequence[ClusterEvent]]
        Takes the new and the old version of a pod that waits; returns what its change means, as TargetPod events.
    started_at : float
        When the timers began to run.
    pre_enqueue : Mapping[str, Sequence[PreEnqueuePlugin]]
        By scheduler name, in the order of the profile.
    hints : Mapping[str, HintMap]
        By scheduler name.
    settings : QueueSettings
    nominations : Nominations | None
        Shared with whoever evaluates pods; None: its own.
    metrics : QueueMetrics
    has_pod_groups, has_composite_pod_groups : bool
        Feature gates GenericWorkload and CompositePodGroup; pods that name a group wait with it.

    Attributes
    ----------
    nominations : Nominations
    scheduling_cycle : int
        How many pods were popped.
    is_closed : bool
    """

    def __init__(
        self,
        sort_key: Callable[[Pod], Any],
        update_events: Callable[[Pod, Pod], Sequence[ClusterEvent]],
        started_at: float,
        *,
        pre_enqueue: Mapping[str, Sequence[PreEnqueuePlugin]] | None = None,
        hints: Mapping[str, HintMap] | None = None,
        settings: QueueSettings | None = None,
        nominations: Nominations | None = None,
        metrics: QueueMetrics = NO_METRICS,
        has_pod_groups: bool = False,
        has_composite_pod_groups: bool = False,
    ) -> None:
        settings = settings or QueueSettings()
        self.nominations = Nominations() if nominations is None else nominations
        self.scheduling_cycle = 0
        self.is_closed = False
        self._sort_key = sort_key
        self._update_events = update_events
        self._settings = settings
        self._in_flight = InFlight()
        self._places = Places(settings, Gates(pre_enqueue or {}, metrics), metrics)
        self._requeueing = Requeueing(hints or {}, metrics)
        self._sequence = 0
        self._groups: PodGroupQueue | None = None
        if has_pod_groups:
            self._groups = PodGroupQueue(
                self._places, sort_key, self._next_sequence, has_composites=has_composite_pod_groups
            )
        first_flush = (floor(started_at) if settings.pop_from_backoff_queue else started_at) + BACKOFF_FLUSH_PERIOD_S
        self._backoff_ticker = Ticker(first_flush, BACKOFF_FLUSH_PERIOD_S)
        self._unschedulable_ticker = Ticker(started_at, UNSCHEDULABLE_FLUSH_PERIOD_S)

    # --- pods come, change and go -------------------------------------------------------------------------------------

    def add(self, pod: PodInfo, now: float) -> None:
        """Take in a pod that has no node and was not here before (Add).

        Raises
        ------
        PluginError
            When the QueueSort plugin fails.
        """
        queued = QueuedPod(pod)
        self._stamp(queued, now)
        groups = self._groups_of(pod.pod)
        if groups is not None:
            if groups.find(pod.pod) is not None:
                groups.delete(pod.pod, now)
            self.nominations.add_nominated(pod)
            groups.add(queued, now)
        else:
            self._places.drop(queued.key)  # a pod is in one place at most, whatever the caller does
            self.nominations.add_nominated(pod)
            self._places.move_to_active(queued, _ADDED, now)

    def update(self, old: Pod, new: PodInfo, now: float) -> None:
        """Take over a new version of a pod that has no node (Update).

        A pod in flight is left alone, but hears of the change when it comes back. One that waits for an event is tried
        again when its rejectors see a chance in the change. A pod not known here is added.
        """
        events = self._update_events(new.pod, old)
        if new.uid in self._in_flight:
            for event in events:
                self._in_flight.record(event, old, new.pod)
            return
        found = self._find(old)
        if found is None:
            groups = self._groups_of(old)
            if groups is None or groups.root_of(old) is not None:
                self.add(new, now)
            return
        entity, queued = found
        self._replace(queued, old, new)
        if entity is None:
            return
        if entity.key in self._places.active:
            self._places.active.put(entity, entity.order)
        elif entity.key in self._places.backoff:
            self._places.backoff.put(entity)
        else:
            for event in events:
                plan = self._requeueing.plan(event)
                strategy = self._requeueing.strategy(entity, plan, old, new.pod)
                # Go tries the next event after a move to the backoff queue when it cannot pop from there; the pod is
                # in two places then.
                if self._places.requeue(entity, strategy, plan.label, now) != UNSCHEDULABLE:
                    break

    def _groups_of(self, pod: Pod) -> PodGroupQueue | None:
        """Return what queues a pod with its group; None for a pod that waits alone."""
        if self._groups is None or pod.spec.pod_group_name is None:
            return None
        return self._groups

    def _find(self, pod: Pod) -> tuple[QueuedEntity | None, QueuedPod] | None:
        """Return a pod that waits, with the entity it is queued in; that is None for a pod that its group left out."""
        groups = self._groups_of(pod)
        if groups is None:
            entity = self._places.find(pod.key)
            return (entity, entity) if isinstance(entity, QueuedPod) else None
        return groups.find(pod)

    def delete(self, pod: Pod, now: float) -> None:
        """Forget a pod that is gone, or that was bound by someone (Delete)."""
        self.nominations.remove(pod.metadata.uid or pod.key)
        groups = self._groups_of(pod)
        if groups is not None:
            groups.delete(pod, now)
        else:
            self._places.drop(pod.key)

    def activate(self, pods: Iterable[Pod], now: float) -> None:
        """Let pods be tried at once, whatever backoff they have left; gated ones stay gated (Activate)."""
        for pod in pods:
            groups = self._groups_of(pod)
            root = groups.root_of(pod) if groups is not None else None
            if groups is not None and root is None:
                continue
            key = pod.key if root is None else entity_key(root)
            entity = self._places.unschedulable.get(key)
            is_from_backoff = False
            if entity is None:
                entity = self._places.backoff.remove(key)
                is_from_backoff = entity is not None
            if entity is not None and self._places.move_to_active(
                entity, _ACTIVATED, now, is_from_backoff=is_from_backoff
            ):
                continue
            if (pod.metadata.uid or pod.key) in self._in_flight:
                self._in_flight.record(FORCE_ACTIVATE, None, pod)

    # --- attempts -----------------------------------------------------------------------------------------------------

    def pop_nowait(self, now: float) -> QueuedPod | None:
        """Take out the pod that is next in turn, after the flushes that are due; None when there is none (Pop).

        The pod is in flight until `done`, or until it is given back. Where there are pod groups, `pop_entity_nowait` is
        to be asked.
        """
        entity = self.pop_entity_nowait(now)
        assert entity is None or isinstance(entity, QueuedPod), f"{entity.key} is no pod"
        return entity

    def pop_entity_nowait(self, now: float) -> QueuedEntity | None:
        """Take out the pod or the pod group that is next in turn; each of its pods is in flight then."""
        self.run_timers(now)
        while (entity := self._places.pop()) is not None:
            entity.mark_popped()
            if self._enter_flight(entity):
                self.scheduling_cycle += 1
                if self._groups is not None:
                    self._groups.last_popped = entity.key
                return entity
            LOGGER.error(
                LogMessage("Discarding the popped entity", type=entity.kind, entity=entity.key, err=_twice(entity.key))
            )
        return None

    def _enter_flight(self, entity: QueuedEntity) -> bool:
        """Note that an entity's pods are in flight; those that are already are thrown out. Tell whether any is left."""
        if isinstance(entity, QueuedPodGroup):
            for queued in entity.members:
                if not self._in_flight.enter(queued.uid):
                    entity.remove_pod(queued.pod)
                    LOGGER.error(
                        LogMessage("Discarding the popped pod group member", pod=queued.key, podGroup=entity.key)
                    )
            return bool(entity.pods)
        return all(self._in_flight.enter(queued.uid) for queued in entity.members)

    def done(self, uid: str) -> None:
        """Note that a popped pod is dealt with; must be called for each, and more often does no harm (Done)."""
        self._in_flight.leave(uid)

    def add_unschedulable_if_not_present(self, queued: QueuedPod, now: float) -> None:
        """Take back a pod whose attempt failed, and is done with that (AddUnschedulablePodIfNotPresent).

        Its rejectors must have been set by `QueuedPod.rejected_by`. Events that it missed are looked at now.

        Raises
        ------
        QueueError
            When a pod of its name waits here already.
        """
        try:
            self._places.check_absent(queued.key, what=f"Pod {queued.key}")
            if queued.is_error:
                queued.consecutive_errors_count += 1
            else:
                queued.unschedulable_count += 1
                queued.consecutive_errors_count = 0
            self._stamp(queued, now)
            queued.backoff_expiration = None
            queued.clear_flush()
            self._places.count_rejectors(queued, 1)
            groups = self._groups_of(queued.pod)
            if groups is not None:
                groups.add(queued, now)
                return
            if self._groups is not None:
                self._groups.last_popped = ""
            self._places.requeue(queued, self._strategy_after_attempt(queued), SCHEDULE_ATTEMPT_FAILURE, now)
        finally:
            self.done(queued.uid)

    # --- pod groups ---------------------------------------------------------------------------------------------------

    def put_group(self, group: PodGroupObject, now: float) -> None:
        """Take in a group's object or its newer version (AddPodGroup, UpdateCompositePodGroup and so on)."""
        if self._groups is not None:
            self._groups.put_group(group, now)

    def remove_group(self, group: PodGroupObject, now: float) -> None:
        """Drop a group's object (DeletePodGroup, DeleteCompositePodGroup)."""
        if self._groups is not None:
            self._groups.remove_group(group, now)

    def add_attempted_pod_group_if_needed(self, group: QueuedPodGroup, outcome: Code, now: float) -> None:
        """Queue what is left of a group after an attempt, once its pods were placed or given back.

        Parameters
        ----------
        outcome : Code
            Of the attempt: success, a rejection, or an error.

        Raises
        ------
        QueueError
            When the group waits here already.
        """
        assert self._groups is not None, "pod groups are off"
        self._groups.add_attempted(group, outcome, now)

    # --- events -------------------------------------------------------------------------------------------------------

    def move_all_to_active_or_backoff(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        now: float,
        *,
        pre_check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Let pods be tried again that an event may help (MoveAllToActiveOrBackoffQueue).

        Events that no plugin registered cost next to nothing, and pods in flight never hear of them.

        Parameters
        ----------
        old, new
            The object of the event as it was and as it is; None where there is none.
        pre_check : Callable[[Pod], bool] | None
            Pods for which it is false are left out.
        """
        plan = self._requeueing.plan(event)
        if not plan.is_of_interest:
            return
        entities = self._places.unschedulable.where(lambda entity: self._requeueing.may_move(entity, plan))
        if pre_check is not None:
            entities = [entity for entity in entities if any(pre_check(member.pod) for member in entity.members)]
        self._move(entities, plan, old, new, now)

    def _move(self, entities: Iterable[QueuedEntity], plan: EventPlan, old: Any, new: Any, now: float) -> None:
        for entity in entities:
            strategy = self._requeueing.strategy(entity, plan, old, new)
            if strategy is not QueueingStrategy.SKIP:
                self._places.unschedulable.remove(entity.key)
                self._places.requeue(entity, strategy, plan.label, now)
        self._in_flight.record(plan.event, old, new)  # last: what has just been moved must not hear of it twice

    # --- time ---------------------------------------------------------------------------------------------------------

    def next_wakeup(self, now: float) -> float | None:
        """Return when there may be a pod to pop: now, at a flush to come, or, None, not before an event."""
        if self._places.can_pop():
            return now
        moments = []
        if (expiration := self._places.backoff.first_expiration()) is not None:
            moments.append(self._backoff_ticker.tick_after(expiration))
        if (oldest := self._places.unschedulable.oldest()) is not None:
            moments.append(self._unschedulable_ticker.tick_after(oldest + self._settings.max_unschedulable_s))
        return max(now, min(moments)) if moments else None

    def run_timers(self, now: float) -> None:
        """End backoffs, which a timer does each second, and free what waits too long, which one does every 30 s.

        What is done late is done as of the tick; of several ticks, the last does the work of all.
        """
        if (tick := self._backoff_ticker.take(now)) is not None:
            self.flush_backoff(tick)
        if (tick := self._unschedulable_ticker.take(now)) is not None:
            self.flush_unschedulable(tick)

    def flush_backoff(self, now: float) -> None:
        """Make active what has waited out its backoff (flushBackoffQCompleted)."""
        for entity in self._places.backoff.pop_completed(now):
            self._places.move_to_active(entity, BACKOFF_COMPLETE, now, is_from_backoff=True)

    def flush_unschedulable(self, now: float) -> None:
        """Try again what has waited for an event for too long (flushUnschedulableEntitiesLeftover)."""
        entities = self._places.unschedulable.older_than(self._settings.max_unschedulable_s, now)
        for entity in entities:
            entity.mark_flushed(is_flushed=True)
            entity.flush_timestamp = now
        if entities:
            self._move(entities, self._requeueing.plan(UNSCHEDULABLE_TIMEOUT), None, None, now)

    def close(self) -> None:
        """Be done with all pods in flight; what waits can still be popped (Close)."""
        for uid in self._in_flight:
            self._in_flight.leave(uid)
        self.is_closed = True

    # --- inside -------------------------------------------------------------------------------------------------------

    def _strategy_after_attempt(self, queued: QueuedPod) -> QueueingStrategy:
        """Return what the events mean that a pod missed (determineSchedulingHintForInFlightPod)."""
        if queued.is_error:
            return QueueingStrategy.AFTER_BACKOFF
        missed = self._in_flight.missed_by(queued.uid)
        if missed is None:
            LOGGER.error(LogMessage("Error getting cluster events for pod", pod=queued.key, err="it is not in flight"))
            return QueueingStrategy.AFTER_BACKOFF
        enough = QueueingStrategy.IMMEDIATELY if queued.pending_plugins else QueueingStrategy.AFTER_BACKOFF
        best = QueueingStrategy.SKIP
        for kept in missed:
            plan = self._requeueing.plan(kept.event)
            best = max(best, self._requeueing.pod_strategy(queued, plan, kept.old, kept.new))
            if best >= enough:
                break
        return best

    def _stamp(self, queued: QueuedPod, now: float) -> None:
        """Give a pod a timestamp, and by that a place behind all that have one."""
        sort_key = self._sort_key(queued.info.pod)
        queued.timestamp = now
        queued.sequence = self._next_sequence()
        queued.order = (sort_key, now, queued.sequence)

    def _next_sequence(self) -> int:
        self._sequence += 1
        return self._sequence

    def _replace(self, queued: QueuedPod, old: Pod, new: PodInfo) -> None:
        """Take over a pod's new version; it keeps its timestamp, but its sort key may be another."""
        queued.update(new)
        queued.order = (self._sort_key(new.pod), queued.timestamp, queued.sequence)
        self.nominations.update_nominated(old, new)


def _twice(key: str) -> str:
    return f"the same pod is tracked in multiple places in the scheduler: {key}"
