"""What `config view` and `config diff` print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nodewise.cli.config_source import value_text
from nodewise.cli.console import Console, printable
from nodewise.cli.structured import API_VERSION, write_json, write_yaml
from nodewise.cli.text_table import Column, Table
from nodewise.config.difference import Difference
from nodewise.config.encode import configuration_document
from nodewise.config.feature_gates import FeatureGates
from nodewise.config.in_force import InForce, ProfileInForce, Value


def write_document(document: Mapping[str, Any], output: str) -> None:
    """Write a document as yaml or json."""
    if output == "json":
        write_json(document)
    else:
        write_yaml(document)


def print_view(found: InForce, gates: FeatureGates, output: str) -> None:
    """Print a configuration in force."""
    if output != "table":
        write_document(view_document(found, gates), output)
        return
    console = Console()
    table = Table(Column("FIELD"), Column("VALUE"), Column("FROM"))
    for value in (*found.values, *_gate_values(gates)):
        table.add(value.path, value_text(value.value), value.origin)
    table.print(console)
    for profile in found.profiles:
        console.print()
        _print_profile(console, profile)


def _gate_values(gates: FeatureGates) -> list[Value]:
    return [Value(f"feature gate {name}", gates.enabled(name), "--feature-gates") for name in sorted(gates.switched)]


def _print_profile(console: Console, profile: ProfileInForce) -> None:
    console.print(f"Profile {profile.name}", "bold")
    table = Table(Column("FIELD"), Column("VALUE"), Column("FROM"), indent=2)
    for value in profile.values:
        table.add(value.path, value_text(value.value), value.origin)
    table.print(console)
    console.print()
    table = Table(Column("POINT"), Column("PLUGIN"), Column("WEIGHT", is_right=True), Column("FROM"), indent=2)
    for point, plugins in profile.points.items():
        for position, plugin in enumerate(plugins):
            weight = str(plugin.weight) if plugin.weight else ""
            table.add("" if position else point, plugin.name, weight, plugin.origin)
    table.print(console)
    if profile.disabled:
        console.print()
        table = Table(Column("DISABLED AT"), Column("PLUGIN"), Column("FROM"), indent=2)
        for disabled in profile.disabled:
            table.add(disabled.point, disabled.name, disabled.origin)
        table.print(console)
    if profile.arguments:
        console.print()
        table = Table(Column("ARGUMENT"), Column("VALUE"), Column("FROM"), indent=2)
        for value in profile.arguments:
            table.add(value.path, value_text(value.value), value.origin)
        table.print(console)


def view_document(found: InForce, gates: FeatureGates) -> dict[str, Any]:
    """Return the document of `config view -o json`.

    `configuration` is what kube-scheduler's `--write-config-to` writes; the rest says what that comes to, and why.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigurationView",
        "configuration": configuration_document(found.configuration),
        "origins": {value.path: value.origin for value in found.values},
        "featureGates": {name: gates.enabled(name) for name in sorted(gates.switched)},
        "profiles": [_profile_document(profile) for profile in found.profiles],
    }


def _profile_document(profile: ProfileInForce) -> dict[str, Any]:
    return {
        "schedulerName": profile.name,
        "origins": {value.path: value.origin for value in profile.values},
        "plugins": {
            point: [
                {"name": plugin.name, "from": plugin.origin}
                | ({"weight": plugin.weight, "weightFrom": plugin.weight_origin} if plugin.weight_origin else {})
                for plugin in plugins
            ]
            for point, plugins in profile.points.items()
        },
        "disabled": [
            {"point": disabled.point, "name": disabled.name, "from": disabled.origin} for disabled in profile.disabled
        ],
        "arguments": [{"path": value.path, "value": value.value, "from": value.origin} for value in profile.arguments],
    }


def print_differences(found: Sequence[Difference], names: tuple[str, str], output: str) -> None:
    """Print what differs between two configurations."""
    if output != "table":
        document = {
            "apiVersion": API_VERSION,
            "kind": "ConfigurationDifference",
            "a": names[0],
            "b": names[1],
            "differences": [{"where": d.where, "a": d.first, "b": d.second} for d in found],
        }
        write_document(document, output)
        return
    console = Console()
    if not found:
        console.print("the same is in force")
        return
    single = [difference for difference in found if not difference.is_order]
    if single:
        table = Table(Column("WHERE"), Column(names[0]), Column(names[1]))
        for difference in single:
            table.add(difference.where, value_text(difference.first), value_text(difference.second))
        table.print(console)
    for difference in found:
        if difference.is_order:
            console.print(printable(difference.where), "bold")
            for name, order in zip(names, (difference.first, difference.second), strict=True):
                console.print_wrapped(f"{name}: {', '.join(order)}", indent=2)
