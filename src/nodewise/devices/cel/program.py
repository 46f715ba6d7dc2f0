"""A device expression made ready to run, with the cost limit of the original (cel.CompilationResult)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nodewise.devices.cel.checker import Checked, check_types
from nodewise.devices.cel.frame import CostLimitError, Frame
from nodewise.devices.cel.macros import expand
from nodewise.devices.cel.parsing import CompileError, issues_text, parse
from nodewise.devices.cel.planner import Planner
from nodewise.devices.cel.validators import validate
from nodewise.devices.cel.values import CelError, Failure, Optional, Panic, type_name

_CONVERSIONS = {
    "string": "unsupported native conversion from string to 'bool'",
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "double": "type conversion error from Double to 'bool'",
    "bytes": "type conversion error from Bytes to 'bool'",
    "null_type": "type conversion error from 'null_type' to 'bool'",
    "list": "type conversion error from list to 'bool'",
    "map": "type conversion error from map to 'bool'",
    "type": "type conversion not supported for 'type'",
    "net.IP": "type conversion error from 'IP' to 'bool'",
    "net.CIDR": "type conversion error from 'CIDR' to 'bool'",
    "kubernetes.NamedFormat": "type conversion error from 'Format' to 'bool'",
}
"""By type, why a value is no answer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an evaluation came to.

    Attributes
    ----------
    value : bool | None
        The answer; None: it failed.
    error : str
        Why, in the words of cel-go.
    cost : int
        What it has cost.
    """

    value: bool | None
    error: str
    cost: int


class Program:
    """An expression that tells whether a device matches.

    Raises
    ------
    CompileError
        It is wrong.
    CelLibraryError
        A library is missing.
    """

    __slots__ = ("_run",)

    def __init__(self, expression: str) -> None:
        checked = check(expression)
        kind = checked.type_of(checked.parsed.root)
        if str(kind) not in ("bool", "dyn"):
            raise CompileError(f"must evaluate to bool or the unknown type, not {kind}")
        self._run = Planner(checked).plan(checked.parsed.root).step

    def matches(self, device: Mapping[str, Any]) -> bool:
        """Evaluate for a device (CompilationResult.DeviceMatches).

        Raises
        ------
        CelError
            With cel-go's text.
        """
        outcome = self.evaluate(device)
        if outcome.value is None:
            raise CelError(outcome.error)
        return outcome.value

    def evaluate(self, device: Mapping[str, Any]) -> Outcome:
        """Evaluate for a device, and tell what it cost."""
        frame = Frame({"device": device, ".device": device})
        try:
            found = self._run(frame)
        except CostLimitError as error:
            return Outcome(None, str(error), frame.cost)
        except Panic as panic:
            return Outcome(None, f"internal error: {panic}", frame.cost)
        if isinstance(found, Failure):
            return Outcome(None, found.text, frame.cost)
        value = found
        while type(value) is Optional and value.has_value:
            value = value.value
        if isinstance(value, bool):
            return Outcome(value, "", frame.cost)
        return Outcome(None, _no_answer(found, value), frame.cost)


def check(expression: str) -> Checked:
    """Parse and check an expression.

    Raises
    ------
    CompileError
        It is wrong.
    CelLibraryError
        A library is missing.
    """
    checked = check_types(expand(parse(expression)))
    if not checked.issues:
        validate(checked)
    if checked.issues:
        raise CompileError(f"compilation failed: {issues_text(expression, checked.issues)}")
    return checked


def _no_answer(found: Any, value: Any) -> str:
    if isinstance(value, Optional):
        reason = "optional.none() dereference"
    else:
        name = type_name(value)
        reason = _CONVERSIONS.get(name, f"type conversion error from '{name.rpartition('.')[2]}' to 'bool'")
    return f"CEL result of type {type_name(found)} could not be converted to bool: {reason}"
