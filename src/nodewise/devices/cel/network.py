"""IP addresses and networks, read as Go's net/netip reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from nodewise.devices.cel.go_text import quoted

_HEX_DIGITS = re.compile(r"[0-9a-fA-F]*")


class NetworkError(ValueError):
    """A text is no address or network; the text is Go's."""


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address."""

    ip: IPv4Address | IPv6Address
    zone: str = ""

    def __str__(self) -> str:
        return str(self.ip)

    @property
    def n_bytes(self) -> int:
        """Its size in bytes: 4 or 16."""
        return self.ip.max_prefixlen // 8

    @property
    def is_mapped(self) -> bool:
        """Whether it is an IPv4 address written as an IPv6 one."""
        return self.ip.version == 6 and int(self.ip) >> 32 == 0xFFFF

    @property
    def is_unspecified(self) -> bool:
        """Whether it is the address of no host."""
        return int(self.ip) == 0

    @property
    def is_loopback(self) -> bool:
        """Whether it is the host itself."""
        return self._top(8) == 127 if self.ip.version == 4 else int(self.ip) == 1

    @property
    def is_multicast(self) -> bool:
        """Whether it stands for a group."""
        return self._top(4) == 0xE if self.ip.version == 4 else self._top(8) == 0xFF

    @property
    def is_link_local_multicast(self) -> bool:
        """Whether it stands for a group on the link."""
        return self._top(24) == 0xE00000 if self.ip.version == 4 else self._top(16) & 0xFF0F == 0xFF02

    @property
    def is_link_local_unicast(self) -> bool:
        """Whether it is known on the link alone."""
        return self._top(16) == 0xA9FE if self.ip.version == 4 else self._top(10) == 0x3FA

    @property
    def is_global_unicast(self) -> bool:
        """Whether it is one host's and none of the above; private addresses are."""
        if self.ip.version == 4 and int(self.ip) == 0xFFFFFFFF:
            return False
        return not (self.is_unspecified or self.is_loopback or self.is_multicast or self.is_link_local_unicast)

    def _top(self, n_bits: int) -> int:
        return int(self.ip) >> (self.ip.max_prefixlen - n_bits)


@dataclass(frozen=True, slots=True)
class Network:
    """An address and how many of its leading bits count; the others are kept."""

    address: Address
    n_bits: int

    def __str__(self) -> str:
        return f"{self.address}/{self.n_bits}"

    @property
    def n_prefix_bytes(self) -> int:
        """How many bytes the counting bits take."""
        return -(-self.n_bits // 8)

    def masked(self) -> Network:
        """Return the network with the other bits cleared."""
        ip = self.address.ip
        shift = ip.max_prefixlen - self.n_bits
        return Network(Address(type(ip)(int(ip) >> shift << shift)), self.n_bits)

    def contains(self, address: Address) -> bool:
        """Tell whether an address is in the network."""
        return self._agrees(address, self.n_bits)

    def contains_network(self, other: Network) -> bool:
        """Tell whether all of another network is in this one."""
        return self.n_bits <= other.n_bits and self._agrees(other.address, self.n_bits)

    def _agrees(self, address: Address, n_bits: int) -> bool:
        mine, theirs = self.address.ip, address.ip
        shift = mine.max_prefixlen - n_bits
        return mine.version == theirs.version and int(mine) >> shift == int(theirs) >> shift


def parse_address(text: str) -> Address:
    """Read an address (netip.ParseAddr).

    Raises
    ------
    NetworkError
        It is none.
    """
    for letter in text:
        if letter == ".":
            return Address(IPv4Address(_parse_ipv4(text, text)))
        if letter == ":":
            return _parse_ipv6(text)
        if letter == "%":
            raise _error(text, "missing IPv6 address")
    raise _error(text, "unable to parse IP")


def _error(text: str, reason: str, at: str = "") -> NetworkError:
    where = f" (at {quoted(at)})" if at else ""
    return NetworkError(f"ParseAddr({quoted(text)}): {reason}{where}")


def _parse_ipv4(text: str, part: str) -> int:
    """Read the dotted numbers of a part of a text."""
    fields: list[int] = []
    digits = ""
    for position, letter in enumerate(part):
        if "0" <= letter <= "9":
            if digits == "0":
                raise _error(text, "IPv4 field has octet with leading zero")
            digits += letter
            if int(digits) > 255:
                raise _error(text, "IPv4 field has value >255")
        elif letter == ".":
            if not digits or position == len(part) - 1:
                raise _error(text, "IPv4 field must have at least one digit", part[position:])
            if len(fields) == 3:
                raise _error(text, "IPv4 address too long")
            fields.append(int(digits))
            digits = ""
        else:
            raise _error(text, "unexpected character", part[position:])
    if len(fields) < 3:
        raise _error(text, "IPv4 address too short")
    return int.from_bytes(bytes([*fields, int(digits or "0")]))


def _parse_ipv6(text: str) -> Address:
    part, has_zone, zone = text.partition("%")
    if has_zone and not zone:
        raise _error(text, "zone must be a non-empty string")
    groups: list[int] = []
    gap = -1
    if part.startswith("::"):
        gap, part = 0, part[2:]
    while part and len(groups) < 8:
        digits = _leading_digits(text, part)
        if part[len(digits) : len(digits) + 1] == ".":
            groups += _embedded_ipv4(text, part, groups, has_gap=gap >= 0)
            part = ""
            break
        groups.append(int(digits, 16))
        part = part[len(digits) :]
        if not part:
            break
        part = _after_colon(text, part)
        if part[0] == ":":
            if gap >= 0:
                raise _error(text, "multiple :: in address", part)
            gap, part = len(groups), part[1:]
    if part:
        raise _error(text, "trailing garbage after address", part)
    if len(groups) < 8:
        if gap < 0:
            raise _error(text, "address string too short")
        groups[gap:gap] = [0] * (8 - len(groups))
    elif gap >= 0:
        raise _error(text, "the :: must expand to at least one field of zeros")
    return Address(IPv6Address(b"".join([group.to_bytes(2) for group in groups])), zone)


def _leading_digits(text: str, part: str) -> str:
    match = _HEX_DIGITS.match(part)
    digits = match[0] if match else ""
    if len(digits) > 4:
        raise _error(text, "each group must have 4 or less digits", part)
    if not digits:
        raise _error(text, "each colon-separated field must have at least one digit", part)
    return digits


def _embedded_ipv4(text: str, part: str, groups: list[int], *, has_gap: bool) -> list[int]:
    if not has_gap and len(groups) != 6:
        raise _error(text, "embedded IPv4 address must replace the final 2 fields of the address", part)
    if len(groups) > 6:
        raise _error(text, "too many hex fields to fit an embedded IPv4 at the end of the address", part)
    return list(divmod(_parse_ipv4(text, part), 1 << 16))


def _after_colon(text: str, part: str) -> str:
    if part[0] != ":":
        raise _error(text, "unexpected character, want colon", part)
    if len(part) == 1:
        raise _error(text, "colon must be followed by more characters", part)
    return part[1:]


def parse_network(text: str) -> Network:
    """Read a network such as `10.0.0.0/8` (netip.ParsePrefix).

    Raises
    ------
    NetworkError
        It is none.
    """
    before, slash, bits = text.rpartition("/")
    prefix = f"netip.ParsePrefix({quoted(text)}): "
    if not slash:
        raise NetworkError(f"{prefix}no '/'")
    try:
        address = parse_address(before)
    except NetworkError as error:
        raise NetworkError(f"{prefix}{error}") from error
    if address.zone:
        raise NetworkError(f"{prefix}IPv6 zones cannot be present in a prefix")
    if not re.fullmatch(r"[0-9]|[1-9][0-9]{0,18}", bits):
        raise NetworkError(f"{prefix}bad bits after slash: {quoted(bits)}")
    if int(bits) > address.ip.max_prefixlen:
        raise NetworkError(f"{prefix}prefix length out of range")
    return Network(address, int(bits))
