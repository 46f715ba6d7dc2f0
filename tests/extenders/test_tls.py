"""Extenders behind TLS: whom they are trusted by, and whom they trust."""

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from nodewise.cluster.http_extender import HttpExtender
from nodewise.cluster.object_documents import ObjectDocuments
from nodewise.config.model import Extender, ExtenderTLSConfig
from nodewise.framework.extender import ExtenderError
from nodewise.state.pod_info import PodInfo
from nodewise.testing.builders import make_pod
from tests.extenders.conftest import Serve, server_context
from tests.extenders.record import agreeable

UNKNOWN = "tls: failed to verify certificate: x509: certificate signed by unknown authority"


def bind(url: str, *, enable_https: bool = False, **tls: Any) -> None:
    """Ask an extender to bind a pod; fails when it cannot be asked."""
    config = Extender(
        url_prefix=url,
        bind_verb="bind",
        enable_https=enable_https,
        tls_config=ExtenderTLSConfig(**tls) if tls else None,
    )
    HttpExtender(config, ObjectDocuments()).bind(PodInfo(make_pod("p")), "n")


def test_a_server_is_trusted_by_the_authority_in_the_configuration(serve: Serve, authority: trustme.CA) -> None:
    server = serve(agreeable(), server_context(authority, "127.0.0.1"))

    bind(server.url, ca_data=authority.cert_pem.bytes())

    assert len(server.requests) == 1


def test_the_authority_may_stand_in_a_file(serve: Serve, authority: trustme.CA, tmp_path: Path) -> None:
    server = serve(agreeable(), server_context(authority, "127.0.0.1"))
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))

    bind(server.url, enable_https=True, ca_file=str(tmp_path / "ca.pem"))

    assert len(server.requests) == 1


def test_a_server_of_another_authority_is_not_trusted(serve: Serve, authority: trustme.CA) -> None:
    server = serve(agreeable(), server_context(trustme.CA(), "127.0.0.1"))

    with pytest.raises(ExtenderError, match=UNKNOWN):
        bind(server.url, ca_data=authority.cert_pem.bytes())


def test_without_any_tls_configuration_the_system_decides_whom_to_trust(serve: Serve, authority: trustme.CA) -> None:
    server = serve(agreeable(), server_context(authority, "127.0.0.1"))

    with pytest.raises(ExtenderError, match=UNKNOWN):
        bind(server.url)


@pytest.mark.parametrize("options", [{"enable_https": True}, {"insecure": True}])
def test_https_without_an_authority_or_insecure_trusts_everybody(
    serve: Serve, authority: trustme.CA, options: dict[str, Any]
) -> None:
    server = serve(agreeable(), server_context(authority, "elsewhere.test"))

    bind(server.url, **options)

    assert len(server.requests) == 1


def test_a_certificate_for_another_host_is_refused_unless_the_server_name_says_so(
    serve: Serve, authority: trustme.CA
) -> None:
    server = serve(agreeable(), server_context(authority, "extender.test"))
    ca = authority.cert_pem.bytes()

    text = "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
    with pytest.raises(ExtenderError, match=text):
        bind(server.url, ca_data=ca)
    bind(server.url, ca_data=ca, server_name="extender.test")

    assert len(server.requests) == 1


@pytest.mark.parametrize("from_files", [False, True])
def test_a_server_that_wants_a_client_certificate_gets_it(
    serve: Serve, authority: trustme.CA, tmp_path: Path, from_files: bool
) -> None:
    context = server_context(authority, "127.0.0.1")
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    server = serve(agreeable(), context)
    own = authority.issue_cert("scheduler@nodewise.test")
    certificate, key = own.cert_chain_pems[0], own.private_key_pem
    identity: dict[str, Any] = {"cert_data": certificate.bytes(), "key_data": key.bytes()}
    if from_files:
        identity = {"cert_file": str(tmp_path / "cert.pem"), "key_file": str(tmp_path / "key.pem")}
        certificate.write_to_path(identity["cert_file"])
        key.write_to_path(identity["key_file"])

    bind(server.url, ca_data=authority.cert_pem.bytes(), **identity)
    with pytest.raises(ExtenderError, match="Post"):
        bind(server.url, ca_data=authority.cert_pem.bytes())

    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("tls", "text"),
    [
        ({"ca_file": "/nowhere/ca.pem"}, "open /nowhere/ca.pem: no such file or directory"),
        ({"ca_data": b"hi"}, "unable to load root certificates: unable to parse bytes as PEM block"),
        ({"cert_data": b"hi", "key_data": b"hi"}, "tls: failed to find any PEM data in certificate input"),
        (
            {"ca_data": b"hi", "insecure": True},
            "specifying a root certificates file with the insecure flag is not allowed",
        ),
    ],
)
def test_tls_fields_that_cannot_be_used_are_refused_before_anybody_is_asked(tls: dict[str, Any], text: str) -> None:
    with pytest.raises(ExtenderError) as raised:
        bind("https://127.0.0.1:1", **tls)

    assert str(raised.value) == text
