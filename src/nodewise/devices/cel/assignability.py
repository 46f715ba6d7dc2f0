"""Which types go for which, and what type parameters thereby come to stand for (cel-go's checker/types.go)."""

from __future__ import annotations

from collections.abc import Sequence

from nodewise.devices.cel.cel_types import DYN, CelType


class Substitutions:
    """What type parameters stand for, as far as it is known."""

    __slots__ = ("_found",)

    def __init__(self, found: dict[CelType, CelType] | None = None) -> None:
        self._found = found or {}

    def is_assignable(self, types: Sequence[CelType], wanted: Sequence[CelType]) -> bool:
        """Tell whether types go for others one by one, and keep what follows for parameters only if they do."""
        trial = Substitutions(dict(self._found))
        if len(types) != len(wanted) or not all(map(trial._fits, types, wanted)):
            return False
        self._found = trial._found
        return True

    def resolve(self, kind: CelType, *, params_to_dyn: bool = False) -> CelType:
        """Return a type with its parameters replaced by what they stand for; unknown ones by dyn if so wished."""
        found = self._found.get(kind)
        if found is not None:
            return self.resolve(found, params_to_dyn=params_to_dyn)
        if kind.is_param:
            return DYN if params_to_dyn else kind
        if not kind.params:
            return kind
        params = tuple([self.resolve(param, params_to_dyn=params_to_dyn) for param in kind.params])
        return CelType(kind.name, params)

    def _fits(self, left: CelType, right: CelType) -> bool:
        if right.is_param:
            fits, is_known = self._stands_for(left, right)
            if fits or is_known:
                return fits
        if left.is_param:
            return self._stands_for(right, left)[0]
        if left.is_dyn or left.is_error or right.is_dyn or right.is_error:
            return True
        if left.name == "null_type":
            return right.is_nullable
        if right.name == "null_type":
            return left.is_nullable
        if left.is_plain:
            return left == right
        if left.name == "type":
            return right.name == "type"
        same_shape = left.name == right.name and len(left.params) == len(right.params)
        return same_shape and all(map(self._fits, left.params, right.params))

    def _stands_for(self, kind: CelType, param: CelType) -> tuple[bool, bool]:
        """Tell whether a parameter may stand for a type, and whether it stands for something already."""
        if kind == param:
            return True, True
        found = self._found.get(param)
        if found is not None:
            if kind == found:
                return True, True
            if not self._fits(kind, found):
                return False, True
            wider = most_general(kind, found)
            if not self._mentions(wider, param):
                self._found[param] = wider
            return True, True
        if self._mentions(kind, param):
            return False, False
        self._found[param] = kind
        return True, False

    def _mentions(self, kind: CelType, param: CelType) -> bool:
        if kind == param:
            return True
        if kind.is_param:
            found = self._found.get(kind)
            return found is not None and self._mentions(found, param)
        return any(self._mentions(inner, param) for inner in kind.params)


def most_general(left: CelType, right: CelType) -> CelType:
    """Return the wider of two types that go for each other."""
    return left if _is_as_wide(left, right) else right


def _is_as_wide(left: CelType, right: CelType) -> bool:
    if left.is_dyn or left.is_param:
        return True
    if right.is_dyn or right.is_param or left.name != right.name:
        return False
    if left.name == "type":
        return True
    return len(left.params) == len(right.params) and all(map(_is_as_wide, left.params, right.params))
