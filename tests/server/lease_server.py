"""An API server in memory that knows Leases and Events: create, read, replace with a check of the version."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nodewise.cluster.live.errors import ApiError, ConnectionFailedError


@dataclass(frozen=True)
class Network:
    """What happens to one request.

    Attributes
    ----------
    there_s, back_s : float
        How long it and its answer are under way.
    is_lost : bool
        The request never arrives.
    is_answer_lost : bool
        It is done, but nobody hears of it.
    """

    there_s: float = 0.0
    back_s: float = 0.0
    is_lost: bool = False
    is_answer_lost: bool = False


GOOD = Network()


class LeaseServer:
    """The server; see `client` for the way to it."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self._version = 0

    def client(self, network: Callable[[], Network] = lambda: GOOD, timeout_s: float = 5.0) -> LeaseServerClient:
        return LeaseServerClient(self, network, timeout_s)

    def answer(self, method: str, path: str, body: Any) -> bytes:
        if path.endswith("/events"):
            self.events.append(body)
            return b"{}"
        if method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                raise ApiError(path, 409, "AlreadyExists", "already exists")
            return self._store(path, {**body["metadata"], "uid": "lease-uid"}, body["spec"])
        found = self.objects.get(path)
        if found is None:
            raise ApiError(path, 404, "NotFound", f"{path} not found")
        if method == "GET":
            return json.dumps(found).encode()
        if body["metadata"]["resourceVersion"] != found["metadata"]["resourceVersion"]:
            raise ApiError(path, 409, "Conflict", "the object has been modified")
        return self._store(path, body["metadata"], body["spec"])

    def _store(self, path: str, metadata: dict[str, Any], spec: dict[str, Any]) -> bytes:
        self._version += 1
        self.objects[path] = {"metadata": {**metadata, "resourceVersion": str(self._version)}, "spec": spec}
        return json.dumps(self.objects[path]).encode()


class LeaseServerClient:
    """One process's way to the server."""

    def __init__(self, server: LeaseServer, network: Callable[[], Network], timeout_s: float) -> None:
        self.server = server
        self.network = network
        self.timeout_s = timeout_s
        self.log: list[str] = []

    async def get(self, path: str) -> bytes:
        return await self._request("GET", path, None)

    async def post(self, path: str, body: Any) -> bytes:
        return await self._request("POST", path, body)

    async def put(self, path: str, body: Any) -> bytes:
        return await self._request("PUT", path, body)

    async def _request(self, method: str, path: str, body: Any) -> bytes:
        self.log.append(method)
        body = json.loads(json.dumps(body))
        loop, network = asyncio.get_running_loop(), self.network()
        answer: asyncio.Future[bytes] = loop.create_future()

        def arrive() -> None:
            # The request is done even when the one who sent it has stopped waiting.
            try:
                result: bytes | ApiError = self.server.answer(method, path, body)
            except ApiError as error:
                result = error
            if not network.is_answer_lost:
                loop.call_later(network.back_s, deliver, result)

        def deliver(result: bytes | ApiError) -> None:
            if answer.done():
                return
            if isinstance(result, ApiError):
                answer.set_exception(result)
            else:
                answer.set_result(result)

        if not network.is_lost:
            loop.call_later(network.there_s, arrive)
        try:
            async with asyncio.timeout(self.timeout_s):
                return await answer
        except TimeoutError as error:
            raise ConnectionFailedError(path, f"{method} {path}: timed out") from error
