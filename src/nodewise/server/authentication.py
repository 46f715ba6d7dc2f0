"""Finds out who asks: by proxy headers, client certificate, or bearer token (delegating authentication)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from nodewise.caches.expiring_lru import ExpiringLRUCache
from nodewise.clock import Clock
from nodewise.cluster.live.errors import RequestError
from nodewise.errors import NodewiseError
from nodewise.server.users import ANYBODY, AUTHENTICATED, ReviewClient, User, review_token
from nodewise.state.log_message import LogMessage

LOGGER = logging.getLogger("nodewise.authentication")
CACHED_TOKENS = 1024
REVIEW_TRIES, REVIEW_RETRY_S = 3, 0.5


class UnauthenticatedError(NodewiseError):
    """What somebody shows does not prove who they are."""


@dataclass(frozen=True, slots=True)
class TrustedCerts:
    """Whose certificates say who asks.

    Attributes
    ----------
    client_ca : tuple[x509.Certificate, ...]
        Of users.
    proxy_ca : tuple[x509.Certificate, ...]
        Of proxies, which name the user in headers.
    proxy_names : tuple[str, ...]
        Common names of proxies; none: all that the CA knows.
    username_headers, uid_headers, group_headers, extra_prefixes : tuple[str, ...]
    """

    client_ca: tuple[x509.Certificate, ...] = ()
    proxy_ca: tuple[x509.Certificate, ...] = ()
    proxy_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ("x-remote-user",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)

    @classmethod
    def of_config_map(cls, body: bytes) -> TrustedCerts:
        """Return what ConfigMap kube-system/extension-apiserver-authentication says.

        Raises
        ------
        ValueError
            It is not readable.
        """
        data = msgspec.json.decode(body).get("data") or {}

        def names(key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
            return tuple(json.loads(data[key])) if data.get(key) else tuple(default)

        return cls(
            client_ca=read_certificates(data.get("client-ca-file", "")),
            proxy_ca=read_certificates(data.get("requestheader-client-ca-file", "")),
            proxy_names=names("requestheader-allowed-names"),
            username_headers=names("requestheader-username-headers", cls().username_headers),
            uid_headers=names("requestheader-uid-headers"),
            group_headers=names("requestheader-group-headers", cls().group_headers),
            extra_prefixes=names("requestheader-extra-headers-prefix", cls().extra_prefixes),
        )


def read_certificates(pem: str | bytes) -> tuple[x509.Certificate, ...]:
    """Read all certificates of a bundle.

    Raises
    ------
    ValueError
        It is not PEM.
    """
    data = pem.encode() if isinstance(pem, str) else pem
    return tuple(x509.load_pem_x509_certificates(data)) if data.strip() else ()


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request shows.

    Attributes
    ----------
    headers : Mapping[str, Sequence[str]]
        By name in lower case.
    certificate : bytes | None
        The client's, as DER; the TLS layer has checked its chain.
    """

    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    certificate: bytes | None = None


class Authenticator:
    """Tells who asks.

    Parameters
    ----------
    client : ReviewClient | None
        Reviews tokens; None: tokens prove nothing, and are not looked at.
    clock : Clock
    cache_ttl_s : float
        How long the answer about a token is good for (`--authentication-token-webhook-cache-ttl`).

    Attributes
    ----------
    certs : TrustedCerts
        May be replaced at any time.
    """

    def __init__(
        self, client: ReviewClient | None, certs: TrustedCerts, *, clock: Clock, cache_ttl_s: float = 10.0
    ) -> None:
        self.certs = certs
        self._client = client
        self._ttl_s = cache_ttl_s
        self._known: ExpiringLRUCache[bytes, User | str] = ExpiringLRUCache(CACHED_TOKENS, clock=clock)

    async def user(self, credentials: Credentials) -> User:
        """Return who it is; anonymous when nothing is shown that could prove it.

        Raises
        ------
        UnauthenticatedError
            Something is shown, and proves nothing.
        """
        problem: UnauthenticatedError | None = None
        found: User | None = None
        try:
            found = self._by_proxy(credentials) or self._by_certificate(credentials)
        except UnauthenticatedError as error:
            problem = error
        found = found or await self._by_token(credentials)
        if found is not None:
            return User(found.name, _with_authenticated(found.groups), found.uid, found.extra)
        if problem is not None:
            raise problem
        return ANYBODY

    def _by_proxy(self, credentials: Credentials) -> User | None:
        certs, headers = self.certs, credentials.headers
        if credentials.certificate is None or not certs.proxy_ca:
            return None
        certificate = x509.load_der_x509_certificate(credentials.certificate)
        name = _first(headers, certs.username_headers)
        if not name or not _is_issued_by(certificate, certs.proxy_ca):
            return None
        if certs.proxy_names and _common_name(certificate) not in certs.proxy_names:
            raise UnauthenticatedError("x509: subject with cn is not in the allowed list of proxies")
        groups = tuple(value for header in certs.group_headers for value in headers.get(header.lower(), ()))
        extra = {
            header.removeprefix(prefix.lower()): tuple(values)
            for prefix in certs.extra_prefixes
            for header, values in headers.items()
            if header.startswith(prefix.lower())
        }
        return User(name, groups, _first(headers, certs.uid_headers), extra)

    def _by_certificate(self, credentials: Credentials) -> User | None:
        if credentials.certificate is None or not self.certs.client_ca:
            return None
        certificate = x509.load_der_x509_certificate(credentials.certificate)
        if not _is_issued_by(certificate, self.certs.client_ca):
            raise UnauthenticatedError("x509: certificate signed by unknown authority")
        groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
        return User(_common_name(certificate), tuple(str(group.value) for group in groups))

    async def _by_token(self, credentials: Credentials) -> User | None:
        token = _bearer_token(credentials.headers)
        if not token or self._client is None:
            return None
        key = hashlib.sha256(token.encode()).digest()  # a dump of the memory is not to be full of tokens
        found = self._known.get(key)
        if found is None:
            found = await self._review(self._client, token) or "invalid bearer token"
            self._known.add(key, found, self._ttl_s)
        if isinstance(found, str):
            raise UnauthenticatedError(found)
        return found

    @staticmethod
    async def _review(client: ReviewClient, token: str) -> User | None:
        for tries_left in reversed(range(REVIEW_TRIES)):
            try:
                return await review_token(client, token)
            except RequestError as error:
                if not tries_left:
                    LOGGER.error(LogMessage("Unable to authenticate the request", err=str(error)))
                    raise UnauthenticatedError(str(error)) from error
            await asyncio.sleep(REVIEW_RETRY_S)
        raise AssertionError("the last try returns")


def _with_authenticated(groups: Sequence[str]) -> tuple[str, ...]:
    return tuple(groups) if AUTHENTICATED in groups else (*groups, AUTHENTICATED)


def _bearer_token(headers: Mapping[str, Sequence[str]]) -> str:
    kind, _, token = (next(iter(headers.get("authorization", ())), "")).strip().partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _first(headers: Mapping[str, Sequence[str]], names: Iterable[str]) -> str:
    return next((values[0] for name in names if (values := headers.get(name.lower()))), "")


def _common_name(certificate: x509.Certificate) -> str:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def _is_issued_by(certificate: x509.Certificate, authorities: Iterable[x509.Certificate]) -> bool:
    """Tell whether one of these has issued a client's certificate that is good now."""
    now = datetime.now(UTC)
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        return False
    return _is_for_clients(certificate) and any(_has_issued(authority, certificate) for authority in authorities)


def _has_issued(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _is_for_clients(certificate: x509.Certificate) -> bool:
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return ExtendedKeyUsageOID.CLIENT_AUTH in usages or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in usages
