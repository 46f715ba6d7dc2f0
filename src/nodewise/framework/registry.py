"""Which plugins there are: names and how to make each, from this package, entry points or `module:Class`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from nodewise.errors import NodewiseError
from nodewise.framework.node_plugin import adapt

ENTRY_POINT_GROUP = "nodewise.plugins"

PluginFactory = Callable[[Any, Any], Any]
"""Makes a plugin from its arguments (None: it has none) and a Handle; a plugin's class is one."""


class PluginLoadError(NodewiseError):
    """A plugin cannot be had from where it was said to be.

    Attributes
    ----------
    source : str
        `module:Class`, as it was given.
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"plugin {source}: {problem}")
        self.source = source


class PluginModuleError(PluginLoadError):
    """The plugin's module cannot be imported."""


class PluginClassError(PluginLoadError):
    """The module has no such class, or the class is not a plugin."""


class PluginNameTakenError(PluginLoadError):
    """Another plugin has this name already."""


class UnknownPluginError(NodewiseError):
    """No plugin has this name."""


class Registry(Mapping[str, PluginFactory]):
    """Plugin names and their factories; several names may be added at any time, none replaced.

    >>> class Calm:
    ...     name = "Calm"
    ...     def __init__(self, args, handle): ...
    >>> registry = Registry()
    >>> registry.register("Calm", Calm)
    >>> registry.make("Calm", None, None).name
    'Calm'
    """

    def __init__(self) -> None:
        self._factories: dict[str, PluginFactory] = {}
        self._sources: dict[str, str] = {}

    def __getitem__(self, name: str) -> PluginFactory:
        return self._factories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def __len__(self) -> int:
        return len(self._factories)

    def register(self, name: str, factory: PluginFactory, source: str = "") -> None:
        """Add a plugin.

        Raises
        ------
        PluginNameTakenError
            When the name is in use.
        """
        source = source or f"{factory.__module__}:{getattr(factory, '__qualname__', type(factory).__name__)}"
        if name in self._factories:
            raise PluginNameTakenError(
                source, f"the name {name} is taken by {self._sources[name]}; a plugin needs a name of its own"
            )
        self._factories[name] = factory
        self._sources[name] = source

    def register_lazily(self, name: str, source: str) -> None:
        """Add a plugin of a module that is imported when the plugin is first made."""
        self.register(name, lambda args, handle: load_class(source)(args, handle), source)

    def load_plugin(self, source: str) -> str:
        """Add the plugin of `module:Class` and return its name.

        Raises
        ------
        PluginLoadError
            When it cannot be imported, has no name, or the name is in use.
        """
        factory = load_class(source)
        name = plugin_name(factory, source)
        self.register(name, factory, source)
        return name

    def load_entry_points(self) -> list[str]:
        """Add the plugins of installed packages (entry points of the group `nodewise.plugins`); return their names."""
        points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value))
        return [self.load_plugin(point.value) for point in points]

    def make(self, name: str, args: Any, handle: Any) -> Any:
        """Make a plugin; one that judges single nodes is adapted to columns.

        Raises
        ------
        UnknownPluginError
            When no plugin has the name.
        """
        factory = self._factories.get(name)
        if factory is None:
            raise UnknownPluginError(f"no plugin is named {name}; there are {', '.join(sorted(self._factories))}")
        return adapt(factory(args, handle))


def load_class(source: str) -> PluginFactory:
    """Import `module:Class`."""
    module_name, colon, class_name = source.partition(":")
    if not (module_name and colon and class_name):
        raise PluginClassError(source, "expected module:Class, such as my_package.rules:PreferFastDisks")
    module = _import(module_name, source)
    found: Any = module
    for part in class_name.strip().split("."):
        found = getattr(found, part, None)
        if found is None:
            raise PluginClassError(source, f"module {module_name} ({module.__file__}) has no {class_name}")
    if not callable(found):
        raise PluginClassError(source, f"{class_name} is a {type(found).__name__}, expected a class")
    factory: PluginFactory = found
    return factory


def plugin_name(factory: PluginFactory, source: str) -> str:
    """Return the name that a plugin class states."""
    name = getattr(factory, "name", None)
    if not isinstance(name, str) or not name:
        raise PluginClassError(source, f'has no `name`; give the class one, such as name = "PreferFastDisks" ({name=})')
    return name


def _import(module_name: str, source: str) -> ModuleType:
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise PluginModuleError(source, f"there is no module {error.name} on the import path") from error
        raise PluginModuleError(source, f"module {module_name} imports {error.name}, which is not there") from error
    except Exception as error:
        raise PluginModuleError(source, f"importing {module_name} failed: {type(error).__name__}: {error}") from error
