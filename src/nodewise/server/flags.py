"""The flags of `nodewise run`: kube-scheduler's, and a few of our own."""

from __future__ import annotations

import argparse
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nodewise.config.durations import format_duration, parse_duration
from nodewise.server.authorization import ALWAYS_ALLOWED
from nodewise.server.logging import FORMATS
from nodewise.server.tls_names import TLS_SUITES, TLS_VERSIONS

Parse = Callable[[str], Any]
TIE_BREAKS = ("first", "round-robin", "random", "kube")
_BOOLEANS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag.

    Attributes
    ----------
    name : str
        Without dashes.
    parse : Callable[[str], Any]
        Raises `argparse.ArgumentTypeError`.
    default : Any
    help : str
        Empty: it is taken for the sake of kube-scheduler's command lines, and does nothing here.
    metavar : str
    """

    name: str
    parse: Parse
    default: Any
    help: str = ""
    metavar: str = "X"

    @property
    def attribute(self) -> str:
        """Where its value is in a namespace."""
        return self.name.replace("-", "_")

    @property
    def is_ignored(self) -> bool:
        return not self.help


def boolean(text: str) -> bool:
    """Read what Go's ParseBool reads, in any case."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected true or false")
    return value


def duration_s(text: str) -> float:
    """Read a duration of Go, such as 1m30s; return seconds."""
    try:
        return parse_duration(text) / 1e9
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}; expected one such as 10s or 1m30s") from None


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def natural(text: str) -> int:
    """Read a whole number from 0 on."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 0 on")
    return int(text)


def _port(text: str) -> int:
    number = natural(text)
    if number > 65535:
        raise argparse.ArgumentTypeError(f"found {text}, expected 0 to 65535; 0 turns the endpoint off")
    return number


def _rate(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a number") from None


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected an IP address") from None


def _one_of(*choices: str) -> Parse:
    def parse(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"found {text!r}, expected one of: {', '.join(filter(None, choices))}")
        return text

    return parse


def _suites(text: str) -> tuple[str, ...]:
    suites = names(text)
    unknown = [suite for suite in suites if suite not in TLS_SUITES]
    if unknown:
        raise argparse.ArgumentTypeError(f"found {unknown[0]!r}, expected some of: {', '.join(TLS_SUITES)}")
    return suites


FLAGS: Mapping[str, tuple[Flag, ...]] = {
    "what to run": (
        Flag("config", str, "", "a KubeSchedulerConfiguration, or an older one or a Policy", "FILE"),
        Flag("write-config-to", str, "", "write the configuration in force to this file and exit", "FILE"),
        Flag("dry-run", boolean, False, "decide and tell, but write nothing to the cluster", "BOOL"),
        Flag("tie-break", _one_of(*TIE_BREAKS), "first", f"among equal nodes: {', '.join(TIE_BREAKS)}", "RULE"),
        Flag("seed", natural, 0, "for --tie-break random", "N"),
        Flag(
            "pod-max-in-unschedulable-pods-duration",
            duration_s,
            300.0,
            "how long a pod waits at most before it is tried again without an event",
            "DURATION",
        ),
    ),
    "the cluster": (
        Flag("kubeconfig", str, "", "how to reach the cluster; ignored with --config", "FILE"),
        Flag("context", str, "", "a context of the kubeconfig", "NAME"),
        Flag("master", str, "", "the address of the API server, instead of the kubeconfig's", "URL"),
        Flag("kube-api-qps", _rate, 50.0, "requests a second in the long run; ignored with --config", "N"),
        Flag("kube-api-burst", natural, 100, "requests at once; ignored with --config", "N"),
        Flag("kube-api-content-type", str, "application/vnd.kubernetes.protobuf"),
    ),
    "leader election": (
        Flag("leader-elect", boolean, True, "schedule only as holder of the lease", "BOOL"),
        Flag("leader-elect-lease-duration", duration_s, 15.0, "how long standbys wait for a silent leader", "DURATION"),
        Flag("leader-elect-renew-deadline", duration_s, 10.0, "how long a leader tries to renew", "DURATION"),
        Flag("leader-elect-retry-period", duration_s, 2.0, "time between two attempts", "DURATION"),
        Flag("leader-elect-resource-lock", str, "leases", "only leases exist", "KIND"),
        Flag("leader-elect-resource-name", str, "kube-scheduler", "name of the lease", "NAME"),
        Flag("leader-elect-resource-namespace", str, "kube-system", "namespace of the lease", "NAME"),
    ),
    "the HTTPS endpoint": (
        Flag("secure-port", _port, 10259, "where to serve health and metrics; 0: not at all", "PORT"),
        Flag("bind-address", _address, "0.0.0.0", "the address to listen on", "IP"),
        Flag("cert-dir", str, "", "where to keep the certificate that is made at start; default: nowhere", "DIR"),
        Flag("tls-cert-file", str, "", "the certificate to show", "FILE"),
        Flag("tls-private-key-file", str, "", "its key", "FILE"),
        Flag("tls-min-version", _one_of(*TLS_VERSIONS), "", "VersionTLS12 (default) or VersionTLS13", "VERSION"),
        Flag("tls-cipher-suites", _suites, (), "Go's names, for TLS 1.2", "A,B"),
        Flag("profiling", boolean, True, "serve /debug; ignored with --config", "BOOL"),
        Flag("contention-profiling", boolean, True),
        Flag("disable-http2-serving", boolean, False),
        Flag("http2-max-streams-per-connection", natural, 0),
        Flag("permit-address-sharing", boolean, False),
        Flag("permit-port-sharing", boolean, False),
        Flag("tls-curve-preferences", names, ()),
    ),
    "who may see it": (
        Flag("authentication-kubeconfig", str, "", "whom to ask about tokens; default: the pod's cluster", "FILE"),
        Flag("authentication-skip-lookup", boolean, False, "do not read the cluster's client CA", "BOOL"),
        Flag("authentication-tolerate-lookup-failure", boolean, True, "go on when it cannot be read", "BOOL"),
        Flag("authentication-token-webhook-cache-ttl", duration_s, 10.0, "how long answers are good", "DURATION"),
        Flag("client-ca-file", str, "", "whose client certificates prove who asks", "FILE"),
        Flag("requestheader-client-ca-file", str, "", "whose client certificates proxies have", "FILE"),
        Flag("requestheader-allowed-names", names, (), "common names of proxies; none: all", "A,B"),
        Flag("requestheader-username-headers", names, ("x-remote-user",), "where proxies name users", "A,B"),
        Flag("requestheader-uid-headers", names, (), "where proxies give their uids", "A,B"),
        Flag("requestheader-group-headers", names, ("x-remote-group",), "where proxies name groups", "A,B"),
        Flag("requestheader-extra-headers-prefix", names, ("x-remote-extra-",), "what else proxies say", "A,B"),
        Flag("authorization-kubeconfig", str, "", "whom to ask who may; default: the pod's cluster", "FILE"),
        Flag("authorization-always-allow-paths", names, ALWAYS_ALLOWED, "what everybody may see", "A,B"),
        Flag("authorization-webhook-cache-authorized-ttl", duration_s, 10.0, "how long a yes is good", "DURATION"),
        Flag("authorization-webhook-cache-unauthorized-ttl", duration_s, 10.0, "how long a no is good", "DURATION"),
    ),
    "logs": (
        Flag("logging-format", _one_of(*FORMATS), "text", "text or json", "FORMAT"),
        Flag("v", natural, 0, "how much is told: 3 what happens, 5 everything", "N"),
        Flag("vmodule", str, ""),
        Flag("log-flush-frequency", duration_s, 5.0),
        Flag("log-text-split-stream", boolean, False),
        Flag("log-text-info-buffer-size", str, "0"),
        Flag("log-json-split-stream", boolean, False),
        Flag("log-json-info-buffer-size", str, "0"),
        Flag("show-hidden-metrics-for-version", str, ""),
    ),
}
"""By group; those that may be given several times are added by `add_run_flags` itself."""
_REPEATED = (
    ("plugin", "MODULE:CLASS", "add a plugin; it runs at its extension points after the profile's own, with weight 1"),
    (
        "feature-gates",
        "A=true,B=false",
        "as of kube-scheduler; a gate that would change something not built is refused",
    ),
)


def all_flags() -> tuple[Flag, ...]:
    """Return every flag that is given once."""
    return tuple(flag for group in FLAGS.values() for flag in group)


def add_run_flags(parser: argparse.ArgumentParser) -> None:
    """Add all flags; one that is not given is left out of the namespace, so that a default can be told from a wish."""
    for title, flags in FLAGS.items():
        group = parser.add_argument_group(title)
        for flag in flags:
            _add(group, flag)
    for name, metavar, text in _REPEATED:
        parser.add_argument(f"--{name}", action="append", default=[], metavar=metavar, help=text)


def _add(group: Any, flag: Flag) -> None:
    options: dict[str, Any] = {"type": flag.parse, "default": argparse.SUPPRESS, "dest": flag.attribute}
    if flag.parse is boolean:
        options |= {"nargs": "?", "const": True}
    if flag.is_ignored:
        options["help"] = argparse.SUPPRESS
    else:
        shown = flag_text(flag, flag.default)
        options |= {"metavar": flag.metavar, "help": f"{flag.help} (default: {shown})" if shown else flag.help}
    group.add_argument(*(["-v"] if flag.name == "v" else []), f"--{flag.name}", **options)


def flag_text(flag: Flag, value: Any) -> str:
    """Return a flag's value as it would be written."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if flag.parse is duration_s:
        return format_duration(round(value * 1e9))
    return ",".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else str(value)
