"""Go's names for versions and cipher suites of TLS, which flags use, and OpenSSL's for the same."""

from __future__ import annotations

TLS_VERSIONS = ("", "VersionTLS12", "VersionTLS13")
"""Values of --tls-min-version; the first is the default, and means the second."""
OPENSSL_SUITES = {
    f"TLS_ECDHE_{key}_WITH_{go}": f"ECDHE-{key}-{openssl}"
    for key in ("RSA", "ECDSA")
    for go, openssl in (
        ("AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
        ("CHACHA20_POLY1305", "CHACHA20-POLY1305"),
        ("AES_128_CBC_SHA", "AES128-SHA"),
        ("AES_256_CBC_SHA", "AES256-SHA"),
    )
}
"""Those of TLS 1.2."""
_ALWAYS_ON = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""Those of TLS 1.3 may be named; they cannot be turned off, in Go neither."""
TLS_SUITES = (*sorted(OPENSSL_SUITES), *_ALWAYS_ON)
