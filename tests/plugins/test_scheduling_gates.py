from nodewise.api.objects import PodSchedulingGate
from nodewise.framework.status import SUCCESS, Status
from nodewise.plugins.scheduling_gates import SchedulingGates
from nodewise.testing.builders import FakeHandle, make_pod


def test_a_pod_with_gates_waits_and_its_gates_are_named_in_order() -> None:
    pod = make_pod("p", scheduling_gates=(PodSchedulingGate("z"), PodSchedulingGate("a")))
    status = SchedulingGates(None, FakeHandle()).pre_enqueue(pod)
    assert status == Status.unresolvable("waiting for scheduling gates: [z a]")


def test_a_pod_without_gates_enters_the_queue() -> None:
    assert SchedulingGates(None, FakeHandle()).pre_enqueue(make_pod("p")) == SUCCESS
