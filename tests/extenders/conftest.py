"""Servers, configurations and certificates that tests of extenders share."""

import base64
import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import trustme

from tests.extenders.server import Answer, ExtenderServer, Json, extender_server

Serve = Callable[..., ExtenderServer]
WriteConfig = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Give a function that starts an extender: it takes the answers by verb, and a TLS context."""
    with ExitStack() as running:

        def start(verbs: dict[str, Answer], tls: ssl.SSLContext | None = None) -> ExtenderServer:
            return running.enter_context(extender_server(verbs, tls))

        yield start


@pytest.fixture
def write_config(tmp_path: Path) -> WriteConfig:
    """Give a function that writes a configuration with these extenders and returns its path."""

    def write(*extenders: Json, **fields: object) -> str:
        document = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": list(extenders),
            **fields,
        }
        path = tmp_path / "config.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """Give a certificate authority of the tests' own."""
    return trustme.CA()


def in_config(blob: trustme.Blob) -> str:
    """Return PEM text as a configuration's data fields hold it."""
    return base64.b64encode(blob.bytes()).decode()


def server_context(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    """Return how a server with a certificate for these names talks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context
