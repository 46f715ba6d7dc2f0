"""A preemptor waits until its last victim is seen to end."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from nodewise.api.objects import replace
from nodewise.preemption.ongoing import OngoingPreemptions
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_pod

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
