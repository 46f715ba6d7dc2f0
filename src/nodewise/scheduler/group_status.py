"""What became of trying a pod group, or one of its pods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nodewise.framework.pod_group_plugin import PodGroupInfo
from nodewise.framework.status import Code, Status
from nodewise.state.pod_info import PodInfo

GROUP_UNSCHEDULABLE = "pod group is unschedulable"


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """A code with reasons, and an error beside them that stands first in the message (fwk.Status with an error).

    Attributes
    ----------
    code : Code
    reasons : tuple[str, ...]
    error : str
    """

    code: Code
    reasons: tuple[str, ...] = ()
    error: str = ""

    @classmethod
    def of(cls, status: Status) -> GroupStatus:
        """Return what a plugin says; of an error the text is the error."""
        if status.code is Code.ERROR:
            return cls(Code.ERROR, error=status.message)
        return cls(status.code, status.reasons)

    @classmethod
    def unschedulable(cls, *reasons: str, error: str = GROUP_UNSCHEDULABLE) -> GroupStatus:
        """The group, or the pod, does not fit."""
        return cls(Code.UNSCHEDULABLE, reasons, error)

    @classmethod
    def failed(cls, error: str) -> GroupStatus:
        """Something went wrong."""
        return cls(Code.ERROR, error=error)

    @property
    def is_success(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def is_error(self) -> bool:
        return self.code is Code.ERROR

    @property
    def message(self) -> str:
        """The error, then the reasons, in one line."""
        return ", ".join((self.error, *self.reasons) if self.error else self.reasons)

    @property
    def error_text(self) -> str:
        """What is shown of it as an error: where there is one, no reasons (AsError)."""
        return self.error or ", ".join(self.reasons)

    def with_reasons(self, reasons: Sequence[str]) -> GroupStatus:
        """Return it with more reasons."""
        return replace(self, reasons=(*self.reasons, *reasons))


OK = GroupStatus(Code.SUCCESS)


@dataclass(slots=True)
class MemberResult:
    """One pod of a group that was tried, or left out once the group was known not to fit.

    Attributes
    ----------
    node_name : str
        Where it fits, "" nowhere.
    best : Sequence[str]
        All nodes with the top total.
    nomination : str | None
        The node to nominate; "" clears a nomination, None leaves it.
    """

    pod: PodInfo
    status: GroupStatus
    node_name: str = ""
    best: Sequence[str] = ()
    nomination: str | None = None


@dataclass(slots=True)
class GroupResult:
    """What became of one group of a tree (podGroupAlgorithmResult).

    Attributes
    ----------
    info : PodGroupInfo
    status : GroupStatus
    members : list[MemberResult]
        In the order in which they were tried; a group of groups has none.
    is_any_scheduled : bool
        Whether at least one pod found a node.
    waits_for_preemption : bool
    """

    info: PodGroupInfo
    status: GroupStatus
    members: list[MemberResult] = field(default_factory=list)
    is_any_scheduled: bool = False
    waits_for_preemption: bool = False
