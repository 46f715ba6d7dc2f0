"""What a plugin says about a pod, or about a pod on a node."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Code(enum.Enum):
    """Status codes, with kube-scheduler's names."""

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"
    WAIT = "Wait"
    SKIP = "Skip"
    PENDING = "Pending"

    @property
    def is_rejection(self) -> bool:
        """Whether the pod does not fit, as opposed to an error or a success."""
        return self in _REJECTIONS


_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Status:
    """A code with its reasons.

    Attributes
    ----------
    code : Code
    reasons : tuple[str, ...]
        Each is counted by itself in the message of a pod that fits nowhere.
    plugin : str
        The plugin that says so; filled in by what runs the plugin.
    """

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """The pod does not fit now; taking pods away may help."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """The pod does not fit, and taking pods away cannot change that."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def error(cls, *reasons: str) -> Status:
        """Something went wrong; the pod is tried again after a backoff."""
        return cls(Code.ERROR, reasons)

    @property
    def is_success(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def message(self) -> str:
        """The reasons in one line."""
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """Return the same status with the name of the plugin that gave it."""
        return Status(self.code, self.reasons, plugin)


SUCCESS = Status(Code.SUCCESS)
