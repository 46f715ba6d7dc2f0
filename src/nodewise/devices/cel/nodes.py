"""A checked CEL expression as a tree, read from the protobuf form in which the library hands it out.

Field numbers are those of `cel.expr.CheckedExpr` and `cel.expr.Expr`; they are part of the language's published
schema and do not change.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nodewise.devices.cel.values import Uint
from nodewise.errors import NodewiseError


class CheckedExprError(NodewiseError):
    """The library's form of an expression is not what its schema says."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal."""

    value: Any


@dataclass(frozen=True, slots=True)
class Ident:
    """A variable or a type's name."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or with `is_test` the question `has(operand.field)`."""

    operand: Node
    field: str
    is_test: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A function, an operator, or a method when there is a target."""

    function: str
    target: Node | None
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list literal; `optional` are the positions whose optional elements may be left out."""

    elements: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapNode:
    """A map literal, as (key, value, is_optional)."""

    entries: tuple[tuple[Node, Node, bool], ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A loop, which is what `all`, `exists`, `map`, `filter` and `cel.bind` are expanded to."""

    iter_var: str
    iter_range: Node
    accu_var: str
    accu_init: Node
    condition: Node
    step: Node
    result: Node


Node = Constant | Ident | Select | Call | ListNode | MapNode | Comprehension

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def read_checked(data: bytes) -> Node:
    """Return the tree of a serialized CheckedExpr, which the library wraps in a google.protobuf.Any."""
    fields = dict(_fields(data))
    if fields.get(1, b"").endswith(b"CheckedExpr"):
        fields = dict(_fields(fields[2]))
    if 4 in fields:
        return _expr(fields[4])
    raise CheckedExprError("a checked CEL expression has no expression in it")


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
            raise CheckedExprError(f"wire type {kind} in a checked CEL expression, expected 0, 1, 2 or 5")
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
    for number, value in _fields(data):
        reader = _READERS.get(number)
        if reader is not None:
            node: Node = reader(value)
            return node
    return Constant(None)


def _constant(data: bytes) -> Constant:
    for number, value in _fields(data):
        if number == 1:
            return Constant(None)
        if number == 2:
            return Constant(bool(value))
        if number == 3:
            return Constant(value - (1 << 64) if value >= 1 << 63 else value)
        if number == 4:
            return Constant(Uint(value))
        if number == 5:
            return Constant(struct.unpack("<d", value)[0])
        if number == 6:
            return Constant(value.decode())
        if number == 7:
            return Constant(bytes(value))
    return Constant(None)


def _ident(data: bytes) -> Ident:
    name = next((value.decode() for number, value in _fields(data) if number == 1), "")
    return Ident(name.lstrip("."))


def _select(data: bytes) -> Select:
    operand: Node = Constant(None)
    field, is_test = "", False
    for number, value in _fields(data):
        if number == 1:
            operand = _expr(value)
        elif number == 2:
            field = value.decode()
        elif number == 3:
            is_test = bool(value)
    return Select(operand, field, is_test)


def _call(data: bytes) -> Call:
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
    namespace = _dotted(target) if target is not None else ""
    if namespace and f"{namespace}.{function}" in NAMESPACED_FUNCTIONS:
        return Call(f"{namespace}.{function}", None, tuple(args))
    return Call(function, target, tuple(args))


def _dotted(node: Node) -> str:
    """Return the dotted name that a chain of selections spells, "" when it is something else."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.is_test:
        prefix = _dotted(node.operand)
        return f"{prefix}.{node.field}" if prefix else ""
    return ""


def _list(data: bytes) -> ListNode:
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
    return ListNode(tuple(elements), frozenset(optional))


def _struct(data: bytes) -> MapNode:
    entries: list[tuple[Node, Node, bool]] = []
    for number, value in _fields(data):
        if number == 1:
            raise CheckedExprError(f"message {value.decode()} in a CEL expression, expected none")
        if number == 2:
            entries.append(_entry(value))
    return MapNode(tuple(entries))


def _entry(data: bytes) -> tuple[Node, Node, bool]:
    key: Node = Constant(None)
    content: Node = Constant(None)
    is_optional = False
    for number, value in _fields(data):
        if number == 3:
            key = _expr(value)
        elif number == 4:
            content = _expr(value)
        elif number == 5:
            is_optional = bool(value)
    return key, content, is_optional


def _comprehension(data: bytes) -> Comprehension:
    parts: dict[int, Any] = dict(_fields(data))
    if parts.get(8):
        raise CheckedExprError("a loop over two variables, expected one")

    def expr(number: int) -> Node:
        return _expr(parts[number])

    return Comprehension(
        parts.get(1, b"").decode(), expr(2), parts.get(3, b"").decode(), expr(4), expr(5), expr(6), expr(7)
    )


_READERS: dict[int, Any] = {
    3: _constant,
    4: _ident,
    5: _select,
    6: _call,
    7: _list,
    8: _struct,
    9: _comprehension,
}
NAMESPACED_FUNCTIONS = frozenset(
    {
        "optional.of",
        "optional.ofNonZeroValue",
        "optional.none",
        "sets.contains",
        "sets.equivalent",
        "sets.intersects",
        "strings.quote",
        "lists.range",
        "ip.isCanonical",
    }
)
