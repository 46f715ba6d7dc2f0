"""The normalisation that several plugins share."""

from __future__ import annotations

import numpy as np

from nodewise.framework.plugin import MAX_NODE_SCORE
from nodewise.state.columns import IntArray

_LARGEST_EXACT = 2**53 // MAX_NODE_SCORE


def default_normalize(scores: IntArray, *, reverse: bool) -> IntArray:
    """Scale scores so that the largest becomes 100 (helper.DefaultNormalizeScore).

    Parameters
    ----------
    scores : (n,) int64, not negative
    reverse : bool
        Give the smallest the most; when all are 0 every node then gets 100, else 0.
    """
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE) if reverse else scores
    scaled = shares_of(scores, highest)
    return MAX_NODE_SCORE - scaled if reverse else scaled


def shares_of(parts: IntArray, whole: int) -> IntArray:
    """Return `100 * parts // whole`.

    Parameters
    ----------
    parts : (n,) int64
        Not negative, and not more than `whole`.
    whole : int
        Positive.
    """
    if whole > _LARGEST_EXACT:
        return MAX_NODE_SCORE * parts // whole
    # Several times quicker than integer division; the quotient of whole numbers below 2^53 never rounds up to the next.
    shares: IntArray = (parts * float(MAX_NODE_SCORE) / whole).astype(np.int64)
    return shares
