"""Semantic versions and equality in device expressions."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from nodewise.api.quantity import parse_quantity
from nodewise.devices.cel.semantic_versions import parse_semver
from nodewise.devices.cel.values import Uint, equal

IDENTIFIERS = st.one_of(st.integers(0, 99).map(str), st.sampled_from(["a", "rc", "beta-1", "x7"]))
VERSIONS = st.builds(
    lambda numbers, pre: ".".join(map(str, numbers)) + (f"-{'.'.join(pre)}" if pre else ""),
    st.tuples(*[st.integers(0, 12)] * 3),
    st.lists(IDENTIFIERS, max_size=3),
)


def test_versions_are_ordered_as_the_specification_says() -> None:
    texts = [
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
    ]
    texts += ["1.0.0", "1.0.1", "1.10.0", "2.0.0"]
    versions = [parse_semver(text) for text in texts]
    assert all(a < b for a, b in pairwise(versions))


@given(VERSIONS, VERSIONS)
def test_exactly_one_of_less_equal_greater_holds(left: str, right: str) -> None:
    a, b = parse_semver(left), parse_semver(right)
    assert [a < b, a == b, a > b].count(True) == 1


def test_build_metadata_does_not_count() -> None:
    assert parse_semver("1.2.3+a") == parse_semver("1.2.3+b")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("1.02.3", 'Minor number must not contain leading zeroes "02"'),
        ("x.2.3", 'Invalid character(s) found in major number "x"'),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.2.3-", "Prerelease is empty"),
    ],
)
def test_other_texts_are_refused_in_the_words_of_the_original(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
        parse_semver(text)


@pytest.mark.parametrize(
    ("left", "right", "is_equal"),
    [
        (1, 1.0, True),
        (1, Uint(1), True),
        (1, True, False),
        ("1", 1, False),
        ([1, 2], [1, 2.0], True),
        ({"a": [1]}, {"a": [1]}, True),
        ({"a": 1}, {"b": 1}, False),
        (parse_quantity("1Gi"), parse_quantity("1024Mi"), True),
        (None, None, True),
    ],
)
def test_equality_looks_at_types_and_contents(left: object, right: object, *, is_equal: bool) -> None:
    assert equal(left, right) is is_equal
    assert equal(right, left) is is_equal
