"""Types of expressions, as the type checker sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

DURATION, TIMESTAMP = "google.protobuf.Duration", "google.protobuf.Timestamp"
_OPAQUE = frozenset({"optional_type", "net.IP", "net.CIDR"})
_SIMPLE = frozenset({"bool", "bytes", "double", "int", "string", "uint", DURATION, TIMESTAMP})
_SHOWN = {DURATION: "duration", TIMESTAMP: "timestamp", "null_type": "null"}
_TOKEN = re.compile(r"[\w.!]+|<\w+>|[(),]")


@dataclass(frozen=True, slots=True)
class CelType:
    """A type: a name, and the types that it is made of.

    Attributes
    ----------
    name : str
        Of a type parameter: its own name.
    params : tuple[CelType, ...]
        Of a list its element, of a map key and value, of an optional value what it holds, of `type` the type.
    is_param : bool
        Whether it stands for a type that is not known yet.
    """

    name: str
    params: tuple[CelType, ...] = ()
    is_param: bool = False

    def __str__(self) -> str:
        """Return the type as cel-go's `Type.String` shows it."""
        name = f"<{self.name}>" if self.is_param else self.name
        return f"{name}({', '.join(map(str, self.params))})" if self.params else name

    def shown(self) -> str:
        """Return the type as errors show it (FormatCELType)."""
        name = _SHOWN.get(self.name, self.name)
        return f"{name}({', '.join([param.shown() for param in self.params])})" if self.params else name

    @property
    def is_dyn(self) -> bool:
        """Whether anything may be of this type."""
        return self.name == "dyn" and not self.is_param

    @property
    def is_error(self) -> bool:
        """Whether there was an error here already."""
        return self.name == "!error!"

    @property
    def is_optional(self) -> bool:
        """Whether it is the type of a value that may be absent."""
        return self.name == "optional_type"

    @property
    def is_nullable(self) -> bool:
        """Whether null goes for a value of it."""
        return self.is_object or self.name in _OPAQUE or self.name in (DURATION, TIMESTAMP, "null_type")

    @property
    def is_object(self) -> bool:
        """Whether it is one of Kubernetes' own."""
        return self.name.startswith("kubernetes.")

    @property
    def is_plain(self) -> bool:
        """Whether it goes with itself alone."""
        return self.name in _SIMPLE or self.is_object


DYN, ERROR, BOOL, INT = CelType("dyn"), CelType("!error!"), CelType("bool"), CelType("int")
STRING, NULL = CelType("string"), CelType("null_type")
DEVICE = CelType("kubernetes.DRADevice")


def list_of(element: CelType) -> CelType:
    """Return the type of a list."""
    return CelType("list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of a map."""
    return CelType("map", (key, value))


def optional_of(held: CelType) -> CelType:
    """Return the type of a value that may be absent."""
    return CelType("optional_type", (held,))


def type_of(held: CelType) -> CelType:
    """Return the type of a type's name."""
    return CelType("type", (held,))


@cache
def parse_type(text: str) -> CelType:
    """Read a type such as `map(string, list(<A>))`; `duration` and `timestamp` go for their long names."""
    found, rest = _parse(_TOKEN.findall(text))
    assert not rest, text
    return found


def _parse(tokens: list[str]) -> tuple[CelType, list[str]]:
    name, tokens = tokens[0], tokens[1:]
    params: list[CelType] = []
    while tokens and (tokens[0] == "(" if not params else tokens[0] == ","):
        param, tokens = _parse(tokens[1:])
        params.append(param)
    if params:
        tokens = tokens[1:]
    if name.startswith("<"):
        return CelType(name[1:-1], is_param=True), tokens
    name = {"duration": DURATION, "timestamp": TIMESTAMP}.get(name, name)
    return CelType(name, tuple(params)), tokens


DEVICE_FIELDS: dict[str, CelType] = {
    "driver": STRING,
    "allowMultipleAllocations": BOOL,
    "attributes": map_of(STRING, map_of(STRING, DYN)),
    "capacity": map_of(STRING, map_of(STRING, CelType("kubernetes.Quantity"))),
}
"""What the variable `device` has."""
