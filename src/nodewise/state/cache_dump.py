"""A copy of the scheduler cache, for people and tools to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nodewise.state.node_info import NodeInfo


@dataclass(frozen=True, slots=True)
class CacheDump:
    """Everything that a cache held at one moment; later changes do not reach it.

    Attributes
    ----------
    nodes : Mapping[str, NodeInfo]
        By name, ghosts included.
    assumed : frozenset[str]
        The uids of assumed pods.
    """

    nodes: Mapping[str, NodeInfo]
    assumed: frozenset[str]
