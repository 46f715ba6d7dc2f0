"""From a checked expression to steps that evaluate it, with cel-go's optimizations, which costs and errors show.

Literals of literals, and conversions of literals, are computed here; so are regular expressions, and the sets that `in`
looks into.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nodewise.devices.cel.calls import body_of
from nodewise.devices.cel.chains import Chain, ChoiceChain, KeyTypeError, Qualifier, StepChain, variable_chain
from nodewise.devices.cel.checker import UNDEFINED_TYPES, Checked
from nodewise.devices.cel.costs import cost_function
from nodewise.devices.cel.frame import Frame, Lazy, Step
from nodewise.devices.cel.literals import list_step, map_of, map_step, set_lookup
from nodewise.devices.cel.nodes import (
    Call,
    Comprehension,
    Constant,
    Ident,
    ListNode,
    MapNode,
    Message,
    Node,
    Select,
)
from nodewise.devices.cel.parsing import CompileError
from nodewise.devices.cel.regular_expressions import PatternError, compile_pattern
from nodewise.devices.cel.values import (
    NO_SUCH_OVERLOAD,
    Failure,
    GrowingList,
    GrowingMap,
    Optional,
    Panic,
    TypeValue,
    equal,
    go_type,
    key_value,
)

_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
_PATTERN_FUNCTIONS = frozenset({"matches", "find", "findAll"})
_NOT_CONSTANT: Any = object()


class Plan:
    """How to evaluate a part of an expression.

    Attributes
    ----------
    step : Step
        What to do.
    constant : Any
        The value, if it is known already.
    chain : Chain | None
        The chain of selections that it is, if it is one.
    """

    __slots__ = ("chain", "constant", "step")

    def __init__(self, step: Step, *, constant: Any = _NOT_CONSTANT, chain: Chain | None = None) -> None:
        self.step = step
        self.constant = constant
        self.chain = chain

    @property
    def is_constant(self) -> bool:
        """Whether the value is known already."""
        return self.constant is not _NOT_CONSTANT


def _constant(value: Any) -> Plan:
    return Plan(lambda frame: value, constant=value)


def _of_chain(chain: Chain) -> Plan:
    cost = chain.cost

    def run(frame: Frame) -> Any:
        value = chain.resolve(frame)
        frame.charge(cost)
        return value

    return Plan(run, chain=chain)


class Planner:
    """Plans one checked expression."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked

    def plan(self, node: Node) -> Plan:
        """Return how to evaluate a part of the expression.

        Raises
        ------
        CompileError
            Something in it cannot be evaluated, whatever the device.
        """
        if isinstance(node, Constant):
            return _constant(node.value)
        if isinstance(node, (Ident, Select)):
            name = self._checked.type_names.get(node.expr_id)
            if name is not None:
                return _type(name)
            return (
                _of_chain(variable_chain(node.name, is_hidden=node.expr_id in self._checked.hidden))
                if isinstance(node, Ident)
                else self._select(node)
            )
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListNode):
            return self._list(node)
        if isinstance(node, MapNode):
            return self._map(node)
        assert not isinstance(node, Message)
        return Plan(self._loop(node))

    # --- selections ---------------------------------------------------------------------------------------------------

    def _select(self, node: Select) -> Plan:
        chain = self._chain(node.operand)
        chain.add(Qualifier(node.field, is_test=node.is_test))
        return _presence(chain) if node.is_test else _of_chain(chain)

    def _chain(self, node: Node) -> Chain:
        """Return the chain that a node is, or that starts at its value."""
        plan = self.plan(node)
        return plan.chain or StepChain(plan.step)

    def _index(self, node: Call) -> Plan:
        chain, key = self._chain(node.args[0]), self.plan(node.args[1])
        is_optional = node.function != "_[_]"
        try:
            if key.is_constant:
                chain.add(Qualifier(key.constant, is_optional=is_optional))
            else:
                step = key.chain.resolve if key.chain is not None else key.step
                chain.add(Qualifier(key_step=step, is_optional=is_optional))
        except KeyTypeError as error:
            raise _cannot_start(str(error)) from error
        return _of_chain(chain)

    def _choice(self, node: Call) -> Plan:
        condition = self.plan(node.args[0]).step
        return _of_chain(ChoiceChain(condition, self._chain(node.args[1]), self._chain(node.args[2])))

    # --- literals -----------------------------------------------------------------------------------------------------

    def _list(self, node: ListNode) -> Plan:
        plans = [self.plan(element) for element in node.elements]
        step = list_step([plan.step for plan in plans], node.optional)
        if not node.optional and all(plan.is_constant for plan in plans):
            return _constant([plan.constant for plan in plans])
        return Plan(step)

    def _map(self, node: MapNode) -> Plan:
        plans = [(self.plan(key), self.plan(value), is_optional) for key, value, is_optional in node.entries]
        if all(key.is_constant and value.is_constant and not is_optional for key, value, is_optional in plans):
            try:
                return _constant(map_of([(key.constant, value.constant, opt) for key, value, opt in plans]))
            except Panic as panic:
                raise _cannot_start(str(panic)) from panic
        return Plan(map_step([(key.step, value.step, is_optional) for key, value, is_optional in plans]))

    # --- loops --------------------------------------------------------------------------------------------------------

    def _loop(self, node: Comprehension) -> Step:
        init, range_step = self.plan(node.accu_init).step, self.plan(node.iter_range).step
        condition, advance = self.plan(node.condition).step, self.plan(node.step).step
        result = self.plan(node.result).step
        first, second, accu_var = node.iter_var, node.second_var, node.accu_var

        def run(frame: Frame) -> Any:
            pairs = _pairs(range_step(frame), has_two=bool(second))
            if type(pairs) is Failure:
                return pairs
            outer = frame.variables
            frame.variables = inner = dict(outer)
            inner[accu_var] = Lazy(init, outer)
            try:
                for key, value in pairs:
                    inner[first] = key
                    if second:
                        inner[second] = value
                    if condition(frame) is False:
                        break
                    inner[accu_var] = advance(frame)
                _restore(inner, outer, first, second)
                return _settled(result(frame))
            finally:
                frame.variables = outer

        return run

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Plan:
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        function = self._checked.functions.get(node.expr_id, "")
        args = list(node.args)
        if not function:
            function = node.function.removeprefix(".")
            args = ([node.target] if node.target is not None else []) + args
        plans = [self.plan(arg) for arg in args]
        overloads = self._checked.overloads[node.expr_id]
        overload_id = overloads[0] if len(overloads) == 1 else ""
        if overload_id == "in_list" and plans[1].is_constant:
            if not plans[1].constant:
                return _constant(False)
            lookup = set_lookup(plans[0].step, plans[1].constant)
            if lookup is not None:
                return Plan(lookup)
        if function in _CONVERSIONS and len(plans) == 1 and plans[0].is_constant:
            return _converted(function, overload_id, plans[0].constant)
        return Plan(_call_step(function, overload_id, plans))

    def _equality(self, node: Call) -> Plan:
        left, right = (self.plan(arg).step for arg in node.args)
        is_negated = node.function == "_!=_"
        cost = cost_function(node.function, "not_equals" if is_negated else "equals")

        def run(frame: Frame) -> Any:
            values = left(frame), right(frame)
            failed = next((value for value in values if type(value) is Failure), None)
            found: Any = failed
            if failed is None:
                found = equal(*values)
                if is_negated:
                    found = found is not True
            frame.charge(cost(values, found))
            return found

        return Plan(run)

    def _logic(self, node: Call) -> Plan:
        """Plan `&&` or `||`: the absorbing value decides, even where another term failed."""
        steps = [self.plan(arg).step for arg in node.args]
        absorbing = node.function == "_||_"

        def run(frame: Frame) -> Any:
            failure: Failure | None = None
            for step in steps:
                value = step(frame)
                if value is absorbing:
                    return absorbing
                if not isinstance(value, bool) and failure is None:
                    failure = value if type(value) is Failure else NO_SUCH_OVERLOAD
            return not absorbing if failure is None else failure

        return Plan(run)

    def _not_strictly_false(self, node: Call) -> Plan:
        condition = self.plan(node.args[0]).step

        def run(frame: Frame) -> bool:
            value = condition(frame)
            frame.charge(1)
            return value is not False

        return Plan(run)

    def _alternative(self, node: Call) -> Plan:
        """Plan `or` or `orValue`, whose second part is evaluated only when it is needed."""
        assert node.target is not None
        optional, otherwise = self.plan(node.target).step, self.plan(node.args[0]).step
        unwraps = node.function == "orValue"

        def run(frame: Frame) -> Any:
            value = optional(frame)
            if type(value) is not Optional:
                return value if type(value) is Failure else NO_SUCH_OVERLOAD
            if not value.has_value:
                return otherwise(frame)
            return value.value if unwraps else value

        return Plan(run)


_SPECIAL: dict[str, Callable[[Planner, Call], Plan]] = {
    "_&&_": Planner._logic,
    "_||_": Planner._logic,
    "_?_:_": Planner._choice,
    "_==_": Planner._equality,
    "_!=_": Planner._equality,
    "_[_]": Planner._index,
    "_[?_]": Planner._index,
    "_?._": Planner._index,
    "@not_strictly_false": Planner._not_strictly_false,
    "or": Planner._alternative,
    "orValue": Planner._alternative,
}


def _cannot_start(reason: str) -> CompileError:
    return CompileError(f"program instantiation failed: {reason}")


def _type(name: str) -> Plan:
    if name in UNDEFINED_TYPES:
        raise _cannot_start(f"reference to undefined type: {name}")
    return _constant(TypeValue(name))


def _presence(chain: Chain) -> Plan:
    """Plan `has(x.y)`: it counts the elements found, and nothing for itself."""
    cost = chain.cost - 1

    def run(frame: Frame) -> Any:
        value = chain.resolve(frame)
        frame.charge(cost)
        return value.has_value if type(value) is Optional else value

    return Plan(run, chain=chain)


# --- calls ------------------------------------------------------------------------------------------------------------


def _call_step(function: str, overload_id: str, plans: Sequence[Plan]) -> Step:
    steps = [plan.step for plan in plans]
    cost = cost_function(function, overload_id)
    body = body_of(function, overload_id, len(plans))
    run_body, stops_early = body.run, body.stops_early
    if function in _PATTERN_FUNCTIONS and len(plans) > 1 and isinstance(plans[1].constant, str):
        _check_pattern(plans[1].constant)
        run_body, stops_early = _on_text(run_body), True

    def run(frame: Frame) -> Any:
        values: list[Any] = []
        failed: Failure | None = None
        for step in steps:
            value = step(frame)
            values.append(value)
            if type(value) is Failure:
                failed = failed or value
                if stops_early:
                    break
        found = run_body(values) if failed is None else failed
        if len(values) == len(steps):
            frame.charge(cost(values, found))
        return found

    return run


def _check_pattern(pattern: str) -> None:
    try:
        compile_pattern(pattern)
    except PatternError as error:
        raise _cannot_start(str(error)) from error


def _on_text(run: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    """Make a function with a fixed pattern say less of what is no text, and of a limit that is no int."""

    def on_text(values: Sequence[Any]) -> Any:
        fits = isinstance(values[0], str) and (len(values) < 3 or type(values[2]) is int)
        return run(values) if fits else NO_SUCH_OVERLOAD

    return on_text


def _converted(function: str, overload_id: str, value: Any) -> Plan:
    found = body_of(function, overload_id, 1).run([value])
    if type(found) is Failure:
        raise _cannot_start(found.text)
    return _constant(found)


# --- loops ------------------------------------------------------------------------------------------------------------


def _pairs(items: Any, *, has_two: bool) -> Any:
    """Return what a loop goes over, as pairs of its two variables; a Failure when there is nothing to go over."""
    if type(items) is Failure:
        return items
    if isinstance(items, list):
        return enumerate(items) if has_two else [(item, None) for item in items]
    if isinstance(items, dict):
        return [(key_value(key), value) for key, value in items.items()]
    if has_two:
        return Failure(f"unsupported comprehension range type: {go_type(items)}")
    return Failure(f"got '{go_type(items)}', expected iterable type")


def _restore(inner: dict[str, Any], outer: dict[str, Any], *names: str) -> None:
    """Give variables the meaning that they have outside the loop."""
    for name in names:
        if name in outer:
            inner[name] = outer[name]
        else:
            inner.pop(name, None)


def _settled(value: Any) -> Any:
    """Return a loop's result as a value that nothing adds to any more."""
    if type(value) is GrowingList:
        return list(value)
    return dict(value) if type(value) is GrowingMap else value
