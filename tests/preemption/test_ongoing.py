"""A preemptor waits until its last victim is seen to end."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nodewise.api.objects import replace
from nodewise.config.feature_gates import FeatureGates
from nodewise.framework.status import SUCCESS, Status
from nodewise.plugins.default_preemption import DefaultPreemption
from nodewise.preemption.ongoing import OngoingPreemptions
from nodewise.state.pod_groups import PodGroupStates
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import FakeHandle, make_pod
from nodewise.testing.group_builders import make_group, make_group_of_groups, make_member

NOBODY: dict[str, PodInfo] = {}
VICTIM = PodInfo(make_pod("victim", node="n1"))


def terminating(info: PodInfo) -> PodInfo:
    meta = replace(info.pod.metadata, deletion_timestamp=datetime(2026, 6, 1, tzinfo=UTC))
    return PodInfo(replace(info.pod, metadata=meta))


def test_a_preemptor_waits_from_the_start_to_the_finish() -> None:
    ongoing = OngoingPreemptions()
    assert not ongoing.is_running("a")
    ongoing.start("a")
    assert ongoing.is_running("a")
    assert not ongoing.is_running("b")
    ongoing.finish("a")
    assert not ongoing.is_running("a")


@pytest.mark.parametrize(
    ("pods", "is_running"),
    [({VICTIM.key: VICTIM}, True), ({VICTIM.key: terminating(VICTIM)}, False), ({}, False)],
    ids=["runs", "is terminating", "is gone"],
)
def test_once_one_victim_is_left_what_is_seen_of_it_counts(pods: dict[str, PodInfo], is_running: bool) -> None:
    ongoing = OngoingPreemptions(pods.get)
    ongoing.start("a")
    ongoing.wait_for("a", VICTIM)
    assert ongoing.is_running("a") is is_running


def test_victims_before_the_last_do_not_count() -> None:
    ongoing = OngoingPreemptions(NOBODY.get)
    ongoing.start("a")
    assert ongoing.is_running("a")


def test_a_new_start_forgets_the_last_victim_of_before() -> None:
    ongoing = OngoingPreemptions(NOBODY.get)
    ongoing.start("a")
    ongoing.wait_for("a", VICTIM)
    ongoing.start("a")
    assert ongoing.is_running("a")


def test_finishing_what_never_started_does_nothing() -> None:
    OngoingPreemptions().finish("a")


def test_pods_of_a_group_wait_for_the_preemption_of_their_topmost_group() -> None:
    handle = FakeHandle(feature_gates=FeatureGates.of(SchedulerAsyncPreemption=True, GenericWorkload=True))
    handle.pod_groups = groups = PodGroupStates(has_composites=True)
    tree = make_group_of_groups("t")
    plugin = DefaultPreemption(None, handle)
    pod, other = make_member("p", "g"), make_member("q", "g", namespace="other")
    plugin.ongoing.start(tree.metadata.uid)
    assert plugin.pre_enqueue(pod) is SUCCESS
    for group in (tree, make_group("g", parent="t"), make_group("g", namespace="other")):
        groups.put_group(group)
    waiting = "waiting for the preemption for this pod group to be finished"
    assert plugin.pre_enqueue(pod) == Status.unresolvable(waiting)
    assert plugin.pre_enqueue(other) is SUCCESS
    plugin.ongoing.finish(tree.metadata.uid)
    plugin.ongoing.start(pod.metadata.uid)
    assert plugin.pre_enqueue(pod) is SUCCESS
