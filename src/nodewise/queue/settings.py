"""The queue's durations and switches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """What a configuration says about the queue; the defaults are kube-scheduler's.

    Attributes
    ----------
    initial_backoff_s, max_backoff_s : float
        podInitialBackoffSeconds and podMaxBackoffSeconds; a maximum of 0 turns backoff off.
    max_unschedulable_s : float
        The age at which a pod is tried again without an event (pod-max-in-unschedulable-pods-duration).
    pop_from_backoff_queue : bool
        Feature gate SchedulerPopFromBackoffQ: an idle scheduler tries pods that still back off, and backoff ends in
        whole seconds.
    """

    initial_backoff_s: float = 1.0
    max_backoff_s: float = 10.0
    max_unschedulable_s: float = 300.0
    pop_from_backoff_queue: bool = True
