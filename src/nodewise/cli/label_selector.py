"""kubectl's `-l`: label selectors as text."""

from __future__ import annotations

import re

from nodewise.api.objects import LabelSelector, LabelSelectorRequirement
from nodewise.api.selectors import Selector
from nodewise.errors import SelectorError

_REQUIREMENT = re.compile(
    r"""\s*(?:
        (?P<not>!)\s*(?P<absent>[^\s,=!()]+)
      | (?P<key>[^\s,=!()]+)\s*(?:
            (?P<set>in|notin)\s*\((?P<values>[^()]*)\)
          | (?P<op>==|=|!=)\s*(?P<value>[^\s,=!()]*)
        )?
    )\s*(?:,(?!\s*$)|$)""",
    re.VERBOSE,
)
_SET_OPERATORS = {"in": "In", "notin": "NotIn"}


def parse_label_selector(text: str) -> Selector:
    """Read a selector such as `app=web,tier in (a, b),!canary`.

    Raises
    ------
    SelectorError
        The text is not a selector; it says where it stops being one.
    """
    requirements: list[LabelSelectorRequirement] = []
    position = 0
    while position < len(text):
        match = _REQUIREMENT.match(text, position)
        if match is None:
            raise SelectorError(
                f"selector {text!r}: expected KEY, !KEY, KEY=VALUE, KEY!=VALUE or KEY in (…) at {text[position:]!r}"
            )
        requirements.append(_requirement(match))
        position = match.end()
    return Selector.from_label_selector(LabelSelector(match_expressions=tuple(requirements)))


def _requirement(match: re.Match[str]) -> LabelSelectorRequirement:
    if match["absent"]:
        return LabelSelectorRequirement(match["absent"], "DoesNotExist")
    if match["set"]:
        values = tuple(value.strip() for value in match["values"].split(","))
        return LabelSelectorRequirement(match["key"], _SET_OPERATORS[match["set"]], values)
    if match["op"]:
        return LabelSelectorRequirement(match["key"], "NotIn" if match["op"] == "!=" else "In", (match["value"],))
    return LabelSelectorRequirement(match["key"], "Exists")
