"""The message of a pod that fits nowhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from nodewise.framework.status import Status


def count_reasons(statuses: Iterable[Status]) -> Counter[str]:
    """Count, over nodes, how often each reason was given."""
    counts: Counter[str] = Counter()
    for status in statuses:
        counts.update(status.reasons)
    return counts


def fit_error_message(
    n_nodes: int, prefilter_message: str, reason_counts: Mapping[str, int], post_filter_message: str
) -> str:
    """Return the text of a PodScheduled condition (FitError.Error).

    Parameters
    ----------
    n_nodes : int
        All nodes of the snapshot.
    prefilter_message : str
        Why PreFilter rejected the pod; it takes the place of the counts. "" when it did not.
    reason_counts : Mapping[str, int]
        How many nodes gave each reason.
    post_filter_message : str
        What PostFilter made of it, "" for nothing.
    """
    message = f"0/{n_nodes} nodes are available:"
    if prefilter_message:
        message += f" {prefilter_message}."
    else:
        # Sorted as texts, counts included: "10 x" comes before "2 y".
        entries = sorted(f"{count} {reason}" for reason, count in reason_counts.items())
        if entries:
            message += f" {', '.join(entries)}."
    return f"{message} {post_filter_message}" if post_filter_message else message
