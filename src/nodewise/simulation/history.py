"""What happened in a world: each pod's way, and how full the cluster was over time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nodewise.api.objects import Node, Pod
from nodewise.api.resources import node_allocatable, pod_amounts


@dataclass(slots=True)
class PodHistory:
    """One pod's way; times in seconds of the world's clock.

    Attributes
    ----------
    key : str
        `namespace/name`.
    priority : int
    created_s : float
    bound_s, ended_s : float | None
        None: not yet.
    node : str
        Where it runs or ran.
    is_evicted : bool
        Whether it was deleted to make room for another pod.
    """

    key: str
    priority: int
    created_s: float
    bound_s: float | None = None
    ended_s: float | None = None
    node: str = ""
    is_evicted: bool = False

    @property
    def waited_s(self) -> float | None:
        """How long it waited for its node; None: it still does, or never got one."""
        return None if self.bound_s is None else self.bound_s - self.created_s


@dataclass(frozen=True, slots=True)
class Sample:
    """The cluster at one moment.

    Attributes
    ----------
    at_s : float
    n_nodes, n_running, n_waiting : int
    n_evicted : int
        Pods evicted so far.
    used, room : dict[str, int]
        Requested and allocatable amounts by resource.
    """

    at_s: float
    n_nodes: int
    n_running: int
    n_waiting: int
    n_evicted: int
    used: dict[str, int]
    room: dict[str, int]


class History:
    """Watches a cluster and takes notes.

    Parameters
    ----------
    clock : Callable[[], float]
    sample_every_s : float
        How far apart samples are.

    Attributes
    ----------
    pods : dict[str, PodHistory]
        By uid, in the order of their creation.
    samples : list[Sample]
    used, room : Counter[str]
        Requested and allocatable amounts now, by resource.
    used_seconds, room_seconds : dict[str, float]
        The same, summed up over time.
    """

    def __init__(self, clock: Callable[[], float], sample_every_s: float) -> None:
        self._clock = clock
        self._sample_every_s = sample_every_s
        self._next_sample_s = self._last_s = self.started_s = clock()
        self.pods: dict[str, PodHistory] = {}
        self.samples: list[Sample] = []
        self.used: Counter[str] = Counter()
        self.room: Counter[str] = Counter()
        self.used_seconds: dict[str, float] = defaultdict(float)
        self.room_seconds: dict[str, float] = defaultdict(float)
        self.n_nodes = self.n_running = self.n_waiting = self.n_evicted = 0

    def on_change(self, old: Any | None, new: Any | None) -> None:
        """Take note of a change."""
        obj = old if new is None else new
        if isinstance(obj, Pod):
            self._advance()
            self._pod(old, new)
        elif isinstance(obj, Node):
            self._advance()
            for node, sign in ((old, -1), (new, 1)):
                if node is not None:
                    _add(self.room, node_allocatable(node), sign)
                    self.n_nodes += sign

    def finish(self) -> None:
        """Take the last sample."""
        self._advance()
        if not self.samples or self.samples[-1].at_s < self._clock():
            self._sample(self._clock())

    def _pod(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            assert old is not None
            known = self.pods[old.metadata.uid]
            known.ended_s = self._clock()
            self._count(old, -1)
            return
        uid = new.metadata.uid
        known = self.pods.get(uid) or PodHistory(new.key, new.priority, self._clock())
        self.pods[uid] = known
        if new.is_terminating and not known.is_evicted and _is_evicted(new):
            known.is_evicted = True
            self.n_evicted += 1
        was_bound = old is not None and bool(old.spec.node_name)
        if old is None:
            self._count(new, 1)
        elif new.spec.node_name and not was_bound:
            self._count(old, -1)
            self._count(new, 1)
        if new.spec.node_name and not was_bound:
            known.node, known.bound_s = new.spec.node_name, self._clock()

    def _count(self, pod: Pod, sign: int) -> None:
        if pod.spec.node_name:
            self.n_running += sign
            _add(self.used, pod_amounts(pod).requested, sign)
        else:
            self.n_waiting += sign

    def _advance(self) -> None:
        """Go on to the present: everything stayed as it was since the last change."""
        now = self._clock()
        # A sample shows what its moment came to, so it waits for time to go on.
        while self._next_sample_s < now:
            self._sample(self._next_sample_s)
            self._next_sample_s += self._sample_every_s
        elapsed_s = now - self._last_s
        if elapsed_s > 0:
            for total, amounts in ((self.used_seconds, self.used), (self.room_seconds, self.room)):
                for name, amount in amounts.items():
                    total[name] += amount * elapsed_s
            self._last_s = now

    def _sample(self, at_s: float) -> None:
        self.samples.append(
            Sample(
                at_s,
                self.n_nodes,
                self.n_running,
                self.n_waiting,
                self.n_evicted,
                {name: amount for name, amount in self.used.items() if amount},
                dict(self.room),
            )
        )


def _is_evicted(pod: Pod) -> bool:
    return any(condition.reason == "PreemptionByScheduler" for condition in pod.status.conditions)


def _add(total: Counter[str], amounts: dict[str, int], sign: int) -> None:
    for name, amount in amounts.items():
        total[name] += sign * amount
