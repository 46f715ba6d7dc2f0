"""The Go type behind a field, where its Python annotation does not tell."""

from __future__ import annotations

from typing import NamedTuple


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
