"""POST requests to an extender: kept connections, one time limit for the whole call, Go's words for what goes wrong."""

from __future__ import annotations

import re
import socket
import ssl
import time
from http.client import BadStatusLine, RemoteDisconnected
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    InsecureRequestWarning,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    TimeoutError as Urllib3TimeoutError,
)

from nodewise import __version__
from nodewise.cluster.extender_tls import tls_context
from nodewise.config.go_text import quote
from nodewise.config.model import Extender as ExtenderConfig
from nodewise.framework.extender import ExtenderError

DEFAULT_TIMEOUT_S = 5.0
MAX_REDIRECTS = 10
_HEADERS = {
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
    "User-Agent": f"nodewise/{__version__}",
}
_KEPT_CONNECTIONS = 4
_CHUNK_BYTES = 1 << 16
_AS_GET = frozenset({301, 302, 303})
_REDIRECTS = _AS_GET | {307, 308}
# OpenSSL's X509_V_ERR codes: self-signed, or the issuer is not known; expired; not made out to the host.
_UNKNOWN_ISSUER = frozenset({18, 19, 20, 21})
_EXPIRED, _HOST_MISMATCH, _IP_MISMATCH = 10, 62, 64
_ALERT = re.compile(r"^(?:tls|ssl)v[0-9.]+ alert ")
_AWAITING = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
_READING = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"


class ExtenderTransport:
    """Sends bodies to the verbs of one extender.

    Raises
    ------
    ExtenderError
        The TLS configuration cannot be used.
    """

    def __init__(self, config: ExtenderConfig) -> None:
        self._prefix = config.url_prefix.rstrip("/")
        self._timeout_s = config.http_timeout_ns / 1e9 or DEFAULT_TIMEOUT_S
        self._tls = tls_context(config)
        self._server_name = config.tls_config.server_name if config.tls_config is not None else ""
        self._pools: dict[str, urllib3.PoolManager] = {}

    def send(self, verb: str, body: bytes) -> bytes:
        """Return what the extender replies to a body; it is asked once.

        Raises
        ------
        ExtenderError
            In the words of kube-scheduler: no reply in time, none at all, or one with a status other than 200.
        """
        url = f"{self._prefix}/{verb}"
        deadline_s = time.monotonic() + self._timeout_s
        try:
            response = self._follow("POST", url, body, deadline_s)
        except _FailedError as error:
            raise ExtenderError(f"{error.method} {quote(error.url)}: {error}") from error.__cause__
        try:
            if response.status != 200:
                raise ExtenderError(f"failed {verb} with extender at URL {url}, code {response.status}")
            return _read(response, deadline_s)
        finally:
            response.release_conn()

    def _follow(self, method: str, url: str, body: bytes | None, deadline_s: float) -> urllib3.BaseHTTPResponse:
        """Return the first response that leads nowhere else (http.Client.Do)."""
        for _ in range(MAX_REDIRECTS):
            response = self._request(method, url, body, deadline_s)
            if response.status not in _REDIRECTS:
                return response
            location = response.headers.get("Location")
            response.close()
            if location is None:
                if response.status not in _AS_GET:
                    return response
                raise _FailedError(method, url, f"{response.status} response missing Location header")
            url = urljoin(url, location)
            if response.status in _AS_GET:
                method, body = "GET", None
        raise _FailedError(method, url, f"stopped after {MAX_REDIRECTS} redirects")

    def _request(self, method: str, url: str, body: bytes | None, deadline_s: float) -> urllib3.BaseHTTPResponse:
        parts = _checked(method, url)
        timeout = urllib3.Timeout(total=max(deadline_s - time.monotonic(), 0.001))
        headers = _HEADERS if body is not None else {k: v for k, v in _HEADERS.items() if k != "Content-Type"}
        try:
            return self._pool(parts).urlopen(
                method,
                url,
                body=body,
                headers=headers,
                timeout=timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (HTTPError, OSError, ValueError) as error:
            raise _FailedError(method, url, _go_text(error, parts)) from error

    def _pool(self, parts: SplitResult) -> urllib3.PoolManager:
        proxy = _proxy_of(parts)
        pool = self._pools.get(proxy)
        if pool is None:
            options: dict[str, Any] = {"maxsize": _KEPT_CONNECTIONS, "ssl_context": self._tls}
            if self._server_name:
                options |= {"server_hostname": self._server_name, "assert_hostname": self._server_name}
            if self._tls is not None and self._tls.verify_mode is ssl.CERT_NONE:
                options |= {"assert_hostname": False, "cert_reqs": "CERT_NONE"}
                urllib3.disable_warnings(InsecureRequestWarning)  # it is what the configuration asks for
            pool = urllib3.ProxyManager(proxy, **options) if proxy else urllib3.PoolManager(**options)
            self._pools[proxy] = pool
        return pool


class _FailedError(Exception):
    """A request that got no response."""

    def __init__(self, method: str, url: str, text: str) -> None:
        super().__init__(text)
        self.method = method.capitalize()
        self.url = url


def _checked(method: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ExtenderError(f"parse {quote(url)}: {error}") from error
    if parts.scheme not in ("http", "https"):
        raise _FailedError(method, url, f"unsupported protocol scheme {quote(parts.scheme)}")
    if not parts.hostname:
        raise _FailedError(method, url, "http: no Host in request URL")
    return parts


def _proxy_of(parts: SplitResult) -> str:
    """Return the proxy that the environment names for a URL; none for this machine, as in Go."""
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return ""
    proxies = getproxies_environment()
    if parts.scheme not in proxies or proxy_bypass(parts.netloc):
        return ""
    return proxies[parts.scheme]


def _read(response: urllib3.BaseHTTPResponse, deadline_s: float) -> bytes:
    chunks: list[bytes] = []
    try:
        while True:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise ExtenderError(_READING)
            connection = response.connection
            sock = getattr(connection, "sock", None)
            if sock is not None:
                sock.settimeout(left_s)
            chunk = response.read(_CHUNK_BYTES)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)
    except (ReadTimeoutError, TimeoutError) as error:
        response.close()
        raise ExtenderError(_READING) from error
    except ExtenderError:
        response.close()
        raise
    except (HTTPError, OSError) as error:
        response.close()
        raise ExtenderError("unexpected EOF") from error


def _go_text(error: Exception, parts: SplitResult) -> str:
    """Say what net/http says of such an error."""
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    cause = _innermost(error)
    if isinstance(error, NameResolutionError):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(cause, ssl.SSLError):
        return _tls_problem(cause, host)
    if isinstance(error, NewConnectionError):
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        return f"dial tcp {_address(host, port)}: connect: {reason.lower()}"
    if isinstance(error, ConnectTimeoutError):
        return f"dial tcp {_address(host, port)}: i/o timeout (Client.Timeout exceeded while awaiting headers)"
    if isinstance(error, Urllib3TimeoutError) or isinstance(cause, TimeoutError):
        return _AWAITING
    if isinstance(cause, RemoteDisconnected):
        return "EOF"
    if isinstance(cause, (ConnectionResetError, BrokenPipeError)):
        return f"read tcp {_address(host, port)}: read: connection reset by peer"
    if isinstance(cause, BadStatusLine):
        line = quote(str(cause.args[0]).strip())
        return f"net/http: HTTP/1.x transport connection broken: malformed HTTP response {line}"
    return str(cause)


def _tls_problem(error: ssl.SSLError, host: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"tls: failed to verify certificate: {_certificate_problem(error, host)}"
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "http: server gave HTTP response to HTTPS client"
    if isinstance(error, ssl.SSLEOFError):
        return "EOF"
    return f"remote error: tls: {_ALERT.sub('', (error.reason or str(error)).lower().replace('_', ' '))}"


def _innermost(error: BaseException) -> BaseException:
    """Return what urllib3 wraps."""
    seen = {id(error)}
    while True:
        inner = error.__cause__ or error.__context__
        if inner is None and isinstance(error, (ProtocolError, HTTPError)):
            inner = next((item for item in error.args if isinstance(item, BaseException)), None)
        if inner is None or id(inner) in seen:
            return error
        seen.add(id(inner))
        error = inner


def _certificate_problem(error: ssl.SSLCertVerificationError, host: str) -> str:
    code, text = error.verify_code, error.verify_message
    if code in _UNKNOWN_ISSUER:
        return "x509: certificate signed by unknown authority"
    if code == _EXPIRED:
        return "x509: certificate has expired or is not yet valid"
    if code == _IP_MISMATCH:
        return f"x509: cannot validate certificate for {host} because it doesn't contain any IP SANs"
    if code == _HOST_MISMATCH:
        return f"x509: certificate is not valid for {host}"
    return f"x509: {text}"


def _address(host: str, port: int) -> str:
    """Return where a connection was tried, as Go writes it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0]
    except OSError:
        found = host
    return f"[{found}]:{port}" if ":" in str(found) else f"{found}:{port}"
