"""What Go knows of a value and its Python counterpart does not tell."""

from __future__ import annotations

from typing import Any, NamedTuple


class GoType(NamedTuple):
    """A Go type's name, as an annotation: `Annotated[str, GoType("v1.ScoringStrategyType")]`.

    Attributes
    ----------
    name
        The name that Go prints.
    is_pointer
        Whether JSON null leaves the field unset, where it matters (durations).
    """

    name: str
    is_pointer: bool = False


class WrittenEmpty(tuple[Any, ...]):
    """A list that is written but empty: Go prints it as `[]`, and one that is missing as `null`."""

    __slots__ = ()


def list_text(values: tuple[Any, ...], shown: str) -> str:
    """Return how Go prints a list, given how it prints one that is not empty."""
    return shown if values else "[]" if isinstance(values, WrittenEmpty) else "null"
