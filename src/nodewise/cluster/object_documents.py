"""Pods and nodes as the JSON texts that extenders get, each made once for as long as the object stays the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from nodewise.api.encoding import node_tree, pod_tree
from nodewise.api.objects import AnyObject, Node, Pod, replace
from nodewise.state.pod_info import PodInfo

RUNNING = "Running"
_TEMPLATE_PATHS = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"))


class ObjectDocuments:
    """Makes JSON texts of pods and nodes.

    Parameters
    ----------
    originals : Mapping[tuple[str, str], bytes]
        What objects were read from, by kind and `namespace/name` or name; may be empty. Fields that scheduling does not
        read come from there.
    """

    def __init__(self, originals: Mapping[tuple[str, str], bytes] | None = None) -> None:
        self._originals = originals or {}
        self._nodes: dict[str, tuple[Node, bytes]] = {}
        self._pod: tuple[Pod, bytes] | None = None

    def node(self, node: Node) -> bytes:
        """Return the JSON text of a node."""
        known = self._nodes.get(node.name)
        if known is not None and known[0] is node:
            return known[1]
        text = msgspec.json.encode(node_tree(node, self._original("Node", node.name)))
        self._nodes[node.name] = (node, text)
        return text

    def pod(self, pod: PodInfo) -> bytes:
        """Return the JSON text of a pod; the last one is kept, since all extenders are asked about the same."""
        if self._pod is not None and self._pod[0] is pod.pod and pod.node_name == pod.pod.spec.node_name:
            return self._pod[1]
        current = _as_placed(pod)
        text = msgspec.json.encode(pod_tree(current, self._original("Pod", pod.key)))
        self._pod = (current, text)
        return text

    def _original(self, kind: str, key: str) -> Mapping[str, Any] | None:
        text = self._originals.get((kind, key))
        document: dict[str, Any] | None = msgspec.json.decode(text) if text is not None else None
        return document


def place_of(obj: AnyObject) -> str:
    """Return `namespace/name`, or the name alone of what has no namespace."""
    metadata = obj.metadata
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def _as_placed(info: PodInfo) -> Pod:
    """Return the pod with the node that it was given since it was read, as if it ran there."""
    pod = info.pod
    if info.node_name == pod.spec.node_name:
        return pod
    status = replace(pod.status, phase=RUNNING, start_time=info.start_time, nominated_node_name="")
    return replace(pod, spec=replace(pod.spec, node_name=info.node_name), status=status)


def template_document(document: bytes) -> bytes:
    """Return the pod template of a controller's document, `{}` where there is none."""
    whole = msgspec.json.decode(document)
    for path in _TEMPLATE_PATHS:
        found: Any = whole
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, dict):
            return msgspec.json.encode(found)
    return b"{}"
