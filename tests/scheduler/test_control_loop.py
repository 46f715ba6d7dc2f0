"""Pods over time: what brings them back to the queue, to a node, and off it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

from nodewise.api.objects import Pod, PodSchedulingGate
from nodewise.framework.cycle_state import CycleState
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_node, make_pod
from tests.scheduler.worlds import create, make_world, message_of, node_of, play_for, pod_of, reasons

FULL = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
NO_VICTIMS = FULL + "1 No preemption victims found for incoming pod."


def test_a_pod_that_fits_is_bound_at_once_and_confirmed_in_the_cache() -> None:
    world = make_world([make_node("n1")], [make_pod("p", cpu="1")])
    assert world.play()
    assert node_of(world, "p") == "n1"
    cache = world.loop.scheduler.cache
    assert cache.pod_count() == 1
    assert not cache.is_assumed_pod("default/p")
    assert reasons(world) == [("p", "Scheduled")]
    assert world.cluster.events[0].note == "Successfully assigned default/p to n1"
    assert world.loop.queue.sizes().in_flight == 0


def test_a_pod_that_fits_nowhere_waits_until_another_one_ends() -> None:
    world = make_world([make_node("n1", cpu="1")], [make_pod("old", cpu="1", node="n1"), make_pod("p", cpu="1")])
    world.time.call_at(world.time.now() + 100, lambda: world.cluster.remove(Pod, "default/old"))
    play_for(world, 99)
    assert node_of(world, "p") == ""
    assert message_of(world, "p") == NO_VICTIMS
    play_for(world, 1)
    assert node_of(world, "p") == "n1"


def test_what_cannot_help_does_not_bring_a_pod_back() -> None:
    world = make_world([make_node("n1", cpu="1")], [make_pod("p", cpu="2")])
    play_for(world, 10)
    world.cluster.put(make_node("n2", cpu="1"))
    create(world, make_pod("q", cpu="1"))
    play_for(world, 10)
    assert world.loop.cycle.n_attempts == 2  # one for each pod
    world.cluster.put(make_node("n3", cpu="2"))
    play_for(world, 1)
    assert node_of(world, "p") == "n3"


def test_an_unschedulable_pod_is_tried_again_after_five_minutes_whatever_happens() -> None:
    world = make_world([make_node("n1", cpu="1")], [make_pod("p", cpu="2")])
    play_for(world, 300)
    assert world.loop.cycle.n_attempts == 1
    play_for(world, 31)
    assert world.loop.cycle.n_attempts == 2


def test_time_ends_when_every_waiting_pod_was_tried_in_vain_since_the_last_change() -> None:
    world = make_world([make_node("n1", cpu="1")], [make_pod("p", cpu="2")])
    assert world.play()
    assert world.loop.cycle.n_attempts >= 2
    assert (world.now().timestamp() - world.time.now()) == 0
    assert node_of(world, "p") == ""


def test_a_gated_pod_is_not_tried_before_its_gate_is_gone() -> None:
    gated = make_pod("p", cpu="1", scheduling_gates=(PodSchedulingGate("wait"),))
    world = make_world([make_node("n1")], [gated])
    play_for(world, 1000)
    assert world.loop.cycle.n_attempts == 0
    free = pod_of(world, "p")
    world.cluster.put(replace(free, spec=replace(free.spec, scheduling_gates=())))
    play_for(world, 1)
    assert node_of(world, "p") == "n1"


def test_a_preemptor_waits_for_the_grace_period_of_its_victim() -> None:
    victim = make_pod("low", cpu="1", node="n1", termination_grace_period_seconds=20)
    world = make_world([make_node("n1", cpu="1")], [victim, make_pod("high", cpu="1", priority=10)])
    play_for(world, 19)
    dying = pod_of(world, "low")
    assert dying.is_terminating
    condition = dying.status.conditions[-1]
    assert (condition.type, condition.reason) == ("DisruptionTarget", "PreemptionByScheduler")
    waiting = pod_of(world, "high")
    assert (waiting.spec.node_name, waiting.status.nominated_node_name) == ("", "n1")
    play_for(world, 2)
    assert node_of(world, "low") is None
    bound = pod_of(world, "high")
    assert (bound.spec.node_name, bound.status.nominated_node_name) == ("n1", "")
    assert ("low", "Preempted") in reasons(world)


def test_room_promised_to_a_preemptor_is_not_given_to_a_pod_of_lower_priority() -> None:
    victim = make_pod("low", cpu="1", node="n1", termination_grace_period_seconds=60)
    world = make_world([make_node("n1", cpu="1")], [victim, make_pod("high", cpu="1", priority=10)])
    play_for(world, 30)
    create(world, make_pod("sly", cpu="1", priority=5))
    play_for(world, 300)
    assert node_of(world, "high") == "n1"
    assert node_of(world, "sly") == ""


def test_a_pod_deleted_while_it_waits_is_forgotten_everywhere() -> None:
    world = make_world([make_node("n1", cpu="1")], [make_pod("p", cpu="2")])
    play_for(world, 1)
    world.cluster.remove(Pod, "default/p")
    assert world.loop.queue.sizes() == type(world.loop.queue.sizes())(0, 0, 0, 0, 0)
    assert world.play()


def test_a_node_that_comes_back_takes_pods_again() -> None:
    world = make_world([make_node("n1")], [])
    world.cluster.remove(type(make_node("n")), "n1")
    create(world, make_pod("p", cpu="1"))
    play_for(world, 5)
    assert message_of(world, "p") == "no nodes available to schedule pods"
    world.cluster.put(make_node("n1"))
    play_for(world, 30)
    assert node_of(world, "p") == "n1"


class Together:
    """Lets pods go only when two of them wait."""

    name: ClassVar[str] = "Together"

    def __init__(self, args: object, handle: object) -> None:
        self.waiting_pods = handle.waiting_pods  # type: ignore[attr-defined]

    def permit(self, state: CycleState, pod: PodInfo, node_name: str) -> tuple[Status, float]:
        others = list(self.waiting_pods.values())
        if not others:
            return Status(Code.WAIT), 60.0
        for other in others:
            other.allow(self.name)
        return SUCCESS, 0.0


def test_pods_that_permit_holds_back_go_when_it_lets_them() -> None:
    world = make_world([make_node("n1")], [make_pod("p", cpu="1")], Together)
    play_for(world, 10)
    assert node_of(world, "p") == ""
    assert world.loop.scheduler.cache.is_assumed_pod("default/p")
    create(world, make_pod("q", cpu="1"))
    play_for(world, 1)
    assert (node_of(world, "p"), node_of(world, "q")) == ("n1", "n1")
    assert not world.loop.bindings.waiting_pods


def test_a_pod_that_permit_holds_back_too_long_goes_back_to_the_queue() -> None:
    world = make_world([make_node("n1")], [make_pod("p", cpu="1")], Together)
    play_for(world, 61)
    assert message_of(world, "p") == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at plugin Together."
    )
    assert world.loop.scheduler.cache.pod_count() in (0, 1)  # it may be on its way again
    assert world.loop.queue.sizes().in_flight == len(world.loop.bindings.waiting_pods)


def test_a_pod_deleted_while_permit_holds_it_back_leaves_nothing_behind() -> None:
    world = make_world([make_node("n1")], [make_pod("p", cpu="1")], Together)
    play_for(world, 10)
    world.cluster.remove(Pod, "default/p")
    play_for(world, 100)
    assert world.loop.scheduler.cache.pod_count() == 0
    assert not world.loop.bindings.waiting_pods
    assert world.loop.queue.sizes().in_flight == 0


class Refusing:
    """Refuses to reserve on one node, and counts what is taken back."""

    name: ClassVar[str] = "Refusing"
    taken_back: ClassVar[list[str]] = []

    def __init__(self, args: object, handle: object) -> None:
        pass

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        return Status.unschedulable("not here") if pod.pod.metadata.name == "p" else SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        self.taken_back.append(pod.key)


def test_a_reservation_that_is_refused_is_taken_back() -> None:
    Refusing.taken_back.clear()
    world = make_world([make_node("n1")], [make_pod("p", cpu="1"), make_pod("q", cpu="1")], Refusing)
    play_for(world, 0.5)
    assert node_of(world, "q") == "n1"
    assert message_of(world, "p") == "0/1 nodes are available: 1 not here."
    assert set(Refusing.taken_back) == {"default/p"}
    assert world.loop.scheduler.cache.pod_count() == 1


class Failing:
    """Cannot bind anything."""

    name: ClassVar[str] = "Failing"
    errors: ClassVar[Sequence[str]] = ("disk on fire",)

    def __init__(self, args: object, handle: object) -> None:
        pass

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status:
        return Status.error(*self.errors)


def test_an_error_before_the_binding_backs_the_pod_off_and_says_so() -> None:
    world = make_world([make_node("n1")], [make_pod("p", cpu="1")], Failing)
    play_for(world, 0.5)
    assert message_of(world, "p") == 'running PreBind plugin "Failing": disk on fire'
    assert world.loop.scheduler.cache.pod_count() == 0
    play_for(world, 60)
    # one second, two, four, eight, then ten, each rounded up to a whole second
    assert 7 <= world.loop.cycle.n_attempts <= 9


def test_a_binding_waits_until_the_cluster_has_heard_of_the_failure_before_it() -> None:
    world = make_world([make_node("n1", cpu="1")], [make_pod("old", cpu="1", node="n1")])
    patch, patched = world.cluster.patch_pod_status, world.time.promise()

    async def slow(*args: Any, **fields: Any) -> None:
        await patched
        await patch(*args, **fields)

    world.cluster.patch_pod_status = slow  # type: ignore[method-assign]
    create(world, make_pod("p", cpu="1"))
    play_for(world, 5)
    world.cluster.remove(Pod, "default/old")
    play_for(world, 5)
    assert node_of(world, "p") == ""
    patched.set_result(None)
    play_for(world, 1)
    assert node_of(world, "p") == "n1"
    assert [c.status for c in pod_of(world, "p").status.conditions if c.type == "PodScheduled"] == ["True"]
