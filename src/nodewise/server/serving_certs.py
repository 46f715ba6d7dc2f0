"""The certificate that the HTTPS endpoint shows: from files that may change, or one that is made at start."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from nodewise.errors import NodewiseError
from nodewise.server.tls_names import OPENSSL_SUITES, TLS_VERSIONS

PAIR_NAME = "kube-scheduler"
"""What the files in --cert-dir are called."""
LIFETIME = timedelta(days=365)
_VERSIONS = dict(
    zip(TLS_VERSIONS, (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3), strict=True)
)


class ServingCertError(NodewiseError):
    """The certificate or its key cannot be used; the text names the file."""


@dataclass(frozen=True, slots=True)
class ServingCert:
    """Where certificate and key are.

    Attributes
    ----------
    cert_file, key_file : str
        Both or none.
    cert_dir : str
        Where a certificate that is made at start is kept; "": only in memory.
    """

    cert_file: str = ""
    key_file: str = ""
    cert_dir: str = ""


def server_context(min_version: str = "", suites: Iterable[str] = ()) -> ssl.SSLContext:
    """Return a context for the server's side without a certificate yet.

    Parameters
    ----------
    min_version : str
        One of `TLS_VERSIONS`.
    suites : Iterable[str]
        Go's names, of `TLS_SUITES`; none: what OpenSSL thinks best.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[min_version]
    names = [OPENSSL_SUITES[name] for name in suites if name in OPENSSL_SUITES]
    if names:
        context.set_ciphers(":".join(names))
    return context


def load_cert(context: ssl.SSLContext, cert: ServingCert, names: Iterable[str] = ("localhost", "127.0.0.1")) -> None:
    """Give a context its certificate; handshakes from now on show it.

    Raises
    ------
    ServingCertError
    """
    if cert.cert_file or cert.key_file:
        _load(context, cert.cert_file, cert.key_file)
        return
    if not cert.cert_dir:
        with tempfile.TemporaryDirectory(prefix="nodewise-") as folder:
            _load(context, *_write(Path(folder), *self_signed(names)))
        return
    folder_path = Path(cert.cert_dir)
    paths = _paths(folder_path)
    if not all(path.exists() for path in paths):
        paths = _write(folder_path, *self_signed(names))
    _load(context, *paths)


def self_signed(names: Iterable[str]) -> tuple[bytes, bytes]:
    """Make a certificate for some host names and addresses; return it and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"localhost@{PAIR_NAME}")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    key_bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM), key_bytes


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _paths(folder: Path) -> tuple[Path, Path]:
    return folder / f"{PAIR_NAME}.crt", folder / f"{PAIR_NAME}.key"


def _write(folder: Path, cert: bytes, key: bytes) -> tuple[Path, Path]:
    cert_path, key_path = _paths(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        cert_path.write_bytes(cert)
        with open(os.open(key_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(key)
    except OSError as error:
        raise ServingCertError(f"--cert-dir {folder}: {error.strerror or error}") from error
    return cert_path, key_path


def _load(context: ssl.SSLContext, cert_file: str | Path, key_file: str | Path) -> None:
    try:
        context.load_cert_chain(cert_file, key_file)
    except ssl.SSLError as error:
        text = f"{cert_file}, {key_file}: found {error.reason or error}, expected a certificate and its key as PEM"
        raise ServingCertError(text) from error
    except OSError as error:
        raise ServingCertError(f"{cert_file}, {key_file}: {error.strerror or error}") from error
