"""Kubernetes' named formats of texts, with the API server's own words for what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from nodewise.api.validation_names import (
    dns_label_problems,
    dns_subdomain_problems,
    label_key_problems,
    label_value_problems,
)
from nodewise.devices.cel.urls import UrlError, check_request_uri
from nodewise.devices.cel.values import NONE, NamedFormat, Optional

_DNS_1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS_1035_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_DNS_1035_LABEL}')"
)
_UUID = r"(?i:[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})"
_BASE64_DIGIT = "[A-Za-z0-9+/]"
_BASE64 = f"(?:{_BASE64_DIGIT}{{4}})*(?:{_BASE64_DIGIT}{{2}}==|{_BASE64_DIGIT}{{3}}=|{_BASE64_DIGIT}{{4}})"
_TIME_OF_DAY = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))"
_LABEL_REGEX_SIZE, _SUBDOMAIN_REGEX_SIZE, _VALUE_REGEX_SIZE = 30, 60, 40
_URI_REGEX_SIZE, _UUID_REGEX_SIZE, _BASE64_REGEX_SIZE, _TIME_REGEX_SIZE = 1103, 70, 84, 71

Problems = Callable[[str], Sequence[str]]


def _dns_1035_label_problems(name: str) -> Sequence[str]:
    problems = ["must be no more than 63 characters"] if len(name.encode()) > 63 else []
    if not re.fullmatch(_DNS_1035_LABEL, name):
        problems.append(_DNS_1035_RULE)
    return problems


def _of_prefix(problems_of: Problems) -> Problems:
    """Judge a text that something will be appended to, so it may end in a dash (maskTrailingDash)."""

    def run(name: str) -> Sequence[str]:
        is_masked = len(name) > 1 and name.endswith("-")
        return problems_of(f"{name[:-2]}a" if is_masked else name)

    return run


def _uri_problems(text: str) -> Sequence[str]:
    try:
        check_request_uri(text)
    except UrlError as error:
        return [str(error)]
    return []


def _unless(is_right: Callable[[str], object], problem: str) -> Problems:
    return lambda text: [] if is_right(text) else [problem]


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    year, month, day = map(int, text.split("-"))
    try:
        date(year or 400, month, day)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    day, t, rest = text.lower().partition("t")
    match = re.fullmatch(_TIME_OF_DAY, rest.split("t", 1)[0])
    if not t or match is None or not _is_date(day):
        return False
    return match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _format(name: str, problems_of: Problems, regex_size: int) -> NamedFormat:
    return NamedFormat(name, problems_of, regex_size)


FORMATS: dict[str, NamedFormat] = {
    "dns1123Label": _format("DNS1123Label", dns_label_problems, _LABEL_REGEX_SIZE),
    "dns1123Subdomain": _format("DNS1123Subdomain", dns_subdomain_problems, _SUBDOMAIN_REGEX_SIZE),
    "dns1035Label": _format("DNS1035Label", _dns_1035_label_problems, _LABEL_REGEX_SIZE),
    "qualifiedName": _format("QualifiedName", label_key_problems, _SUBDOMAIN_REGEX_SIZE),
    "dns1123LabelPrefix": _format("DNS1123LabelPrefix", _of_prefix(dns_label_problems), _LABEL_REGEX_SIZE),
    "dns1123SubdomainPrefix": _format(
        "DNS1123SubdomainPrefix", _of_prefix(dns_subdomain_problems), _SUBDOMAIN_REGEX_SIZE
    ),
    "dns1035LabelPrefix": _format("DNS1035LabelPrefix", _of_prefix(_dns_1035_label_problems), _LABEL_REGEX_SIZE),
    "labelValue": _format("LabelValue", label_value_problems, _VALUE_REGEX_SIZE),
    "uri": _format("URI", _uri_problems, _URI_REGEX_SIZE),
    "uuid": _format("uuid", _unless(re.compile(_UUID).fullmatch, "does not match the UUID format"), _UUID_REGEX_SIZE),
    "byte": _format("byte", _unless(re.compile(_BASE64).fullmatch, "invalid base64"), _BASE64_REGEX_SIZE),
    "date": _format("date", _unless(_is_date, "invalid date"), _TIME_REGEX_SIZE),
    "datetime": _format("datetime", _unless(_is_datetime, "invalid datetime"), _TIME_REGEX_SIZE),
}
"""By the names that expressions have for them."""


def _validate(named: NamedFormat, text: str) -> Optional:
    problems = list(named.problems_of(text))
    return Optional(problems, has_value=True) if problems else NONE


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found, has_value=True)


def _constant(named: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: named


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "format-validate": _validate,
    "format-named": _named,
    **{f"format.{name}": _constant(named) for name, named in FORMATS.items()},
}
"""The functions on formats, by overload id."""
