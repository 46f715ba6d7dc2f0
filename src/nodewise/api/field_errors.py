"""One thing that is wrong with one field of an object, in the words of the Kubernetes API."""

from __future__ import annotations

from typing import NamedTuple

from nodewise.errors import NodewiseError


class FieldError(NamedTuple):
    """A field path such as `spec.containers[0].name`, and what is wrong there."""

    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class InvalidFieldError(NodewiseError):
    """A field error that ends the reading of its object."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field
        self.message = message


def quoted(value: object) -> str:
    """Show a value as the API does in errors: strings in quotes, shortened when long."""
    text = str(value)
    if len(text) > 100:
        text = text[:97] + "..."
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else text


def invalid(field: str, value: object, detail: str) -> FieldError:
    """A value that breaks a rule, with the rule."""
    return FieldError(field, f"Invalid value: {quoted(value)}: {detail}")


def required(field: str, detail: str = "") -> FieldError:
    """A field that is absent or empty and must not be."""
    return FieldError(field, f"Required value: {detail}" if detail else "Required value")


def duplicate(field: str, value: object) -> FieldError:
    """A value that may be given only once."""
    return FieldError(field, f"Duplicate value: {quoted(value)}")


def forbidden(field: str, detail: str) -> FieldError:
    """A field that may not be set here, with the reason."""
    return FieldError(field, f"Forbidden: {detail}")


def not_supported(field: str, value: object, supported: tuple[str, ...]) -> FieldError:
    """A value that is none of the few that there are."""
    values = ", ".join(f'"{item}"' for item in supported)
    return FieldError(field, f"Unsupported value: {quoted(value)}: supported values: {values}")
