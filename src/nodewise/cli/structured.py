"""Results as documents: JSON, YAML and JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nodewise.cluster.object_set import InputError
from nodewise.framework.status import Status
from nodewise.simulation.explain import Explanation
from nodewise.simulation.session import Session
from nodewise.simulation.simulate import REASON_GATED, Placement


def simulation_document(
    session: Session, placements: Sequence[Placement], seconds: float, errors: Sequence[InputError]
) -> dict[str, Any]:
    """Return the document that `simulate -o json` prints."""
    placed = sum(p.node is not None for p in placements)
    gated = sum(p.reason == REASON_GATED for p in placements)
    return {
        "apiVersion": "nodewise/v1",
        "kind": "Simulation",
        "pods": [placement_document(placement) for placement in placements],
        "summary": {
            "nodes": session.scheduler.snapshot.n_nodes,
            "pending": len(placements),
            "placed": placed,
            "unschedulable": len(placements) - placed - gated,
            "gated": gated,
            "seconds": round(seconds, 4),
        },
        "inputErrors": [error_document(error) for error in errors],
    }


def placement_document(placement: Placement) -> dict[str, Any]:
    """Return what became of one pod; `detail` only when there is one."""
    document: dict[str, Any] = {
        "pod": placement.pod,
        "node": placement.node,
        "best": placement.best,
        "victims": placement.victims,
        "reason": placement.reason,
        "message": placement.message,
    }
    if placement.detail:
        document["detail"] = placement.detail
    return document


def error_document(error: InputError) -> dict[str, str]:
    """Return an input error as it stands in a document."""
    return {"source": error.source, "object": error.object, "field": error.field, "message": error.message}


def explanation_document(explanation: Explanation) -> dict[str, Any]:
    """Return what `explain -o jsonl` prints for one pod."""
    document: dict[str, Any] = {"pod": explanation.pod}
    if explanation.skipped:
        document["skipped"] = explanation.skipped
        return document
    pre_filter = explanation.pre_filter
    document["prefilter"] = None if pre_filter is None else {"plugin": pre_filter.plugin, **_status(pre_filter)}
    document["nodes"] = [
        {
            "name": node.name,
            "filters": {plugin: _status(status) for plugin, status in node.filters.items()},
            "excluded_by": node.excluded_by,
            "scores": {
                plugin: {"raw": s.raw, "normalized": s.normalized, "weighted": s.weighted}
                for plugin, s in node.scores.items()
            },
            "total": node.total,
        }
        for node in explanation.nodes
    ]
    document["feasible"] = explanation.feasible
    document["best"] = explanation.best
    document["message"] = explanation.message
    if explanation.error:
        document["error"] = explanation.error
    result = explanation.post_filter
    if result is not None and result.nominated_node:
        document["preemption"] = {"node": result.nominated_node, "victims": [pod.key for pod in result.victims]}
    return document


def _status(status: Status) -> dict[str, Any]:
    return {"code": status.code.value, "reasons": status.reasons}


def print_line(value: Mapping[str, Any]) -> None:
    """Print one JSON value on a line of its own."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")


def print_document(document: Mapping[str, Any], output: str, *, lines_of: str) -> None:
    """Print a document as json or yaml, or the list under one of its keys as jsonl."""
    if output == "jsonl":
        for item in document[lines_of]:
            print_line(item)
    elif output == "json":
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")
    else:
        import yaml

        plain = msgspec.json.decode(msgspec.json.encode(document))
        yaml.dump(plain, sys.stdout, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)
