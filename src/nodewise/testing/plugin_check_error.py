"""What conformance checks of plugins raise."""

from __future__ import annotations

from nodewise.errors import NodewiseError


class PluginCheckError(AssertionError, NodewiseError):
    """A plugin does not keep to what its extension points ask."""
