"""What can go wrong between this process and an API server."""

from __future__ import annotations

import msgspec

from nodewise.errors import NodewiseError


class KubeconfigError(NodewiseError):
    """It is not said, or not usable, where the cluster is and who asks."""


class RequestError(NodewiseError):
    """A request did not do what was asked.

    Attributes
    ----------
    request
        Method and path.
    """

    def __init__(self, request: str, text: str) -> None:
        super().__init__(text)
        self.request = request


class ApiError(RequestError):
    """The API server refused a request.

    Attributes
    ----------
    status : int
        The HTTP status.
    reason : str
        What a program is to make of it: NotFound, AlreadyExists, Conflict, Expired, TooManyRequests, ...
    message : str
        The server's words.
    retry_after_s : float | None
        When to ask again, if the server said so.
    """

    def __init__(
        self, request: str, status: int, reason: str, message: str, retry_after_s: float | None = None
    ) -> None:
        super().__init__(request, message or f"{request}: HTTP status {status}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_s = retry_after_s

    @property
    def is_not_found(self) -> bool:
        return self.status == 404

    @property
    def is_conflict(self) -> bool:
        """Whether somebody else was first: another resource version, another uid, a pod bound already."""
        return self.status == 409

    @property
    def is_expired(self) -> bool:
        """Whether the resource version asked for is too old."""
        return self.status == 410

    @property
    def is_too_large_resource_version(self) -> bool:
        """Whether the server has not seen the resource version yet: another replica, or restored from a backup."""
        return self.status == 504 and "Too large resource version" in self.message

    @property
    def is_too_many_requests(self) -> bool:
        return self.status == 429

    @property
    def is_internal(self) -> bool:
        return self.status == 500

    @property
    def is_invalid(self) -> bool:
        """Whether the server does not take such a request, or not with these parameters."""
        return self.status in (400, 422)


class ConnectionFailedError(RequestError):
    """There was no answer; the server may have done what was asked all the same.

    Attributes
    ----------
    is_refused : bool
        Nobody listens there, so nothing was done.
    """

    def __init__(self, request: str, text: str, *, is_refused: bool = False) -> None:
        super().__init__(request, text)
        self.is_refused = is_refused


class StreamError(RequestError):
    """A watch ended in a way that calls for a new list."""


class _Details(msgspec.Struct, rename="camel"):
    retry_after_seconds: int = 0


class StatusBody(msgspec.Struct, rename="camel"):
    """The API's Status object."""

    kind: str = ""
    reason: str = ""
    message: str = ""
    code: int = 0
    details: _Details | None = None


_STATUS = msgspec.json.Decoder(StatusBody)
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Gone",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def api_error(request: str, status: int, body: bytes | msgspec.Raw, retry_after: str | None = None) -> ApiError:
    """Return what a body says that should be a Status, and may be anything.

    Parameters
    ----------
    status : int
        The HTTP status; 0: it is the one of the body, as in a watch.
    retry_after : str | None
        The header of this name.
    """
    try:
        found = _STATUS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = StatusBody(message=bytes(body)[:200].decode(errors="replace").strip())
    status = status or found.code or 500
    seconds: float | None = None
    if retry_after is not None and retry_after.isdecimal():
        seconds = float(retry_after)
    elif found.details is not None and found.details.retry_after_seconds > 0:
        seconds = float(found.details.retry_after_seconds)
    return ApiError(request, status, found.reason or _REASONS.get(status, ""), found.message, seconds)
