"""The role of an extender: a service beside the scheduler that takes part in its decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from nodewise.api.objects import Node, Pod
from nodewise.errors import NodewiseError
from nodewise.state.pod_info import PodInfo

EXTENDER = "Extender"
"""Stands for all extenders where plugins are named that rejected a pod."""
MAX_EXTENDER_SCORE = 10


class ExtenderError(NodewiseError):
    """An extender could not be asked, or gave an answer that makes no sense."""


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """What an extender made of some nodes.

    Attributes
    ----------
    node_names : tuple[str, ...]
        Those that it leaves, in its order.
    failed, failed_and_unresolvable : Mapping[str, str]
        Why it leaves others out, by node; evicting pods does not help on the latter.
    are_fresh : bool
        Whether it sent nodes back instead of names: kube-scheduler then scores them as nodes without any pod.
    """

    node_names: tuple[str, ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    failed_and_unresolvable: Mapping[str, str] = field(default_factory=dict)
    are_fresh: bool = False


@dataclass(frozen=True, slots=True)
class HostPriority:
    """An extender's score of one node, 0..10 by convention."""

    host: str
    score: int


@dataclass(frozen=True, slots=True)
class NodeVictims:
    """Pods that would have to go from a node, and how many of them a disruption budget protects."""

    pods: tuple[PodInfo, ...]
    n_pdb_violations: int


PodsOn = Callable[[str], Iterable[PodInfo] | None]
"""Gives the pods on the node of a name; None: there is no such node."""


class Extender(Protocol):
    """One extender; every call waits for its answer (framework.Extender).

    Attributes
    ----------
    name : str
        Its URL.
    weight : int
        Of its scores; 0 when it does not score.
    is_ignorable : bool
        Whether pods are scheduled without it when it fails.
    failures : Mapping[str, int]
        How many calls failed so far, by what went wrong.
    is_filter, is_prioritizer, is_binder, supports_preemption : bool
        What it takes part in.
    """

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> int: ...

    @property
    def failures(self) -> Mapping[str, int]: ...

    @property
    def is_ignorable(self) -> bool: ...

    @property
    def is_filter(self) -> bool: ...

    @property
    def is_prioritizer(self) -> bool: ...

    @property
    def is_binder(self) -> bool: ...

    @property
    def supports_preemption(self) -> bool: ...

    def is_interested(self, pod: Pod) -> bool:
        """Tell whether the pod asks for something that the extender manages."""
        ...

    def filter(self, pod: PodInfo, nodes: Sequence[Node]) -> FilterAnswer:
        """Ask which nodes the pod may go to.

        Raises
        ------
        ExtenderError
        """
        ...

    def prioritize(self, pod: PodInfo, nodes: Sequence[Node]) -> Sequence[HostPriority]:
        """Ask how good the nodes are.

        Raises
        ------
        ExtenderError
        """
        ...

    def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, NodeVictims], pods_on: PodsOn
    ) -> dict[str, NodeVictims]:
        """Ask which of these evictions may be done, by node.

        Raises
        ------
        ExtenderError
        """
        ...

    def bind(self, pod: PodInfo, node_name: str) -> None:
        """Have the pod bound to a node.

        Raises
        ------
        ExtenderError
        """
        ...
