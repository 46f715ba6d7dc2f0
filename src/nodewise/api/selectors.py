"""Decides which labels a label selector matches, and whether a selector is valid."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from nodewise.api.objects import LabelSelector, LabelSelectorRequirement
from nodewise.errors import SelectorError

_NAME_FORM: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE_FORM: Final = f"({_NAME_FORM})?"
_DNS_LABEL_FORM: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORM: Final = rf"{_DNS_LABEL_FORM}(\.{_DNS_LABEL_FORM})*"
_NAME: Final = re.compile(_NAME_FORM)
_VALUE: Final = re.compile(_VALUE_FORM)
_SUBDOMAIN: Final = re.compile(_SUBDOMAIN_FORM)
_MAX_NAME_BYTES: Final = 63
_MAX_SUBDOMAIN_BYTES: Final = 253

_CHARACTERS: Final = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_WRONG_NAME: Final = (
    f"must consist of {_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_NAME_FORM}')"
)
_WRONG_VALUE: Final = (
    f"a valid label must be an empty string or consist of {_CHARACTERS} (e.g. 'MyValue',  or 'my_value',  or '12345', "
    f"regex used for validation is '{_VALUE_FORM}')"
)
_WRONG_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_FORM}')"
)


def label_key_errors(key: str) -> list[str]:
    """Return what is wrong with a label key or other qualified name (content.IsLabelKey)."""
    parts = key.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {_WRONG_NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    errors = []
    if len(parts) == 2:
        prefix = parts[0]
        if not prefix:
            errors.append("prefix part must be non-empty")
        else:
            if len(prefix.encode()) > _MAX_SUBDOMAIN_BYTES:
                errors.append(f"prefix part must be no more than {_MAX_SUBDOMAIN_BYTES} bytes")
            if _SUBDOMAIN.fullmatch(prefix) is None:
                errors.append(f"prefix part {_WRONG_SUBDOMAIN}")
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > _MAX_NAME_BYTES:
        errors.append(f"name part must be no more than {_MAX_NAME_BYTES} bytes")
    if _NAME.fullmatch(name) is None:
        errors.append(f"name part {_WRONG_NAME}")
    return errors


def label_value_errors(value: str) -> list[str]:
    """Return what is wrong with a label value (content.IsLabelValue)."""
    errors = []
    if len(value.encode()) > _MAX_NAME_BYTES:
        errors.append(f"must be no more than {_MAX_NAME_BYTES} bytes")
    if _VALUE.fullmatch(value) is None:
        errors.append(_WRONG_VALUE)
    return errors


class SelectorOperator(Enum):
    """What a requirement asks of the label; `key=value` is IN with one value."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


_OPERATORS: Final = {operator.value: operator for operator in SelectorOperator}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label; values are sorted and unique."""

    key: str
    operator: SelectorOperator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels meet this condition."""
        match self.operator:
            case SelectorOperator.IN:
                return labels.get(self.key) in self.values
            case SelectorOperator.NOT_IN:
                return labels.get(self.key) not in self.values
            case SelectorOperator.EXISTS:
                return self.key in labels
            case SelectorOperator.DOES_NOT_EXIST:
                return self.key not in labels


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector in canonical form: two selectors with the same requirements are equal and hash alike."""

    requirements: tuple[Requirement, ...] = ()
    is_nothing: bool = False

    @classmethod
    def from_label_selector(cls, selector: LabelSelector | None) -> Selector:
        """Read an API label selector: None matches nothing, an empty one everything.

        Raises
        ------
        SelectorError
            When an operator, key or value is invalid, with apimachinery's text.
        """
        if selector is None:
            return NOTHING
        if not selector.match_labels and not selector.match_expressions:
            return EVERYTHING
        requirements = []
        for key, value in sorted(selector.match_labels.items()):
            _check([*_key_errors(key), *_value_errors(key, (value,))])
            requirements.append(Requirement(key, SelectorOperator.IN, (value,)))
        requirements.extend(_read_expression(expression) for expression in selector.match_expressions)
        return cls(_canonical(requirements))

    @classmethod
    def from_map(cls, labels: Mapping[str, str] | None) -> Selector:
        """Require every given label, unchecked; no labels match everything (labels.SelectorFromSet)."""
        return EVERYTHING.with_equal(labels or {})

    @property
    def is_empty(self) -> bool:
        """Whether this matches everything because it requires nothing."""
        return not self.requirements and not self.is_nothing

    @property
    def equality_pairs(self) -> tuple[tuple[str, str], ...]:
        """The (key, value) pairs that every matching label set has."""
        return tuple(
            (requirement.key, requirement.values[0])
            for requirement in self.requirements
            if requirement.operator is SelectorOperator.IN and len(requirement.values) == 1
        )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels meet every requirement."""
        if self.is_nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def with_equal(self, labels: Mapping[str, str]) -> Selector:
        """Return this selector with `key=value` added for each given label; nothing stays nothing."""
        if self.is_nothing or not labels:
            return self
        added = [Requirement(key, SelectorOperator.IN, (value,)) for key, value in labels.items()]
        return Selector(_canonical([*self.requirements, *added]))


NOTHING: Final = Selector(is_nothing=True)
EVERYTHING: Final = Selector()


def _canonical(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    return tuple(sorted(set(requirements), key=lambda r: (r.key, r.operator.value, r.values)))


def _read_expression(expression: LabelSelectorRequirement) -> Requirement:
    """Check and read one match expression (labels.NewRequirement)."""
    operator = _OPERATORS.get(expression.operator)
    if operator is None:
        raise SelectorError(f"{_quoted(expression.operator)} is not a valid label selector operator")
    errors = _key_errors(expression.key)
    needs_values = operator in (SelectorOperator.IN, SelectorOperator.NOT_IN)
    if needs_values and not expression.values:
        # a Go slice without elements is nil here, so it is shown as null
        errors.append("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")
    elif not needs_values and expression.values:
        shown = json.dumps(expression.values, ensure_ascii=False, separators=(",", ":"))
        errors.append(f"values: Invalid value: {shown}: values set must be empty for exists and does not exist")
    _check([*errors, *_value_errors(expression.key, expression.values)])
    return Requirement(expression.key, operator, tuple(sorted(set(expression.values))))


def _key_errors(key: str) -> list[str]:
    return _shown("key", key, label_key_errors)


def _value_errors(key: str, values: tuple[str, ...]) -> list[str]:
    return [
        error
        for idx, value in enumerate(values)
        for error in _shown(f"values[{idx}][{key}]", value, label_value_errors)
    ]


def _shown(path: str, text: str, check: Callable[[str], list[str]]) -> list[str]:
    errors = check(text)
    return [f"{path}: Invalid value: {_quoted(text)}: {'; '.join(errors)}"] if errors else []


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _check(errors: list[str]) -> None:
    """Raise the errors as one (field.ErrorList.ToAggregate)."""
    unique = list(dict.fromkeys(errors))
    if unique:
        raise SelectorError(unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")
