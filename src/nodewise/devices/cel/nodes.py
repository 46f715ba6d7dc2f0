"""A parsed CEL expression as a tree, read from the protobuf form in which the library hands it out.

Field numbers are those of `cel.expr.ParsedExpr` and `cel.expr.Expr`; they are part of the language's published
schema and do not change.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from nodewise.devices.cel.values import Uint
from nodewise.errors import NodewiseError


class ParsedExprError(NodewiseError):
    """The library's form of an expression is not what its schema says."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal."""

    expr_id: int
    value: Any


@dataclass(frozen=True, slots=True)
class Ident:
    """A variable or a type's name."""

    expr_id: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or with `is_test` the question `has(operand.field)`."""

    expr_id: int
    operand: Node
    field: str
    is_test: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, an operator, or a method when there is a target."""

    expr_id: int
    function: str
    target: Node | None
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list literal; `optional` are the positions whose optional elements may be left out."""

    expr_id: int
    elements: tuple[Node, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MapNode:
    """A map literal, as (key, value, is_optional)."""

    expr_id: int
    entries: tuple[tuple[Node, Node, bool], ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message literal, such as `Name{field: 1}`, as (id of the field, field, value)."""

    expr_id: int
    name: str
    fields: tuple[tuple[int, str, Node], ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A loop, which is what `all`, `exists`, `map`, `filter` and `cel.bind` are expanded to.

    Attributes
    ----------
    iter_var, second_var : str
        Without a second variable: element of a list, key of a map. With one: index and element, or key and value.
    """

    expr_id: int
    iter_var: str
    second_var: str
    iter_range: Node
    accu_var: str
    accu_init: Node
    condition: Node
    step: Node
    result: Node


Node = Constant | Ident | Select | Call | ListNode | MapNode | Message | Comprehension


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed expression.

    Attributes
    ----------
    text : str
        As written.
    positions : dict[int, int]
        Offset into the text of every node, by its id.
    infinite : tuple[int, ...]
        Ids of literals that are too large for a double.
    """

    text: str
    root: Node
    positions: dict[int, int]
    infinite: tuple[int, ...] = ()


_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def read_parsed(data: bytes, text: str) -> Parsed:
    """Return the tree of a serialized ParsedExpr, which the library wraps in a google.protobuf.Any.

    Raises
    ------
    ParsedExprError
        The bytes are something else.
    """
    fields = dict(_fields(data))
    if fields.get(1, b"").endswith(b"ParsedExpr"):
        fields = dict(_fields(fields[2]))
    if 2 not in fields:
        raise ParsedExprError("a parsed CEL expression has no expression in it")
    root = _expr(fields[2])
    return Parsed(text, root, _positions(fields.get(3, b"")), tuple(_infinite_literals(root)))


def _infinite_literals(root: Node) -> Iterator[int]:
    for node in walk(root):
        if isinstance(node, Constant) and isinstance(node.value, float) and math.isinf(node.value):
            yield node.expr_id


def children(node: Node) -> tuple[Node, ...]:
    """Return the parts of a node."""
    if isinstance(node, Select):
        return (node.operand,)
    if isinstance(node, Call):
        return node.args if node.target is None else (node.target, *node.args)
    if isinstance(node, ListNode):
        return node.elements
    if isinstance(node, MapNode):
        return tuple([part for key, value, _ in node.entries for part in (key, value)])
    if isinstance(node, Message):
        return tuple([value for _, _, value in node.fields])
    if isinstance(node, Comprehension):
        return (node.iter_range, node.accu_init, node.condition, node.step, node.result)
    return ()


def walk(root: Node) -> Iterator[Node]:
    """Give a node and all nodes in it."""
    yield root
    for child in children(root):
        yield from walk(child)


def _positions(data: bytes) -> dict[int, int]:
    """Read the positions of a cel.expr.SourceInfo."""
    found: dict[int, int] = {}
    for number, value in _fields(data):
        if number == 4:
            entry = dict(_fields(value))
            found[entry.get(1, 0)] = entry.get(2, 0)
    return found


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Walk over a message: field number, and bytes, an int or the raw 8 bytes."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, kind = tag >> 3, tag & 7
        value: Any
        if kind == _VARINT:
            value, position = _varint(data, position)
        elif kind == _BYTES:
            length, position = _varint(data, position)
            value, position = data[position : position + length], position + length
        elif kind in (_FIXED64, _FIXED32):
            width = 8 if kind == _FIXED64 else 4
            value, position = data[position : position + width], position + width
        else:
            raise ParsedExprError(f"wire type {kind} in a parsed CEL expression, expected 0, 1, 2 or 5")
        yield number, value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _expr(data: bytes) -> Node:
    expr_id = 0
    body: Node | None = None
    for number, value in _fields(data):
        if number == 2:
            expr_id = value
        else:
            reader = _READERS.get(number)
            if reader is not None:
                body = reader(expr_id, value)
    return Constant(expr_id, None) if body is None else body


def _constant(expr_id: int, data: bytes) -> Constant:
    for number, value in _fields(data):
        if number in _CONSTANTS:
            return Constant(expr_id, _CONSTANTS[number](value))
    return Constant(expr_id, None)


_CONSTANTS: dict[int, Callable[[Any], Any]] = {
    1: lambda value: None,
    2: bool,
    3: lambda value: value - (1 << 64) if value >= 1 << 63 else value,
    4: Uint,
    5: lambda value: struct.unpack("<d", value)[0],
    6: lambda value: value.decode(),
    7: bytes,
}


def _ident(expr_id: int, data: bytes) -> Ident:
    return Ident(expr_id, next((value.decode() for number, value in _fields(data) if number == 1), ""))


def _select(expr_id: int, data: bytes) -> Select:
    parts: dict[int, Any] = dict(_fields(data))
    return Select(expr_id, _expr(parts[1]), parts.get(2, b"").decode(), bool(parts.get(3)))


def _call(expr_id: int, data: bytes) -> Call:
    target: Node | None = None
    function = ""
    args: list[Node] = []
    for number, value in _fields(data):
        if number == 1:
            target = _expr(value)
        elif number == 2:
            function = value.decode()
        elif number == 3:
            args.append(_expr(value))
    return Call(expr_id, function, target, tuple(args))


def _list(expr_id: int, data: bytes) -> ListNode:
    elements: list[Node] = []
    optional: set[int] = set()
    for number, value in _fields(data):
        if number == 1:
            elements.append(_expr(value))
        elif number == 2:
            if isinstance(value, int):
                optional.add(value)
            else:
                position = 0
                while position < len(value):
                    index, position = _varint(value, position)
                    optional.add(index)
    return ListNode(expr_id, tuple(elements), frozenset(optional))


def _struct(expr_id: int, data: bytes) -> MapNode | Message:
    name = ""
    entries: list[dict[int, Any]] = []
    for number, value in _fields(data):
        if number == 1:
            name = value.decode()
        elif number == 2:
            entries.append(dict(_fields(value)))
    if name:
        fields = [(entry.get(1, 0), entry.get(2, b"").decode(), _expr(entry.get(4, b""))) for entry in entries]
        return Message(expr_id, name, tuple(fields))
    return MapNode(
        expr_id,
        tuple([(_expr(entry.get(3, b"")), _expr(entry.get(4, b"")), bool(entry.get(5))) for entry in entries]),
    )


def _comprehension(expr_id: int, data: bytes) -> Comprehension:
    parts: dict[int, Any] = dict(_fields(data))

    def name(number: int) -> str:
        found: str = parts.get(number, b"").decode()
        return found

    init, condition, step, result = (_expr(parts[number]) for number in (4, 5, 6, 7))
    return Comprehension(expr_id, name(1), name(8), _expr(parts[2]), name(3), init, condition, step, result)


_READERS: dict[int, Any] = {
    3: _constant,
    4: _ident,
    5: _select,
    6: _call,
    7: _list,
    8: _struct,
    9: _comprehension,
}
