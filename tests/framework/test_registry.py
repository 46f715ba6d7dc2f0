"""Plugins are found by name, from this package, from other modules, or not, and then it is said why."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from nodewise.framework import registry as registry_module
from nodewise.framework.node_plugin import NodePluginAdapter
from nodewise.framework.registry import (
    PluginClassError,
    PluginLoadError,
    PluginModuleError,
    PluginNameTakenError,
    Registry,
    UnknownPluginError,
)
from nodewise.plugins import in_tree_registry
from nodewise.testing.builders import FakeHandle

RULES = """
class PreferFastDisks:
    name = "PreferFastDisks"

    def __init__(self, args, handle):
        self.args = args

    def score(self, pod, node):
        return 100 if node.labels.get("disk") == "ssd" else 0

class Nameless:
    pass

NUMBER = 3
"""


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the name of an importable module with plugins."""
    (tmp_path / "disk_rules.py").write_text(RULES)
    (tmp_path / "broken_rules.py").write_text("import no_such_dependency\n")
    (tmp_path / "failing_rules.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("disk_rules", "broken_rules", "failing_rules"):
        sys.modules.pop(name, None)
    return "disk_rules"


def test_all_default_plugins_are_registered_in_the_order_of_the_default_profile() -> None:
    names = list(in_tree_registry())
    assert len(names) == 23
    assert names[:3] == ["SchedulingGates", "PrioritySort", "NodeName"]
    assert names[19:] == ["NodeDeclaredFeatures", "GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"]


def test_a_registered_plugin_is_made_with_arguments_and_handle() -> None:
    assert in_tree_registry().make("NodeName", None, FakeHandle()).name == "NodeName"


def test_a_plugin_of_another_module_is_loaded_and_adapted(rules: str) -> None:
    registry = in_tree_registry()
    assert registry.load_plugin(f"{rules}:PreferFastDisks") == "PreferFastDisks"
    made = registry.make("PreferFastDisks", {"a": 1}, FakeHandle())
    assert isinstance(made, NodePluginAdapter)
    assert made.plugin.args == {"a": 1}


def test_plugins_of_installed_packages_are_loaded(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("disks", f"{rules}:PreferFastDisks", "nodewise.plugins")
    monkeypatch.setattr(registry_module, "entry_points", lambda group: EntryPoints([point]).select(group=group))
    registry = Registry()
    assert registry.load_entry_points() == ["PreferFastDisks"]
    assert "PreferFastDisks" in registry


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("no_such_module:X", PluginModuleError, "there is no module no_such_module on the import path"),
        ("broken_rules:X", PluginModuleError, "module broken_rules imports no_such_dependency, which is not there"),
        ("failing_rules:X", PluginModuleError, "importing failing_rules failed: ZeroDivisionError"),
        ("disk_rules:X", PluginClassError, "has no X"),
        ("disk_rules:NUMBER", PluginClassError, "NUMBER is a int, expected a class"),
        ("disk_rules:Nameless", PluginClassError, "has no `name`"),
        ("disk_rules", PluginClassError, "expected module:Class"),
        ("nodewise.plugins.node_name:NodeName", PluginNameTakenError, "taken by nodewise.plugins.node_name:NodeName"),
    ],
)
@pytest.mark.usefixtures("rules")
def test_a_plugin_that_cannot_be_had_is_told_why(source: str, error: type[PluginLoadError], message: str) -> None:
    with pytest.raises(error, match=f"plugin {source}: .*{message}"):
        in_tree_registry().load_plugin(source)


def test_an_unknown_name_is_told_with_the_known_ones() -> None:
    with pytest.raises(
        UnknownPluginError, match=r"no plugin is named NodeNames; there are DefaultBinder, .*NodeName, "
    ):
        in_tree_registry().make("NodeNames", None, FakeHandle())
