"""The syntax of Kubernetes names, label keys and label values, with the API server's own error texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from nodewise.api.field_errors import FieldError, forbidden, invalid, required
from nodewise.api.objects import LabelSelector, ObjectMeta
from nodewise.api.selectors import label_key_errors, label_value_errors

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_DNS_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_CACHE_SIZE = 1 << 15
# A name far longer than any limit need not be matched to be refused.
_MAX_MATCHED_CHARS = 1000


def _example_text(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def _matches(pattern: str, text: str) -> bool:
    return len(text) <= _MAX_MATCHED_CHARS and re.fullmatch(pattern, text, re.ASCII) is not None


@lru_cache(_CACHE_SIZE)
def dns_label_problems(name: str) -> tuple[str, ...]:
    """Return what keeps this from being an RFC 1123 label (IsDNS1123Label)."""
    problems = ["must be no more than 63 characters"] if len(name) > 63 else []
    if not _matches(_LABEL, name):
        if _matches(_SUBDOMAIN, name):
            problems.append("must not contain dots")
        else:
            problems.append(_example_text(_DNS_LABEL_RULE, _LABEL, "my-name", "123-abc"))
    return tuple(problems)


@lru_cache(_CACHE_SIZE)
def dns_subdomain_problems(name: str) -> tuple[str, ...]:
    """Return what keeps this from being an RFC 1123 subdomain (IsDNS1123Subdomain)."""
    problems = ["must be no more than 253 characters"] if len(name) > 253 else []
    if not _matches(_SUBDOMAIN, name):
        problems.append(_example_text(_DNS_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return tuple(problems)


@lru_cache(_CACHE_SIZE)
def label_key_problems(key: str) -> tuple[str, ...]:
    """Return what keeps this from being a label key, or any other qualified name."""
    return tuple(label_key_errors(key))


@lru_cache(_CACHE_SIZE)
def label_value_problems(value: str) -> tuple[str, ...]:
    """Return what keeps this from being a label value."""
    return tuple(label_value_errors(value))


@lru_cache(1 << 12)
def port_name_problems(name: str) -> tuple[str, ...]:
    """Return what keeps this from being a port name (IsValidPortName)."""
    problems = ["must be no more than 15 characters"] if len(name) > 15 else []
    if re.search("[^-a-z0-9]", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return tuple(problems)


def invalid_each(field: str, value: str, problems: Iterable[str]) -> list[FieldError]:
    """Return one error for each problem of the value."""
    return [invalid(field, value, problem) for problem in problems]


def check_labels(labels: dict[str, str] | None, field: str) -> list[FieldError]:
    """Return what is wrong with a map of labels."""
    errors: list[FieldError] = []
    for key, value in (labels or {}).items():
        if problems := label_key_problems(key):
            errors += invalid_each(field, key, problems)
        if problems := label_value_problems(value):
            errors += invalid_each(field, value, problems)
    return errors


def check_label_selector(selector: LabelSelector | None, field: str, *, any_value: bool = False) -> list[FieldError]:
    """Return what is wrong with a label selector; one stored long ago may ask for values that no label can have."""
    if selector is None:
        return []
    errors = check_labels(selector.match_labels, f"{field}.matchLabels")
    for index, requirement in enumerate(selector.match_expressions):
        path = f"{field}.matchExpressions[{index}]"
        if requirement.operator in ("In", "NotIn"):
            if not requirement.values:
                errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif requirement.operator in ("Exists", "DoesNotExist"):
            if requirement.values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                errors.append(forbidden(f"{path}.values", detail))
        else:
            errors.append(invalid(f"{path}.operator", requirement.operator, "not a valid selector operator"))
        errors += invalid_each(f"{path}.key", requirement.key, label_key_problems(requirement.key))
        if not any_value:
            for position, value in enumerate(requirement.values):
                errors += invalid_each(f"{path}.values[{position}]", value, label_value_problems(value))
    return errors


def check_metadata(metadata: ObjectMeta, *, is_label_name: bool = False) -> list[FieldError]:
    """Return what is wrong with an object's name, namespace and labels."""
    problems = dns_label_problems(metadata.name) if is_label_name else dns_subdomain_problems(metadata.name)
    errors = invalid_each("metadata.name", metadata.name, problems)
    if metadata.namespace:
        errors += invalid_each("metadata.namespace", metadata.namespace, dns_label_problems(metadata.namespace))
    return errors + check_labels(metadata.labels, "metadata.labels")
