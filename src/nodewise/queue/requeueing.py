"""Whether an event is worth another try for a pod, and how soon."""

from __future__ import annotations

import enum
import logging
from collections.abc import Mapping
from typing import Any

from nodewise.api.objects import Pod
from nodewise.framework.events import ClusterEvent, QueueingHint
from nodewise.queue.hints import HintMap, RegisteredHint
from nodewise.queue.metrics import QueueMetrics
from nodewise.queue.queued_pod import QueuedEntity, QueuedPod
from nodewise.state.log_message import LogMessage

LOGGER = logging.getLogger("nodewise.queue")
_MAX_KEPT = 4096


class QueueingStrategy(enum.IntEnum):
    """What is to become of a pod that waits; of several answers the greatest counts."""

    SKIP = 0
    """It stays among the unschedulable ones."""
    AFTER_BACKOFF = 1
    """It is tried when its backoff is over."""
    IMMEDIATELY = 2
    """It is tried without backoff."""

    @property
    def queue(self) -> str:
        """The queue it leads to, unless backoff is over or a plugin gates the pod."""
        return _QUEUES[self]


_QUEUES = ("unschedulable", "backoff", "active")


class EventPlan:
    """An event, and all that can be known about it without looking at a pod.

    Attributes
    ----------
    event : ClusterEvent
    label : str
    is_wildcard : bool
    matching : Mapping[str, tuple[RegisteredHint, ...]]
        By scheduler name; an empty tuple where no plugin registered the event.
    """

    __slots__ = ("_asked", "event", "is_wildcard", "label", "matching")

    def __init__(self, event: ClusterEvent, hints: Mapping[str, HintMap]) -> None:
        self.event = event
        self.label = event.label
        self.is_wildcard = event.is_wildcard
        self.matching = {profile: of_profile.matching(event) for profile, of_profile in hints.items()}
        self._asked: dict[tuple[str, frozenset[str]], tuple[RegisteredHint, ...]] = {}

    @property
    def is_of_interest(self) -> bool:
        """Whether any plugin of any profile registered the event (isEventOfInterest)."""
        return self.is_wildcard or any(self.matching.values())

    def hints_of(self, profile: str, rejectors: frozenset[str]) -> tuple[RegisteredHint, ...]:
        """Return the hints of a pod's rejectors, the only ones that have a say."""
        asked = self._asked.get((profile, rejectors))
        if asked is None:
            asked = tuple(hint for hint in self.matching[profile] if hint.plugin in rejectors)
            if len(self._asked) >= _MAX_KEPT:
                self._asked.clear()
            self._asked[profile, rejectors] = asked
        return asked


class Requeueing:
    """Asks the plugins that rejected a pod what they make of an event (isPodWorthRequeuing).

    Parameters
    ----------
    hints : Mapping[str, HintMap]
        By scheduler name.
    metrics : QueueMetrics
    """

    def __init__(self, hints: Mapping[str, HintMap], metrics: QueueMetrics) -> None:
        self._hints = hints
        self._metrics = metrics
        self._plans: dict[ClusterEvent, EventPlan] = {}
        self._registered: dict[str, tuple[ClusterEvent, ...]] = {}

    def plan(self, event: ClusterEvent) -> EventPlan:
        """Return what is known about an event."""
        plan = self._plans.get(event)
        if plan is None:
            if len(self._plans) >= _MAX_KEPT:
                self._plans.clear()
            plan = self._plans[event] = EventPlan(event, self._hints)
        return plan

    def may_move(self, entity: QueuedEntity, plan: EventPlan) -> bool:
        """Tell whether an event can move an entity at all, and others with the same `rejection`."""
        if plan.is_wildcard:
            return True
        if entity.gating_plugin:
            events = self._registered_by(entity.gating_plugin)
            if not any(registered.matches(plan.event) for registered in events):
                return False
        return any(self._has_say(member, plan) for member in entity.members)

    def strategy(self, entity: QueuedEntity, plan: EventPlan, old: Any, new: Any) -> QueueingStrategy:
        """Return what an event means for an entity: the best that it means for any of its pods."""
        best = QueueingStrategy.SKIP
        for member in entity.members:
            best = max(best, self.pod_strategy(member, plan, old, new))
            if best is QueueingStrategy.IMMEDIATELY:
                break
        return best

    def pod_strategy(self, queued: QueuedPod, plan: EventPlan, old: Any, new: Any) -> QueueingStrategy:
        """Return what an event means for a pod."""
        rejectors = queued.rejectors
        if not rejectors:
            return QueueingStrategy.AFTER_BACKOFF
        if plan.is_wildcard:
            is_meant = new is None or (isinstance(new, Pod) and (new.metadata.uid or new.key) == queued.uid)
            return QueueingStrategy.AFTER_BACKOFF if is_meant else QueueingStrategy.SKIP
        profile = queued.profile
        if profile not in plan.matching:
            LOGGER.error(
                LogMessage("No QueueingHintMap is registered for this profile", profile=profile, pod=queued.key)
            )
            return QueueingStrategy.AFTER_BACKOFF
        best = QueueingStrategy.SKIP
        for registered in plan.hints_of(profile, rejectors):
            if not self._says_queue(registered, queued, plan.label, old, new):
                continue
            if registered.plugin in queued.pending_plugins:
                return QueueingStrategy.IMMEDIATELY
            if not queued.pending_plugins:
                return QueueingStrategy.AFTER_BACKOFF
            best = QueueingStrategy.AFTER_BACKOFF
        return best

    def _says_queue(self, registered: RegisteredHint, queued: QueuedPod, label: str, old: Any, new: Any) -> bool:
        """Ask one hint; one that fails must not keep the pod waiting, so it counts as Queue."""
        started = self._metrics.hint_started()
        says_queue = True
        result = QueueingHint.QUEUE.value
        if registered.hint is not None:
            try:
                says_queue = registered.hint(queued.pod, old, new) is not QueueingHint.SKIP
            except Exception as error:
                result = "Error"
                LOGGER.error(
                    LogMessage(
                        "QueueingHintFn returns error",
                        event=label,
                        plugin=registered.plugin,
                        pod=queued.key,
                        err=f"{type(error).__name__}: {error}",
                    )
                )
            else:
                result = result if says_queue else QueueingHint.SKIP.value
        self._metrics.hint_finished(registered.plugin, label, result, started)
        return says_queue

    @staticmethod
    def _has_say(queued: QueuedPod, plan: EventPlan) -> bool:
        rejectors, profile = queued.rejectors, queued.profile
        return not rejectors or profile not in plan.matching or bool(plan.hints_of(profile, rejectors))

    def _registered_by(self, plugin: str) -> tuple[ClusterEvent, ...]:
        """Return the events that a plugin registered in any profile."""
        events = self._registered.get(plugin)
        if events is None:
            events = tuple(event for hints in self._hints.values() for event in hints.events_of(plugin))
            self._registered[plugin] = events
        return events
