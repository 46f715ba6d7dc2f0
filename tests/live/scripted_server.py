"""A small HTTP server whose answers a test writes down beforehand: for what no real API server does on demand."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Self

from aiohttp import web

from nodewise.cluster.live.connection import Connection

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ScriptedServer:
    """Gives its answers one after another, whatever is asked; after the last one it lets everybody wait.

    Attributes
    ----------
    requests : list[dict[str, str]]
        The query of each request, with its method, path and headers under `:method`, `:path` and `:headers`.
    bodies : list[bytes]
    """

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._answers = list(answers)
        self._asked = asyncio.Condition()
        self._end = asyncio.Event()
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.connection = Connection("")

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=2**26)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.connection = Connection(f"{'http' if self._tls is None else 'https'}://{host}:{port}")
        return self

    async def __aexit__(self, *problem: object) -> None:
        self._end.set()
        await self._runner.cleanup()

    async def wait_for_requests(self, n: int) -> None:
        """Wait until so many requests have come."""
        async with self._asked:
            await self._asked.wait_for(lambda: len(self.requests) >= n)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        special = {":method": request.method, ":path": request.path, ":headers": dict(request.headers)}
        body = await request.read()
        async with self._asked:
            self.requests.append({**request.query, **special})
            self.bodies.append(body)
            self._asked.notify_all()
        if self._answers:
            return await self._answers.pop(0)(request)
        await self._end.wait()
        return web.Response(status=503)


def reply(body: Any = None, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """Answer with JSON."""

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(body if body is not None else {}, status=status, headers=headers)

    return answer


def refuse(status: int, reason: str, message: str = "", *, retry_after: int | None = None) -> Answer:
    """Answer with a Status object."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return reply(status_object(status, reason, message), status, headers)


def stream(*parts: bytes | dict[str, Any], is_cut: bool = False, stays_open: bool = False) -> Answer:
    """Answer with the parts of a watch, bytes as they are and events as lines.

    Parameters
    ----------
    is_cut : bool
        Whether the connection breaks off after the last part.
    stays_open : bool
        Whether nothing more comes, and no end.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for part in parts:
            await response.write(part if isinstance(part, bytes) else line(part))
            await asyncio.sleep(0)
        if stays_open:
            await asyncio.Event().wait()
        if is_cut and request.transport is not None:
            request.transport.abort()
        return response

    return answer


def cut() -> Answer:
    """Break the connection off without an answer."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return answer


def line(event: dict[str, Any]) -> bytes:
    """Return an event as a watch sends it."""
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def event(change: str, obj: dict[str, Any]) -> dict[str, Any]:
    return {"type": change, "object": obj}


def bookmark(version: str, *, ends_list: bool = False) -> dict[str, Any]:
    metadata: dict[str, Any] = {"resourceVersion": version}
    if ends_list:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": metadata})


def error_event(status: int, reason: str, message: str = "") -> dict[str, Any]:
    return event("ERROR", status_object(status, reason, message))


def status_object(status: int, reason: str, message: str = "") -> dict[str, Any]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": status,
        "reason": reason,
        "message": message,
    }


def pod(name: str, version: str, *, uid: str = "", **spec: Any) -> dict[str, Any]:
    """Return a pod as an API server would write it."""
    metadata = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": version}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def pod_list(version: str, items: Sequence[dict[str, Any]], *, continuation: str = "") -> dict[str, Any]:
    metadata = {"resourceVersion": version}
    if continuation:
        metadata["continue"] = continuation
    return {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": list(items)}
