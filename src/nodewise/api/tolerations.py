"""Decides whether a toleration tolerates a taint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from nodewise.api.objects import Taint, Toleration

_REPELLING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
# Longer than any int64, so that no huge text is ever turned into a number.
_CANONICAL_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")


def match_tolerates(toleration: Toleration, taint: Taint, *, comparison_operators: bool = False) -> bool:
    """Return whether the toleration tolerates the taint (Toleration.ToleratesTaint).

    Parameters
    ----------
    comparison_operators
        Whether Lt and Gt count: the feature gate TaintTolerationComparisonOperators.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if comparison_operators:
            wanted, found = _canonical_int64(toleration.value), _canonical_int64(taint.value)
            if wanted is None or found is None:
                return False
            return found < wanted if toleration.operator == "Lt" else found > wanted
        case _:
            return False


def untolerated_taint(
    tolerations: Sequence[Toleration], taints: Iterable[Taint], *, comparison_operators: bool = False
) -> Taint | None:
    """Return the first NoSchedule or NoExecute taint that no toleration tolerates."""
    for taint in taints:
        if taint.effect in _REPELLING_EFFECTS and not any(
            match_tolerates(toleration, taint, comparison_operators=comparison_operators) for toleration in tolerations
        ):
            return taint
    return None


def _canonical_int64(text: str) -> int | None:
    """Read an int64 without plus sign or leading zeros (content.IsDecimalInteger)."""
    if _CANONICAL_INTEGER.fullmatch(text) is None:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
