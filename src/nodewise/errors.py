"""The exceptions of nodewise: bugs and unusable input, never "this pod does not fit"."""

from __future__ import annotations


class NodewiseError(Exception):
    """Base of every exception that nodewise raises on purpose."""


class QuantityError(NodewiseError):
    """A resource amount is not a Kubernetes quantity.

    Attributes
    ----------
    found
        What stood where a quantity was expected, shortened when long.
    reason
        Why it is not one, in the API's words where the API has words for it.
    place
        Which object and resource it belongs to; empty when not known.
    """

    def __init__(self, found: str, reason: str, *, place: str = "") -> None:
        prefix = f"{place}: " if place else ""
        super().__init__(f"{prefix}{found} is not a quantity such as '500m' or '128Mi': {reason}")
        self.found = found
        self.reason = reason
        self.place = place


class SelectorError(NodewiseError):
    """A label selector is invalid; the text is that of apimachinery's LabelSelectorAsSelector."""


class CacheError(NodewiseError):
    """An operation does not fit what the scheduler cache knows of a pod or node."""


class PluginError(NodewiseError):
    """A plugin answered in a way that its extension point does not allow."""


class InvalidScoreError(PluginError):
    """A plugin's score of a feasible node is out of range, so that kube-scheduler fails to schedule the pod."""


class QueueError(NodewiseError):
    """A pod is given back to the scheduling queue that has it already."""
