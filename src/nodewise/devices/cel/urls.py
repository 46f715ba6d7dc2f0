"""URLs, read and written as Go's net/url does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from nodewise.devices.cel.go_text import quoted
from nodewise.devices.cel.network import NetworkError, parse_address

_UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT = re.compile(r"(?::[0-9]*)?")
_MAX_QUERY_PARAMETERS = 10_000


class UrlError(ValueError):
    """A text is no URL; the text is Go's."""


class _Part(Enum):
    """A part of a URL, with the bytes that stand in it as they are, besides letters, digits and `-_.~`."""

    HOST = b"!$&'()*+,;=:[]<>\""
    ZONE = b"!$&'()*+,;=:[]<>\" "
    PATH = b"$&+,/:;=@"
    USER = b"$&+,;="
    QUERY = b""
    FRAGMENT = b"$&+,/:;=?@!()*"

    def keeps(self, byte: int) -> bool:
        return byte in _UNRESERVED or byte in self.value


@dataclass(frozen=True, slots=True)
class Url:
    """A URL; two are equal when their texts are.

    Attributes
    ----------
    host : str
        With the port.
    escaped_path : str
        The path with its escapes.
    query : str
        Without the question mark.
    text : str
        All of it, written anew (URL.String).
    """

    scheme: str
    host: str
    escaped_path: str
    query: str
    text: str

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        host = self._host_and_port()[0]
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        """The port, "" when there is none."""
        return self._host_and_port()[1]

    def _host_and_port(self) -> tuple[str, str]:
        colon = self.host.rfind(":")
        if colon >= 0 and _PORT.fullmatch(self.host[colon:]):
            return self.host[:colon], self.host[colon + 1 :]
        return self.host, ""

    def parameters(self) -> dict[str, list[str]]:
        """Return the values of the query by name; what cannot be read is left out (URL.Query)."""
        found: dict[str, list[str]] = {}
        if self.query.count("&") >= _MAX_QUERY_PARAMETERS:
            return found
        for pair in self.query.split("&"):
            if ";" in pair or not pair:
                continue
            name, _, value = pair.partition("=")
            try:
                decoded = _text(_unescape(name, _Part.QUERY)), _text(_unescape(value, _Part.QUERY))
            except UrlError:
                continue
            found.setdefault(decoded[0], []).append(decoded[1])
        return found


def parse_url(text: str) -> Url:
    """Read a URL or an absolute path, as `url()` does: by ParseRequestURI, and by Parse for what is kept.

    Raises
    ------
    UrlError
        It is none.
    """
    check_request_uri(text)
    before, _, fragment = text.partition("#")
    try:
        parts = _parse(before, is_request=False)
    except UrlError as error:
        raise UrlError(f"parse {quoted(before)}: {error}") from error
    try:
        shown_fragment = _rewritten(fragment, _Part.FRAGMENT)
    except UrlError as error:
        raise UrlError(f"parse {quoted(text)}: {error}") from error
    path = parts.escaped_path
    return Url(parts.scheme, parts.host, path, parts.query, parts.text(shown_fragment))


def check_request_uri(text: str) -> None:
    """Check that a text is a URL or an absolute path (url.ParseRequestURI).

    Raises
    ------
    UrlError
        It is neither.
    """
    try:
        _parse(text, is_request=True)
    except UrlError as error:
        raise UrlError(f"parse {quoted(text)}: {error}") from error


@dataclass(slots=True)
class _Parts:
    scheme: str = ""
    user: str | None = None
    host: str = ""
    opaque: str = ""
    escaped_path: str = ""
    query: str = ""
    has_bare_query: bool = False
    omits_host: bool = False

    def text(self, fragment: str) -> str:
        scheme = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            body = self.opaque
        else:
            body = self._authority() + self._shown_path(is_start=not (scheme or self.host or self.user is not None))
        query = f"?{self.query}" if self.has_bare_query or self.query else ""
        return scheme + body + query + (f"#{fragment}" if fragment else "")

    def _authority(self) -> str:
        if not (self.scheme or self.host or self.user is not None):
            return ""
        if self.omits_host and not self.host and self.user is None:
            return ""
        user = f"{self.user}@" if self.user is not None else ""
        slashes = "//" if self.host or self.escaped_path or self.user is not None else ""
        return slashes + user + _escape(_bytes(self.host), _Part.HOST)

    def _shown_path(self, *, is_start: bool) -> str:
        path = self.escaped_path
        if path and not path.startswith("/") and self.host:
            return f"/{path}"
        return f"./{path}" if is_start and ":" in path.split("/", 1)[0] else path


def _parse(text: str, *, is_request: bool) -> _Parts:
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and is_request:
        raise UrlError("empty url")
    if text == "*":
        return _Parts(escaped_path="*")
    parts = _Parts()
    parts.scheme, rest = _split_scheme(text)
    if rest.endswith("?") and rest.count("?") == 1:
        parts.has_bare_query, rest = True, rest[:-1]
    else:
        rest, _, parts.query = rest.partition("?")
    if not rest.startswith("/"):
        if parts.scheme:
            parts.opaque = rest
            return parts
        if is_request:
            raise UrlError("invalid URI for request")
        if ":" in rest.split("/", 1)[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    has_authority = parts.scheme or (not is_request and not rest.startswith("///"))
    if has_authority and rest.startswith("//"):
        authority, slash, after = rest[2:].partition("/")
        rest = slash + after
        parts.user, parts.host = _parse_authority(parts.scheme, authority)
    elif parts.scheme and rest.startswith("/"):
        parts.omits_host = True
    parts.escaped_path = _rewritten(rest, _Part.PATH)
    return parts


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    match = _SCHEME.match(text)
    if match is None or text[match.end() : match.end() + 1] != ":":
        return "", text
    return match[0].lower(), text[match.end() + 1 :]


def _parse_authority(scheme: str, authority: str) -> tuple[str | None, str]:
    """Return user information, ready to be written, and host."""
    userinfo, at, host = authority.rpartition("@")
    host = _parse_host(scheme, host)
    if not at:
        return None, host
    if not _USERINFO.fullmatch(userinfo):
        raise UrlError("net/url: invalid userinfo")
    parts = userinfo.split(":", 1)
    return ":".join([_escape(_unescape(part, _Part.USER), _Part.USER) for part in parts]), host


def _parse_host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _parse_ip_literal(host)
    first, last = host.find(":"), host.rfind(":")
    if first >= 0:
        port = host[first:] if scheme in ("http", "https") else host[last:]
        _check_port(port)
    return _text(_unescape(host, _Part.HOST))


def _parse_ip_literal(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise UrlError("missing ']' in host")
    _check_port(host[end + 1 :])
    name, zone = host[1:end], ""
    if "%25" in name:
        start = name.index("%25")
        name, zone = name[:start], _text(_unescape(name[start:], _Part.ZONE))
    name = _text(_unescape(name, _Part.HOST)) + zone
    try:
        address = parse_address(name)
    except NetworkError as error:
        raise UrlError(f"invalid host: {error}") from error
    if address.ip.version == 4:
        raise UrlError("invalid IP-literal")
    return f"[{name}]{host[end + 1 :]}"


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise UrlError(f"invalid port {quoted(port)} after host")


# --- escapes ----------------------------------------------------------------------------------------------------------


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _unescape(text: str, part: _Part) -> bytes:
    found = bytearray()
    data = _bytes(text)
    position = 0
    while position < len(data):
        byte = data[position]
        if byte == ord("%"):
            found.append(_escaped_byte(data[position : position + 3], part))
            position += 3
            continue
        if part in (_Part.HOST, _Part.ZONE) and byte < 0x80 and not _Part.HOST.keeps(byte):
            raise UrlError(f"invalid character {quoted(chr(byte))} in host name")
        found.append(ord(" ") if byte == ord("+") and part is _Part.QUERY else byte)
        position += 1
    return bytes(found)


def _escaped_byte(escape: bytes, part: _Part) -> int:
    digits = escape[1:]
    is_hex = len(digits) == 2 and all(digit in b"0123456789abcdefABCDEF" for digit in digits)
    number = int(digits, 16) if is_hex else -1
    is_allowed = is_hex
    if escape != b"%25":
        if part is _Part.HOST:
            is_allowed = number >= 0x80
        elif part is _Part.ZONE:
            is_allowed = is_hex and _Part.ZONE.keeps(number)
    if not is_allowed:
        raise UrlError(f"invalid URL escape {quoted(_text(escape))}")
    return number


def _escape(data: bytes, part: _Part) -> str:
    return "".join([chr(byte) if part.keeps(byte) else f"%{byte:02X}" for byte in data])


_AS_WRITTEN = frozenset(b"!$&'()*+,;=:@[]%")


def _rewritten(text: str, part: _Part) -> str:
    """Return a path or fragment as it is written anew: as it was, where that is proper (validEncoded)."""
    plain = _unescape(text, part)
    if all(byte in _AS_WRITTEN or part.keeps(byte) for byte in _bytes(text)):
        return text
    return "*" if plain == b"*" else _escape(plain, part)
