from nodewise.framework.cycle_state import CycleState
from nodewise.plugins.default_binder import DefaultBinder
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import FakeHandle, make_pod


def test_a_pod_is_bound_through_the_handle() -> None:
    handle = FakeHandle()
    assert DefaultBinder(None, handle).bind(CycleState(), PodInfo(make_pod("p")), "n1").is_success
    assert handle.bound == [("default/p", "n1")]
