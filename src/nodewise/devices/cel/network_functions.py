"""Functions on addresses, networks and URLs in device expressions, by overload id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodewise.devices.cel.go_text import quoted
from nodewise.devices.cel.network import Address, Network, NetworkError, parse_address, parse_network
from nodewise.devices.cel.urls import Url, UrlError, check_request_uri, parse_url
from nodewise.devices.cel.values import Failure


def _address(text: str) -> Address | Failure:
    """Read an address that has no zone and is no IPv4 address in disguise (parseIPAddr)."""
    try:
        address = parse_address(text)
    except NetworkError as error:
        return Failure(f"IP Address {quoted(text)} parse error during conversion from string: {error}")
    if address.zone:
        return Failure(f"IP address {quoted(text)} with zone value is not allowed")
    if address.is_mapped:
        return Failure(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return address


_NETWORK_PROBLEM = "network address parse error during conversion from string: "


def _network(text: str) -> Network | Failure:
    try:
        network = parse_network(text)
    except NetworkError as error:
        return Failure(f"{_NETWORK_PROBLEM}{_NETWORK_PROBLEM}{error}")
    if network.address.is_mapped:
        return Failure(f"{_NETWORK_PROBLEM}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return network


def _is_canonical(text: str) -> bool | Failure:
    address = _address(text)
    return address if isinstance(address, Failure) else str(address) == text


def _contains_address(network: Network, text: str) -> Any:
    address = _address(text)
    # what cannot be read makes upstream look at the network as if it were the wrong type
    return Failure("no such overload") if isinstance(address, Failure) else network.contains(address)


def _contains_network(network: Network, text: str) -> Any:
    other = _network(text)
    return other if isinstance(other, Failure) else network.contains_network(other)


def _url(text: str) -> Url | Failure:
    try:
        return parse_url(text)
    except UrlError as error:
        return Failure(f"URL parse error during conversion from string: {error}")


def _is_url(text: str) -> bool:
    try:
        check_request_uri(text)
    except UrlError:
        return False
    return True


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "string_to_ip": _address,
    "is_ip": lambda text: isinstance(_address(text), Address),
    "ip_is_canonical": _is_canonical,
    "ip_family": lambda address: address.ip.version,
    "ip_is_unspecified": lambda address: address.is_unspecified,
    "ip_is_loopback": lambda address: address.is_loopback,
    "ip_is_link_local_multicast": lambda address: address.is_link_local_multicast,
    "ip_is_link_local_unicast": lambda address: address.is_link_local_unicast,
    "ip_is_global_unicast": lambda address: address.is_global_unicast,
    "string_to_cidr": _network,
    "is_cidr": lambda text: isinstance(_network(text), Network),
    "cidr_contains_ip_string": _contains_address,
    "cidr_contains_ip_ip": lambda network, address: network.contains(address),
    "cidr_contains_cidr_string": _contains_network,
    "cidr_contains_cidr": lambda network, other: network.contains_network(other),
    "cidr_ip": lambda network: network.address,
    "cidr_prefix_length": lambda network: network.n_bits,
    "cidr_masked": lambda network: network.masked(),
    "string_to_url": _url,
    "is_url_string": _is_url,
    "url_get_scheme": lambda url: url.scheme,
    "url_get_host": lambda url: url.host,
    "url_get_hostname": lambda url: url.hostname,
    "url_get_port": lambda url: url.port,
    "url_get_escaped_path": lambda url: url.escaped_path,
    "url_get_query": lambda url: url.parameters(),
}
