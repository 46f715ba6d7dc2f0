"""Which nodes a node selector or a pod's required node affinity matches, over columns.

A requirement is judged once for each distinct value of its label, into a lookup table that label ids index; the last
place of the table is the answer for nodes without the label, which have id -1.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Protocol

import numpy as np

from nodewise.api.objects import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod
from nodewise.errors import SelectorError
from nodewise.state.columns import BoolArray, Columns, Rows

NAME_FIELD = "metadata.name"

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class _Requirement(Protocol):
    def matches(self, columns: Columns, rows: Rows) -> BoolArray: ...

    def matches_node(self, node: Node) -> bool: ...


class _LabelRequirement:
    """A requirement on a label (labels.Requirement.Matches)."""

    __slots__ = ("_number", "_operator", "_table", "_values", "_wanted", "key")

    def __init__(self, key: str, operator: str, values: Sequence[str]) -> None:
        self.key = key
        self._operator = operator
        self._wanted = frozenset(values)
        self._number = _parse_int(values[0]) if operator in ("Gt", "Lt") else None
        self._values: list[str] | None = None
        self._table: BoolArray = np.zeros(0, np.bool_)

    def matches(self, columns: Columns, rows: Rows) -> BoolArray:
        return self._table_for(columns).take(columns.label(self.key)[rows])

    def matches_node(self, node: Node) -> bool:
        return self._accepts(node.metadata.labels.get(self.key))

    def _table_for(self, columns: Columns) -> BoolArray:
        values = columns.label_values(self.key)
        if values is not self._values or len(values) + 1 != len(self._table):
            self._values = values
            self._table = np.array([*map(self._accepts, values), self._accepts(None)], np.bool_)
        return self._table

    def _accepts(self, value: str | None) -> bool:
        operator = self._operator
        if operator == "In":
            return value in self._wanted
        if operator == "NotIn":
            return value not in self._wanted
        if operator == "Exists":
            return value is not None
        if operator == "DoesNotExist":
            return value is None
        number = None if value is None else _parse_int(value)
        if number is None or self._number is None:
            return False
        return number > self._number if operator == "Gt" else number < self._number


class _NameRequirement:
    """A requirement on metadata.name with one value."""

    __slots__ = ("_is_in", "_name")

    def __init__(self, name: str, *, is_in: bool) -> None:
        self._name = name
        self._is_in = is_in

    def matches(self, columns: Columns, rows: Rows) -> BoolArray:
        row = columns.row_of(self._name)
        if not isinstance(rows, slice):
            found: BoolArray = rows == (-1 if row is None else row)
            return found if self._is_in else ~found
        mask = np.full(columns.n_rows, not self._is_in)
        if row is not None:
            mask[row] = self._is_in
        return mask[rows]

    def matches_node(self, node: Node) -> bool:
        return (node.name == self._name) is self._is_in


class _UnknownFieldRequirement:
    """A requirement on a field that nodes do not have: it reads as the empty text."""

    __slots__ = ("_answer",)

    def __init__(self, value: str, *, is_in: bool) -> None:
        self._answer = (value == "") is is_in

    def matches(self, columns: Columns, rows: Rows) -> BoolArray:
        return np.full(len(columns.alive[rows]), self._answer)

    def matches_node(self, node: Node) -> bool:
        return self._answer


class TermMatcher:
    """One node selector term, its requirements ANDed (nodeaffinity.nodeSelectorTerm).

    Attributes
    ----------
    is_empty : bool
        Whether the term has no requirement at all; such a term matches nothing.
    parse_errors : tuple[str, ...]
        What cannot be read; a term with errors matches nothing.
    """

    __slots__ = ("_requirements", "is_empty", "parse_errors")

    def __init__(self, term: NodeSelectorTerm, path: str = "") -> None:
        errors: list[str] = []
        self.is_empty = not term.match_expressions and not term.match_fields
        requirements: list[_Requirement] = []
        for index, requirement in enumerate(term.match_expressions):
            where = f"{path}.matchExpressions[{index}]".lstrip(".")
            found = _label_errors(requirement, where)
            errors.extend(found)
            if not found:
                requirements.append(_LabelRequirement(requirement.key, requirement.operator, requirement.values))
        for index, requirement in enumerate(term.match_fields):
            where = f"{path}.matchFields[{index}]".lstrip(".")
            found = _field_errors(requirement, where)
            errors.extend(found)
            if not found:
                requirements.append(_field_requirement(requirement))
        self.parse_errors = tuple(errors)
        self._requirements = tuple(requirements)

    def matches(self, columns: Columns, rows: Rows) -> BoolArray:
        """Tell which rows match, (n_rows,) bool."""
        if self.is_empty or self.parse_errors:
            return np.zeros(len(columns.alive[rows]), np.bool_)
        mask = self._requirements[0].matches(columns, rows)
        for requirement in self._requirements[1:]:
            mask &= requirement.matches(columns, rows)
        return mask

    def matches_node(self, node: Node) -> bool:
        """Tell whether a Node object matches."""
        if self.is_empty or self.parse_errors:
            return False
        return all(requirement.matches_node(node) for requirement in self._requirements)


class NodeSelectorMatcher:
    """A node selector, its terms ORed (nodeaffinity.LazyErrorNodeSelector).

    Attributes
    ----------
    parse_errors : tuple[str, ...]
        What cannot be read, of all terms; they do not keep the other terms from matching.
    """

    __slots__ = ("_terms", "parse_errors")

    def __init__(self, selector: NodeSelector) -> None:
        terms = [
            TermMatcher(term, f"nodeSelectorTerms[{index}]") for index, term in enumerate(selector.node_selector_terms)
        ]
        self.parse_errors = tuple(error for term in terms for error in term.parse_errors)
        self._terms = tuple(term for term in terms if not term.is_empty and not term.parse_errors)

    def matches(self, columns: Columns, rows: Rows) -> BoolArray:
        """Tell which rows match, (n_rows,) bool."""
        if not self._terms:
            return np.zeros(len(columns.alive[rows]), np.bool_)
        mask = self._terms[0].matches(columns, rows)
        for term in self._terms[1:]:
            mask |= term.matches(columns, rows)
        return mask

    def matches_node(self, node: Node) -> bool:
        """Tell whether a Node object matches.

        Raises
        ------
        SelectorError
            When no term matches and some cannot be read.
        """
        if any(term.matches_node(node) for term in self._terms):
            return True
        if self.parse_errors:
            raise SelectorError(", ".join(self.parse_errors))
        return False


class RequiredNodeAffinity:
    """spec.nodeSelector and required node affinity, ANDed (nodeaffinity.RequiredNodeAffinity)."""

    __slots__ = ("_labels", "_selector")

    def __init__(self, labels: tuple[_LabelRequirement, ...], selector: NodeSelectorMatcher | None) -> None:
        self._labels = labels
        self._selector = selector

    @classmethod
    def of(cls, pod: Pod) -> RequiredNodeAffinity | None:
        """Return what a pod requires of its node; None: nothing."""
        required = _required(pod)
        if not pod.spec.node_selector and required is None:
            return None
        return cls(
            tuple(_LabelRequirement(key, "In", (value,)) for key, value in (pod.spec.node_selector or {}).items()),
            NodeSelectorMatcher(required) if required is not None else None,
        )

    def mask(self, columns: Columns, rows: Rows) -> BoolArray:
        """Tell which rows match, (n_rows,) bool."""
        mask = self._selector.matches(columns, rows) if self._selector is not None else None
        for requirement in self._labels:
            found = requirement.matches(columns, rows)
            mask = found if mask is None else mask & found
        return mask if mask is not None else np.ones(len(columns.alive[rows]), np.bool_)

    def matches_node(self, node: Node) -> bool:
        """Tell whether a Node object matches; SelectorError when it cannot be told (RequiredNodeAffinity.Match)."""
        if not all(requirement.matches_node(node) for requirement in self._labels):
            return False
        return self._selector is None or self._selector.matches_node(node)


def required_affinity_key(pod: Pod) -> Hashable:
    """Return all that `RequiredNodeAffinity.of` reads of a pod, hashable; None when it requires nothing."""
    spec = pod.spec
    if not spec.node_selector and (spec.affinity is None or spec.affinity.node_affinity is None):
        return None
    required = _required(pod)
    labels = frozenset(spec.node_selector.items()) if spec.node_selector else None
    return None if labels is None and required is None else (labels, required)


def _required(pod: Pod) -> NodeSelector | None:
    affinity = pod.spec.affinity
    return affinity.node_affinity.required if affinity is not None and affinity.node_affinity is not None else None


def _field_requirement(requirement: NodeSelectorRequirement) -> _Requirement:
    is_in, value = requirement.operator == "In", requirement.values[0]
    if requirement.key == NAME_FIELD:
        return _NameRequirement(value, is_in=is_in)
    return _UnknownFieldRequirement(value, is_in=is_in)


def _parse_int(text: str) -> int | None:
    """Read an int64 as Go's strconv.ParseInt(text, 10, 64) does; None: it is none."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


# --- what cannot be read ----------------------------------------------------------------------------------------------


def _label_errors(requirement: NodeSelectorRequirement, path: str) -> list[str]:
    """Say what is wrong with a requirement on a label (labels.NewRequirement)."""
    operator, values = requirement.operator, requirement.values
    if operator not in _LABEL_OPERATORS:
        return [_unsupported(f"{path}.operator", operator, _LABEL_OPERATORS)]
    errors = []
    if not _is_label_key(requirement.key):
        errors.append(f'{path}.key: Invalid value: "{requirement.key}": not a label key')
    if operator in ("In", "NotIn") and not values:
        errors.append(_invalid_values(path, values, "for 'in', 'notin' operators, values set can't be empty"))
    elif operator in ("Exists", "DoesNotExist") and values:
        errors.append(_invalid_values(path, values, "values set must be empty for exists and does not exist"))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.append(_invalid_values(path, values, "for 'Gt', 'Lt' operators, exactly one value is required"))
        errors += [
            f"{path}.values[{i}]: Invalid value: \"{v}\": for 'Gt', 'Lt' operators, the value must be an integer"
            for i, v in enumerate(values)
            if _parse_int(v) is None
        ]
    errors += [
        f'{path}.values[{i}][{requirement.key}]: Invalid value: "{v}": not a label value'
        for i, v in enumerate(values)
        if v and not _NAME.fullmatch(v)
    ]
    return errors


def _field_errors(requirement: NodeSelectorRequirement, path: str) -> list[str]:
    if requirement.operator not in _FIELD_OPERATORS:
        return [_unsupported(f"{path}.operator", requirement.operator, _FIELD_OPERATORS)]
    if len(requirement.values) != 1:
        return [_invalid_values(path, requirement.values, "must have one element")]
    return []


def _is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= 253 and _SUBDOMAIN.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


def _unsupported(path: str, operator: str, supported: Sequence[str]) -> str:
    choices = ", ".join(f'"{choice}"' for choice in supported)
    return f'{path}: Unsupported value: "{operator}": supported values: {choices}'


def _invalid_values(path: str, values: Sequence[str], detail: str) -> str:
    shown = ",".join(f'"{value}"' for value in values)
    return f"{path}.values: Invalid value: [{shown}]: {detail}"
