"""Whom the endpoint trusts: flags, the cluster, and both as they change."""

from __future__ import annotations

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from nodewise.cluster.live.errors import ApiError
from nodewise.server.access import Access, AccessError, certs_of_flags
from nodewise.server.authentication import read_certificates
from nodewise.server.serving_certs import ServingCert, server_context
from nodewise.testing.clock import FakeClock
from tests.server.test_options import options


class ConfigMapClient:
    """Answers with what the ConfigMap says now."""

    def __init__(self) -> None:
        self.answer: dict[str, str] | ApiError = {}

    async def get(self, path: str) -> bytes:
        assert path.endswith("/configmaps/extension-apiserver-authentication")
        if isinstance(self.answer, ApiError):
            raise self.answer
        return json.dumps({"data": self.answer}).encode()


def access_of(client: Any, *words: str) -> Access:
    return Access(options(*words).access, client, None, FakeClock())


def pem(ca: trustme.CA) -> str:
    return ca.cert_pem.bytes().decode()


def test_what_the_cluster_trusts_is_taken_over_when_it_changes() -> None:
    client, context = ConfigMapClient(), server_context()
    access = access_of(client)
    old, new = trustme.CA(), trustme.CA()
    asyncio.run(access.refresh(context))
    assert not context.get_ca_certs()
    client.answer = {"client-ca-file": pem(old)}
    asyncio.run(access.refresh(context))
    assert context.verify_mode == ssl.CERT_OPTIONAL
    assert len(context.get_ca_certs()) == 1
    client.answer = {"client-ca-file": pem(new)}
    asyncio.run(access.refresh(context))
    assert access.authenticator.certs.client_ca == read_certificates(pem(new))


def test_a_cluster_that_does_not_say_leaves_things_as_they_are_unless_that_is_not_tolerated() -> None:
    client, context = ConfigMapClient(), server_context()
    access = access_of(client)
    client.answer = {"client-ca-file": pem(trustme.CA())}
    asyncio.run(access.refresh(context))
    known = access.authenticator.certs
    client.answer = ApiError("GET", 404, "NotFound", "not found")
    asyncio.run(access.refresh(context))
    assert access.authenticator.certs.client_ca == known.client_ca
    strict = access_of(client, "--authentication-tolerate-lookup-failure=false")
    with pytest.raises(AccessError, match="extension-apiserver-authentication: not found"):
        asyncio.run(strict.refresh(context))


def test_flags_come_before_what_the_cluster_says(tmp_path: Path) -> None:
    of_flag, of_cluster = trustme.CA(), trustme.CA()
    path = tmp_path / "ca.crt"
    path.write_text(pem(of_flag))
    client = ConfigMapClient()
    client.answer = {"client-ca-file": pem(of_cluster), "requestheader-client-ca-file": pem(of_cluster)}
    access = access_of(client, f"--client-ca-file={path}")
    asyncio.run(access.refresh(server_context()))
    certs = access.authenticator.certs
    assert certs.client_ca == certs_of_flags(options(f"--client-ca-file={path}").access).client_ca
    assert certs.proxy_ca
    alone = access_of(client, f"--client-ca-file={path}", "--authentication-skip-lookup")
    asyncio.run(alone.refresh(server_context()))
    assert not alone.authenticator.certs.proxy_ca


def test_a_bundle_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ca.crt"
    path.write_text("nothing of the kind")
    with pytest.raises(AccessError, match=f"--client-ca-file {path}: found .*, expected certificates as PEM"):
        certs_of_flags(options(f"--client-ca-file={path}").access)
    with pytest.raises(AccessError, match="--client-ca-file /nowhere: No such file or directory"):
        certs_of_flags(options("--client-ca-file=/nowhere").access)


def test_a_new_certificate_of_our_own_is_taken_over(tmp_path: Path) -> None:
    ca = trustme.CA()
    cert = ServingCert(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"))
    context = server_context()
    n_rounds = 0

    async def sleep(seconds: float) -> None:
        nonlocal n_rounds
        assert seconds == 60
        n_rounds += 1
        if n_rounds == 1:
            return  # the files are not there: what is known is kept
        if n_rounds == 3:
            raise asyncio.CancelledError
        issued = ca.issue_cert("localhost")
        issued.private_key_pem.write_to_path(cert.key_file)
        Path(cert.cert_file).write_bytes(issued.cert_chain_pems[0].bytes())

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(access_of(ConfigMapClient()).keep_fresh(context, cert, sleep))
    assert _shown_by(context) == ssl.PEM_cert_to_DER_cert(Path(cert.cert_file).read_text())


def _shown_by(context: ssl.SSLContext) -> bytes | None:
    """Return the certificate that a handshake gets to see."""
    client_context = ssl.create_default_context()
    client_context.check_hostname, client_context.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server)
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return client.getpeercert(binary_form=True)
