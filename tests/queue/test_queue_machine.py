"""Random sequences of all that happens to a scheduling queue, against the plain model."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nodewise.api.objects import Pod
from nodewise.framework.events import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from nodewise.queue.queued_pod import QueuedPod
from nodewise.state.pod_info import PodInfo
from tests.queue.queue_model import ModelPod, QueueModel
from tests.queue.world import (
    CLAIM_ADD,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    PROFILE,
    START,
    Gate,
    World,
    listening,
    with_labels,
    with_priority,
)

OWN_LABEL = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL)
EVENTS = {
    "pod deleted": ASSIGNED_POD_DELETE,
    "node added": NODE_ADD,
    "node label": NODE_LABEL,
    "claim added": CLAIM_ADD,
    "pod added": ASSIGNED_POD_ADD,
    "node taint": NODE_TAINT,
}
NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
PRIORITIES = st.integers(-1, 1)
REJECTORS = st.sets(st.sampled_from(["Fit", "Names", "Self"]), max_size=2)


def is_named(waiting: Pod, old: Any, new: Any) -> QueueingHint:
    return QueueingHint.QUEUE if waiting.metadata.name == new else QueueingHint.SKIP


class QueueMachine(RuleBasedStateMachine):
    """What a cluster does with five pods; each name may belong to several pods one after another."""

    @initialize()
    def make(self) -> None:
        self.model = QueueModel(START)
        self.doors = {
            "Door": Gate("Door", (ClusterEventWithHint(CLAIM_ADD),)),
            "Lock": Gate("Lock", (ClusterEventWithHint(NODE_ADD),)),
        }
        self.world = World(
            listening("Fit", ASSIGNED_POD_DELETE, NODE_ADD),
            listening("Names", NODE_LABEL, hint=is_named),
            listening("Self", OWN_LABEL),
            gates=list(self.doors.values()),
        )
        self.flying: dict[str, tuple[QueuedPod, ModelPod]] = {}
        self.n_made = 0

    @rule(name=NAMES, priority=PRIORITIES)
    def add(self, name: str, priority: int) -> None:
        if f"default/{name}" in self.world.pods:
            return
        self.n_made += 1
        uid = str(self.n_made)
        self.world.add(name, priority, uid=uid)
        self.model.add(ModelPod(name, uid, priority))

    @rule(name=NAMES, priority=PRIORITIES)
    def change_priority(self, name: str, priority: int) -> None:
        old = self.world.pods.get(f"default/{name}")
        if old is not None:
            self.world.update(old, with_priority(priority))
            self.model.update(name, old.metadata.uid, priority, "own change")

    @rule(name=NAMES)
    def change_labels(self, name: str) -> None:
        old = self.world.pods.get(f"default/{name}")
        if old is not None:
            self.n_made += 1
            self.world.update(old, with_labels(version=str(self.n_made)))
            self.model.update(name, old.metadata.uid, old.priority, "own label")

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        gone = self.world.pods.pop(f"default/{name}", None)
        if gone is not None:
            self.world.queue.delete(gone, self.world.now)
            self.model.delete(name)

    @rule(name=NAMES)
    def activate(self, name: str) -> None:
        known = self.world.pods.get(f"default/{name}")
        if known is not None:
            self.world.queue.activate([known], self.world.now)
            self.model.activate_by_name(name, known.metadata.uid)

    @rule(name=NAMES, door=st.sampled_from(["Door", "Lock"]))
    def turn_key(self, name: str, door: str) -> None:
        self.doors[door].closed.symmetric_difference_update({name})
        self.model.closed[door] = set(self.doors[door].closed)

    @rule()
    def pop(self) -> None:
        queued = self.world.queue.pop_nowait(self.world.now)
        expected = self.model.pop()
        assert (queued.uid if queued else None) == (expected.uid if expected else None)
        if queued is not None and expected is not None:
            self.flying[queued.uid] = (queued, expected)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), rejectors=REJECTORS, pending=REJECTORS, is_bound=st.booleans())
    def end_attempt(self, data: st.DataObject, rejectors: set[str], pending: set[str], is_bound: bool) -> None:
        uid = data.draw(st.sampled_from(sorted(self.flying)))
        queued, expected = self.flying.pop(uid)
        newest = self.world.pods.get(queued.key)
        if newest is None or newest.metadata.uid != uid:
            self.world.queue.done(uid)
            self.model.done(expected)
        elif is_bound:
            del self.world.pods[queued.key]
            self.world.queue.done(uid)
            self.world.queue.delete(newest, self.world.now)
            self.model.done(expected)
        else:
            queued.update(PodInfo(newest))
            expected.priority = newest.priority
            self.world.fail(queued, *rejectors, pending=sorted(pending))
            self.model.give_back(expected, rejectors, pending)

    @rule(kind=st.sampled_from(sorted(EVENTS)), name=NAMES)
    def happen(self, kind: str, name: str) -> None:
        self.world.event(EVENTS[kind], None, name)
        self.model.happen(kind, name)

    @rule(quarters=st.integers(0, 12))
    def wait(self, quarters: int) -> None:
        self.go_to(self.world.now + quarters / 4)

    @rule()
    def wait_long(self) -> None:
        self.go_to(self.world.now + 29)

    @rule()
    def wait_as_long_as_needed(self) -> None:
        moment = self.world.queue.next_wakeup(self.world.now)
        if moment is None or moment == self.world.now:
            return
        self.model.go_to(moment - 1 / 8)
        assert not self.model.at("active"), "the queue would have slept through this"
        flushed = {pod.uid: pod.flushed for pod in self.model.pods}
        self.go_to(moment)
        is_flushed = any(pod.flushed > flushed[pod.uid] for pod in self.model.at("gated"))
        assert self.model.at("active") or is_flushed, "the queue was woken for nothing"

    def go_to(self, moment: float) -> None:
        self.world.now = moment
        self.world.queue.run_timers(moment)
        self.model.go_to(moment)

    @invariant()
    def every_pod_is_where_the_model_has_it(self) -> None:
        expected = {pod.name: pod.place for pod in self.model.pods if pod.place != "flight"}
        assert self.world.places() == expected
        sizes = self.world.queue.sizes()
        assert sizes.active + sizes.backoff + sizes.unschedulable + sizes.gated == len(expected)
        assert set(self.world.queue.in_flight_uids()) == {pod.uid for pod in self.model.at("flight")}

    @invariant()
    def every_pod_is_what_the_model_says(self) -> None:
        for expected in self.model.pods:
            if expected.place == "flight":
                continue
            queued = self.world.queue.find(f"default/{expected.name}")
            assert queued is not None
            assert queued.uid == expected.uid
            assert queued.pod.priority == expected.priority
            assert queued.attempts == expected.attempts
            assert queued.timestamp == expected.stamp[0]
            assert queued.unschedulable_count == expected.n_rejections
            assert queued.consecutive_errors_count == expected.n_errors
            assert queued.rejectors == expected.rejectors
            assert queued.pending_plugins == expected.pending
            assert queued.gating_plugin == expected.gate
            assert queued.initial_attempt_timestamp == expected.first_active
            assert queued.was_flushed_from_unschedulable == expected.is_flushed
            assert queued.flush_timestamp == expected.flushed
            if expected.place == "backoff":
                assert queued.backoff_expiration == expected.expiration

    @invariant()
    def the_gauge_is_what_a_recount_gives(self) -> None:
        waiting = [pod for pod in self.model.pods if pod.place != "flight"]
        recount = Counter((plugin, PROFILE) for pod in waiting for plugin in pod.rejectors)
        assert self.world.counts.unschedulable_pods == recount

    @invariant()
    def events_are_kept_for_pods_in_flight_and_no_longer(self) -> None:
        flying = self.model.at("flight")
        kept = self.world.queue.in_flight_events()
        kept.pop("PodPopped", None)
        needed = len(self.model.log) - min((pod.mark for pod in flying), default=len(self.model.log))
        assert kept.total() == needed

    def teardown(self) -> None:
        """Let all pods have their turn: none is lost."""
        if not hasattr(self, "world"):
            return
        for door in self.doors.values():
            door.closed.clear()
        self.go_to_the_end()

    def go_to_the_end(self) -> None:
        expected = {pod.uid for pod in self.model.pods if pod.place != "flight"}
        in_flight = set(self.world.queue.in_flight_uids())
        popped: set[str] = set()
        while (moment := self.world.queue.next_wakeup(self.world.now)) is not None:
            self.world.now = moment
            while (queued := self.world.queue.pop_nowait(moment)) is not None:
                popped.add(queued.uid)
        assert popped == expected
        assert self.world.counts.unschedulable_pods == {}
        assert set(self.world.queue.in_flight_uids()) == in_flight | popped


QueueMachine.TestCase.settings = settings(stateful_step_count=60)
TestQueue = QueueMachine.TestCase
