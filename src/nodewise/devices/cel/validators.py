"""What is wrong with literals though their types are right: durations, timestamps, patterns, mixed lists, formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nodewise.devices.cel.cel_types import CelType
from nodewise.devices.cel.checker import Checked
from nodewise.devices.cel.conversions import to_duration, to_timestamp
from nodewise.devices.cel.nodes import Call, Constant, ListNode, MapNode, Node, children
from nodewise.devices.cel.regular_expressions import PatternError, compile_pattern
from nodewise.devices.cel.string_format import TEXTS, FormatError, fill_in
from nodewise.devices.cel.values import Failure

_EXEMPT = "format"
"""The arguments of this function may be of different types."""
_WRONG_BY_FUNCTION: dict[str, Callable[[object], bool]] = {
    "duration": lambda value: isinstance(to_duration(value), Failure),
    "timestamp": lambda value: isinstance(to_timestamp(value), Failure),
    "matches": lambda value: _is_wrong_pattern(value),
}


def validate(checked: Checked) -> None:
    """Add to the issues of an expression that has none what is wrong with its literals."""
    for node, is_exempt in _walk(checked.parsed.root, is_exempt=False):
        if isinstance(node, Call):
            _validate_call(checked, node)
        elif isinstance(node, ListNode) and not is_exempt:
            _validate_list(checked, node)
        elif isinstance(node, MapNode) and not is_exempt:
            _validate_map(checked, node)


def _walk(node: Node, *, is_exempt: bool) -> Iterator[tuple[Node, bool]]:
    """Give every node, and whether it is somewhere in a call of `format`."""
    yield node, is_exempt
    inside = is_exempt or (isinstance(node, Call) and node.function == _EXEMPT)
    for child in children(node):
        yield from _walk(child, is_exempt=inside)


def _validate_call(checked: Checked, node: Call) -> None:
    is_wrong = _WRONG_BY_FUNCTION.get(node.function)
    if is_wrong is not None and node.args and isinstance(node.args[0], Constant):
        if is_wrong(node.args[0].value):
            checked.report(node.args[0], f"invalid {node.function} argument")
    elif node.function == "format" and isinstance(node.target, Constant) and isinstance(node.target.value, str):
        _validate_format(checked, node, node.target.value)


def _is_wrong_pattern(value: object) -> bool:
    try:
        compile_pattern(str(value))
    except PatternError:
        return True
    return False


def _validate_list(checked: Checked, node: ListNode) -> None:
    first: CelType | None = None
    for position, element in enumerate(node.elements):
        kind = checked.type_of(element)
        if position in node.optional and kind.params:
            kind = kind.params[0]
        if first is None:
            first = kind
        elif kind != first:
            _mismatch(checked, element, first, kind)
            break


def _validate_map(checked: Checked, node: MapNode) -> None:
    first: tuple[CelType, CelType] | None = None
    for key, value, is_optional in node.entries:
        key_type, value_type = checked.type_of(key), checked.type_of(value)
        if is_optional and value_type.params:
            value_type = value_type.params[0]
        if first is None:
            first = key_type, value_type
            continue
        if key_type != first[0]:
            _mismatch(checked, key, first[0], key_type)
        if value_type != first[1]:
            _mismatch(checked, value, first[1], value_type)


def _mismatch(checked: Checked, node: Node, expected: CelType, found: CelType) -> None:
    checked.report(node, f"expected type '{expected.shown()}' but found '{found.shown()}'")


# --- format strings ---------------------------------------------------------------------------------------------------

_TYPES_BY_CLAUSE: dict[str, frozenset[str]] = {
    "d": frozenset({"int", "uint"}),
    "o": frozenset({"int", "uint"}),
    "b": frozenset({"int", "uint", "bool"}),
    "x": frozenset({"int", "uint", "string", "bytes"}),
    "f": frozenset({"double", "string"}),
    "e": frozenset({"double", "string"}),
    "s": frozenset(
        {
            *("list", "map", "int", "uint", "double", "bool", "string", "bytes", "type", "null_type"),
            *("google.protobuf.Timestamp", "google.protobuf.Duration"),
        }
    ),
}


class _TypeFormatter:
    """Checks whether arguments are of the types that clauses want."""

    counts_first = False

    def __init__(self, checked: Checked, arguments: tuple[Node, ...]) -> None:
        self._checked = checked
        self._arguments = arguments
        self.n_arguments = len(arguments)
        self.wrong: Node | None = None

    def fill(self, clause: str, precision: int, index: int) -> str:
        """Return nothing, or say that the argument is of the wrong type."""
        letter = clause.lower()
        wrong = self._first_wrong(self._arguments[index], letter)
        if wrong is not None:
            self.wrong = wrong
            raise FormatError(TEXTS[letter].format(self._checked.type_of(wrong).name))
        return ""

    def _first_wrong(self, node: Node, clause: str) -> Node | None:
        kind = self._checked.type_of(node)
        if not kind.is_dyn and kind.name not in _TYPES_BY_CLAUSE[clause]:
            return node
        if clause == "s" and isinstance(node, (ListNode, MapNode)):
            found = (self._first_wrong(child, clause) for child in children(node))
            return next((wrong for wrong in found if wrong is not None), None)
        return None


def _validate_format(checked: Checked, node: Call, text: str) -> None:
    if len(node.args) != 1 or not isinstance(node.args[0], ListNode):
        return
    arguments = node.args[0].elements
    formatter = _TypeFormatter(checked, arguments)
    try:
        n_used = fill_in(text, formatter)[1]
    except FormatError as error:
        checked.report(formatter.wrong or node, str(error))
        return
    if len(arguments) > n_used:
        checked.report(node, f"too many arguments supplied to string.format (expected {n_used}, got {len(arguments)})")
