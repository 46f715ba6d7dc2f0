"""Sends requests to an API server: JSON over one pool of connections, no faster than the client is allowed to."""

from __future__ import annotations

import asyncio
import math
import platform
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
from yarl import URL

from nodewise import __version__
from nodewise.caches.token_bucket import TokenBucket
from nodewise.clock import Clock, SystemClock
from nodewise.cluster.live.connection import Connection
from nodewise.cluster.live.errors import ApiError, ConnectionFailedError, RequestError, api_error

JSON = "application/json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
MERGE_PATCH = "application/merge-patch+json"
REQUEST_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10.0
MAX_IN_FLIGHT = 64
"""Requests under way at once, watches not counted: each has a connection of its own."""
MAX_RETRIES = 10
"""How often a request is sent again because the server said when (client-go's maxRetries)."""
_READ_BUFFER_BYTES = 2**20
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 3))


def user_agent(component: str = "scheduler") -> str:
    """Return how this process names itself, in the form of kube-scheduler's own name."""
    return f"nodewise/{__version__} ({platform.system().lower()}/{platform.machine()}) {component}"


class ApiClient:
    """A client of one API server.

    Requests wait until the limit of the client lets them go (clientConnection.qps and burst), as client-go's do. An
    answer that says when to ask again (429 and 5xx with Retry-After) is obeyed. Everything else that goes wrong is
    raised: `ApiError`, or `ConnectionFailedError` when there was no answer.

    Parameters
    ----------
    connection : Connection
    qps : float
        Requests a second in the long run; 0 or less: no limit.
    burst : int
        Requests at once.
    agent : str
    timeout_s : float
        How long a request may take, that of a watch excepted.
    clock : Clock
        What the limit goes by.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        qps: float = 50.0,
        burst: int = 100,
        agent: str = "",
        timeout_s: float = REQUEST_TIMEOUT_S,
        clock: Clock | None = None,
    ) -> None:
        self.connection = connection
        self._limit = TokenBucket(qps, burst, clock or SystemClock()) if qps > 0 else None
        self._agent = agent or user_agent()
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_TIMEOUT_S)
        self._in_flight = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._proxy = connection.proxy or environment_proxy(connection.base_url)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> ApiClient:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            # what was cut is gone only after the loop's next turn
            await asyncio.sleep(0)

    # --- requests -----------------------------------------------------------------------------------------------------

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, is_list: bool = False) -> bytes:
        """Return what is at a path; large answers to lists come compressed."""
        return await self.request("GET", path, query=query, is_compressed=is_list)

    async def post(self, path: str, body: Any) -> bytes:
        """Create something."""
        return await self.request("POST", path, body=body)

    async def put(self, path: str, body: Any) -> bytes:
        """Replace something."""
        return await self.request("PUT", path, body=body)

    async def patch(self, path: str, body: Any, *, content_type: str = STRATEGIC_MERGE_PATCH) -> bytes:
        """Change something in part."""
        return await self.request("PATCH", path, body=body, content_type=content_type)

    async def delete(self, path: str, body: Any = None) -> bytes:
        """Delete something."""
        return await self.request("DELETE", path, body=body)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        is_compressed: bool = False,
    ) -> bytes:
        """Send a request and return the body of the answer.

        Parameters
        ----------
        path : str
            From `/api` or `/apis` on.
        body : Any
            Bytes as they are; anything else as JSON.

        Raises
        ------
        ApiError
            The server refused.
        ConnectionFailedError
            There was no answer in time.
        """
        data = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        headers = {"Accept": JSON, "Accept-Encoding": "gzip" if is_compressed else "identity"}
        if data is not None:
            headers["Content-Type"] = content_type
        n_retries = 0
        while True:
            try:
                return await self._send(method, path, query, data, headers)
            except ApiError as error:
                wait_s = _retry_after_s(error)
                n_retries += 1
                if wait_s is None or n_retries > MAX_RETRIES:
                    raise
                await asyncio.sleep(wait_s)

    async def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, data: bytes | None, headers: dict[str, str]
    ) -> bytes:
        await self._wait_for_turn()
        name = f"{method} {path}"
        async with self._in_flight:
            try:
                async with self._open(method, self._url(path, query), data, headers, self._timeout) as response:
                    answer = await response.read()
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise _no_answer(name, error) from error
        if response.status >= 400:
            raise self._refusal(name, response, answer)
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str], *, idle_timeout_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch and give the parts of its answer as they come, cut anywhere.

        Parameters
        ----------
        idle_timeout_s : float
            A stream that is silent for longer is taken for dead.

        Raises
        ------
        ApiError
            The server refused.
        ConnectionFailedError
            There was no answer, or the stream broke off.
        """
        await self._wait_for_turn()
        name = f"WATCH {path}"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=idle_timeout_s)
        headers = {"Accept": JSON, "Accept-Encoding": "identity"}
        try:
            async with self._open("GET", self._url(path, query), None, headers, timeout) as response:
                if response.status >= 400:
                    raise self._refusal(name, response, await response.read())
                try:
                    yield response.content.iter_any()
                finally:
                    _cut(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _no_answer(name, error) from error

    # --- how ----------------------------------------------------------------------------------------------------------

    async def _wait_for_turn(self) -> None:
        if self._limit is None:
            return
        wait_s = self._limit.reserve()
        if wait_s > 0:
            await asyncio.sleep(wait_s if wait_s != math.inf else 3600.0)

    @asynccontextmanager
    async def _open(
        self, method: str, url: URL, data: bytes | None, headers: dict[str, str], timeout: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        connection = self.connection
        headers.update(await connection.credentials.headers())
        async with self._open_session().request(
            method,
            url,
            data=data,
            headers=headers,
            timeout=timeout,
            proxy=self._proxy,
            server_hostname=connection.server_name,
            allow_redirects=False,
        ) as response:
            yield response

    def _url(self, path: str, query: Mapping[str, str] | None) -> URL:
        text = f"{self.connection.base_url}{path}"
        if query:
            text = f"{text}?{urlencode(query)}"
        return URL(text, encoded=True)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0, ssl=self.connection.tls or False, keepalive_timeout=60.0, socket_factory=_socket
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers={"User-Agent": self._agent},
                read_bufsize=_READ_BUFFER_BYTES,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def _refusal(self, name: str, response: aiohttp.ClientResponse, answer: bytes) -> ApiError:
        if response.status == 401:
            self.connection.credentials.refused()
        return api_error(name, response.status, answer, response.headers.get("Retry-After"))


def _cut(response: aiohttp.ClientResponse) -> None:
    """Drop the connection of a stream that nobody reads to its end, without TLS's long farewell."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


def environment_proxy(url: str) -> str | None:
    """Return the proxy that $HTTPS_PROXY, $HTTP_PROXY and $NO_PROXY mean for a server; never one for this machine.

    Looked up once, not for every request as aiohttp would.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1" or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


def _socket(address: Any) -> socket.socket:
    """Make a socket that notices within about a minute when the other side is gone without a word."""
    made = socket.socket(address[0], address[1], address[2])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


def _retry_after_s(error: ApiError) -> float | None:
    """Return when the server wants to be asked again; None: it did not say so (request.go's WithRetry)."""
    if error.retry_after_s is None or not (error.is_too_many_requests or error.status >= 500):
        return None
    return error.retry_after_s


def _no_answer(name: str, error: Exception) -> RequestError:
    is_refused = isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ConnectionRefusedError)
    words = "timed out" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
    return ConnectionFailedError(name, f"{name}: {words}", is_refused=is_refused)
