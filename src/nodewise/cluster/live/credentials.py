"""Tokens and certificates that change while the process runs: files that rotate, programs that hand them out."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.exec_provider import ExecProvider
from kubernetes_asyncio.config.kube_config import ConfigNode

from nodewise.clock import Clock
from nodewise.cluster.live.errors import KubeconfigError

LOGGER = logging.getLogger("nodewise")
FILE_PERIOD_S = 60.0
"""How long what a file says is good for."""


class FixedHeaders:
    """A token or password that stays the same."""

    def __init__(self, authorization: str) -> None:
        self._headers = {"Authorization": authorization}

    async def headers(self) -> dict[str, str]:
        return self._headers

    def refused(self) -> None:
        """Stay as it is: there is no other."""


class TokenFile:
    """A token in a file that somebody else renews, such as that of a service account; read once a minute."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._headers: dict[str, str] = {}
        self._good_until_s = float("-inf")

    async def headers(self) -> dict[str, str]:
        """Return the newest token; a file that cannot be read for a moment leaves the last one in place."""
        now_s = self._clock.now()
        if now_s >= self._good_until_s:
            self._read()
            self._good_until_s = now_s + FILE_PERIOD_S
        return self._headers

    def _read(self) -> None:
        try:
            token = Path(self._path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            if not self._headers:
                raise KubeconfigError(f"token file {self._path}: {error}") from error
            LOGGER.error("cannot read token file %s: %s", self._path, error)
            return
        if token:
            self._headers = {"Authorization": f"Bearer {token}"}
        elif not self._headers:
            raise KubeconfigError(f"token file {self._path} is empty")

    def refused(self) -> None:
        self._good_until_s = float("-inf")


class CertificateFiles:
    """A client certificate in files that somebody else renews; a TLS context takes on the newest."""

    def __init__(self, tls: ssl.SSLContext, certificate: str, key: str | None, clock: Clock) -> None:
        self._tls = tls
        self._certificate = certificate
        self._key = key
        self._clock = clock
        self._seen = self._stamp()
        self._look_again_s = clock.now() + FILE_PERIOD_S
        self._load()

    async def headers(self) -> dict[str, str]:
        """Return no header; take on a new certificate once a minute."""
        now_s = self._clock.now()
        if now_s >= self._look_again_s:
            self._look_again_s = now_s + FILE_PERIOD_S
            stamp = self._stamp()
            if stamp != self._seen:
                self._seen = stamp
                try:
                    self._load()
                except KubeconfigError as error:
                    LOGGER.error("%s", error)
        return {}

    def refused(self) -> None:
        self._look_again_s = float("-inf")

    def _stamp(self) -> tuple[float, ...]:
        paths = [self._certificate, *([self._key] if self._key else [])]
        return tuple(os.stat(path).st_mtime if os.path.exists(path) else 0.0 for path in paths)

    def _load(self) -> None:
        load_certificate(self._tls, self._certificate, self._key)


def load_certificate(tls: ssl.SSLContext, certificate: str, key: str | None) -> None:
    """Let a TLS context show a client certificate.

    Raises
    ------
    KubeconfigError
        The files are no certificate and its key.
    """
    try:
        tls.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise KubeconfigError(f"client certificate {certificate}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Credential:
    headers: dict[str, str]
    expires: datetime | None


class ExecPlugin:
    """A program that hands out a token or a certificate (client.authentication.k8s.io).

    It is run before the first request, when what it gave has expired, and when the server refuses it.
    """

    def __init__(
        self, config: Mapping[str, Any], tls: ssl.SSLContext | None, now: Callable[[], datetime] | None = None
    ) -> None:
        self._config = config
        self._tls = tls
        self._now = now or (lambda: datetime.now(UTC))
        self._credential: _Credential | None = None
        self._lock = asyncio.Lock()

    async def headers(self) -> dict[str, str]:
        """Return the token, if it is one.

        Raises
        ------
        KubeconfigError
            The program failed, or said something else than a credential.
        """
        known = self._fresh()
        if known is None:
            async with self._lock:
                known = self._fresh()
                if known is None:
                    known = self._credential = await self._run()
        return known.headers

    def refused(self) -> None:
        self._credential = None

    def _fresh(self) -> _Credential | None:
        known = self._credential
        if known is None or (known.expires is not None and self._now() >= known.expires):
            return None
        return known

    async def _run(self) -> _Credential:
        command = self._config.get("command")
        try:
            status = await ExecProvider(ConfigNode("users/exec", dict(self._config))).run()
        except (ConfigException, OSError) as error:
            hint = str(self._config.get("installHint") or "")
            raise KubeconfigError(f"exec plugin {command}: {error}{f' ({hint})' if hint else ''}") from error
        if not isinstance(status, dict):
            raise KubeconfigError(f"exec plugin {command}: status is {status!r}, expected a mapping")
        if status.get("clientCertificateData"):
            self._take_certificate(str(status["clientCertificateData"]), str(status.get("clientKeyData") or ""))
        elif not status.get("token"):
            raise KubeconfigError(f"exec plugin {command}: found neither a token nor a certificate in its answer")
        token = status.get("token")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return _Credential(headers, _time(str(command), status.get("expirationTimestamp")))

    def _take_certificate(self, certificate: str, key: str) -> None:
        if self._tls is None:
            return
        with tempfile.TemporaryDirectory(prefix="nodewise-") as folder:
            certificate_file, key_file = Path(folder, "certificate"), Path(folder, "key")
            certificate_file.write_text(certificate)
            key_file.write_text(key)
            load_certificate(self._tls, str(certificate_file), str(key_file))


def _time(command: str, text: object) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(str(text))
    except ValueError as error:
        raise KubeconfigError(
            f"exec plugin {command}: expirationTimestamp is {text!r}, expected a time such as 2026-01-01T00:00:00Z"
        ) from error


class RenewedToken:
    """A token that a library fetches from an identity provider (oidc, gcp) and renews when asked."""

    def __init__(self, fetch: Callable[[], Awaitable[str]], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._headers: dict[str, str] = {}
        self._look_again_s = float("-inf")
        self._lock = asyncio.Lock()

    async def headers(self) -> dict[str, str]:
        """Return the token; once a minute the library is asked whether it is still good."""
        if self._clock.now() >= self._look_again_s:
            async with self._lock:
                if self._clock.now() >= self._look_again_s:
                    self._headers = {"Authorization": await self._fetch()}
                    self._look_again_s = self._clock.now() + FILE_PERIOD_S
        return self._headers

    def refused(self) -> None:
        self._look_again_s = float("-inf")
