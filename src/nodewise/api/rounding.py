"""Rounding of amounts to milli-units, which the API's defaulting does to every resource list."""

from __future__ import annotations

from nodewise.api.field_errors import InvalidFieldError
from nodewise.api.meta import ResourceList
from nodewise.api.quantity import parse_quantity
from nodewise.errors import QuantityError

# Amounts already known to be whole milli-units, so that a cluster's few distinct texts are parsed once.
_exact_amounts: set[str] = set()
_MAX_EXACT_AMOUNTS = 1 << 16


def rounded(amounts: ResourceList, path: str) -> ResourceList:
    """Return the amounts rounded up to milli-units, as text; the same dict when none changes."""
    changes: ResourceList = {}
    for name, raw in amounts.items():
        if raw.__class__ is str and raw in _exact_amounts:
            continue
        try:
            quantity = parse_quantity("0" if raw is None else raw)
        except QuantityError as error:
            raise InvalidFieldError(f"{path}[{name}]", str(error)) from error
        exact = quantity.round_up_milli()
        if exact != quantity:
            changes[name] = str(exact)
        elif raw is None or isinstance(raw, int):
            changes[name] = str(raw or 0)
        elif isinstance(raw, str) and len(raw) < 32 and len(_exact_amounts) < _MAX_EXACT_AMOUNTS:
            _exact_amounts.add(raw)
    return {**amounts, **changes} if changes else amounts
