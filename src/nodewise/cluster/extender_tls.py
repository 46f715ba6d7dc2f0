"""Whom an extender's TLS configuration trusts, as client-go reads it (rest.TLSConfigFor)."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path

from nodewise.config.model import Extender as ExtenderConfig, ExtenderTLSConfig
from nodewise.framework.extender import ExtenderError


def tls_context(config: ExtenderConfig) -> ssl.SSLContext | None:
    """Return how to talk TLS to an extender; None: as to any web server.

    Raises
    ------
    ExtenderError
        A file cannot be read, holds no certificate or key, or the fields contradict each other.
    """
    tls = config.tls_config or ExtenderTLSConfig()
    ca = _content(tls.ca_data, tls.ca_file)
    is_unverified = tls.insecure or (config.enable_https and not ca)
    if ca and is_unverified:
        raise ExtenderError("specifying a root certificates file with the insecure flag is not allowed")
    certificate, key = _content(tls.cert_data, tls.cert_file), _content(tls.key_data, tls.key_file)
    if not (ca or is_unverified or tls.server_name or (certificate and key)):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if is_unverified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca:
        _trust(context, ca)
    else:
        context.load_default_certs()
    if certificate and key:
        _identify(context, certificate, key)
    return context


def _content(data: bytes, file: str) -> bytes:
    if data or not file:
        return data
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise ExtenderError(f"open {file}: {(error.strerror or str(error)).lower()}") from error


def _trust(context: ssl.SSLContext, ca: bytes) -> None:
    try:
        context.load_verify_locations(cadata=ca.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise ExtenderError("unable to load root certificates: unable to parse bytes as PEM block") from error


def _identify(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a client certificate; ssl takes these from files only."""
    for content, what in ((certificate, "certificate"), (key, "key")):
        if b"-----BEGIN " not in content:
            raise ExtenderError(f"tls: failed to find any PEM data in {what} input")
    with tempfile.TemporaryDirectory() as directory:
        certificate_file, key_file = Path(directory, "certificate.pem"), Path(directory, "key.pem")
        for file, content in ((certificate_file, certificate), (key_file, key)):
            file.touch(mode=0o600)
            file.write_bytes(content)
        try:
            # An empty password: nobody is asked for one.
            context.load_cert_chain(certificate_file, key_file, password="")
        except (ssl.SSLError, ValueError) as error:
            reason = getattr(error, "reason", None) or str(error)
            if reason == "KEY_VALUES_MISMATCH":
                raise ExtenderError("tls: private key does not match public key") from error
            raise ExtenderError(f"tls: cannot load the client certificate: {reason}") from error
