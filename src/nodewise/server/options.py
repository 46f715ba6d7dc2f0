"""What `nodewise run` is to do: flags and the configuration file, brought together as kube-scheduler does."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec.structs import replace

from nodewise.config.encode import configuration_document
from nodewise.config.errors import ConfigError
from nodewise.config.feature_gates import FeatureGates, parse_feature_gates
from nodewise.config.load import decode_configuration, default_configuration
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.config.translation import is_old, translate
from nodewise.config.validation import check_configuration
from nodewise.errors import NodewiseError
from nodewise.server.flags import Flag, all_flags, flag_text
from nodewise.server.leader_election import LeaderElectionError, Timings
from nodewise.server.serving_certs import ServingCert

_LEADER_ELECTION = {
    "leader_elect": "leader_elect",
    "leader_elect_lease_duration": "lease_duration_ns",
    "leader_elect_renew_deadline": "renew_deadline_ns",
    "leader_elect_retry_period": "retry_period_ns",
    "leader_elect_resource_lock": "resource_lock",
    "leader_elect_resource_name": "resource_name",
    "leader_elect_resource_namespace": "resource_namespace",
}
_CLIENT = {"kubeconfig": "kubeconfig", "kube_api_qps": "qps", "kube_api_burst": "burst"}
_PROFILING = {"profiling": "enable_profiling", "contention_profiling": "enable_contention_profiling"}


class OptionsError(NodewiseError):
    """Flags or the configuration file cannot be used; the text names the flag or the file."""


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """Where the HTTPS endpoint is.

    Attributes
    ----------
    port : int
        0: nowhere.
    address : str
    cert : ServingCert
    min_version : str
    suites : tuple[str, ...]
    """

    port: int
    address: str
    cert: ServingCert
    min_version: str
    suites: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """Who may see the HTTPS endpoint; the names are those of the flags."""

    authentication_kubeconfig: str
    authentication_skip_lookup: bool
    authentication_tolerate_lookup_failure: bool
    authentication_token_webhook_cache_ttl: float
    client_ca_file: str
    requestheader_client_ca_file: str
    requestheader_allowed_names: tuple[str, ...]
    requestheader_username_headers: tuple[str, ...]
    requestheader_uid_headers: tuple[str, ...]
    requestheader_group_headers: tuple[str, ...]
    requestheader_extra_headers_prefix: tuple[str, ...]
    authorization_kubeconfig: str
    authorization_always_allow_paths: tuple[str, ...]
    authorization_webhook_cache_authorized_ttl: float
    authorization_webhook_cache_unauthorized_ttl: float


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything that `nodewise run` was told.

    Attributes
    ----------
    configuration : KubeSchedulerConfiguration
        With defaults and the flags that count, checked.
    gates : FeatureGates
    plugins : tuple[str, ...]
        `module:Class` of each plugin to be added.
    context, master : str
        Which cluster; the kubeconfig is in the configuration.
    write_config_to : str
    is_dry_run : bool
    tie_break : str
    seed : int
    max_unschedulable_s : float
    serving : ServingOptions
    access : AccessOptions
    logging_format : str
    verbosity : int
    flags : Mapping[str, str]
        All flags as they would be written, for /flagz.
    notes : tuple[str, ...]
        What people should know: flags that do nothing, what a translation could not say.
    """

    configuration: KubeSchedulerConfiguration
    gates: FeatureGates
    plugins: tuple[str, ...]
    context: str
    master: str
    write_config_to: str
    is_dry_run: bool
    tie_break: str
    seed: int
    max_unschedulable_s: float
    serving: ServingOptions
    access: AccessOptions
    logging_format: str
    verbosity: int
    flags: Mapping[str, str]
    notes: tuple[str, ...]


def run_options(arguments: argparse.Namespace) -> RunOptions:
    """Bring flags and file together.

    The flags about leader election override the file. Those about the client and profiling only count without one.

    Raises
    ------
    NodewiseError
        In one line, with kube-scheduler's text for what is wrong in the file.
    """
    given: dict[str, Any] = {flag.attribute: getattr(arguments, flag.attribute) for flag in _given(arguments)}
    values = {flag.attribute: flag.default for flag in all_flags()} | given
    gates = _gates(arguments)
    notes: list[str] = []
    configuration = _configuration(given, gates, notes)
    _check_pair(values["tls_cert_file"], values["tls_private_key_file"])
    notes += [f"--{flag.name} does nothing here" for flag in _given(arguments) if flag.is_ignored]
    cert = ServingCert(values["tls_cert_file"], values["tls_private_key_file"], values["cert_dir"])
    return RunOptions(
        configuration=configuration,
        gates=gates,
        plugins=tuple(arguments.plugin),
        context=values["context"],
        master=values["master"],
        write_config_to=values["write_config_to"],
        is_dry_run=values["dry_run"],
        tie_break=values["tie_break"],
        seed=values["seed"],
        max_unschedulable_s=values["pod_max_in_unschedulable_pods_duration"],
        serving=ServingOptions(
            values["secure_port"], values["bind_address"], cert, values["tls_min_version"], values["tls_cipher_suites"]
        ),
        access=AccessOptions(**{name: values[name] for name in AccessOptions.__dataclass_fields__}),
        logging_format=values["logging_format"],
        verbosity=values["v"],
        flags=_flag_texts(values, arguments),
        notes=tuple(notes),
    )


def write_configuration(path: str, configuration: KubeSchedulerConfiguration) -> None:
    """Write a configuration in force as YAML (`--write-config-to`).

    Raises
    ------
    OptionsError
    """
    text = yaml.safe_dump(configuration_document(configuration), sort_keys=False)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OptionsError(f"--write-config-to {path}: {error.strerror or error}") from error


def _given(arguments: argparse.Namespace) -> list[Flag]:
    return [flag for flag in all_flags() if hasattr(arguments, flag.attribute)]


def _gates(arguments: argparse.Namespace) -> FeatureGates:
    text = ",".join(arguments.feature_gates)
    try:
        return parse_feature_gates(text)
    except ConfigError as error:
        raise OptionsError(f"--feature-gates {text}: {error}") from error


def _configuration(given: Mapping[str, Any], gates: FeatureGates, notes: list[str]) -> KubeSchedulerConfiguration:
    path = given.get("config", "")
    if path:
        configuration = _from_file(path, gates, notes)
        without_effect = [name for name in (*_CLIENT, *_PROFILING) if name in given]
        notes += [f"--{name.replace('_', '-')} does nothing beside --config" for name in without_effect]
    else:
        configuration = default_configuration(gates)
        configuration = replace(
            configuration,
            client_connection=replace(configuration.client_connection, **_picked(given, _CLIENT)),
            **_picked(given, _PROFILING),
        )
    election = replace(configuration.leader_election, **_picked(given, _LEADER_ELECTION))
    configuration = replace(configuration, leader_election=election)
    try:
        check_configuration(configuration, gates)
        if election.leader_elect:
            Timings.of(election)
    except (ConfigError, LeaderElectionError) as error:
        raise OptionsError(f"{path}: {error}" if path else str(error)) from error
    return configuration


def _picked(given: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of some flags by the fields that they are about."""
    return {
        field: round(given[name] * 1e9) if field.endswith("_ns") else given[name]
        for name, field in fields.items()
        if name in given
    }


def _from_file(path: str, gates: FeatureGates, notes: list[str]) -> KubeSchedulerConfiguration:
    try:
        data = Path(path).read_bytes()
        if is_old(data):
            translation = translate(data, lambda name: Path(os.path.dirname(path), name).read_bytes())
            notes += [f"{path}: {note}" for note in translation.notes]
            data = msgspec.json.encode(translation.document)
        return decode_configuration(data, gates)
    except OSError as error:
        raise OptionsError(f"--config {error.filename or path}: {error.strerror or error}") from error
    except NodewiseError as error:
        raise OptionsError(f"{path}: {error}") from error


def _check_pair(cert_file: str, key_file: str) -> None:
    if bool(cert_file) != bool(key_file):
        missing = "--tls-private-key-file" if cert_file else "--tls-cert-file"
        raise OptionsError(f"{missing}: found nothing, expected a file: certificate and key go together")


def _flag_texts(values: Mapping[str, Any], arguments: argparse.Namespace) -> dict[str, str]:
    texts = {flag.name: flag_text(flag, values[flag.attribute]) for flag in all_flags()}
    repeated = {"feature-gates": ",".join(arguments.feature_gates), "plugin": ",".join(arguments.plugin)}
    return texts | repeated
