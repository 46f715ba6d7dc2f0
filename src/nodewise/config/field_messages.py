"""Field errors of a configuration, in the words of apimachinery's `field` package."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.api.selectors import label_key_errors
from nodewise.config.go_text import quote


def invalid(path: str, shown: object, detail: str) -> str:
    """Say that a value is invalid; `shown` is printed as it is, so strings come quoted."""
    return f"{path}: Invalid value: {shown}: {detail}"


def required(path: str, detail: str = "") -> str:
    """Say that a value is missing."""
    return f"{path}: Required value: {detail}" if detail else f"{path}: Required value"


def duplicate(path: str, shown: str) -> str:
    """Say that a value stands there twice."""
    return f"{path}: Duplicate value: {shown}"


def forbidden(path: str, detail: str) -> str:
    """Say that a value may not stand there."""
    return f"{path}: Forbidden: {detail}"


def not_supported(path: str, shown: str, supported: Sequence[str]) -> str:
    """Say that a value is none of the known ones."""
    return f"{path}: Unsupported value: {shown}: supported values: {', '.join(quote(value) for value in supported)}"


def outside(path: str, value: int, lowest: int, highest: int) -> list[str]:
    """Check that a value lies in a closed range."""
    return [] if lowest <= value <= highest else [invalid(path, value, f"not in valid range [{lowest}, {highest}]")]


def label_name_errors(path: str, name: str) -> list[str]:
    """Check a qualified name such as `example.com/gpu` (ValidateLabelName)."""
    return [invalid(path, quote(name), message) for message in label_key_errors(name)]


def join_path(path: str, child: str) -> str:
    """Append a field to a path that may be empty."""
    return f"{path}.{child}" if path else child
