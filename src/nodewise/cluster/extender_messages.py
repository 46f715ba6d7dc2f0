"""What is said to an extender and what it says: bodies with Go's field names, replies read as Go reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from nodewise.api.objects import Node
from nodewise.cluster.object_documents import ObjectDocuments
from nodewise.config.documents import Fields, Number, json_problem
from nodewise.config.strict_decoding import json_type
from nodewise.framework.extender import ExtenderError, FilterAnswer, HostPriority, NodeVictims
from nodewise.state.pod_info import PodInfo

_INT64 = 2**63


# --- requests ---------------------------------------------------------------------------------------------------------


def nodes_body(pod: PodInfo, nodes: Sequence[Node], documents: ObjectDocuments, *, names_only: bool) -> bytes:
    """Return the body of filter and prioritize (ExtenderArgs)."""
    node_list, names = b"null", b"null"
    if names_only:
        names = msgspec.json.encode([node.name for node in nodes])
    else:
        node_list = b'{"metadata":{},"items":[' + b",".join([documents.node(node) for node in nodes]) + b"]}"
    return b'{"Pod":%b,"Nodes":%b,"NodeNames":%b}' % (documents.pod(pod), node_list, names)


def preemption_body(
    pod: PodInfo, victims: Mapping[str, NodeVictims], documents: ObjectDocuments, *, uids_only: bool
) -> bytes:
    """Return the body of preempt (ExtenderPreemptionArgs)."""
    preemptor = documents.pod(pod)
    entries = b",".join(
        b'%b:{"Pods":[%b],"NumPDBViolations":%d}'
        % (
            msgspec.json.encode(name),
            b",".join(
                [msgspec.json.encode({"UID": p.uid}) if uids_only else documents.pod(p) for p in victims[name].pods]
            ),
            victims[name].n_pdb_violations,
        )
        for name in sorted(victims)
    )
    whole, meta = (b"null", b"{%b}" % entries) if uids_only else (b"{%b}" % entries, b"null")
    return b'{"Pod":%b,"NodeNameToVictims":%b,"NodeNameToMetaVictims":%b}' % (preemptor, whole, meta)


def binding_body(pod: PodInfo, node_name: str) -> bytes:
    """Return the body of bind (ExtenderBindingArgs)."""
    metadata = pod.pod.metadata
    return msgspec.json.encode(
        {"PodName": metadata.name, "PodNamespace": metadata.namespace, "PodUID": metadata.uid, "Node": node_name}
    )


# --- replies ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MetaVictims:
    """What an extender leaves of the victims on a node."""

    uids: tuple[str, ...]
    n_pdb_violations: int


def read_filter_reply(text: bytes, *, takes_names: bool) -> FilterAnswer:
    """Read an ExtenderFilterResult.

    Parameters
    ----------
    takes_names
        Whether names count; without them, and without `Nodes`, no node is left.

    Raises
    ------
    ExtenderError
        The text is none, or says that something went wrong.
    """
    reply = _Reply("ExtenderFilterResult", _first_value(text))
    names = reply.strings("NodeNames")
    nodes = _node_names(reply)
    failed = reply.string_map("FailedNodes", "extender/v1.FailedNodesMap")
    unresolvable = reply.string_map("FailedAndUnresolvableNodes", "extender/v1.FailedNodesMap")
    error = reply.string("Error")
    reply.check()
    if error:
        raise ExtenderError(error)
    if takes_names and names is not None:
        return FilterAnswer(tuple(names), failed, unresolvable)
    return FilterAnswer(tuple(nodes or ()), failed, unresolvable, are_fresh=nodes is not None)


def read_prioritize_reply(text: bytes) -> list[HostPriority]:
    """Read a HostPriorityList.

    Raises
    ------
    ExtenderError
        The text is none.
    """
    value = _first_value(text)
    if value is not None and (not isinstance(value, list) or isinstance(value, Fields)):
        raise ExtenderError(f"json: cannot unmarshal {json_type(value)} into Go value of type v1.HostPriorityList")
    found: list[HostPriority] = []
    for item in value or ():
        entry = _Reply("HostPriority", item)
        found.append(HostPriority(entry.string("Host"), entry.integer("Score")))
        entry.check()
    return found


def read_preemption_reply(text: bytes) -> dict[str, MetaVictims | None]:
    """Read an ExtenderPreemptionResult.

    Raises
    ------
    ExtenderError
        The text is none.
    """
    reply = _Reply("ExtenderPreemptionResult", _first_value(text))
    found: dict[str, MetaVictims | None] = {}
    for name, item in reply.fields("NodeNameToMetaVictims", "map[string]*v1.MetaVictims"):
        if item is None:
            found[name] = None
            continue
        entry = _Reply("MetaVictims", item)
        pods = [_Reply("MetaPod", pod) for pod in entry.items("Pods", "[]*v1.MetaPod")]
        found[name] = MetaVictims(tuple(pod.string("UID") for pod in pods), entry.integer("NumPDBViolations"))
        for part in (*pods, entry):
            part.check()
    reply.check()
    return found


def read_binding_reply(text: bytes) -> None:
    """Read an ExtenderBindingResult.

    Raises
    ------
    ExtenderError
        The text is none, or says that something went wrong.
    """
    reply = _Reply("ExtenderBindingResult", _first_value(text))
    error = reply.string("Error")
    reply.check()
    if error:
        raise ExtenderError(error)


def _node_names(reply: _Reply) -> list[str] | None:
    """Return the names in a reply's NodeList, None where there is no list."""
    node_list = reply.get("Nodes")
    if node_list is None:
        return None
    if not isinstance(node_list, Fields):
        reply.object_to("Nodes", node_list, "v1.NodeList")
        return None
    items = _Reply("NodeList", node_list).items("items", "[]v1.Node")
    metadata = [_Reply("Node", item).get("metadata") for item in items]
    return [_Reply("ObjectMeta", item).string("name") if isinstance(item, Fields) else "" for item in metadata]


class _Reply:
    """A JSON object whose members have one name in any case; the last of several counts.

    What has a wrong type is read as absent, and `check` fails with the first such.
    """

    def __init__(self, go_name: str, value: Any) -> None:
        self._go_name = go_name
        self._error = ""
        self._values: dict[str, Any] = {}
        if isinstance(value, Fields):
            self._values = {name.lower(): item for name, item in value}
        elif value is not None:
            self._error = f"json: cannot unmarshal {json_type(value)} into Go value of type v1.{go_name}"

    def check(self) -> None:
        """Fail if something had a wrong type."""
        if self._error:
            raise ExtenderError(self._error)

    def object_to(self, name: str, value: Any, go_type: str) -> None:
        """Take note of a value of a wrong type."""
        text = (
            f"json: cannot unmarshal {json_type(value)} into Go struct field {self._go_name}.{name} of type {go_type}"
        )
        self._error = self._error or text

    def get(self, name: str) -> Any:
        return self._values.get(name.lower())

    def string(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or isinstance(value, Number):
            self.object_to(name, value, "string")
            return ""
        return value

    def integer(self, name: str) -> int:
        value = self.get(name)
        if value is None:
            return 0
        if isinstance(value, Number) and value.removeprefix("-").isdecimal() and -_INT64 <= int(value) < _INT64:
            return int(value)
        if isinstance(value, Number):
            text = f"json: cannot unmarshal number {value} into Go struct field {self._go_name}.{name} of type int64"
            self._error = self._error or text
        else:
            self.object_to(name, value, "int64")
        return 0

    def strings(self, name: str) -> list[str] | None:
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or isinstance(value, Fields):
            self.object_to(name, value, "[]string")
            return None
        return [self._text(name, item) for item in value]

    def string_map(self, name: str, go_type: str) -> dict[str, str]:
        return {key: self._text(name, item) for key, item in self.fields(name, go_type)}

    def fields(self, name: str, go_type: str) -> Fields:
        value = self.get(name)
        if value is not None and not isinstance(value, Fields):
            self.object_to(name, value, go_type)
        return value if isinstance(value, Fields) else Fields()

    def items(self, name: str, go_type: str) -> list[Any]:
        value = self.get(name)
        if value is not None and (not isinstance(value, list) or isinstance(value, Fields)):
            self.object_to(name, value, go_type)
            return []
        return value or []

    def _text(self, name: str, value: Any) -> str:
        if value is None:
            return ""
        if not isinstance(value, str) or isinstance(value, Number):
            self.object_to(name, value, "string")
            return ""
        return value


def _first_value(text: bytes) -> Any:
    """Return the tree of the first JSON value of a text, as Go's Decoder does; what follows is not looked at."""
    shown = text.decode("utf-8", "replace")
    start = len(shown) - len(shown.lstrip(" \t\r\n"))
    if start == len(shown):
        raise ExtenderError("EOF")
    try:
        value, _ = _DECODER.raw_decode(shown, start)
    except json.JSONDecodeError as error:
        problem = json_problem(error)
        raise ExtenderError("unexpected EOF" if problem == "unexpected end of JSON input" else problem) from error
    except RecursionError as error:
        raise ExtenderError("exceeded max depth") from error
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise ExtenderError(f"invalid character '{text[0]}' looking for beginning of value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=Fields, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
)
