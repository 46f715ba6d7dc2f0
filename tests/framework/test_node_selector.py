"""Node selectors over columns agree with a plain reading of the rules, one node at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from nodewise.api.objects import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
)
from nodewise.framework.node_selector import (
    NodeSelectorMatcher,
    RequiredNodeAffinity,
    TermMatcher,
    required_affinity_key,
)
from nodewise.state.columns import ALL_ROWS, Columns
from nodewise.state.snapshot import Snapshot
from nodewise.testing.builders import make_cache, make_node, make_pod, make_snapshot

KEYS = ("disk", "rank")
VALUES = ("ssd", "3", "-4", "03", "+5", "9223372036854775808", "")
NAMES = ("n0", "n1", "n2")

label_requirements = st.builds(
    NodeSelectorRequirement,
    st.sampled_from((*KEYS, "bad key")),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near")),
    st.lists(st.sampled_from((*VALUES, "-bad-")), max_size=2).map(tuple),
)
field_requirements = st.builds(
    NodeSelectorRequirement,
    st.sampled_from(("metadata.name", "spec.other")),
    st.sampled_from(("In", "NotIn", "Exists")),
    st.lists(st.sampled_from((*NAMES, "")), max_size=2).map(tuple),
)
terms = st.builds(
    NodeSelectorTerm,
    st.lists(label_requirements, max_size=2).map(tuple),
    st.lists(field_requirements, max_size=2).map(tuple),
)
selectors = st.builds(NodeSelector, st.lists(terms, max_size=3).map(tuple))
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
node_lists = st.lists(labels, max_size=3).map(
    lambda found: [make_node(name, labels=own) for name, own in zip(NAMES, found, strict=False)]
)


def columns_of(nodes: list[Node]) -> Columns:
    return make_snapshot(nodes).columns


def as_int64(text: str) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdigit():
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def label_requirement_holds(requirement: NodeSelectorRequirement, node: Node) -> bool | None:
    """Tell whether a requirement holds; None: it cannot be read."""
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if key == "bad key" or not {"-bad-", "+5", "-4"}.isdisjoint(values):  # no label key, no label values
        return None
    value = node.metadata.labels.get(key)
    if operator in ("In", "NotIn"):
        return None if not values else (value in values) is (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return None if values else (value is not None) is (operator == "Exists")
    if operator in ("Gt", "Lt"):
        if len(values) != 1 or (wanted := as_int64(values[0])) is None:
            return None
        number = None if value is None else as_int64(value)
        return number is not None and (number > wanted if operator == "Gt" else number < wanted)
    return None


def field_requirement_holds(requirement: NodeSelectorRequirement, node: Node) -> bool | None:
    if requirement.operator not in ("In", "NotIn") or len(requirement.values) != 1:
        return None
    value = node.name if requirement.key == "metadata.name" else ""
    return (value == requirement.values[0]) is (requirement.operator == "In")


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    found = [label_requirement_holds(requirement, node) for requirement in term.match_expressions]
    found += [field_requirement_holds(requirement, node) for requirement in term.match_fields]
    return bool(found) and all(found)


@given(selectors, node_lists)
def test_a_selector_matches_the_nodes_that_its_rules_say(selector: NodeSelector, nodes: list[Node]) -> None:
    columns = columns_of(nodes)
    mask = NodeSelectorMatcher(selector).matches(columns, ALL_ROWS)
    expected = [any(term_matches(term, node) for term in selector.node_selector_terms) for node in nodes]
    assert mask.tolist() == expected


@given(selectors, node_lists)
def test_the_answer_for_some_rows_is_part_of_the_answer_for_all(selector: NodeSelector, nodes: list[Node]) -> None:
    columns = columns_of(nodes)
    matcher = NodeSelectorMatcher(selector)
    mask = matcher.matches(columns, ALL_ROWS)
    rows = np.arange(columns.n_rows, dtype=np.intp)[::-1]
    assert matcher.matches(columns, rows).tolist() == mask[rows].tolist()
    for row in range(columns.n_rows):
        assert matcher.matches(columns, np.array([row], np.intp)).tolist() == [mask[row]]


@given(
    st.none() | st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2),
    st.none() | selectors,
    node_lists,
)
def test_required_affinity_is_node_selector_and_terms(
    node_selector: dict[str, str] | None, required: NodeSelector | None, nodes: list[Node]
) -> None:
    pod = pod_requiring(node_selector, required)
    affinity = RequiredNodeAffinity.of(pod)
    assert (affinity is None) == (required_affinity_key(pod) is None)
    if affinity is None:
        assert not node_selector
        assert required is None
        return
    hash(required_affinity_key(pod))
    expected = [
        all(node.metadata.labels.get(key) == value for key, value in (node_selector or {}).items())
        and (required is None or any(term_matches(term, node) for term in required.node_selector_terms))
        for node in nodes
    ]
    assert affinity.mask(columns_of(nodes), ALL_ROWS).tolist() == expected


def pod_requiring(node_selector: dict[str, str] | None, required: NodeSelector | None) -> Pod:
    affinity = None if required is None else Affinity(node_affinity=NodeAffinity(required=required))
    return make_pod("p", node_selector=node_selector, affinity=affinity)


def test_a_value_that_appears_later_is_judged_too() -> None:
    cache = make_cache([make_node("n0", labels={"disk": "ssd"})])
    snapshot = Snapshot()
    snapshot.update(cache)
    matcher = NodeSelectorMatcher(
        NodeSelector((NodeSelectorTerm((NodeSelectorRequirement("disk", "NotIn", ("ssd",)),)),))
    )
    assert matcher.matches(snapshot.columns, ALL_ROWS).tolist() == [False]
    cache.add_node(make_node("n1", labels={"disk": "hdd"}))
    snapshot.update(cache)
    assert matcher.matches(snapshot.columns, ALL_ROWS).tolist() == [False, True]


def test_one_matcher_serves_two_snapshots() -> None:
    matcher = TermMatcher(NodeSelectorTerm((NodeSelectorRequirement("disk", "In", ("ssd",)),)))
    for disk in ("ssd", "hdd"):
        columns = columns_of([make_node("n0", labels={"disk": disk})])
        assert matcher.matches(columns, ALL_ROWS).tolist() == [disk == "ssd"]


@pytest.mark.parametrize(
    ("requirement", "error"),
    [
        (
            NodeSelectorRequirement("disk", "Near"),
            'nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Near": supported values: '
            '"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        ),
        (
            NodeSelectorRequirement("disk", "In"),
            "nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: []: "
            "for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            NodeSelectorRequirement("disk", "Exists", ("x",)),
            'nodeSelectorTerms[0].matchExpressions[0].values: Invalid value: ["x"]: '
            "values set must be empty for exists and does not exist",
        ),
    ],
)
def test_what_cannot_be_read_is_told(requirement: NodeSelectorRequirement, error: str) -> None:
    assert NodeSelectorMatcher(NodeSelector((NodeSelectorTerm((requirement,)),))).parse_errors == (error,)
