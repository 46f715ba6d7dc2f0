"""Where an API server is and how this process shows who it is."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Protocol


class Credentials(Protocol):
    """What a request carries to show whose it is."""

    async def headers(self) -> dict[str, str]:
        """Return the headers as they have to be now; renews what has expired."""
        ...

    def refused(self) -> None:
        """Learn that the server did not take them: they are fetched anew for the next request."""
        ...


class NoHeaders:
    """Nothing to carry: a client certificate says it all, or nobody asks."""

    async def headers(self) -> dict[str, str]:
        return {}

    def refused(self) -> None:
        """Stay as it is."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach an API server.

    Attributes
    ----------
    base_url : str
        Scheme, host, port and perhaps a path, without a slash at the end.
    tls : ssl.SSLContext | None
        None for plain HTTP. May take on a new client certificate over time.
    credentials : Credentials
    server_name : str | None
        The name that the server's certificate has, where it is not that of the URL.
    proxy : str | None
        The URL of an HTTP proxy.
    namespace : str
        The one that the context names.
    """

    base_url: str
    tls: ssl.SSLContext | None = None
    credentials: Credentials = field(default_factory=NoHeaders)
    server_name: str | None = None
    proxy: str | None = None
    namespace: str = "default"
