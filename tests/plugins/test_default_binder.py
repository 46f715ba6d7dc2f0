import asyncio
from collections.abc import Awaitable

from nodewise.framework.cycle_state import CycleState
from nodewise.framework.status import Status
from nodewise.plugins.default_binder import DefaultBinder
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import FakeHandle, make_pod


async def _awaited(binding: Awaitable[Status]) -> Status:
    return await binding


def test_a_pod_is_bound_through_the_handle() -> None:
    handle = FakeHandle()
    binding = DefaultBinder(None, handle).bind(CycleState(), PodInfo(make_pod("p")), "n1")
    assert asyncio.run(_awaited(binding)).is_success
    assert handle.bound == [("default/p", "n1")]
