"""Reads a KubeSchedulerConfiguration from a file, as strictly as kube-scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from nodewise.config.arguments import ARGS_OF
from nodewise.config.defaults import default_configuration_fields
from nodewise.config.documents import Fields, Number, is_json, read_json, read_yaml
from nodewise.config.errors import ConfigError
from nodewise.config.feature_gates import DEFAULT_GATES, FeatureGates
from nodewise.config.go_text import json_text, quote
from nodewise.config.model import (
    API_GROUP,
    API_VERSION,
    KIND,
    KubeSchedulerConfiguration,
    PluginConfig,
    Profile,
)
from nodewise.config.strict_decoding import decode_strictly, json_type
from nodewise.config.validation import check_configuration

_STRUCTS: dict[str, type[Any]] = {
    KIND: KubeSchedulerConfiguration,
    **{f"{name}Args": ARGS_OF[name] for name in ARGS_OF},
}
_META_STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_NO_VERSION_KIND = "couldn't get version/kind; json parse error: json: cannot unmarshal"


class TypeMeta(NamedTuple):
    """What a document says it is."""

    api_version: str
    kind: str

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


def load_configuration(source: str | Path | bytes, gates: FeatureGates = DEFAULT_GATES) -> KubeSchedulerConfiguration:
    """Read, default and validate a configuration.

    Parameters
    ----------
    source
        A path, or the text itself as bytes; YAML or JSON.
    gates
        They decide about default plugins and arguments, and about which arguments are allowed.

    Raises
    ------
    ConfigError
        With kube-scheduler's text for everything that is wrong.
    OSError
        When the file cannot be read.
    """
    configuration = decode_configuration(source if isinstance(source, bytes) else Path(source).read_bytes(), gates)
    check_configuration(configuration, gates)
    return configuration


def default_configuration(gates: FeatureGates = DEFAULT_GATES) -> KubeSchedulerConfiguration:
    """Return the configuration of a kube-scheduler without a file."""
    return default_configuration_fields(KubeSchedulerConfiguration(), gates)


class Written(NamedTuple):
    """What a file says, before defaults.

    Attributes
    ----------
    is_first_named : bool
        Whether the first profile has a scheduler name, be it empty: then it gets no other.
    """

    configuration: KubeSchedulerConfiguration
    is_first_named: bool


def decode_configuration(data: bytes, gates: FeatureGates = DEFAULT_GATES) -> KubeSchedulerConfiguration:
    """Decode and default a configuration, without validating values.

    Raises
    ------
    ConfigError
        When the text is no KubeSchedulerConfiguration v1, or has unknown or repeated fields or wrong types.
    """
    written = decode_written(data)
    return default_configuration_fields(written.configuration, gates, is_first_named=written.is_first_named)


def decode_written(data: bytes) -> Written:
    """Decode a configuration without defaulting it.

    Raises
    ------
    ConfigError
        When the text is no KubeSchedulerConfiguration v1, or has unknown or repeated fields or wrong types.
    """
    repeated_keys: tuple[str, ...] = ()
    if is_json(data):
        tree = read_json(data)
    else:
        tree, repeated_keys = read_yaml(data)
    meta = interpret(tree)
    if not meta.kind:
        raise ConfigError(f"Object 'Kind' is missing in '{data.decode('utf-8', 'replace')}'")
    if not meta.api_version.rpartition("/")[2]:
        raise ConfigError(f"Object 'apiVersion' is missing in '{data.decode('utf-8', 'replace')}'")
    decoded, strict_errors = decode_strictly(tree, _registered(meta), has_type_meta=True)
    if repeated_keys:
        strict_errors = ["yaml: unmarshal errors:\n" + "\n".join(repeated_keys), *strict_errors]
    if not isinstance(decoded, KubeSchedulerConfiguration):
        shown = f"{meta.api_version}, Kind={meta.kind}"
        raise ConfigError(f"couldn't decode as KubeSchedulerConfiguration, got {shown}: ")
    profiles = []
    for index, profile in enumerate(decoded.profiles):
        profile, args_errors = _decode_nested_args(f".profiles[{index}]", profile)
        profiles.append(profile)
        strict_errors += args_errors
    if strict_errors:
        raise ConfigError(_strict(strict_errors))
    return Written(replace(decoded, profiles=tuple(profiles)), _is_first_named(tree))


def _is_first_named(tree: Fields) -> bool:
    """Return whether the first profile has a scheduler name; an empty one counts, null does not."""
    profiles = dict(tree).get("profiles") or [None]
    return dict(profiles[0] or ()).get("schedulerName") is not None


def _strict(errors: list[str]) -> str:
    return f"strict decoding error: {', '.join(errors)}"


def interpret(tree: Any) -> TypeMeta:
    """Find out what a tree says it is (SimpleMetaFactory.Interpret); names in any case, the last one counts."""
    found = {"apiversion": "", "kind": ""}
    if tree is not None and not isinstance(tree, Fields):
        raise ConfigError(f"{_NO_VERSION_KIND} {json_type(tree)} into Go value of type {_META_STRUCT}")
    for name, value in tree or ():
        folded = name.lower()
        if folded not in found or value is None:
            continue
        if json_type(value) != "string":
            shown = "apiVersion" if folded == "apiversion" else "kind"
            raise ConfigError(f"{_NO_VERSION_KIND} {json_type(value)} into Go struct field .{shown} of type string")
        found[folded] = value
    api_version = found["apiversion"]
    if api_version.count("/") > 1:
        raise ConfigError(f"unexpected GroupVersion string: {api_version}")
    return TypeMeta("" if api_version == "/" else api_version, found["kind"])


def _registered(meta: TypeMeta) -> type[Any]:
    if meta.api_version != API_VERSION or meta.kind not in _STRUCTS:
        raise ConfigError(
            f"no kind {quote(meta.kind)} is registered for version {quote(meta.api_version)}"
            ' in scheme "pkg/runtime/scheme.go:111"'
        )
    return _STRUCTS[meta.kind]


def _decode_nested_args(path: str, profile: Profile) -> tuple[Profile, list[str]]:
    """Decode the arguments of plugins that have a struct for them (DecodeNestedObjects)."""
    configs: list[PluginConfig] = []
    strict_errors: list[str] = []
    for index, config in enumerate(profile.plugin_config):
        if config.name not in ARGS_OF:
            configs.append(PluginConfig(config.name, plain(config.args)))
            continue
        at = f"decoding {path}.pluginConfig[{index}]"
        try:
            args, args_errors = _decode_args(config)
        except ConfigError as error:
            raise ConfigError(f"{at}: {error}") from error
        if args_errors:
            inner = f"decoding args for plugin {config.name}: {_strict(args_errors)}"
            strict_errors.append(f"{at}: {_strict([inner])}")
        configs.append(PluginConfig(config.name, args))
    return replace(profile, plugin_config=tuple(configs)), strict_errors


def _decode_args(config: PluginConfig) -> tuple[Any, list[str]]:
    wanted = f"{config.name}Args"
    try:
        said = interpret(config.args)
        group, _, version = said.api_version.rpartition("/")
        is_default = not version and group in ("", API_GROUP)
        meta = TypeMeta(API_VERSION if is_default else said.api_version, said.kind or wanted)
        if not version and not is_default:
            raise ConfigError(f"Object 'apiVersion' is missing in '{json_text(plain(config.args))}'")
        args, strict_errors = decode_strictly(config.args, _registered(meta), has_type_meta=True)
    except ConfigError as error:
        raise ConfigError(f"decoding args for plugin {config.name}: {error}") from error
    if meta.kind != wanted:
        raise ConfigError(
            f"args for plugin {config.name} were not of type {wanted}.{API_GROUP}, got {meta.kind}.{meta.group}"
        )
    return args, strict_errors


def plain(tree: Any) -> Any:
    """Return a tree as plain Python values."""
    if isinstance(tree, Fields):
        return {name: plain(value) for name, value in tree}
    if isinstance(tree, list):
        return [plain(item) for item in tree]
    if isinstance(tree, Number):
        return int(tree) if tree.removeprefix("-").isdecimal() else float(tree)
    return tree
