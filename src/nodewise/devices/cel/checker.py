"""The type checker: types of all parts of an expression, and which forms of functions its calls are.

It follows cel-go's checker: overloads are tried in their order, type parameters are unified, errors are recorded and
checking goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from nodewise.devices.cel.assignability import Substitutions, most_general
from nodewise.devices.cel.cel_types import (
    BOOL,
    DEVICE,
    DEVICE_FIELDS,
    DURATION,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
    optional_of,
    type_of,
)
from nodewise.devices.cel.declarations import Overload, declarations
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
from nodewise.devices.cel.parsing import Issue
from nodewise.devices.cel.values import type_name

TYPE_NAMES: dict[str, CelType] = {
    **{name: CelType(name) for name in ("bool", "bytes", "double", "int", "string", "uint", "null_type")},
    "list": list_of(CelType("A", is_param=True)),
    "map": map_of(CelType("A", is_param=True), CelType("B", is_param=True)),
    "type": CelType("type"),
    "optional_type": optional_of(CelType("V", is_param=True)),
    DURATION: CelType(DURATION),
    TIMESTAMP: CelType(TIMESTAMP),
    "net.IP": CelType("net.IP"),
    "net.CIDR": CelType("net.CIDR"),
}
"""Types that have a name in expressions."""
UNDEFINED_TYPES = frozenset(
    {DEVICE.name, "google.protobuf.Any", "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"}
)
"""Types that the checker knows, but that cannot be evaluated."""


@dataclass(slots=True)
class Checked:
    """What the checker found.

    Attributes
    ----------
    types : dict[int, CelType]
        By node id.
    overloads : dict[int, tuple[str, ...]]
        By id of a call, the forms that it may be.
    functions : dict[int, str]
        By id of a call on a target, the namespaced function that it is in truth, such as `ip.isCanonical`.
    type_names : dict[int, str]
        By id of a node that names a type.
    hidden : set[int]
        Ids of names such as `.device` that the variable of a loop would hide without the dot.
    """

    parsed: Parsed
    types: dict[int, CelType] = field(default_factory=dict)
    overloads: dict[int, tuple[str, ...]] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    type_names: dict[int, str] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    issues: list[Issue] = field(default_factory=list)

    def type_of(self, node: Node) -> CelType:
        """Return the type of a node."""
        return self.types[node.expr_id]

    def report(self, node: Node, message: str) -> None:
        """Record something wrong with a node."""
        self.report_at(node.expr_id, message)

    def report_at(self, expr_id: int, message: str) -> None:
        """Record something wrong at the place of an id."""
        self.issues.append(Issue(self.parsed.positions.get(expr_id, 0), message))


def check_types(parsed: Parsed) -> Checked:
    """Check the types of an expression; what is wrong is in `issues`."""
    checker = _Checker(parsed)
    checker.check(parsed.root)
    checked = checker.checked
    checked.types = {
        expr_id: checker.substitutions.resolve(kind, params_to_dyn=True) for expr_id, kind in checked.types.items()
    }
    return checked


class _Checker:
    def __init__(self, parsed: Parsed) -> None:
        self.checked = Checked(parsed)
        self.substitutions = Substitutions()
        self._locals: list[dict[str, CelType]] = []
        self._n_params = 0

    def check(self, node: Node) -> CelType:
        """Return the type of a node, and record it."""
        if isinstance(node, Constant):
            kind = NULL if node.value is None else CelType(type_name(node.value))
        elif isinstance(node, Ident):
            kind = self._ident(node)
        elif isinstance(node, Select):
            kind = self._select(node)
        elif isinstance(node, Call):
            kind = self._call(node)
        elif isinstance(node, ListNode):
            kind = self._list(node)
        elif isinstance(node, MapNode):
            kind = self._map(node)
        elif isinstance(node, Message):
            kind = self._message(node)
        else:
            kind = self._comprehension(node)
        self.checked.types[node.expr_id] = kind
        return kind

    # --- names --------------------------------------------------------------------------------------------------------

    def _ident(self, node: Ident) -> CelType:
        found = self._named(node, node.name)
        if found is None:
            self._undeclared(node, node.name)
            return ERROR
        return found

    def _named(self, node: Node, name: str) -> CelType | None:
        if not name.startswith("."):
            for scope in reversed(self._locals):
                if name in scope:
                    return scope[name]
        elif self._is_local(name[1:]):
            self.checked.hidden.add(node.expr_id)
        return self._global(node, name.removeprefix("."))

    def _global(self, node: Node, name: str) -> CelType | None:
        if name == "device":
            return DEVICE
        kind = TYPE_NAMES.get(name, CelType(name) if name in UNDEFINED_TYPES else None)
        if kind is None:
            return None
        self.checked.type_names[node.expr_id] = name
        return type_of(kind)

    def _undeclared(self, node: Node, name: str) -> None:
        self.checked.report(node, f"undeclared reference to '{name}' (in container '')")

    def _select(self, node: Select) -> CelType:
        name = dotted_name(node)
        if name and not node.is_test and not self._is_local(name.split(".", 1)[0]):
            found = self._global(node, name.removeprefix("."))
            if found is not None:
                return found
        kind = self._field(node, node.operand, node.field, is_optional=False)
        return BOOL if node.is_test else self.substitutions.resolve(kind)

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self._locals)

    def _field(self, node: Node, operand: Node, name: str, *, is_optional: bool) -> CelType:
        operand_type = self.substitutions.resolve(self.check(operand))
        target = operand_type.params[0] if operand_type.is_optional else operand_type
        kind = DYN
        if target.name == "map":
            kind = target.params[1]
        elif target == DEVICE:
            kind = DEVICE_FIELDS.get(name, ERROR)
            if kind.is_error:
                self.checked.report(node, f"undefined field '{name}'")
        elif target.is_object:
            kind = ERROR
            self.checked.report(node, f"unexpected failed resolution of '{target.name}'")
        elif target.is_param:
            self.substitutions.is_assignable([DYN], [target])
        elif not (target.is_dyn or target.is_error):
            self.checked.report(node, f"type '{target.shown()}' does not support field selection")
        return optional_of(kind) if is_optional or operand_type.is_optional else kind

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, node: Call) -> CelType:
        if node.function == "_?._":
            return self._optional_select(node)
        for arg in node.args:
            self.check(arg)
        known = declarations()
        function, target = node.function, node.target
        if target is not None:
            prefix = dotted_name(target)
            namespaced = f"{prefix}.{function}".removeprefix(".") if prefix else ""
            if namespaced in known:
                self.checked.functions[node.expr_id] = namespaced
                return self._resolve(node, namespaced, None)
            self.check(target)
        if function.removeprefix(".") not in known:
            self._undeclared(node, function)
            return ERROR
        return self._resolve(node, function.removeprefix("."), target)

    def _optional_select(self, node: Call) -> CelType:
        operand, name = node.args
        if not isinstance(name, Constant) or not isinstance(name.value, str):
            self.checked.report(name, "unsupported optional field selection")
            return ERROR
        self.checked.types[name.expr_id] = STRING
        kind = self._field(node, operand, name.value, is_optional=True)
        self.checked.overloads[node.expr_id] = ("select_optional_field",)
        return self.substitutions.resolve(kind)

    def _resolve(self, node: Call, function: str, target: Node | None) -> CelType:
        args = ([target] if target is not None else []) + list(node.args)
        types = [self.checked.types[arg.expr_id] for arg in args]
        if function in ("_&&_", "_||_"):
            return self._logic(node, function, types)
        result: CelType | None = None
        overloads: list[str] = []
        for overload in declarations()[function]:
            if overload.is_member != (target is not None):
                continue
            params, returned = self._instantiate(overload)
            if not self.substitutions.is_assignable(types, params):
                continue
            overloads.append(overload.overload_id)
            found = self.substitutions.resolve(returned)
            if result is None:
                result = found
            elif not result.is_dyn and found != result:
                result = DYN
        if result is None:
            self._no_match(node, function, types, is_member=target is not None)
            return ERROR
        self.checked.overloads[node.expr_id] = tuple(overloads)
        return result

    def _instantiate(self, overload: Overload) -> tuple[list[CelType], CelType]:
        """Give a form's type parameters names of their own."""
        renamed: dict[str, CelType] = {}
        params = [self._renamed(param, renamed) for param in overload.params]
        return params, self._renamed(overload.result, renamed)

    def _renamed(self, kind: CelType, renamed: dict[str, CelType]) -> CelType:
        if kind.is_param:
            if kind.name not in renamed:
                renamed[kind.name] = self._new_param()
            return renamed[kind.name]
        if not kind.params:
            return kind
        return CelType(kind.name, tuple([self._renamed(param, renamed) for param in kind.params]))

    def _new_param(self) -> CelType:
        self._n_params += 1
        return CelType(f"_var{self._n_params - 1}", is_param=True)

    def _logic(self, node: Call, function: str, types: list[CelType]) -> CelType:
        fits = True
        for arg, kind in zip(node.args, types, strict=True):
            if not self.substitutions.is_assignable([kind], [BOOL]):
                self._mismatch(arg, BOOL, kind)
                fits = False
        self.checked.overloads[node.expr_id] = ("logical_and" if function == "_&&_" else "logical_or",)
        return BOOL if fits else ERROR

    def _no_match(self, node: Call, function: str, types: list[CelType], *, is_member: bool) -> None:
        shown = [self.substitutions.resolve(kind, params_to_dyn=True).shown() for kind in types]
        receiver = f"{shown.pop(0)}." if is_member else ""
        self.checked.report(
            node, f"found no matching overload for '{function}' applied to '{receiver}({', '.join(shown)})'"
        )

    def _mismatch(self, node: Node, expected: CelType, found: CelType) -> None:
        self.checked.report(node, f"expected type '{expected.shown()}' but found '{found.shown()}'")

    # --- literals and loops -------------------------------------------------------------------------------------------

    def _list(self, node: ListNode) -> CelType:
        joined: CelType | None = None
        for position, element in enumerate(node.elements):
            kind = self.check(element)
            if position in node.optional:
                kind = self._unwrapped(element, kind)
            joined = self._joined(joined, kind)
        return list_of(self._new_param() if joined is None else joined)

    def _map(self, node: MapNode) -> CelType:
        key_type: CelType | None = None
        value_type: CelType | None = None
        for key, value, is_optional in node.entries:
            key_type = self._joined(key_type, self.check(key))
            kind = self.check(value)
            value_type = self._joined(value_type, self._unwrapped(value, kind) if is_optional else kind)
        if key_type is None or value_type is None:
            return map_of(self._new_param(), self._new_param())
        return map_of(key_type, value_type)

    def _unwrapped(self, node: Node, kind: CelType) -> CelType:
        if kind.is_optional:
            return kind.params[0]
        if not kind.is_dyn:
            self._mismatch(node, optional_of(kind), kind)
        return kind

    def _joined(self, previous: CelType | None, kind: CelType) -> CelType:
        """Return the type of elements that are of one type so far, and the next one's; `validators` judges mixtures."""
        if previous is None:
            return kind
        return most_general(previous, kind) if self.substitutions.is_assignable([previous], [kind]) else DYN

    def _message(self, node: Message) -> CelType:
        known = node.name.removeprefix(".") in TYPE_NAMES or node.name.removeprefix(".") in UNDEFINED_TYPES
        text, start = self.checked.parsed.text, self.checked.parsed.positions.get(node.expr_id, 0)
        self.checked.parsed.positions[node.expr_id] = max(text.find("{", start), start)
        if not known:
            self._undeclared(node, node.name)
            return ERROR
        self.checked.report(node, f"not supported: a message of type '{node.name}'")
        return ERROR

    def _comprehension(self, node: Comprehension) -> CelType:
        self.check(node.iter_range)
        accu_type = self.check(node.accu_init)
        range_type = self.substitutions.resolve(self.checked.type_of(node.iter_range))
        first, second = self._variable_types(node, range_type)
        self._locals.append({node.accu_var: accu_type})
        self._locals.append({node.iter_var: first, **({node.second_var: second} if node.second_var else {})})
        for part, wanted in ((node.condition, BOOL), (node.step, accu_type)):
            kind = self.check(part)
            if not self.substitutions.is_assignable([wanted], [kind]):
                self._mismatch(part, wanted, kind)
        self._locals.pop()
        result = self.check(node.result)
        self._locals.pop()
        return self.substitutions.resolve(result)

    def _variable_types(self, node: Comprehension, range_type: CelType) -> tuple[CelType, CelType]:
        if range_type.name == "list":
            element = range_type.params[0]
            return (INT, element) if node.second_var else (element, ERROR)
        if range_type.name == "map":
            return range_type.params[0], range_type.params[1]
        if range_type.is_dyn or range_type.is_error or range_type.is_param:
            self.substitutions.is_assignable([DYN], [range_type])
            return DYN, DYN
        kinds = "(must be list, map, or dynamic)"
        self.checked.report(
            node.iter_range, f"expression of type '{range_type.shown()}' cannot be range of a comprehension {kinds}"
        )
        return ERROR, ERROR


def dotted_name(node: Node) -> str:
    """Return the dotted name that a chain of selections spells, "" when it is something else."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.is_test:
        prefix = dotted_name(node.operand)
        return f"{prefix}.{node.field}" if prefix else ""
    return ""
