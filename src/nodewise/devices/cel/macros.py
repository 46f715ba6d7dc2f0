"""Macros that the library does not have: loops over two variables, and `sortBy`.

They are expanded as cel-go expands them, in the parsed tree, before types are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from nodewise.devices.cel.nodes import (
    Call,
    Comprehension,
    Constant,
    Ident,
    ListNode,
    MapNode,
    Message,
    Node,
    Parsed,
    Select,
)
from nodewise.devices.cel.parsing import CompileError, Issue, issues_text

_ACCUMULATOR = "@result"
_RESERVED_ACCUMULATOR = "__result__"
_SORT_INPUT = "@__sortBy_input__"


class _MacroError(Exception):
    def __init__(self, node: Node, message: str) -> None:
        super().__init__(message)
        self.node = node


def expand(parsed: Parsed) -> Parsed:
    """Return an expression with its remaining macros expanded.

    Raises
    ------
    CompileError
        A macro's arguments are wrong.
    """
    expander = _Expander(parsed)
    root = expander.expand(parsed.root)
    if expander.issues:
        raise CompileError(f"compilation failed: {issues_text(parsed.text, expander.issues)}")
    return Parsed(parsed.text, root, expander.positions)


class _Expander:
    """Walks over a tree, innermost calls first."""

    def __init__(self, parsed: Parsed) -> None:
        self.positions = dict(parsed.positions)
        self.issues: list[Issue] = []
        self._ids = count(max(parsed.positions, default=0) + 1)
        self._offset = 0

    def new_id(self) -> int:
        """Return the id of a new node at the place of the macro."""
        expr_id = next(self._ids)
        self.positions[expr_id] = self._offset
        return expr_id

    def expand(self, node: Node) -> Node:
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Select):
            return replace(node, operand=self.expand(node.operand))
        if isinstance(node, ListNode):
            return replace(node, elements=tuple(map(self.expand, node.elements)))
        if isinstance(node, MapNode):
            return replace(
                node, entries=tuple([(self.expand(key), self.expand(value), opt) for key, value, opt in node.entries])
            )
        if isinstance(node, Message):
            return replace(node, fields=tuple([(id_, name, self.expand(value)) for id_, name, value in node.fields]))
        if isinstance(node, Comprehension):
            return replace(
                node,
                iter_range=self.expand(node.iter_range),
                accu_init=self.expand(node.accu_init),
                condition=self.expand(node.condition),
                step=self.expand(node.step),
                result=self.expand(node.result),
            )
        return node

    def _call(self, node: Call) -> Node:
        target = None if node.target is None else self.expand(node.target)
        args = tuple(map(self.expand, node.args))
        macro = _MACROS.get((node.function, len(args))) if target is not None else None
        if macro is None or target is None:
            return replace(node, target=target, args=args)
        self._offset = self.positions.get(node.expr_id, 0)
        try:
            return macro(self, target, args)
        except _MacroError as error:
            self.issues.append(Issue(self.positions.get(error.node.expr_id, 0), str(error)))
            return node

    # --- parts of expansions ------------------------------------------------------------------------------------------

    def accumulator(self) -> Ident:
        return Ident(self.new_id(), _ACCUMULATOR)

    def literal(self, value: object) -> Constant:
        return Constant(self.new_id(), value)

    def call(self, function: str, *args: Node) -> Call:
        return Call(self.new_id(), function, None, args)

    def choice(self, condition: Node | None, if_true: Node) -> Node:
        """Return a step that is taken where a filter lets it, or always without one."""
        return if_true if condition is None else self.call("_?_:_", condition, if_true, self.accumulator())

    def loop(
        self, target: Node, variables: tuple[str, str], init: Node, condition: Node, step: Node, result: Node
    ) -> Comprehension:
        first, second = variables
        return Comprehension(self.new_id(), first, second, target, _ACCUMULATOR, init, condition, step, result)


def _variables(first: Node, second: Node) -> tuple[str, str]:
    names = _name(first), _name(second)
    if names[0] == names[1]:
        raise _MacroError(second, f"duplicate variable name: {names[0]}")
    for node, name in zip((first, second), names, strict=True):
        if name in (_ACCUMULATOR, _RESERVED_ACCUMULATOR):
            raise _MacroError(node, "iteration variable overwrites accumulator variable")
    return names


def _name(node: Node, otherwise: str = "argument must be a simple name") -> str:
    if not isinstance(node, Ident):
        raise _MacroError(node, otherwise)
    return node.name


def _only_variable(node: Node) -> tuple[str, str]:
    name = _name(node, "argument is not an identifier")
    if name in (_ACCUMULATOR, _RESERVED_ACCUMULATOR):
        raise _MacroError(node, "iteration variable overwrites accumulator variable")
    return name, ""


_Macro = Callable[[_Expander, Node, tuple[Node, ...]], Node]


def _all(make: _Expander, target: Node, args: tuple[Node, ...]) -> Node:
    variables = _variables(args[0], args[1])
    init = make.literal(True)
    condition = make.call("@not_strictly_false", make.accumulator())
    step = make.call("_&&_", make.accumulator(), args[2])
    return make.loop(target, variables, init, condition, step, make.accumulator())


def _exists(make: _Expander, target: Node, args: tuple[Node, ...]) -> Node:
    variables = _variables(args[0], args[1])
    init = make.literal(False)
    condition = make.call("@not_strictly_false", make.call("!_", make.accumulator()))
    step = make.call("_||_", make.accumulator(), args[2])
    return make.loop(target, variables, init, condition, step, make.accumulator())


def _exists_one(make: _Expander, target: Node, args: tuple[Node, ...]) -> Node:
    variables = _variables(args[0], args[1])
    init, always = make.literal(0), make.literal(True)
    step = make.choice(args[2], make.call("_+_", make.accumulator(), make.literal(1)))
    result = make.call("_==_", make.accumulator(), make.literal(1))
    return make.loop(target, variables, init, always, step, result)


def _transform_list(make: _Expander, target: Node, args: tuple[Node, ...]) -> Node:
    variables, condition, transform = _transform_parts(args)
    init, always = ListNode(make.new_id(), ()), make.literal(True)
    step = make.call("_+_", make.accumulator(), ListNode(make.new_id(), (transform,)))
    return make.loop(target, variables, init, always, make.choice(condition, step), make.accumulator())


def _transform_map(make: _Expander, target: Node, args: tuple[Node, ...]) -> Node:
    variables, condition, transform = _transform_parts(args)
    key = Ident(make.new_id(), variables[0])
    step = make.call("cel.@mapInsert", make.accumulator(), key, transform)
    return _insert_loop(make, target, variables, condition, step)


def _transform_map_entry(make: _Expander, target: Node, args: tuple[Node, ...]) -> Node:
    variables, condition, transform = _transform_parts(args)
    step = make.call("cel.@mapInsert", make.accumulator(), transform)
    return _insert_loop(make, target, variables, condition, step)


def _transform_parts(args: tuple[Node, ...]) -> tuple[tuple[str, str], Node | None, Node]:
    return _variables(args[0], args[1]), args[2] if len(args) == 4 else None, args[-1]


def _insert_loop(make: _Expander, target: Node, variables: tuple[str, str], condition: Node | None, step: Node) -> Node:
    init, always = MapNode(make.new_id(), ()), make.literal(True)
    return make.loop(target, variables, init, always, make.choice(condition, step), make.accumulator())


def _sort_by(make: _Expander, target: Node, args: tuple[Node, ...]) -> Node:
    """Sort by keys that a loop computes: `cel.bind(input, target, input.@sortByAssociatedKeys(input.map(x, key)))`."""
    if isinstance(target, (Constant, MapNode, Message)):
        kinds = "a list, identifier, comprehension, call or select expression"
        raise _MacroError(target, f"sortBy can only be applied to {kinds}")
    variables = _only_variable(args[0])
    init, always = ListNode(make.new_id(), ()), make.literal(True)
    step = make.call("_+_", make.accumulator(), ListNode(make.new_id(), (args[1],)))
    source = Ident(make.new_id(), _SORT_INPUT)
    keys = make.loop(source, variables, init, always, step, make.accumulator())
    call = Call(make.new_id(), "@sortByAssociatedKeys", Ident(make.new_id(), _SORT_INPUT), (keys,))
    return Comprehension(
        expr_id=make.new_id(),
        iter_var="#unused",
        second_var="",
        iter_range=ListNode(make.new_id(), ()),
        accu_var=_SORT_INPUT,
        accu_init=target,
        condition=make.literal(False),
        step=Ident(make.new_id(), _SORT_INPUT),
        result=call,
    )


_MACROS: dict[tuple[str, int], _Macro] = {
    ("all", 3): _all,
    ("exists", 3): _exists,
    ("existsOne", 3): _exists_one,
    ("exists_one", 3): _exists_one,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_map_entry,
    ("transformMapEntry", 4): _transform_map_entry,
    ("sortBy", 2): _sort_by,
}
"""By name and number of arguments, on a target."""
