"""What device expressions may name: the variable `device` and Kubernetes' functions; parsing and type checking.

Parser and type checker are those of the library `cel-expr-python`, Google's C++ implementation, which words its errors
as cel-go does. Functions that Kubernetes adds are declared here for the checker.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from nodewise.devices.cel.nodes import CheckedExprError, Node, Select, read_checked
from nodewise.errors import NodewiseError

DEVICE_FIELDS = ("driver", "allowMultipleAllocations", "attributes", "capacity")
_DEVICE_TYPE = "kubernetes.DRADevice"
_NO_FIELDS = f"expression of type '{_DEVICE_TYPE}' cannot be the operand of a select operation"
_PREFIX = "INVALID_ARGUMENT: "
_SUFFIX = " [INVALID_ARGUMENT]"
_POSITION = re.compile(r"ERROR: <input>:(\d+):(\d+): " + re.escape(_NO_FIELDS))
_TYPE = re.compile(r"\[\[\w\]\]|\[\w\]|\w")
_NOT_SELECTABLE = re.compile(r"expression of type '([^']*)' cannot be the operand of a select operation")
_HAS_DEVICE_FIELD = re.compile(rf"has\(\s*device\s*\.\s*(?:{'|'.join(DEVICE_FIELDS)})\s*\)")
_FIELD = re.compile(r"\.\s*([A-Za-z_][A-Za-z0-9_]*)")

Overloads = tuple[tuple[str, str, str], ...]
"""Of one function: receiver ("" for none), parameters, and result, in the short type names below."""

FUNCTIONS: dict[str, Overloads] = {
    "quantity": (("", "s", "Q"),),
    "isQuantity": (("", "s", "b"),),
    "sign": (("", "Q", "i"),),
    "isGreaterThan": (("Q", "Q", "b"), ("V", "V", "b")),
    "isLessThan": (("Q", "Q", "b"), ("V", "V", "b")),
    "compareTo": (("Q", "Q", "i"), ("V", "V", "i")),
    "asApproximateFloat": (("Q", "", "d"),),
    "asInteger": (("Q", "", "i"),),
    "isInteger": (("Q", "", "b"),),
    "add": (("Q", "Q", "Q"), ("Q", "i", "Q")),
    "sub": (("Q", "Q", "Q"), ("Q", "i", "Q")),
    "semver": (("", "s", "V"), ("", "sb", "V")),
    "isSemver": (("", "s", "b"), ("", "sb", "b")),
    "major": (("V", "", "i"),),
    "minor": (("V", "", "i"),),
    "patch": (("V", "", "i"),),
    "find": (("s", "s", "s"),),
    "findAll": (("s", "s", "[s]"), ("s", "si", "[s]")),
    "isSorted": tuple((f"[{t}]", "", "b") for t in "iudbsytn"),
    "sum": tuple((f"[{t}]", "", t) for t in "iudn"),
    "max": tuple((f"[{t}]", "", t) for t in "iudbsytn"),
    "min": tuple((f"[{t}]", "", t) for t in "iudbsytn"),
    "indexOf": (("[A]", "A", "i"), ("s", "s", "i"), ("s", "si", "i")),
    "lastIndexOf": (("[A]", "A", "i"), ("s", "s", "i"), ("s", "si", "i")),
    "includes": (("D", "D", "b"),),
    "slice": (("[A]", "ii", "[A]"),),
    "flatten": (("[[A]]", "", "[A]"), ("[D]", "i", "[D]")),
    "sort": (("[A]", "", "[A]"),),
    "distinct": (("[A]", "", "[A]"),),
    "reverse": (("[A]", "", "[A]"),),
    "lists.range": (("", "i", "[i]"),),
    "charAt": (("s", "i", "s"),),
    "join": (("[s]", "", "s"), ("[s]", "s", "s")),
    "lowerAscii": (("s", "", "s"),),
    "upperAscii": (("s", "", "s"),),
    "trim": (("s", "", "s"),),
    "replace": (("s", "ss", "s"), ("s", "ssi", "s")),
    "split": (("s", "s", "[s]"), ("s", "si", "[s]")),
    "substring": (("s", "i", "s"), ("s", "ii", "s")),
    "format": (("s", "[D]", "s"),),
    "strings.quote": (("", "s", "s"),),
    "sets.contains": (("", "[A][A]", "b"),),
    "sets.equivalent": (("", "[A][A]", "b"),),
    "sets.intersects": (("", "[A][A]", "b"),),
}


class CelLibraryError(NodewiseError):
    """The CEL library is not there."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A type-checked expression and the name of the type that it evaluates to."""

    root: Node
    result_type: str


class CompileError(NodewiseError):
    """An expression does not parse or type-check; the text is cel-go's."""


def check(expression: str) -> Checked:
    """Parse and type-check an expression.

    Raises
    ------
    CompileError
        When it is wrong, or uses a part of the language that is not supported.
    CelLibraryError
        When the library is missing.
    """
    # The checker takes has() of a declared name for the name itself; a device always has these fields.
    text = _HAS_DEVICE_FIELD.sub(lambda match: "true".ljust(len(match[0])), expression)
    try:
        compiled = _environment().compile(text)
    except RuntimeError as error:
        raise CompileError(f"compilation failed: {_in_the_words_of_cel_go(str(error), expression)}") from error
    try:
        root = read_checked(compiled.serialize())
    except CheckedExprError as error:
        raise CompileError(f"compilation failed: not supported: {error}") from error
    result_type = "bool" if isinstance(root, Select) and root.is_test else _type_text(compiled.return_type())
    return Checked(root, result_type)


def _in_the_words_of_cel_go(text: str, expression: str) -> str:
    text = text.removeprefix(_PREFIX).removesuffix(_SUFFIX)

    def undefined_field(match: re.Match[str]) -> str:
        line, column = int(match[1]), int(match[2])
        rest = expression.split("\n")[line - 1][column - 1 :]
        field = _FIELD.match(rest)
        return f"ERROR: <input>:{line}:{column}: undefined field '{field[1] if field else rest}'"

    text = _POSITION.sub(undefined_field, text)
    return _NOT_SELECTABLE.sub(r"type '\1' does not support field selection", text)


def _type_text(result_type: Any) -> str:
    """Return a type's name as cel-go writes it."""
    name = str(result_type.name()).replace("<", "(").replace(">", ")")
    return re.sub(r"\b[A-Z]+\b", lambda word: word[0].lower(), name)


def _library() -> ModuleType:
    try:
        from cel_expr_python import cel
    except ImportError as error:
        raise CelLibraryError(
            "device selectors need the library cel-expr-python, which cannot be imported: "
            f"{error}; expected it beside nodewise (pip install cel-expr-python)"
        ) from error
    library: ModuleType = cel
    return library


@cache
def _environment() -> Any:
    library = _library()
    from cel_expr_python.ext import ext_bindings, ext_optional

    # Only the library's own configuration format can say that a type is a parameter; JSON is YAML.
    functions = [_declaration(name, overloads) for name, overloads in FUNCTIONS.items()]
    config = library.NewEnvConfigFromYaml(json.dumps({"name": "devices", "functions": functions}))
    types = library.Type
    quantities = types.Map(types.STRING, types.AbstractType(_TYPES["Q"]))
    return library.NewEnv(
        config=config,
        variables={
            "device": types.AbstractType(_DEVICE_TYPE),
            "device.driver": types.STRING,
            "device.allowMultipleAllocations": types.BOOL,
            "device.attributes": types.Map(types.STRING, types.Map(types.STRING, types.DYN)),
            "device.capacity": types.Map(types.STRING, quantities),
        },
        extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional()],
    )


_TYPES = {
    "s": "string",
    "b": "bool",
    "i": "int",
    "u": "uint",
    "d": "double",
    "y": "bytes",
    "n": "google.protobuf.Duration",
    "t": "google.protobuf.Timestamp",
    "D": "dyn",
    "Q": "kubernetes.Quantity",
    "V": "kubernetes.Semver",
}


def _declaration(name: str, overloads: Overloads) -> dict[str, Any]:
    return {"name": name, "overloads": [_overload(name, *overload) for overload in overloads]}


def _overload(name: str, receiver: str, parameters: str, result: str) -> dict[str, Any]:
    overload: dict[str, Any] = {
        "id": f"{name}_{receiver}_{parameters}",
        "args": [_type(one) for one in _TYPE.findall(parameters)],
        "return": _type(result),
    }
    if receiver:
        overload["target"] = _type(receiver)
    return overload


def _type(text: str) -> dict[str, Any]:
    """Return a type by its short name: a letter, or `[x]` for a list; A is a type parameter."""
    if text[0] == "[":
        return {"type_name": "list", "params": [_type(text[1:-1])]}
    if text == "A":
        return {"type_name": "A", "is_type_param": True}
    return {"type_name": _TYPES[text]}
