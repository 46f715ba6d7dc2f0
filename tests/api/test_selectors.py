"""Which labels a selector matches; the error texts are those of k8s.io/apimachinery v0.37.2."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from nodewise.api.objects import LabelSelector, LabelSelectorRequirement
from nodewise.api.selectors import EVERYTHING, NOTHING, Selector
from nodewise.errors import SelectorError

WORDS = st.sampled_from(["a", "b", "c"])
LABELS = st.dictionaries(WORDS, WORDS)


def requirement(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def selector(*expressions: LabelSelectorRequirement, **labels: str) -> Selector:
    return Selector.from_label_selector(LabelSelector(match_labels=labels, match_expressions=expressions))


EXPRESSIONS = st.one_of(
    st.builds(
        lambda key, op, values: requirement(key, op, *values),
        WORDS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(WORDS, min_size=1),
    ),
    st.builds(requirement, WORDS, st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.builds(
    lambda labels, expressions: LabelSelector(match_labels=labels, match_expressions=tuple(expressions)),
    LABELS,
    st.lists(EXPRESSIONS, max_size=3),
)


def test_no_selector_matches_nothing_and_an_empty_one_everything() -> None:
    nothing, everything = Selector.from_label_selector(None), Selector.from_label_selector(LabelSelector())
    assert (nothing, everything) == (NOTHING, EVERYTHING)
    assert (nothing.is_nothing, nothing.is_empty, nothing.matches({})) == (True, False, False)
    assert (everything.is_nothing, everything.is_empty, everything.matches({"a": "b"})) == (False, True, True)


@pytest.mark.parametrize(
    ("labels", "is_match"), [({"a": "1"}, True), ({"a": "2"}, True), ({"a": "3"}, False), ({}, False)]
)
def test_in_needs_the_label_with_one_of_the_values(labels: dict[str, str], is_match: bool) -> None:
    assert selector(requirement("a", "In", "2", "1")).matches(labels) is is_match


@pytest.mark.parametrize(("labels", "is_match"), [({"a": "1"}, False), ({"a": "3"}, True), ({}, True)])
def test_not_in_accepts_an_absent_label(labels: dict[str, str], is_match: bool) -> None:
    assert selector(requirement("a", "NotIn", "1")).matches(labels) is is_match


def test_exists_and_does_not_exist_ignore_the_value() -> None:
    assert selector(requirement("a", "Exists")).matches({"a": ""})
    assert not selector(requirement("a", "Exists")).matches({})
    assert not selector(requirement("a", "DoesNotExist")).matches({"a": ""})


def test_spelling_and_order_do_not_matter_to_equality() -> None:
    first = selector(requirement("b", "Exists"), requirement("b", "Exists"), a="1")
    second = selector(requirement("a", "In", "1", "1"), requirement("b", "Exists"))
    assert first == second
    assert hash(first) == hash(second)


def test_equality_pairs_are_the_requirements_with_one_value() -> None:
    found = selector(
        requirement("b", "In", "2"), requirement("c", "In", "1", "2"), requirement("d", "NotIn", "1"), a="1"
    )
    assert found.equality_pairs == (("a", "1"), ("b", "2"))


def test_with_equal_narrows_everything_and_leaves_nothing_alone() -> None:
    assert EVERYTHING.with_equal({"a": "1"}) == Selector.from_map({"a": "1"}) == selector(a="1")
    assert NOTHING.with_equal({"a": "1"}) is NOTHING
    assert Selector.from_map({}) is EVERYTHING


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (requirement("a", "Foo"), '"Foo" is not a valid label selector operator'),
        (
            requirement("a", "In"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            requirement("a", "Exists", "x", "y"),
            'values: Invalid value: ["x","y"]: values set must be empty for exists and does not exist',
        ),
        (
            requirement("a", "In", "x y"),
            'values[0][a]: Invalid value: "x y": a valid label must be an empty string or consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
            "'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
        (
            requirement("/a", "Exists", "x"),
            '[key: Invalid value: "/a": prefix part must be non-empty, '
            'values: Invalid value: ["x"]: values set must be empty for exists and does not exist]',
        ),
        (
            requirement("X/", "Exists"),
            'key: Invalid value: "X/": prefix part a lowercase RFC 1123 subdomain must consist of lower case '
            "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'); name part must be non-empty; name "
            "part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
    ],
)
def test_an_invalid_requirement_is_an_error_with_the_text_of_kubernetes(
    expression: LabelSelectorRequirement, text: str
) -> None:
    with pytest.raises(SelectorError) as caught:
        selector(expression)
    assert str(caught.value) == text


def test_an_invalid_match_label_is_an_error_but_from_map_does_not_check() -> None:
    with pytest.raises(SelectorError, match="must be no more than 63 bytes"):
        Selector.from_label_selector(LabelSelector(match_labels={"a": "x" * 64}))
    assert Selector.from_map({"a": "x" * 64}).matches({"a": "x" * 64})


@given(SELECTORS, LABELS)
def test_a_matching_label_set_has_every_equality_pair(api_selector: LabelSelector, labels: dict[str, str]) -> None:
    found = Selector.from_label_selector(api_selector)
    if found.matches(labels):
        assert set(found.equality_pairs) <= set(labels.items())


@given(SELECTORS, LABELS, LABELS)
def test_with_equal_is_a_conjunction(
    api_selector: LabelSelector, added: dict[str, str], labels: dict[str, str]
) -> None:
    found = Selector.from_label_selector(api_selector)
    wanted = found.matches(labels) and Selector.from_map(added).matches(labels)
    assert found.with_equal(added).matches(labels) == wanted
