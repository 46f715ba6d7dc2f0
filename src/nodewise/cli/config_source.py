"""Configuration files as commands name them: new, old, `default`, or standard input."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec

from nodewise.cluster.files import InputFile, read_file
from nodewise.config.errors import ConfigError
from nodewise.config.feature_gates import FeatureGates
from nodewise.config.in_force import InForce, configuration_in_force
from nodewise.config.load import default_configuration, load_configuration
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.config.plugins import IN_TREE_POINTS, in_tree_implements
from nodewise.config.translation import Translation, is_old, translate
from nodewise.errors import NodewiseError
from nodewise.framework.registry import Registry
from nodewise.plugins import in_tree_registry

DEFAULT = "default"
MAX_MESSAGE = 2000
# What a class needs to run at an extension point; for plugins that are not in-tree.
_METHODS = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "sort_key",
    "preFilter": "pre_filter",
    "filter": "filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "score": "score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "bind",
    "postBind": "post_bind",
}


class ConfigFileError(NodewiseError):
    """A configuration file that cannot be used; the text names it."""


@dataclass(slots=True)
class ConfigSource:
    """The text of a v1 configuration.

    Attributes
    ----------
    name : str
        What origins and messages call it.
    data : bytes | None
        None: kube-scheduler's defaults.
    is_translated : bool
        Whether the text was made from an old file, so that its lines mean nothing to anybody.
    notes : list[str]
        What a translation could not say.
    """

    name: str
    data: bytes | None
    is_translated: bool = False
    notes: list[str] = field(default_factory=list)

    def configuration(self, gates: FeatureGates) -> KubeSchedulerConfiguration:
        """Return it with defaults, checked.

        Raises
        ------
        ConfigError
            With kube-scheduler's text.
        """
        return default_configuration(gates) if self.data is None else load_configuration(self.data, gates)

    def in_force(self, gates: FeatureGates, registry: Registry) -> InForce:
        """Return what it comes to.

        Raises
        ------
        ConfigError
            With kube-scheduler's text.
        """

        def implements(name: str, point: str) -> bool:
            if in_tree_implements(name, point):
                return True
            return name in registry and name not in in_tree and hasattr(registry[name], _METHODS.get(point, "?"))

        in_tree = in_tree_registry()
        return configuration_in_force(
            self.data,
            self.name,
            gates,
            implements=implements,
            exists=lambda name: name in registry or name in IN_TREE_POINTS,
            has_lines=not self.is_translated,
        )


def read_source(path: str) -> ConfigSource:
    """Read a file; a Policy or a configuration of an older version is translated.

    Raises
    ------
    ConfigError
        When an old file is not one that older versions took.
    FileError
        When the file cannot be read.
    """
    if path == DEFAULT and not os.path.exists(path):
        return ConfigSource(DEFAULT, None)
    data = _read(path)
    if not is_old(data):
        return ConfigSource(path, data)
    translation = translated(path, data)
    return ConfigSource(path, msgspec.json.encode(translation.document), is_translated=True, notes=translation.notes)


def translated(path: str, data: bytes) -> Translation:
    """Translate an old file; a policy that it names is looked for beside it.

    Raises
    ------
    ConfigError
        When it cannot be translated.
    """

    def read_policy(name: str) -> bytes:
        try:
            return _read(os.path.join(os.path.dirname(path), name))
        except NodewiseError as error:
            raise ConfigError(f"algorithmSource.policy.file.path {name}: {error}") from error

    return translate(data, read_policy)


def read_any(path: str) -> bytes:
    """Return the content of a file, or of standard input."""
    return _read(path)


def named(path: str, error: NodewiseError) -> ConfigFileError:
    """Return an error that names its file, and is not endless."""
    text = str(error)
    return ConfigFileError(f"{path}: {text if len(text) <= MAX_MESSAGE else f'{text[:MAX_MESSAGE]}…'}")


def registry_of(arguments: argparse.Namespace) -> Registry:
    """Return all plugins that a command knows: in-tree ones, those of installed packages, those it names."""
    registry = in_tree_registry()
    registry.load_entry_points()
    for source in arguments.plugin:
        registry.load_plugin(source)
    return registry


def print_notes(source: ConfigSource) -> None:
    """Tell on standard error what a translation could not say."""
    from nodewise.cli.console import printable

    for note in source.notes:
        print(printable(f"note: {source.name}: {note}"), file=sys.stderr)


def value_text(value: Any) -> str:
    """Return a JSON value as one line: texts bare, nothing as `-`."""
    if value is None or value == "":
        return "-"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _read(path: str) -> bytes:
    return read_file(InputFile(path), _stdin())


def _stdin() -> BinaryIO | None:
    return sys.stdin.buffer if sys.stdin is not None else None
