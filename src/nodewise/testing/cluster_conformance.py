"""What every cluster must do for a scheduler: one suite for the one in this process and for those behind an API server.

Each check is a coroutine that takes a `ClusterUnderTest` with nothing in its namespace:

>>> from nodewise.testing.cluster_conformance import CLUSTER_CHECKS
>>> CLUSTER_CHECKS[0].__name__
'changes_are_told_in_order_with_growing_versions'
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from nodewise.api.objects import Pod, PodCondition, replace
from nodewise.cluster.client import ClusterClient, PodEvent
from nodewise.framework.status import Code
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_pod

Changes = list[tuple[Any, Any]]
"""Objects as they were and as they are; None where there is none."""
UNSCHEDULABLE = PodCondition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available")


class ClusterUnderTest(Protocol):
    """A cluster, and somebody who listens to its pods.

    Attributes
    ----------
    client : ClusterClient
    namespace : str
        Where the checks put their pods.
    changes : Changes
        What the listener has been told about pods of this namespace, oldest first.
    """

    client: ClusterClient
    namespace: str
    changes: Changes

    async def create(self, pod: Pod) -> Pod:
        """Let somebody create a pod; return it as the cluster keeps it."""
        ...

    async def get(self, name: str) -> Pod | None:
        """Return a pod as it is now."""
        ...

    async def settle(self) -> None:
        """Wait until the listener has been told everything that has happened."""
        ...

    async def listen_anew(self) -> Changes:
        """Return what somebody is told who begins to listen now."""
        ...


Check = Callable[[ClusterUnderTest], Awaitable[None]]


async def _create(cluster: ClusterUnderTest, name: str) -> PodInfo:
    # of a scheduler name that nobody has: no scheduler that may run there takes a hand
    pod = make_pod(name, namespace=cluster.namespace, image="example.com/app:1", scheduler_name="nobody")
    return PodInfo(await cluster.create(pod))


async def _pod(cluster: ClusterUnderTest, name: str) -> Pod:
    pod = await cluster.get(name)
    assert pod is not None, f"pod {name} is gone"
    return pod


def _version(pod: Pod) -> int:
    return int(pod.metadata.resource_version)


async def changes_are_told_in_order_with_growing_versions(cluster: ClusterUnderTest) -> None:
    """Every change makes a resource version that is greater, and the listener hears of them in this order."""
    pods = [await _create(cluster, name) for name in ("c", "a", "b")]
    await cluster.client.patch_pod_status(pods[1].pod, condition=UNSCHEDULABLE)
    await cluster.client.delete_pod(pods[0])
    await cluster.settle()
    # an API server may tell that a pod is about to be gone before it tells that it is
    changes = [(old, new) for old, new in cluster.changes if new is None or not new.is_terminating]
    told = [(old is not None, new is not None, (new or old).metadata.name) for old, new in changes]
    expected = [(False, True, "c"), (False, True, "a"), (False, True, "b"), (True, True, "a"), (True, False, "c")]
    assert told == expected, told
    versions = [_version(new) for _, new in cluster.changes if new is not None]
    assert versions == sorted(set(versions)), versions


async def a_new_listener_is_told_what_there_is(cluster: ClusterUnderTest) -> None:
    """Who begins to listen hears of every object once, as it is now."""
    first = await _create(cluster, "a")
    await _create(cluster, "b")
    await cluster.client.patch_pod_status(first.pod, condition=UNSCHEDULABLE)
    told = await cluster.listen_anew()
    assert sorted(new.metadata.name for _, new in told) == ["a", "b"]
    assert all(old is None for old, _ in told)
    assert {new.metadata.name: new for _, new in told}["a"] == await _pod(cluster, "a")


async def a_bound_pod_has_its_node_and_no_nomination(cluster: ClusterUnderTest) -> None:
    """A binding sets the node, the condition PodScheduled=True and clears the nominated node."""
    pod = await _create(cluster, "web")
    await cluster.client.patch_pod_status(pod.pod, condition=UNSCHEDULABLE, nominated_node_name="n2")
    status = await cluster.client.bind(PodInfo(await _pod(cluster, "web")), "n1")
    assert status.is_success, status
    bound = await _pod(cluster, "web")
    assert (bound.spec.node_name, bound.status.nominated_node_name) == ("n1", "")
    conditions = [condition for condition in bound.status.conditions if condition.type == "PodScheduled"]
    assert conditions == [PodCondition("PodScheduled", "True")]
    await cluster.settle()
    assert cluster.changes[-1][1] == bound


async def binding_twice_is_a_conflict(cluster: ClusterUnderTest) -> None:
    """A pod that has a node keeps it, and whoever binds it again is told so."""
    pod = await _create(cluster, "web")
    assert (await cluster.client.bind(pod, "n1")).is_success
    status = await cluster.client.bind(pod, "n2")
    assert status.code is Code.ERROR
    expected = 'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "n1"'
    assert status.message == expected
    assert (await _pod(cluster, "web")).spec.node_name == "n1"


async def a_pod_that_is_gone_cannot_be_bound(cluster: ClusterUnderTest) -> None:
    """Binding a deleted pod fails."""
    pod = await _create(cluster, "web")
    await cluster.client.delete_pod(pod)
    status = await cluster.client.bind(pod, "n1")
    assert status.code is Code.ERROR
    assert status.message == 'pods "web" not found'


async def a_pod_made_anew_is_not_bound_in_place_of_the_old(cluster: ClusterUnderTest) -> None:
    """A binding, a status and a deletion meant for a pod do not reach another one of its name."""
    old = await _create(cluster, "web")
    await cluster.client.delete_pod(old)
    new = await _create(cluster, "web")
    assert new.uid != old.uid
    assert (await cluster.client.bind(old, "n1")).code is Code.ERROR
    await cluster.client.patch_pod_status(old.pod, condition=UNSCHEDULABLE)
    await cluster.client.delete_pod(old)
    assert await _pod(cluster, "web") == new.pod


async def a_status_patch_changes_what_it_names(cluster: ClusterUnderTest) -> None:
    """A patch sets one condition and the nominated node, and leaves everything else as it is."""
    pod = await _create(cluster, "web")
    other = PodCondition("DisruptionTarget", "True", "PreemptionByScheduler", "making room")
    await cluster.client.patch_pod_status(pod.pod, condition=UNSCHEDULABLE, nominated_node_name="n1")
    await cluster.client.patch_pod_status(await _pod(cluster, "web"), condition=other)
    patched = await _pod(cluster, "web")
    assert set(patched.status.conditions) == {UNSCHEDULABLE, other}
    assert patched.status.nominated_node_name == "n1"
    changed = PodCondition("PodScheduled", "False", "SchedulerError", "no luck")
    await cluster.client.patch_pod_status(patched, condition=changed, nominated_node_name="")
    patched = await _pod(cluster, "web")
    assert set(patched.status.conditions) == {changed, other}
    assert patched.status.nominated_node_name == ""
    assert replace(patched, metadata=pod.pod.metadata, status=pod.pod.status) == pod.pod


async def a_patch_that_changes_nothing_makes_no_version(cluster: ClusterUnderTest) -> None:
    """Writing what is there already is not told to anybody."""
    pod = await _create(cluster, "web")
    await cluster.client.patch_pod_status(pod.pod, condition=UNSCHEDULABLE, nominated_node_name="n1")
    before = await _pod(cluster, "web")
    await cluster.client.patch_pod_status(before, condition=UNSCHEDULABLE, nominated_node_name="n1")
    assert await _pod(cluster, "web") == before
    await cluster.settle()
    assert len(cluster.changes) == 2


async def the_status_of_a_pod_that_is_gone_is_not_missed(cluster: ClusterUnderTest) -> None:
    """Patching or deleting a pod that is gone is no error."""
    pod = await _create(cluster, "web")
    await cluster.client.delete_pod(pod)
    await cluster.client.patch_pod_status(pod.pod, condition=UNSCHEDULABLE)
    await cluster.client.delete_pod(pod)
    assert await cluster.get("web") is None


async def a_running_pod_has_time_to_end(cluster: ClusterUnderTest) -> None:
    """A pod with a node is terminating once deleted; one without is gone at once."""
    waiting, running = await _create(cluster, "waiting"), await _create(cluster, "running")
    await cluster.client.bind(running, "n1")
    await cluster.client.delete_pod(waiting)
    await cluster.client.delete_pod(running)
    assert await cluster.get("waiting") is None
    ending = await _pod(cluster, "running")
    assert ending.is_terminating
    await cluster.client.delete_pod(running)
    assert (await _pod(cluster, "running")).metadata.deletion_timestamp == ending.metadata.deletion_timestamp
    await cluster.settle()
    assert [(new or old).metadata.name for old, new in cluster.changes[-2:]] == ["waiting", "running"]
    assert cluster.changes[-2][1] is None
    assert cluster.changes[-1][1].is_terminating


async def recording_an_event_never_fails(cluster: ClusterUnderTest) -> None:
    """Events are taken at once, those about pods that are gone as well."""
    pod = await _create(cluster, "web")
    await cluster.client.delete_pod(pod)
    for _ in range(3):
        note = f"Successfully assigned {pod.key} to n1"
        cluster.client.record(PodEvent(pod, "Normal", "Scheduled", "Binding", note, "default-scheduler"))


CLUSTER_CHECKS: tuple[Check, ...] = (
    changes_are_told_in_order_with_growing_versions,
    a_new_listener_is_told_what_there_is,
    a_bound_pod_has_its_node_and_no_nomination,
    binding_twice_is_a_conflict,
    a_pod_that_is_gone_cannot_be_bound,
    a_pod_made_anew_is_not_bound_in_place_of_the_old,
    a_status_patch_changes_what_it_names,
    a_patch_that_changes_nothing_makes_no_version,
    the_status_of_a_pod_that_is_gone_is_not_missed,
    a_running_pod_has_time_to_end,
    recording_an_event_never_fails,
)
