"""A checked expression made ready to run, with the cost limit of the original (cel.CompilationResult)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nodewise.devices.cel.costs import cost_of_call
from nodewise.devices.cel.environment import FUNCTIONS as DECLARED, Checked, CompileError
from nodewise.devices.cel.functions import CONSTANT_CONVERSIONS, FUNCTIONS, select, select_optional
from nodewise.devices.cel.nodes import Call, Comprehension, Constant, Ident, ListNode, MapNode, Node, Select
from nodewise.devices.cel.values import (
    NO_SUCH_OVERLOAD,
    CelError,
    Optional,
    TypeValue,
    type_name,
)
from nodewise.errors import NodewiseError

MAX_COST = 1_000_000
"""What one evaluation may cost (CELSelectorExpressionMaxCost)."""
LIST_COST, MAP_COST = 10, 30
_COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"
_SELECTIONS = frozenset({"_[_]", "_?._", "_[?_]"})
_TYPE_NAMES = frozenset({"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"})


class CostLimitError(NodewiseError):
    """An evaluation costs more than it may; unlike other errors no operator absorbs it."""


class Frame:
    """The variables of one evaluation, and what it has cost so far."""

    __slots__ = ("cost", "variables")

    def __init__(self, variables: dict[str, Any]) -> None:
        self.variables = variables
        self.cost = 0

    def charge(self, cost: int) -> None:
        """Count a cost.

        Raises
        ------
        CostLimitError
            The limit is exceeded.
        """
        self.cost += cost
        if self.cost > MAX_COST:
            raise CostLimitError(_COST_EXCEEDED)


Step = Callable[[Frame], Any]


class Program:
    """An expression that tells whether a device matches."""

    __slots__ = ("_run",)

    def __init__(self, checked: Checked) -> None:
        if checked.result_type not in ("bool", "dyn"):
            raise CompileError(f"must evaluate to bool or the unknown type, not {checked.result_type}")
        self._run = _step(checked.root)

    def matches(self, device: Mapping[str, Any]) -> bool:
        """Evaluate for a device (CompilationResult.DeviceMatches).

        Raises
        ------
        CelError, CostLimitError
            With cel-go's text.
        """
        return self.evaluate(device)[0]

    def evaluate(self, device: Mapping[str, Any]) -> tuple[bool, int]:
        """Evaluate for a device, and tell what it cost."""
        frame = Frame({"device": device})
        found = self._run(frame)
        if not isinstance(found, bool):
            name = type_name(found)
            raise CelError(
                f"CEL result of type {name} could not be converted to bool: "
                f"unsupported native conversion from {name} to 'bool'"
            )
        return found, frame.cost


def _step(node: Node) -> Step:
    if isinstance(node, Constant):
        value = node.value
        return lambda frame: value
    if isinstance(node, Ident):
        return _ident(node.name)
    if isinstance(node, Select):
        return _has(node) if node.is_test else _selection(node)
    if isinstance(node, Call):
        return _call(node)
    if isinstance(node, ListNode):
        return _list(node)
    if isinstance(node, MapNode):
        return _map(node)
    return _loop(node)


def _ident(name: str) -> Step:
    variable, dot, field = name.partition(".")
    if dot and variable == "device":
        return _selection(Select(Ident(variable), field, is_test=False))
    if name in _TYPE_NAMES or dot:
        type_value = TypeValue(name)
        return lambda frame: type_value

    def look_up(frame: Frame) -> Any:
        frame.charge(1)
        value = frame.variables[name]
        if isinstance(value, CelError):
            raise value
        return value

    return look_up


def _selection(node: Select) -> Step:
    operand, field = _step(node.operand), node.field
    cost = _selection_cost(node.operand)

    def run(frame: Frame) -> Any:
        value = operand(frame)
        frame.charge(cost)
        return select(value, field)

    return run


def _selection_cost(operand: Node) -> int:
    """Return what a selection costs: one more where it is the first of a chain that no variable starts."""
    return 1 if isinstance(operand, Select) or _starts_chain(operand) else 2


def _starts_chain(node: Node) -> bool:
    return isinstance(node, Ident) or (isinstance(node, Call) and node.function in _SELECTIONS)


def _has(node: Select) -> Step:
    operand, field = _step(node.operand), node.field

    def run(frame: Frame) -> bool:
        value = operand(frame)
        if isinstance(value, Optional):
            value = value.value
        return isinstance(value, dict) and field in value

    return run


def _list(node: ListNode) -> Step:
    elements = [_step(element) for element in node.elements]
    cost = 0 if _is_constant(node) else LIST_COST

    def run(frame: Frame) -> list[Any]:
        values = []
        for position, element in enumerate(elements):
            value = element(frame)
            if position in node.optional:
                if not value.has_value:
                    continue
                value = value.value
            values.append(value)
        frame.charge(cost)
        return values

    return run


def _map(node: MapNode) -> Step:
    entries = [(_step(key), _step(value), is_optional) for key, value, is_optional in node.entries]
    cost = 0 if _is_constant(node) else MAP_COST

    def run(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, value, is_optional in entries:
            name, content = key(frame), value(frame)
            if is_optional:
                if not content.has_value:
                    continue
                content = content.value
            if name in found:
                raise CelError(f"Failed with repeated key: {name}")
            found[name] = content
        frame.charge(cost)
        return found

    return run


def _is_constant(node: Node) -> bool:
    """Tell whether cel-go folds a literal before it runs anything."""
    if isinstance(node, ListNode):
        return not node.optional and all(_is_constant(element) for element in node.elements)
    if isinstance(node, MapNode):
        return all(_is_constant(key) and _is_constant(value) and not opt for key, value, opt in node.entries)
    return isinstance(node, Constant)


def _loop(node: Comprehension) -> Step:
    iter_range, init, condition = _step(node.iter_range), _step(node.accu_init), _step(node.condition)
    advance, result = _step(node.step), _step(node.result)
    iter_var, accu_var = node.iter_var, node.accu_var

    def run(frame: Frame) -> Any:
        items = iter_range(frame)
        if not isinstance(items, (list, tuple, dict)):
            raise CelError(NO_SUCH_OVERLOAD)
        outer = frame.variables
        frame.variables = inner = dict(outer)
        try:
            inner[accu_var] = _value_or_error(init, frame)
            for item in items:
                inner[iter_var] = item
                if not condition(frame):
                    break
                inner[accu_var] = _value_or_error(advance, frame)
            inner.pop(iter_var, None)
            return result(frame)
        finally:
            frame.variables = outer

    return run


def _value_or_error(step: Step, frame: Frame) -> Any:
    try:
        return step(frame)
    except CelError as error:
        return error


# --- calls ------------------------------------------------------------------------------------------------------------


def _call(node: Call) -> Step:
    name = node.function
    special = _SPECIAL.get(name)
    if special is not None:
        return special(node)
    function = FUNCTIONS.get(name)
    if function is None:
        raise CompileError(f"compilation failed: not supported: the function {name}")
    arguments = ([node.target] if node.target is not None else []) + list(node.args)
    steps = [_step(argument) for argument in arguments]
    is_folded = name in CONSTANT_CONVERSIONS and len(arguments) == 1 and isinstance(arguments[0], Constant)
    is_set_lookup = name == "@in" and len(arguments) == 2 and _is_constant(arguments[1])

    def run(frame: Frame) -> Any:
        values = [step(frame) for step in steps]
        try:
            found = function(*values)
        except TypeError as error:
            raise CelError(_no_overload(name, values)) from error
        except CelError as error:
            if str(error) != NO_SUCH_OVERLOAD:
                raise
            raise CelError(_no_overload(name, values)) from error
        if not (is_folded or is_set_lookup):
            frame.charge(cost_of_call(name, values, found))
        return found

    return run


def _no_overload(name: str, values: list[Any]) -> str:
    """Return what cel-go says of arguments that a function is not made for: more where it has several forms."""
    if name == "size":
        return f"{NO_SUCH_OVERLOAD}: size"
    if name in DECLARED and len(DECLARED[name]) > 1:
        return f"{NO_SUCH_OVERLOAD}: {name}({', '.join([type_name(value) for value in values])})"
    return NO_SUCH_OVERLOAD


def _all_of(node: Call) -> Step:
    return _logic(node, absorbing=False)


def _any_of(node: Call) -> Step:
    return _logic(node, absorbing=True)


def _logic(node: Call, *, absorbing: bool) -> Step:
    """Make `&&` or `||`: the absorbing value decides, even where another term failed."""
    steps = [_step(argument) for argument in node.args]
    decided: bool = absorbing

    def run(frame: Frame) -> bool:
        failure: CelError | None = None
        for step in steps:
            try:
                value = step(frame)
            except CelError as error:
                failure = failure or error
                continue
            if value is absorbing:
                return decided
            if not isinstance(value, bool) and failure is None:
                failure = CelError(NO_SUCH_OVERLOAD)
        if failure is not None:
            raise failure
        return not decided

    return run


def _choice(node: Call) -> Step:
    condition, if_true, if_false = (_branch(argument, is_branch=n > 0) for n, argument in enumerate(node.args))

    def run(frame: Frame) -> Any:
        value = condition(frame)
        if not isinstance(value, bool):
            raise CelError(NO_SUCH_OVERLOAD)
        return if_true(frame) if value else if_false(frame)

    return run


def _branch(node: Node, *, is_branch: bool) -> Step:
    """Make a part of `?:`; a branch that is a variable or a selection costs one less than elsewhere."""
    step = _step(node)
    if not is_branch or not (isinstance(node, Select) or _starts_chain(node)):
        return step

    def run(frame: Frame) -> Any:
        value = step(frame)
        frame.cost -= 1
        return value

    return run


def _not_strictly_false(node: Call) -> Step:
    condition = _step(node.args[0])

    def run(frame: Frame) -> bool:
        try:
            value = condition(frame)
        except CelError:
            value = True
        frame.charge(1)
        return value is not False

    return run


def _optional_selection(node: Call) -> Step:
    operand, key = _step(node.args[0]), _step(node.args[1])

    def run(frame: Frame) -> Optional:
        value = operand(frame)
        frame.charge(1)
        return select_optional(value, key(frame))

    return run


def _index(node: Call) -> Step:
    operand, key = _step(node.args[0]), _step(node.args[1])
    index = FUNCTIONS["_[_]"]
    cost = _selection_cost(node.args[0])

    def run(frame: Frame) -> Any:
        value = operand(frame)
        position = key(frame)
        frame.charge(cost)
        return index(value, position)

    return run


def _or_value(node: Call) -> Step:
    assert node.target is not None
    optional, default = _step(node.target), _step(node.args[0])
    unwraps = node.function == "orValue"

    def run(frame: Frame) -> Any:
        value = optional(frame)
        if not isinstance(value, Optional):
            raise CelError(NO_SUCH_OVERLOAD)
        if not value.has_value:
            return default(frame)
        return value.value if unwraps else value

    return run


_SPECIAL: dict[str, Callable[[Call], Step]] = {
    "_&&_": _all_of,
    "_||_": _any_of,
    "_?_:_": _choice,
    "@not_strictly_false": _not_strictly_false,
    "_?._": _optional_selection,
    "_[?_]": _optional_selection,
    "_[_]": _index,
    "or": _or_value,
    "orValue": _or_value,
}
