"""One evaluation: its variables and what it has cost so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nodewise.errors import NodewiseError

MAX_COST = 1_000_000
"""What one evaluation may cost (CELSelectorExpressionMaxCost)."""
_COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"


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
"""Evaluates a part of an expression; what failed gives a `Failure`."""


class Lazy:
    """A variable's value that is computed when it is first asked for, in the scope around its loop."""

    __slots__ = ("outer", "step")

    def __init__(self, step: Step, outer: dict[str, Any]) -> None:
        self.step = step
        self.outer = outer
