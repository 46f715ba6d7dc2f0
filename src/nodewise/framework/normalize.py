"""The normalisation that several plugins share."""

from __future__ import annotations

import numpy as np

from nodewise.framework.plugin import MAX_NODE_SCORE
from nodewise.state.columns import IntArray


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
    scaled = MAX_NODE_SCORE * scores // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
