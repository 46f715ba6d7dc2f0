"""One leader at a time, by a Lease."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Coroutine, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from nodewise.config.load import default_configuration
from nodewise.server.leader_election import (
    LeaderElectionError,
    LeaderElector,
    LeaseLostError,
    Timings,
    new_identity,
)
from tests.server.lease_server import GOOD, LeaseServer, Network
from tests.server.virtual_loop import VirtualTimeLoop, run

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
START = datetime(2027, 1, 1, tzinfo=UTC)


class Counts:
    def __init__(self) -> None:
        self.statuses: list[bool] = []
        self.slow_paths = 0

    def leading(self, name: str, *, is_leader: bool) -> None:
        self.statuses.append(is_leader)

    def slow_path(self, name: str) -> None:
        self.slow_paths += 1


class Candidate:
    """An elector in a task, and what it does as leader: waiting."""

    def __init__(
        self,
        server: LeaseServer,
        loop: VirtualTimeLoop,
        name: str,
        network: Callable[[], Network] = lambda: GOOD,
        *,
        seed: int = 0,
        skew_s: float = 0.0,
        with_events: bool = False,
    ) -> None:
        self.client = server.client(network)
        self.metrics = Counts()
        self.elector = LeaderElector(
            self.client,
            name,
            clock=loop,
            now=lambda: START + timedelta(seconds=loop.now() + skew_s),
            generator=random.Random(seed),
            metrics=self.metrics,
            event_client=server.client() if with_events else None,
        )
        self.log: list[tuple[str, float]] = []
        self._loop = loop
        self.task = loop.create_task(self.elector.run(self._lead), name=name)

    async def _lead(self) -> None:
        self.log.append(("leads", self._loop.now()))
        try:
            await asyncio.Event().wait()
        finally:
            self.log.append(("stops", self._loop.now()))

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})


def spec(server: LeaseServer) -> dict[str, Any]:
    found: dict[str, Any] = server.objects[PATH]["spec"]
    return found


def in_virtual_time(make: Callable[[VirtualTimeLoop, LeaseServer], Coroutine[Any, Any, None]]) -> None:
    run(lambda loop: make(loop, LeaseServer()))


def test_the_first_candidate_makes_the_lease_with_all_its_fields() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        candidate = Candidate(server, loop, "a")
        await asyncio.sleep(1)
        assert candidate.elector.is_leader
        assert spec(server) == {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "2027-01-01T00:00:00.000000Z",
            "renewTime": "2027-01-01T00:00:00.000000Z",
            "leaseTransitions": 0,
        }
        await candidate.stop()

    in_virtual_time(story)


def test_a_leader_renews_every_retry_period_without_reading_the_lease() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        candidate = Candidate(server, loop, "a")
        await asyncio.sleep(9)
        assert candidate.client.log == ["GET", "POST", "PUT", "PUT", "PUT", "PUT", "PUT"]
        assert spec(server)["acquireTime"] == "2027-01-01T00:00:00.000000Z"
        assert spec(server)["renewTime"] == "2027-01-01T00:00:08.000000Z"
        await candidate.stop()

    in_virtual_time(story)


def test_a_cancelled_leader_stops_leading_before_it_releases_the_lease() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        candidate = Candidate(server, loop, "a")
        await asyncio.sleep(3)
        holders: list[str] = []
        lead_ended = candidate.log.append

        def ended(entry: tuple[str, float]) -> None:
            holders.append(spec(server)["holderIdentity"])
            lead_ended(entry)

        candidate.log = type("Log", (list,), {"append": lambda self, entry: ended(entry)})()
        await candidate.stop()
        assert holders == ["a"]
        now = "2027-01-01T00:00:03.000000Z"
        assert spec(server) == {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }
        assert candidate.metrics.statuses == [False, True, False]
        assert candidate.task.cancelled()

    in_virtual_time(story)


def test_a_released_lease_is_taken_at_the_next_attempt_and_counts_as_a_transition() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        first = Candidate(server, loop, "a")
        await asyncio.sleep(1)
        second = Candidate(server, loop, "b", seed=1)
        await asyncio.sleep(10)
        assert not second.elector.is_leader
        assert second.elector.leader == "a"
        released_s = loop.now()
        await first.stop()
        await asyncio.sleep(2 * (1 + 1.2))
        assert second.log[0][1] - released_s <= 2 * (1 + 1.2)
        assert spec(server)["holderIdentity"] == "b"
        assert spec(server)["leaseTransitions"] == 1
        await second.stop()

    in_virtual_time(story)


def test_a_candidate_waits_the_whole_lease_after_it_saw_the_last_change_whatever_the_lease_says_about_time() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        server.answer(
            "POST",
            PATH.rpartition("/")[0],
            {
                "metadata": {"name": "kube-scheduler"},
                "spec": {
                    "holderIdentity": "gone",
                    "leaseDurationSeconds": 15,
                    "acquireTime": "2001-01-01T00:00:00.000000Z",
                    "renewTime": "2001-01-01T00:00:00.000000Z",
                    "leaseTransitions": 7,
                },
            },
        )
        candidate = Candidate(server, loop, "a", skew_s=-86_400)
        await asyncio.sleep(14.99)
        assert candidate.log == []
        await asyncio.sleep(2 * (1 + 1.2))
        assert candidate.elector.is_leader
        assert spec(server)["leaseTransitions"] == 8
        await candidate.stop()

    in_virtual_time(story)


def test_a_theft_is_noticed_after_the_renew_deadline_and_the_lease_is_left_to_the_thief() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        candidate = Candidate(server, loop, "a")
        await asyncio.sleep(4.5)
        stolen = {**spec(server), "holderIdentity": "thief"}
        server.answer("PUT", PATH, {"metadata": server.objects[PATH]["metadata"], "spec": stolen})
        await asyncio.wait({candidate.task})
        assert isinstance(candidate.task.exception(), LeaseLostError)
        # The renewal at 6 s finds it out, and is tried for ten seconds, as far as the last good one at 4 s is trusted.
        assert candidate.log == [("leads", 0.0), ("stops", 16.0)]
        assert spec(server)["holderIdentity"] == "thief"
        assert candidate.metrics.statuses == [False, True, False]

    in_virtual_time(story)


def test_a_conflict_is_overcome_by_reading_the_lease() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        candidate = Candidate(server, loop, "a")
        await asyncio.sleep(4.5)
        touched = server.objects[PATH]
        server.answer("PUT", PATH, {"metadata": {**touched["metadata"], "labels": {"x": "y"}}, "spec": spec(server)})
        await asyncio.sleep(2)
        assert candidate.elector.is_leader
        assert candidate.metrics.slow_paths == 1
        assert server.objects[PATH]["metadata"]["labels"] == {"x": "y"}
        assert spec(server)["leaseTransitions"] == 0
        await candidate.stop()

    in_virtual_time(story)


def test_a_leader_that_is_cut_off_stops_before_another_one_may_begin() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        network = [GOOD]
        candidate = Candidate(server, loop, "a", lambda: network[0])
        await asyncio.sleep(4.5)
        network[0] = Network(is_lost=True)
        await asyncio.wait({candidate.task})
        assert isinstance(candidate.task.exception(), LeaseLostError)
        assert candidate.log[-1] == ("stops", 16.0)  # 12 s after its last renewal, 3 s before others give it up

    in_virtual_time(story)


def test_answers_that_come_late_do_not_lengthen_a_leadership() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        network = [GOOD]
        candidate = Candidate(server, loop, "a", lambda: network[0])
        await asyncio.sleep(3.5)
        network[0] = Network(back_s=4.9)
        await asyncio.sleep(1)  # a renewal is under way, done at 4 s
        network[0] = Network(is_lost=True)
        await asyncio.wait({candidate.task})
        assert candidate.log[-1] == ("stops", 4 + 12.5)

    in_virtual_time(story)


def test_the_end_of_leading_is_the_end_of_the_run_and_its_error_is_raised() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        async def fail() -> None:
            raise ValueError("a bug")

        elector = LeaderElector(server.client(), "a", clock=loop, now=lambda: START, generator=random.Random(0))
        with pytest.raises(ValueError, match="a bug"):
            await elector.run(fail)
        assert spec(server)["holderIdentity"] == ""

    in_virtual_time(story)


def test_leadership_is_told_by_events_of_the_first_profile() -> None:
    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        candidate = Candidate(server, loop, "a", with_events=True)
        await asyncio.sleep(1)
        await candidate.stop()
        assert [(event["reason"], event["message"]) for event in server.events] == [
            ("LeaderElection", "a became leader"),
            ("LeaderElection", "a stopped leading"),
        ]
        assert server.events[0]["source"] == {"component": "default-scheduler"}
        assert server.events[0]["involvedObject"]["uid"] == "lease-uid"

    in_virtual_time(story)


def test_the_defaults_are_those_of_the_default_configuration() -> None:
    assert Timings.of(default_configuration().leader_election) == Timings(15.0, 10.0, 2.0)
    assert Timings().request_timeout_s == 5.0


@pytest.mark.parametrize(
    ("timings", "text"),
    [
        ((10, 10, 2), "leaseDuration must be greater than renewDeadline"),
        ((15, 2.4, 2), r"renewDeadline must be greater than retryPeriod\*JitterFactor"),
    ],
)
def test_timings_that_do_not_fit_together_are_refused(timings: tuple[float, float, float], text: str) -> None:
    with pytest.raises(LeaderElectionError, match=text):
        Timings(*timings)


def test_an_identity_is_the_host_with_a_uuid_of_the_generator() -> None:
    identity = new_identity(random.Random(1), "host-1")
    assert re.fullmatch(r"host-1_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", identity)
    assert identity == new_identity(random.Random(1), "host-1") != new_identity(random.Random(2), "host-1")


seconds = st.floats(0, 8, allow_nan=False)
networks = st.builds(Network, seconds, seconds, st.booleans(), st.booleans())
mostly_good = st.one_of(st.just(GOOD), st.just(GOOD), st.builds(Network, st.floats(0, 1), st.floats(0, 1)), networks)


@settings(max_examples=60, deadline=None)
@given(
    data=st.lists(st.lists(mostly_good, min_size=1, max_size=12), min_size=2, max_size=4),
    stops=st.lists(st.floats(5, 80), max_size=2),
    seed=st.integers(0, 1000),
)
@example(data=[[*[GOOD] * 3, Network(back_s=4.9), *[Network(is_lost=True)] * 50], [GOOD]], stops=[], seed=0)
def test_there_are_never_two_leaders_at_a_time(data: list[list[Network]], stops: list[float], seed: int) -> None:
    """Requests and answers are late or lost, and leaders are told to stop, at any time."""

    async def story(loop: VirtualTimeLoop, server: LeaseServer) -> None:
        candidates: list[Candidate] = []
        n_at_work: list[int] = []

        def count() -> None:
            n_at_work.append(sum(candidate.log != [] and candidate.log[-1][0] == "leads" for candidate in candidates))
            assert sum(candidate.elector.is_leader for candidate in candidates) <= 1

        loop.check_each_moment(count)
        for number, scripted in enumerate(data):
            network = _repeat(scripted)
            candidates.append(Candidate(server, loop, f"c{number}", network, seed=seed + number, skew_s=number * 1e4))
        for stop_s in sorted(stops):
            await asyncio.sleep(max(stop_s - loop.now(), 0))
            leader = next((candidate for candidate in candidates if candidate.elector.is_leader), None)
            if leader is not None:
                await leader.stop()
        await asyncio.sleep(max(120 - loop.now(), 0))
        for candidate in candidates:
            await candidate.stop()
            candidate.task.cancelled() or candidate.task.exception()
        assert max(n_at_work) <= 1

    in_virtual_time(story)


def _repeat(scripted: Iterable[Network]) -> Callable[[], Network]:
    networks = list(scripted)
    position = iter(range(10**9))
    return lambda: networks[next(position) % len(networks)]
