"""The libraries that device expressions need."""

from __future__ import annotations

from nodewise.errors import NodewiseError


class CelLibraryError(NodewiseError):
    """A library is not there."""
