"""What the client makes of answers, and how fast it asks."""

import asyncio
import gzip
import time
from collections.abc import Coroutine
from typing import Any

import msgspec
import pytest
from aiohttp import web

from nodewise.cluster.live.api_client import ApiClient, environment_proxy
from nodewise.cluster.live.connection import Connection
from nodewise.cluster.live.errors import ApiError, ConnectionFailedError
from tests.live.scripted_server import ScriptedServer, cut, refuse, reply


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(30):
            await scenario

    asyncio.run(limited())


def test_a_refusal_says_why_in_the_words_of_the_server() -> None:
    async def scenario() -> None:
        missing = refuse(404, "NotFound", 'pods "x" not found')
        async with ScriptedServer(missing) as server, ApiClient(server.connection) as client:
            with pytest.raises(ApiError) as caught:
                await client.get("/api/v1/namespaces/default/pods/x")
        error = caught.value
        assert (error.status, error.reason, str(error)) == (404, "NotFound", 'pods "x" not found')
        assert error.is_not_found

    run(scenario())


@pytest.mark.parametrize("body", ["<html>bad gateway</html>", "", '["a list"]', "\x00"])
def test_a_refusal_that_is_no_status_is_told_all_the_same(body: str) -> None:
    async def gateway(request: web.Request) -> web.StreamResponse:
        return web.Response(status=502, text=body)

    async def scenario() -> None:
        async with ScriptedServer(gateway) as server, ApiClient(server.connection) as client:
            with pytest.raises(ApiError) as caught:
                await client.get("/x")
        assert caught.value.status == 502
        assert str(caught.value)

    run(scenario())


def test_a_server_that_says_when_to_ask_again_is_asked_again() -> None:
    async def scenario() -> None:
        busy = refuse(429, "TooManyRequests", "later", retry_after=0)
        async with ScriptedServer(busy, busy, reply({"ok": True})) as server, ApiClient(server.connection) as client:
            assert msgspec.json.decode(await client.post("/x", {"a": 1})) == {"ok": True}
            assert server.bodies == [b'{"a":1}'] * 3

    run(scenario())


def test_a_server_that_is_always_busy_is_given_up_after_ten_more_tries() -> None:
    async def scenario() -> None:
        busy = refuse(503, "ServiceUnavailable", retry_after=0)
        async with ScriptedServer(*[busy] * 20) as server, ApiClient(server.connection) as client:
            with pytest.raises(ApiError):
                await client.get("/x")
            assert len(server.requests) == 11

    run(scenario())


def test_nobody_there_and_no_answer_are_told_apart() -> None:
    async def scenario() -> None:
        async with ApiClient(Connection("http://127.0.0.1:1")) as client:
            with pytest.raises(ConnectionFailedError) as refused:
                await client.post("/x", {})
        assert refused.value.is_refused
        async with ScriptedServer(cut()) as server, ApiClient(server.connection) as client:
            with pytest.raises(ConnectionFailedError) as broken:
                await client.post("/x", {})
        assert not broken.value.is_refused

    run(scenario())


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    async def scenario() -> None:
        async with ScriptedServer() as server, ApiClient(server.connection, timeout_s=0.05) as client:
            with pytest.raises(ConnectionFailedError, match="POST /x: timed out") as caught:
                await client.post("/x", {})
        assert not caught.value.is_refused

    run(scenario())


def test_requests_beyond_the_burst_wait_their_turn() -> None:
    async def scenario() -> None:
        answers = [reply()] * 7
        async with ScriptedServer(*answers) as server, ApiClient(server.connection, qps=50, burst=2) as client:
            began_s = time.monotonic()
            await asyncio.gather(*(client.get("/x") for _ in range(7)))
            # five of them come 20 ms after one another
            assert time.monotonic() - began_s >= 0.1

    run(scenario())


def test_lists_come_compressed_and_other_answers_do_not() -> None:
    async def zipped(request: web.Request) -> web.StreamResponse:
        return web.Response(body=gzip.compress(b'{"kind":"PodList"}'), headers={"Content-Encoding": "gzip"})

    async def scenario() -> None:
        async with ScriptedServer(zipped, reply()) as server, ApiClient(server.connection) as client:
            assert await client.get("/x", is_list=True) == b'{"kind":"PodList"}'
            await client.get("/x")
            asked = [request[":headers"]["Accept-Encoding"] for request in server.requests]
            assert asked == ["gzip", "identity"]

    run(scenario())


def test_the_server_learns_who_asks() -> None:
    async def scenario() -> None:
        async with ScriptedServer(reply()) as server, ApiClient(server.connection) as client:
            await client.get("/x")
            agent = server.requests[0][":headers"]["User-Agent"]
            assert agent.startswith("nodewise/")
            assert agent.endswith(" scheduler")

    run(scenario())


def test_paths_and_queries_arrive_as_they_were_meant() -> None:
    async def scenario() -> None:
        async with ScriptedServer(reply()) as server, ApiClient(server.connection) as client:
            await client.get("/api/v1/pods", {"fieldSelector": "status.phase!=Failed,spec.x=a b&c"})
            assert server.requests[0]["fieldSelector"] == "status.phase!=Failed,spec.x=a b&c"

    run(scenario())


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://cluster.example:6443", "http://proxy:3128"),
        ("http://cluster.example", None),
        ("https://api.inside.example", None),
        ("https://127.0.0.1:6443", None),
        ("https://localhost:6443", None),
    ],
)
def test_proxies_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch, url: str, expected: str | None) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", ".inside.example")
    assert environment_proxy(url) == expected
