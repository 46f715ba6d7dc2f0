"""The HTTPS endpoint: health, metrics, configuration; who may see what is asked first."""

from __future__ import annotations

import json
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from nodewise.cluster.live.errors import RequestError
from nodewise.errors import NodewiseError
from nodewise.server.authentication import Authenticator, Credentials, UnauthenticatedError
from nodewise.server.authorization import Authorizer
from nodewise.server.users import User
from nodewise.state.log_message import LogMessage

LOGGER = logging.getLogger("nodewise.http")
Handler = Callable[[web.Request], Awaitable[web.Response]]
SHUTDOWN_S = 5.0
MAX_BODY_BYTES = 64 * 1024
_COMMON_HEADERS = {"Cache-Control": "no-cache, private"}
_TEXT = "text/plain; charset=utf-8"
_PRETTY_FOR = ("curl", "Wget", "Mozilla/5.0")


class ListenError(NodewiseError):
    """The address to listen on cannot be had."""


class HttpServer:
    """Serves handlers by path, to those who may see them.

    Paths match exactly; any other is not found, for those who may ask.

    Parameters
    ----------
    handlers : Mapping[str, Handler]
        By path.
    authenticator : Authenticator
    authorizer : Authorizer
    """

    def __init__(self, handlers: Mapping[str, Handler], authenticator: Authenticator, authorizer: Authorizer) -> None:
        self._handlers = dict(handlers)
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Listen; `port` says where after that, which for 0 is some free port.

        Raises
        ------
        ListenError
        """
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = runner = web.AppRunner(
            app, access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_S, keepalive_timeout=90.0
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, host or None, port, ssl_context=tls, backlog=128).start()
        except OSError as error:
            await self.stop()
            raise ListenError(f"failed to listen on {host}:{port}: {error.strerror or error}") from error
        self.port = runner.addresses[0][1]
        LOGGER.info(LogMessage("Serving securely", address=f"{host}:{self.port}"))

    async def stop(self) -> None:
        """Stop listening; requests under way have five seconds to end."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _serve(self, request: web.Request) -> web.Response:
        try:
            response = await self._answer(request)
        except Exception as error:  # a handler's bug is not to look like a broken connection
            LOGGER.error(LogMessage("A handler failed", path=request.path, err=str(error)), exc_info=error)
            response = plain_error(request, 500, "Internal Server Error")
        response.headers.update(_COMMON_HEADERS)
        return response

    async def _answer(self, request: web.Request) -> web.Response:
        try:
            user = await self._authenticator.user(_credentials(request))
        except UnauthenticatedError as error:
            LOGGER.info(LogMessage("Unable to authenticate the request", err=str(error)))
            return status_answer(request, 401, "Unauthorized", "Unauthorized")
        verb = request.method.lower()
        try:
            is_allowed, reason = await self._authorizer.allows(user, verb, request.path)
        except RequestError as error:
            text = f'Internal Server Error: "{_escaped(request.path_qs)}": {_escaped(str(error))}'
            return plain_error(request, 500, text)
        if not is_allowed:
            return forbidden(request, user, verb, reason)
        handler = self._handlers.get(request.path)
        if handler is None:
            return plain_error(request, 404, "404 page not found")
        return await handler(request)


def text_answer(text: str, *, status: int = 200, content_type: str = _TEXT, is_sniffable: bool = True) -> web.Response:
    """Return an answer in words."""
    headers = {"Content-Type": content_type}
    if not is_sniffable:
        headers["X-Content-Type-Options"] = "nosniff"
    return web.Response(body=text.encode(), status=status, headers=headers)


def plain_error(request: web.Request, status: int, text: str) -> web.Response:
    """Return what Go's http.Error writes."""
    return text_answer(f"{text}\n", status=status, is_sniffable=False)


def status_answer(
    request: web.Request, code: int, reason: str, message: str, *, details: Mapping[str, Any] | None = None
) -> web.Response:
    """Return a failure as the API's Status object; people get it on several lines."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **({} if details is None else {"details": details}),
        "code": code,
    }
    is_pretty = request.headers.get("User-Agent", "").startswith(_PRETTY_FOR)
    text = json.dumps(body, indent=2) if is_pretty else json.dumps(body, separators=(",", ":")) + "\n"
    return web.Response(body=text.encode(), status=code, headers={"Content-Type": "application/json"})


def forbidden(request: web.Request, user: User, verb: str, reason: str) -> web.Response:
    """Return that somebody may not see a path (ForbiddenStatusError)."""
    message = _escaped(f"User {_quoted(user.name)} cannot {verb} path {_quoted(request.path)}")
    if reason:
        message = f"{message}: {reason}"
    answer = status_answer(request, 403, "Forbidden", f"forbidden: {message}", details={})
    answer.headers["X-Content-Type-Options"] = "nosniff"
    return answer


def _credentials(request: web.Request) -> Credentials:
    headers: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        headers.setdefault(name.lower(), []).append(value)
    tls = request.transport.get_extra_info("ssl_object") if request.transport is not None else None
    return Credentials(headers, tls.getpeercert(binary_form=True) if tls is not None else None)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
