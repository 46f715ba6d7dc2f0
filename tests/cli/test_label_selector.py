"""`-l` selects as kubectl does."""

import pytest

from nodewise.cli.label_selector import parse_label_selector
from nodewise.errors import SelectorError


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("app=web", {"app": "web"}, True),
        ("app==web", {"app": "db"}, False),
        ("app!=web", {}, True),
        ("app", {"app": ""}, True),
        ("!app", {"app": ""}, False),
        (" ! app ", {}, True),
        ("app in (web, db)", {"app": "db"}, True),
        ("app notin (web,db)", {"app": "db"}, False),
        ("app notin (web)", {}, True),
        ("app in ()", {"app": ""}, True),
        ("app=web,tier in (a),!old", {"app": "web", "tier": "a"}, True),
        ("app=web,tier in (a),!old", {"app": "web", "tier": "a", "old": ""}, False),
        ("app=", {"app": ""}, True),
    ],
)
def test_a_selector_selects(text: str, labels: dict[str, str], matches: bool) -> None:
    assert parse_label_selector(text).matches(labels) is matches


@pytest.mark.parametrize("text", ["=x", "a b", "a,,b", "a,", "a in b", "a in (b", "a=(b)", "!", "!a=b", ","])
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(SelectorError, match="expected KEY"):
        parse_label_selector(text)
