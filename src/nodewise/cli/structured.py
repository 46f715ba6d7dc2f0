"""Results as documents: JSON, YAML and JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nodewise.cluster.object_set import InputError
from nodewise.framework.status import Status
from nodewise.simulation.explain import Explanation, NodeExplanation
from nodewise.simulation.group_explanation import GroupExplanation
from nodewise.simulation.simulate import REASON_GATED, Placement

API_VERSION = "nodewise/v1"


def simulation_summary(n_nodes: int, placements: Sequence[Placement], seconds: float) -> dict[str, Any]:
    """Return the `summary` of the document that `simulate -o json` prints."""
    placed = sum(p.node is not None for p in placements)
    gated = sum(p.reason == REASON_GATED for p in placements)
    return {
        "nodes": n_nodes,
        "pending": len(placements),
        "placed": placed,
        "unschedulable": len(placements) - placed - gated,
        "gated": gated,
        "seconds": round(seconds, 4),
    }


def placement_document(placement: Placement) -> dict[str, Any]:
    """Return what became of one pod; `detail` only when there is one."""
    document: dict[str, Any] = {
        "pod": placement.pod,
        "node": placement.node,
        "best": list(placement.best),
        "victims": placement.victims,
        "reason": placement.reason,
        "message": placement.message,
    }
    if placement.detail:
        document["detail"] = placement.detail
    if placement.waited_s is not None:
        document["waitedSeconds"] = round(placement.waited_s, 3)
    if placement.pod_group:
        document["podGroup"] = placement.pod_group
    return document


def error_document(error: InputError) -> dict[str, str]:
    """Return an input error as it stands in a document."""
    return {"source": error.source, "object": error.object, "field": error.field, "message": error.message}


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """Return what `explain -o jsonl` prints for one pod."""
    document: dict[str, Any] = {"pod": explanation.pod}
    if explanation.placed_on:
        document["placedOn"] = explanation.placed_on
    if explanation.skipped:
        document["skipped"] = explanation.skipped
        return document
    pre_filter = explanation.pre_filter
    document["prefilter"] = None if pre_filter is None else _rejection(pre_filter, explanation.detail)
    document["nodes"] = [_node(node) for node in explanation.nodes]
    document["feasible"] = explanation.feasible
    document["best"] = explanation.best
    document["message"] = explanation.message
    if explanation.error:
        document["error"] = explanation.error
    result = explanation.post_filter
    if result is not None and result.nominated_node:
        document["preemption"] = {"node": result.nominated_node, "victims": [pod.key for pod in result.victims]}
    if explanation.pod_group is not None:
        document["podGroup"] = _pod_group(explanation.pod_group)
    return document


def _pod_group(group: GroupExplanation) -> dict[str, Any]:
    """Return what a pod has to expect from its group."""
    document: dict[str, Any] = {
        "name": group.name,
        "placed": group.is_placed,
        "node": group.node or None,
        "message": group.message,
    }
    if group.detail:
        document["detail"] = group.detail
    if group.victims:
        document["preemption"] = {"node": group.nominated or None, "victims": group.victims}
    return document


def _node(node: NodeExplanation) -> dict[str, Any]:
    """Return what is said of one node; what extenders say only when they do."""
    document: dict[str, Any] = {
        "name": node.name,
        "filters": {plugin: _status(status, node.details.get(plugin, "")) for plugin, status in node.filters.items()},
        "excluded_by": node.excluded_by,
        "scores": {
            plugin: {"raw": s.raw, "normalized": s.normalized, "weighted": s.weighted}
            for plugin, s in node.scores.items()
        },
        "total": node.total,
    }
    if node.extenders:
        document["extenders"] = {name: _status(status, "") for name, status in node.extenders.items()}
    if node.extender_scores:
        document["extenderScores"] = node.extender_scores
    return document


def _rejection(status: Status, detail: str) -> dict[str, Any]:
    return {"plugin": status.plugin, **_status(status, detail)}


def _status(status: Status, detail: str) -> dict[str, Any]:
    """Return a rejection; `detail` only when there is one."""
    document: dict[str, Any] = {"code": status.code.value, "reasons": status.reasons}
    if detail:
        document["detail"] = detail
    return document


def write_json(document: Mapping[str, Any]) -> None:
    """Print a whole document as indented JSON."""
    _write(_indented(document) + b"\n")


def write_yaml(document: Mapping[str, Any]) -> None:
    """Print a whole document as YAML."""
    _write(_yaml(document))


def print_line(value: Mapping[str, Any]) -> None:
    """Print one JSON value on a line of its own."""
    _write(msgspec.json.encode(value) + b"\n")


class DocumentWriter:
    """Prints a document with a list of pods, each as soon as it is there, as json, yaml or jsonl.

    The order is: apiVersion and kind, the pods, then what is only known at the end. JSON lines have the pods only.
    """

    def __init__(self, kind: str, output: str) -> None:
        self._output = output
        self._n_pods = 0
        head = {"apiVersion": API_VERSION, "kind": kind}
        if output == "json":
            _write(_indented(head).removesuffix(b"\n}") + b',\n  "pods": [')
        elif output == "yaml":
            _write(_yaml(head) + b"pods:")

    def add(self, pod: Mapping[str, Any]) -> None:
        """Print one pod."""
        if self._output == "jsonl":
            print_line(pod)
        elif self._output == "json":
            _write((b",\n    " if self._n_pods else b"\n    ") + _indented(pod).replace(b"\n", b"\n    "))
        else:
            _write((b"" if self._n_pods else b"\n") + _yaml([pod]))
        self._n_pods += 1

    def close(self, tail: Mapping[str, Any]) -> None:
        """Print what comes after the pods."""
        if self._output == "json":
            _write((b"\n  ],\n" if self._n_pods else b"],\n") + _indented(tail).removeprefix(b"{\n") + b"\n")
        elif self._output == "yaml":
            _write((b"" if self._n_pods else b" []\n") + _yaml(tail))


def _indented(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def _yaml(value: Any) -> bytes:
    import yaml

    plain = msgspec.json.decode(msgspec.json.encode(value))
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, width=1 << 16)
    return str(text).encode()


def _write(text: bytes) -> None:
    """Write UTF-8, whatever the locale says, and all of it: an unbuffered stream (python -u) may take a part only."""
    sys.stdout.flush()
    rest = memoryview(text)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
