"""Which nodes match by their labels alone: the node affinity of volumes and the topology of storage."""

from __future__ import annotations

import numpy as np

from nodewise.api.objects import LabelSelector, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from nodewise.api.storage import TopologySelectorTerm
from nodewise.framework.node_selector import NodeSelectorMatcher, TermMatcher
from nodewise.state.columns import BoolArray, Columns, Rows


class NodesByLabel:
    """Nodes whose labels match a selector; without one all nodes match.

    Parameters
    ----------
    selector : NodeSelector | None
        Requirements on fields count for nothing, as where a volume's affinity is checked against labels
        (CheckNodeAffinity).
    """

    __slots__ = ("_matcher",)

    def __init__(self, selector: NodeSelector | None) -> None:
        labelled = None if selector is None else _without_fields(selector)
        self._matcher = None if labelled is None else NodeSelectorMatcher(labelled)

    @classmethod
    def of_topologies(cls, terms: tuple[TopologySelectorTerm, ...]) -> NodesByLabel:
        """Match nodes of some topologies, terms ORed; no terms match every node (MatchTopologySelectorTerms)."""
        if not terms:
            return cls(None)
        return cls(
            NodeSelector(
                tuple(
                    NodeSelectorTerm(
                        tuple(NodeSelectorRequirement(e.key, "In", e.values) for e in term.match_label_expressions)
                    )
                    for term in terms
                )
            )
        )

    @classmethod
    def of_labels(cls, selector: LabelSelector | None) -> NodesByLabel:
        """Match nodes by a label selector; without one no node matches, and an empty one matches all."""
        if selector is None:
            return cls(NodeSelector())
        requirements = [NodeSelectorRequirement(key, "In", (value,)) for key, value in selector.match_labels.items()]
        requirements += [NodeSelectorRequirement(e.key, e.operator, e.values) for e in selector.match_expressions]
        return cls(NodeSelector((NodeSelectorTerm(tuple(requirements)),)) if requirements else None)

    @property
    def is_unreadable(self) -> bool:
        """Whether something of the selector cannot be read."""
        return self._matcher is not None and bool(self._matcher.parse_errors)

    def mask(self, columns: Columns, rows: Rows) -> BoolArray:
        """Tell which rows match, (n,) bool."""
        if self._matcher is None:
            return np.ones(len(columns.alive[rows]), np.bool_)
        return self._matcher.matches(columns, rows)


def _without_fields(selector: NodeSelector) -> NodeSelector | None:
    """Leave out requirements on fields, which a node known by its labels alone passes; None: every node matches."""
    terms: list[NodeSelectorTerm] = []
    for term in selector.node_selector_terms:
        if not term.match_fields or TermMatcher(term).parse_errors:
            terms.append(term)
        elif term.match_expressions:
            terms.append(NodeSelectorTerm(term.match_expressions))
        else:
            return None
    return NodeSelector(tuple(terms))
