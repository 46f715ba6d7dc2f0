"""`nodewise config`: view, validate, diff and translate configurations."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import msgspec

from nodewise.cli.config_parser import EXIT_DIFFERS, EXIT_ERROR, EXIT_OK
from nodewise.cli.config_source import (
    ConfigFileError,
    ConfigSource,
    named,
    print_notes,
    read_any,
    read_source,
    registry_of,
    translated,
)
from nodewise.cli.config_view import print_differences, print_view, write_document
from nodewise.cli.console import printable
from nodewise.config.difference import differences
from nodewise.config.errors import ConfigError
from nodewise.config.feature_gates import FeatureGates, parse_feature_gates
from nodewise.config.in_force import InForce
from nodewise.config.load import load_configuration
from nodewise.config.translation import Translation, translate_keys, translate_provider
from nodewise.errors import NodewiseError
from nodewise.framework.registry import Registry


def run_config(arguments: argparse.Namespace) -> int:
    """Run a verb of `config` and return its exit code."""
    gates = parse_feature_gates(",".join(arguments.feature_gates))
    runs = {"view": _view, "validate": _validate, "diff": _diff, "translate": _translate}
    return runs[arguments.config_verb](arguments, gates)


def _view(arguments: argparse.Namespace, gates: FeatureGates) -> int:
    source = _source(arguments.file)
    print_notes(source)
    print_view(_in_force(source, gates, registry_of(arguments)), gates, arguments.output)
    return EXIT_OK


def _validate(arguments: argparse.Namespace, gates: FeatureGates) -> int:
    """Print every mistake of every file, one a line."""
    registry = registry_of(arguments)
    exit_code = EXIT_OK
    for path in arguments.files:
        messages = _mistakes(path, gates, registry)
        if messages:
            exit_code = EXIT_ERROR
        for message in messages:
            print(printable(f"{path}: {message}"))
        if not messages:
            print(printable(f"{path}: valid"))
    return exit_code


def _mistakes(path: str, gates: FeatureGates, registry: Registry) -> Sequence[str]:
    try:
        source = read_source(path)
        print_notes(source)
        source.in_force(gates, registry)
    except ConfigError as error:
        return error.messages
    except NodewiseError as error:
        return (str(error),)
    return ()


def _diff(arguments: argparse.Namespace, gates: FeatureGates) -> int:
    registry = registry_of(arguments)
    sources = [_source(path) for path in (arguments.first, arguments.second)]
    for source in sources:
        print_notes(source)
    first, second = (_in_force(source, gates, registry) for source in sources)
    found = differences(first, second)
    print_differences(found, (arguments.first, arguments.second), arguments.output)
    return EXIT_DIFFERS if found else EXIT_OK


def _translate(arguments: argparse.Namespace, gates: FeatureGates) -> int:
    """Print the v1 configuration that says the same, and notes on standard error."""
    translation = _translation(arguments)
    for note in translation.notes:
        print(printable(f"note: {note}"), file=sys.stderr)
    write_document(translation.document, arguments.output)
    return EXIT_OK


def _translation(arguments: argparse.Namespace) -> Translation:
    has_keys = arguments.predicates is not None or arguments.priorities is not None
    if sum((bool(arguments.file), bool(arguments.provider), has_keys)) != 1:
        raise ConfigFileError("config translate: give a FILE, or --provider, or --predicates and --priorities")
    if arguments.provider:
        return translate_provider(arguments.provider)
    if has_keys:
        return translate_keys(_names(arguments.predicates), _weights(arguments.priorities))
    try:
        translation = translated(arguments.file, read_any(arguments.file))
        load_configuration(msgspec.json.encode(translation.document))  # values are only checked here
        return translation
    except NodewiseError as error:
        raise named(arguments.file, error) from error


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _weights(text: str | None) -> dict[str, int] | None:
    """Read `A=2,B`; a weight that is not there is 1."""
    if text is None:
        return None
    weights: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, weight = (piece.strip() for piece in part.partition("="))
        if equals and not (weight.isdecimal() and int(weight) > 0):
            raise ConfigFileError(f"--priorities: found weight {weight!r} of {name}, expected a whole number from 1 on")
        weights[name] = int(weight) if equals else 1
    return weights


def _source(path: str) -> ConfigSource:
    try:
        return read_source(path)
    except NodewiseError as error:
        raise named(path, error) from error


def _in_force(source: ConfigSource, gates: FeatureGates, registry: Registry) -> InForce:
    try:
        return source.in_force(gates, registry)
    except NodewiseError as error:
        raise named(source.name, error) from error
