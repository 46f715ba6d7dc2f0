"""Asks a plugin about every node by name, for tests that state what kube-scheduler says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nodewise.api.objects import Node, Pod
from nodewise.framework.status import Status
from nodewise.state.columns import ALL_ROWS
from nodewise.testing.builders import FakeHandle, make_snapshot


def failures(
    plugin_class: Any, pod: Pod, nodes: Iterable[Node], pods: Iterable[Pod] = (), *, args: Any = None
) -> dict[str, Status]:
    """Return the rejections by node name."""
    snapshot = make_snapshot(nodes, pods)
    plugin = plugin_class(args, FakeHandle(snapshot))
    state = plugin.compile(pod, snapshot)
    if state is None:
        return {}
    codes = plugin.filter(state, snapshot.columns, ALL_ROWS).tolist()
    names = snapshot.columns.names
    return {name: plugin.rejection(state, code) for name, code in zip(names, codes, strict=True) if code}


def scores(
    plugin_class: Any, pod: Pod, nodes: Iterable[Node], pods: Iterable[Pod] = (), *, args: Any = None
) -> tuple[dict[str, int], dict[str, int]] | None:
    """Return raw and normalized scores by node name, all nodes feasible; None: the plugin does not score the pod."""
    snapshot = make_snapshot(nodes, pods)
    plugin = plugin_class(args, FakeHandle(snapshot))
    state = plugin.compile(pod, snapshot)
    raw = None if state is None else plugin.score(state, snapshot.columns, ALL_ROWS)
    if raw is None:
        return None
    normalized = plugin.normalize(state, raw.copy()) if hasattr(plugin, "normalize") else raw
    names = snapshot.columns.names
    return _by_name(names, raw), _by_name(names, normalized)


def _by_name(names: Iterable[str], values: np.ndarray[Any, Any]) -> dict[str, int]:
    return dict(zip(names, values.tolist(), strict=True))
