"""Checks of the node affinity that a profile adds to every pod (nodeaffinity.NewNodeSelector)."""

from __future__ import annotations

import re

from nodewise.api.objects import NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm
from nodewise.api.selectors import label_key_errors, label_value_errors
from nodewise.config.field_messages import invalid, not_supported
from nodewise.config.go_text import json_text, quote
from nodewise.config.go_types import list_text

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_FIELD_OPERATORS = ("In", "NotIn")
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)


def node_affinity_errors(path: str, affinity: NodeAffinity) -> list[str]:
    """Check required and preferred terms; preferred ones of weight 0 are not looked at."""
    errors: list[str] = []
    if affinity.required is not None:
        terms_path = f"{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        for index, term in enumerate(affinity.required.node_selector_terms):
            errors += _term_errors(f"{terms_path}[{index}]", term)
    for index, preferred in enumerate(affinity.preferred or ()):
        if preferred.weight:
            at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            errors += _term_errors(at, preferred.preference)
    return errors


def _term_errors(path: str, term: NodeSelectorTerm) -> list[str]:
    errors: list[str] = []
    for index, requirement in enumerate(term.match_expressions):
        errors += _label_errors(f"{path}.matchExpressions[{index}]", requirement)
    for index, requirement in enumerate(term.match_fields):
        errors += _field_errors(f"{path}.matchFields[{index}]", requirement)
    return errors


def _label_errors(path: str, requirement: NodeSelectorRequirement) -> list[str]:
    """Check one matchExpressions entry (labels.NewRequirement)."""
    operator, values = requirement.operator, requirement.values
    if operator not in _LABEL_OPERATORS:
        return [not_supported(f"{path}.operator", json_text(operator), _LABEL_OPERATORS)]
    errors: list[str] = []
    if wrong := label_key_errors(requirement.key):
        errors.append(invalid(f"{path}.key", quote(requirement.key), "; ".join(wrong)))
    shown = list_text(values, json_text(list(values)))
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(invalid(f"{path}.values", shown, "for 'in', 'notin' operators, values set can't be empty"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.append(invalid(f"{path}.values", shown, "values set must be empty for exists and does not exist"))
    else:
        if len(values) != 1:
            errors.append(invalid(f"{path}.values", shown, "for 'Gt', 'Lt' operators, exactly one value is required"))
        for index, value in enumerate(values):
            if not _is_int64(value):
                detail = "for 'Gt', 'Lt' operators, the value must be an integer"
                errors.append(invalid(f"{path}.values[{index}]", quote(value), detail))
    for index, value in enumerate(values):
        if wrong := label_value_errors(value):
            errors.append(invalid(f"{path}.values[{index}][{requirement.key}]", quote(value), "; ".join(wrong)))
    return errors


def _field_errors(path: str, requirement: NodeSelectorRequirement) -> list[str]:
    """Check one matchFields entry (nodeSelectorRequirementsAsFieldSelector)."""
    if requirement.operator not in _FIELD_OPERATORS:
        return [not_supported(f"{path}.operator", json_text(requirement.operator), _FIELD_OPERATORS)]
    if len(requirement.values) == 1:
        return []
    shown = list_text(requirement.values, json_text(list(requirement.values)))
    return [invalid(f"{path}.values", shown, "must have one element")]


def _is_int64(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63
