"""Brings together who may see the HTTPS endpoint, and keeps it up to date."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from nodewise.clock import Clock
from nodewise.cluster.live.api_client import ApiClient
from nodewise.cluster.live.errors import ApiError, KubeconfigError, RequestError
from nodewise.cluster.live.kubeconfig import in_cluster_connection, load_connection
from nodewise.errors import NodewiseError
from nodewise.server.authentication import Authenticator, TrustedCerts, read_certificates
from nodewise.server.authorization import Authorizer
from nodewise.server.options import AccessOptions
from nodewise.server.serving_certs import ServingCert, ServingCertError, load_cert
from nodewise.state.log_message import LogMessage

LOGGER = logging.getLogger("nodewise.authentication")
CONFIG_MAP = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
REFRESH_S = 60.0
REVIEW_TIMEOUT_S = 10.0


class AccessError(NodewiseError):
    """It cannot be found out whom to trust; the text names the flag."""


class Access:
    """Authentication and authorization of one process.

    Attributes
    ----------
    authenticator : Authenticator
    authorizer : Authorizer
    """

    def __init__(
        self, options: AccessOptions, authenticating: ApiClient | None, authorizing: ApiClient | None, clock: Clock
    ) -> None:
        self._options = options
        self._client = authenticating
        self._authorizing = authorizing
        self._certs_of_flags = certs_of_flags(options)
        self._known: set[bytes] = set()
        self.authenticator = Authenticator(
            authenticating,
            self._certs_of_flags,
            clock=clock,
            cache_ttl_s=options.authentication_token_webhook_cache_ttl,
        )
        self.authorizer = Authorizer(
            authorizing,
            clock=clock,
            always_allowed=options.authorization_always_allow_paths,
            allowed_ttl_s=options.authorization_webhook_cache_authorized_ttl,
            denied_ttl_s=options.authorization_webhook_cache_unauthorized_ttl,
        )

    async def close(self) -> None:
        """Close connections."""
        for client in (self._client, self._authorizing):
            if client is not None:
                await client.close()

    async def refresh(self, context: ssl.SSLContext) -> None:
        """Read again whom the cluster trusts, and let handshakes from now on ask for their certificates.

        Raises
        ------
        AccessError
            It could not be read, and `--authentication-tolerate-lookup-failure` is off.
        """
        options = self._options
        self._certs_of_flags = certs_of_flags(options)
        certs = self._certs_of_flags
        if self._client is not None and not options.authentication_skip_lookup:
            certs = _merged(certs, await self._look_up(self._client), options)
        self.authenticator.certs = certs
        self._trust(context, (*certs.client_ca, *certs.proxy_ca))

    async def keep_fresh(
        self, context: ssl.SSLContext, cert: ServingCert, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """Take over new authorities, and a new certificate of our own, until cancelled."""
        while True:
            await sleep(REFRESH_S)
            try:
                await self.refresh(context)
                if cert.cert_file:
                    load_cert(context, cert)
            except (AccessError, ServingCertError) as error:
                LOGGER.warning(LogMessage("Keeping the certificates that are known", err=str(error)))

    async def _look_up(self, client: ApiClient) -> TrustedCerts:
        try:
            return TrustedCerts.of_config_map(await client.get(CONFIG_MAP))
        except (RequestError, ValueError) as error:
            if not self._options.authentication_tolerate_lookup_failure:
                raise AccessError(f"unable to read {CONFIG_MAP}: {error}") from error
            is_missing = isinstance(error, ApiError) and error.is_not_found
            what = "There is no configuration of client certificates" if is_missing else "Cannot read it"
            LOGGER.warning(LogMessage(what, configMap="extension-apiserver-authentication", err=str(error)))
            return self.authenticator.certs

    def _trust(self, context: ssl.SSLContext, authorities: tuple[x509.Certificate, ...]) -> None:
        """Let TLS accept what these have issued; whether it still counts is judged at every request."""
        new = [pem for authority in authorities if (pem := authority.public_bytes(Encoding.PEM)) not in self._known]
        for pem in new:
            context.load_verify_locations(cadata=pem.decode())
            self._known.add(pem)
        if self._known:
            context.verify_mode = ssl.CERT_OPTIONAL


def certs_of_flags(options: AccessOptions) -> TrustedCerts:
    """Return whom flags name.

    Raises
    ------
    AccessError
    """
    return TrustedCerts(
        client_ca=_bundle("client-ca-file", options.client_ca_file),
        proxy_ca=_bundle("requestheader-client-ca-file", options.requestheader_client_ca_file),
        proxy_names=options.requestheader_allowed_names,
        username_headers=options.requestheader_username_headers,
        uid_headers=options.requestheader_uid_headers,
        group_headers=options.requestheader_group_headers,
        extra_prefixes=options.requestheader_extra_headers_prefix,
    )


async def open_access(options: AccessOptions, clock: Clock) -> Access:
    """Connect to those who are asked about tokens and rights: the cluster of this pod, where no kubeconfig is named.

    Raises
    ------
    KubeconfigError, AccessError
    """
    authenticating = await _connect(options.authentication_kubeconfig, "authentication", clock)
    authorizing = await _connect(options.authorization_kubeconfig, "authorization", clock)
    return Access(options, authenticating, authorizing, clock)


async def _connect(kubeconfig: str, what: str, clock: Clock) -> ApiClient | None:
    try:
        if kubeconfig:
            connection = await load_connection(kubeconfig)
        else:
            connection = in_cluster_connection(environ=os.environ, clock=clock)
    except KubeconfigError as error:
        if kubeconfig:
            raise
        LOGGER.warning(LogMessage(f"No --{what}-kubeconfig, and this is no pod: nobody can be asked", err=str(error)))
        return None
    return ApiClient(connection, timeout_s=REVIEW_TIMEOUT_S)


def _bundle(flag: str, path: str) -> tuple[x509.Certificate, ...]:
    if not path:
        return ()
    try:
        return read_certificates(Path(path).read_bytes())
    except OSError as error:
        raise AccessError(f"--{flag} {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise AccessError(f"--{flag} {path}: found {error}, expected certificates as PEM") from error


def _merged(flags: TrustedCerts, found: TrustedCerts, options: AccessOptions) -> TrustedCerts:
    """Let flags come before what the cluster says, for users and for proxies."""
    client_ca = flags.client_ca or found.client_ca
    proxies = flags if options.requestheader_client_ca_file else found
    return TrustedCerts(
        client_ca,
        proxies.proxy_ca,
        proxies.proxy_names,
        proxies.username_headers,
        proxies.uid_headers,
        proxies.group_headers,
        proxies.extra_prefixes,
    )
