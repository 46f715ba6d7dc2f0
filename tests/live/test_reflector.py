"""What a reflector makes of all that a server, and what is between, may do to a watch."""

import asyncio
import logging
import random
from collections.abc import Coroutine
from typing import Any

import pytest

from nodewise.api.objects import Pod
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.connection import Connection
from nodewise.cluster.live.reflector import Reflector
from nodewise.cluster.live.resources import RESOURCES
from nodewise.testing.clock import FakeClock
from tests.live.listening import Listener, Waits, reflecting
from tests.live.scripted_server import (
    Answer,
    bookmark,
    cut,
    error_event,
    event,
    line,
    pod,
    pod_list,
    refuse,
    reply,
    stream,
)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(30):
            await scenario

    asyncio.run(limited())


def listed(*pods: dict[str, Any], version: str = "10", then: tuple[Any, ...] = (), **ending: bool) -> Answer:
    """Answer with a streamed list and what follows in the same watch."""
    return stream(*(event("ADDED", p) for p in pods), bookmark(version, ends_list=True), *then, **ending)


def test_the_list_is_streamed_and_the_watch_goes_on_in_the_same_answer() -> None:
    async def scenario() -> None:
        changes = (event("MODIFIED", pod("a", "11")), event("DELETED", pod("b", "12")), event("ADDED", pod("c", "13")))
        async with reflecting(listed(pod("b", "7"), pod("a", "5"), then=changes, stays_open=True)) as it:
            assert await it.listener.wait_for(5) == ["+b@7", "+a@5", "~a@11", "-b@12", "+c@13"]
            query = it.server.requests[0]
            assert (query["watch"], query["sendInitialEvents"], query["allowWatchBookmarks"]) == (
                "true",
                "true",
                "true",
            )
            assert (query["resourceVersion"], query["resourceVersionMatch"]) == ("", "NotOlderThan")
            assert 300 <= int(query["timeoutSeconds"]) <= 600
            assert it.reflector.synced.is_set()
            assert it.waits.seconds == []

    run(scenario())


def test_pods_that_have_ended_are_not_asked_for() -> None:
    async def scenario() -> None:
        async with reflecting() as it:
            await it.server.wait_for_requests(1)
            assert it.server.requests[0]["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"

    run(scenario())


def test_nothing_is_told_of_a_streamed_list_that_ends_too_early() -> None:
    async def scenario() -> None:
        async with reflecting(stream(event("ADDED", pod("half", "3"))), listed(pod("a", "5"))) as it:
            assert await it.listener.wait_for(1) == ["+a@5"]

    run(scenario())


def test_a_server_that_cannot_stream_lists_is_asked_for_pages() -> None:
    async def scenario() -> None:
        async with reflecting(
            refuse(422, "Invalid", "sendInitialEvents is forbidden for watch"),
            reply(pod_list("10", [pod("a", "5")], continuation="next")),
            reply(pod_list("10", [pod("b", "6")])),
        ) as it:
            assert await it.listener.wait_for(2) == ["+a@5", "+b@6"]
            await it.server.wait_for_requests(4)
            _, first, second, watch = it.server.requests
            assert (first["resourceVersion"], first["limit"]) == ("0", "500")
            assert (second["continue"], "resourceVersion" in second) == ("next", False)
            assert (watch["watch"], watch["resourceVersion"], "sendInitialEvents" in watch) == ("true", "10", False)

    run(scenario())


def test_pages_whose_snapshot_is_gone_are_replaced_by_a_full_list() -> None:
    async def scenario() -> None:
        async with reflecting(
            refuse(422, "Invalid"),
            reply(pod_list("10", [pod("a", "5")], continuation="next")),
            refuse(410, "Expired"),
            reply(pod_list("12", [pod("a", "11"), pod("b", "6")])),
        ) as it:
            assert await it.listener.wait_for(2) == ["+a@11", "+b@6"]
            assert "limit" not in it.server.requests[3]

    run(scenario())


def test_a_watch_that_ends_resumes_at_the_last_version_bookmarks_included() -> None:
    async def scenario() -> None:
        async with reflecting(
            listed(pod("a", "5"), version="10", then=(bookmark("20"),)), stream(event("ADDED", pod("b", "21")))
        ) as it:
            await it.listener.wait_for(2)
            await it.server.wait_for_requests(3)
            versions = [request["resourceVersion"] for request in it.server.requests]
            assert versions == ["", "20", "21"]
            assert it.waits.seconds == []

    run(scenario())


@pytest.mark.parametrize("is_status", [True, False], ids=["as status", "inside the stream"])
def test_a_version_that_is_too_old_makes_a_new_list_and_its_differences_are_told(is_status: bool) -> None:
    expired = refuse(410, "Expired", "too old") if is_status else stream(error_event(410, "Expired", "too old"))

    async def scenario() -> None:
        async with reflecting(
            listed(pod("gone", "3"), pod("same", "4"), pod("changed", "5"), pod("another", "6", uid="first")),
            expired,
            listed(
                pod("changed", "15"),
                pod("same", "4"),
                pod("another", "16", uid="second"),
                pod("new", "17"),
                version="20",
            ),
        ) as it:
            heard = await it.listener.wait_for(9)
            assert heard[4:] == ["-gone@3", "~changed@15", "-another@6", "+another@16", "+new@17"]
            again = it.server.requests[2]
            assert (again["sendInitialEvents"], again["resourceVersion"]) == ("true", "10")
            assert 0.8 <= it.waits.seconds[0] <= 1.6

    run(scenario())


def test_a_list_for_which_the_last_version_is_too_old_is_asked_for_the_newest() -> None:
    async def scenario() -> None:
        async with reflecting(
            listed(pod("a", "5")),
            stream(error_event(410, "Expired")),
            refuse(410, "Expired"),
            listed(pod("a", "25"), version="30"),
        ) as it:
            assert (await it.listener.wait_for(2))[-1] == "~a@25"
            assert [request["resourceVersion"] for request in it.server.requests[2:4]] == ["10", ""]

    run(scenario())


def test_a_server_that_is_behind_after_a_restore_is_asked_for_the_newest_it_has() -> None:
    async def scenario() -> None:
        async with reflecting(
            listed(pod("a", "5"), version="100"),
            stream(error_event(410, "Expired")),
            refuse(504, "Timeout", "Too large resource version: 100, current: 40"),
            listed(pod("b", "30"), version="40"),
        ) as it:
            assert await it.listener.wait_for(3) == ["+a@5", "-a@5", "+b@30"]
            await it.server.wait_for_requests(5)
            assert it.server.requests[4]["resourceVersion"] == "40"

    run(scenario())


def test_a_broken_connection_resumes_the_watch_and_half_a_line_is_forgotten() -> None:
    half = line(event("ADDED", pod("half", "12")))[:40]

    async def scenario() -> None:
        async with reflecting(
            listed(pod("a", "5"), then=(event("ADDED", pod("b", "11")), half), is_cut=True),
            cut(),
            stream(event("ADDED", pod("half", "12"))),
        ) as it:
            assert await it.listener.wait_for(3) == ["+a@5", "+b@11", "+half@12"]
            assert [request["resourceVersion"] for request in it.server.requests[1:3]] == ["11", "11"]
            assert it.waits.seconds

    run(scenario())


def test_lines_may_be_cut_anywhere_and_several_may_come_at_once() -> None:
    text = b"".join(line(event("ADDED", pod(f"p{n}", str(11 + n)))) for n in range(6))
    parts = [text[:1], text[1:100], text[100:101], text[101:700], text[700:]]

    async def scenario() -> None:
        async with reflecting(listed(then=(*parts, b"\n"), stays_open=True)) as it:
            assert await it.listener.wait_for(6) == [f"+p{n}@{11 + n}" for n in range(6)]

    run(scenario())


def test_an_object_of_megabytes_comes_through() -> None:
    big = pod("big", "11")
    big["metadata"]["annotations"] = {"text": "x" * 3_000_000}

    async def scenario() -> None:
        async with reflecting(listed(then=(event("ADDED", big),), stays_open=True)) as it:
            await it.listener.wait_for(1)
            found = it.listener.changes[0][1]
            assert len(found.metadata.annotations["text"]) == 3_000_000

    run(scenario())


def test_watches_that_end_at_once_without_a_word_lead_to_a_new_list_and_longer_and_longer_waits() -> None:
    async def scenario() -> None:
        rounds: list[Answer] = []
        for _ in range(8):
            rounds += [listed(pod("a", "5")), stream()]
        async with reflecting(*rounds) as it:
            await it.server.wait_for_requests(17)
            base = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
            assert all(low <= wait <= 2 * low for low, wait in zip(base, it.waits.seconds, strict=True))
            assert it.listener.heard == ["+a@5"]

    run(scenario())


def test_a_server_with_too_many_requests_is_asked_again_for_the_same_when_it_said() -> None:
    async def scenario() -> None:
        async with reflecting(
            listed(pod("a", "5")),
            refuse(429, "TooManyRequests", retry_after=7),
            stream(error_event(429, "TooManyRequests"), stays_open=False),
            stream(event("ADDED", pod("b", "11"))),
        ) as it:
            assert await it.listener.wait_for(2) == ["+a@5", "+b@11"]
            assert [request["resourceVersion"] for request in it.server.requests[1:4]] == ["10", "10", "10"]
            assert it.waits.seconds[0] >= 7

    run(scenario())


def test_internal_errors_inside_a_watch_are_sat_out_for_half_a_minute_and_then_lead_to_a_list() -> None:
    failing = stream(error_event(500, "InternalError", "etcd is away"))

    async def scenario() -> None:
        async with reflecting(listed(pod("a", "5")), *[failing] * 6, listed(pod("a", "15"), version="20")) as it:
            assert (await it.listener.wait_for(2))[-1] == "~a@15"
            kinds = ["sendInitialEvents" in request for request in it.server.requests[:8]]
            assert kinds[0]
            assert True in kinds[1:]
            assert kinds[1:4] == [False] * 3

    run(scenario())


def test_a_server_that_fails_with_500_is_asked_again_for_the_list_until_it_answers() -> None:
    async def scenario() -> None:
        failing = refuse(500, "InternalError")
        async with reflecting(failing, failing, failing, failing, listed(pod("a", "5"))) as it:
            assert await it.listener.wait_for(1) == ["+a@5"]
            assert len(it.waits.seconds) == 2

    run(scenario())


def test_a_line_that_is_no_event_leads_to_a_new_list() -> None:
    async def scenario() -> None:
        async with reflecting(listed(pod("a", "5"), then=(b'{"type":"ADDED"}\n',)), listed(pod("a", "15"))) as it:
            assert await it.listener.wait_for(2) == ["+a@5", "~a@15"]

    run(scenario())


def test_objects_of_another_kind_and_unreadable_ones_are_logged_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    bad = pod("bad", "12")
    bad["spec"] = {"priority": "high"}
    node = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "resourceVersion": "11"}}

    async def scenario() -> None:
        changes = (event("ADDED", node), event("ADDED", bad), event("ADDED", pod("good", "13")))
        async with reflecting(listed(then=changes, stays_open=True)) as it:
            with caplog.at_level(logging.ERROR):
                assert await it.listener.wait_for(1) == ["+good@13"]

    run(scenario())
    assert any("found a Node of v1, skipped" in text for text in caplog.messages)
    assert any("default/bad is not readable" in text and "spec.priority" in text for text in caplog.messages)


def test_a_kind_that_the_server_does_not_know_counts_as_empty() -> None:
    async def scenario() -> None:
        unknown = refuse(404, "NotFound", "the server could not find the requested resource")
        async with reflecting(unknown, unknown) as it:
            await it.reflector.synced.wait()
            assert it.listener.heard == []
            await it.server.wait_for_requests(3)
            assert 60.0 in it.waits.seconds

    run(scenario())


def test_a_pod_made_anew_under_the_same_name_is_one_deleted_and_one_added() -> None:
    async def scenario() -> None:
        async with reflecting(
            listed(pod("a", "5", uid="one"), then=(event("MODIFIED", pod("a", "11", uid="two")),), stays_open=True)
        ) as it:
            assert await it.listener.wait_for(3) == ["+a@5", "-a@5", "+a@11"]

    run(scenario())


def test_what_kubectl_leaves_in_a_pod_is_not_kept() -> None:
    applied = pod("a", "5")
    applied["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "x"}

    async def scenario() -> None:
        async with reflecting(listed(applied)) as it:
            await it.listener.wait_for(1)
            found = it.listener.changes[0][1]
            assert isinstance(found, Pod)
            assert found.metadata.annotations == {"team": "x"}

    run(scenario())


def test_a_server_that_is_not_there_is_asked_again_every_three_seconds() -> None:
    async def scenario() -> None:
        clock = FakeClock()
        waits = Waits(clock)
        nobody = ApiClient(Connection("http://127.0.0.1:1"), qps=0)
        reflector = Reflector(nobody, RESOURCES["Pod"], Listener(), rng=random.Random(1), clock=clock, sleep=waits)
        task = asyncio.create_task(reflector.run())
        await waits.wait_for(12)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await nobody.close()
        assert waits.seconds[0] >= 0.8
        assert waits.seconds[5:12] == [3.0] * 7

    run(scenario())
