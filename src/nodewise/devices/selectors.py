"""Whether a device matches CEL selectors; expressions are compiled once, answers kept by what the device is."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from nodewise.api.devices import Device

if TYPE_CHECKING:
    from nodewise.devices.cel.program import Program

_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)


class Failure:
    """Why an expression has no answer: it does not compile, or fails for a device."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Profile:
    """What expressions can see of a device; devices that look the same share one.

    Attributes
    ----------
    answers : dict[str, bool | Failure]
        By expression.
    """

    __slots__ = ("_attributes", "_capacity", "_driver", "_is_shared", "_variables", "answers")

    def __init__(self, driver: str, device: Device) -> None:
        self._driver = driver
        self._is_shared = bool(device.allow_multiple_allocations)
        self._attributes = device.attributes
        self._capacity = device.capacity
        self._variables: dict[str, Any] | None = None
        self.answers: dict[str, bool | Failure] = {}

    def variables(self) -> dict[str, Any]:
        """Return the value of the variable `device`.

        Raises
        ------
        CelError
            An attribute has no usable value.
        """
        if self._variables is None:
            from nodewise.devices.cel.device import device_value

            self._variables = device_value(self._driver, self._attributes, self._capacity, is_shared=self._is_shared)
        return self._variables


class Selectors:
    """Compiled expressions and the profiles of devices."""

    def __init__(self) -> None:
        self._programs: dict[str, Program | Failure] = {}
        self._profiles: dict[Hashable, Profile] = {}

    def profile_of(self, driver: str, device: Device) -> Profile:
        """Return the profile that a device shares with those that look the same."""
        key = (
            driver,
            bool(device.allow_multiple_allocations),
            tuple(sorted(device.attributes.items(), key=_name)),
            tuple(sorted([(name, str(amount.value)) for name, amount in device.capacity.items()])),
        )
        profile = self._profiles.get(key)
        if profile is None:
            profile = self._profiles[key] = Profile(driver, device)
        return profile

    def compile_failure(self, expression: str) -> Failure | None:
        """Return why an expression does not compile; None: it does."""
        program = self._program(expression)
        return program if isinstance(program, Failure) else None

    def matches(self, expression: str, profile: Profile) -> bool | Failure:
        """Return the answer for a device; an expression that does not compile fails for every device."""
        answer = profile.answers.get(expression)
        if answer is None:
            answer = profile.answers[expression] = self._evaluate(expression, profile)
        return answer

    def _evaluate(self, expression: str, profile: Profile) -> bool | Failure:
        program = self._program(expression)
        if isinstance(program, Failure):
            return program
        # The evaluator is loaded only where there are expressions.
        from nodewise.devices.cel.values import CelError

        try:
            return program.matches(profile.variables())
        except CelError as error:
            text = str(error)
            return Failure(text + _HINT if "no such key:" in text else text)

    def _program(self, expression: str) -> Program | Failure:
        program = self._programs.get(expression)
        if program is None:
            from nodewise.devices.cel.libraries import CelLibraryError
            from nodewise.devices.cel.parsing import CompileError
            from nodewise.devices.cel.program import Program

            try:
                program = Program(expression)
            except (CompileError, CelLibraryError) as error:
                program = Failure(str(error))
            self._programs[expression] = program
        return program


def _name(item: tuple[str, Any]) -> str:
    return item[0]
