"""The rules of the scheduling queue, plainly: lists that are searched, and a log that is read from the start."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor

WAITING = ("unschedulable", "gated")


@dataclass
class ModelPod:
    """A pod, in the queue or in flight.

    Attributes
    ----------
    stamp : tuple[float, int]
        Time and number of the last decision to queue it.
    mark : int
        How long the log was when it was popped.
    """

    name: str
    uid: str
    priority: int
    place: str = ""
    stamp: tuple[float, int] = (0.0, 0)
    attempts: int = 0
    n_rejections: int = 0
    n_errors: int = 0
    rejectors: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    gate: str = ""
    flushed: float = 0.0
    is_flushed: bool = False
    first_active: float | None = None
    mark: int = 0

    @property
    def order(self) -> tuple[int, float, int]:
        return (-self.priority, *self.stamp)

    @property
    def expiration(self) -> int | None:
        count = self.n_errors or self.n_rejections
        return floor(self.stamp[0] + min(2 ** (count - 1), 10)) if count else None


class QueueModel:
    """Pods in one list; each says itself where it is."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.now = start
        self.pods: list[ModelPod] = []
        self.log: list[tuple[str, str]] = []
        self.closed: dict[str, set[str]] = {"Door": set(), "Lock": set()}
        self.n_stamps = 0

    # --- the plugins --------------------------------------------------------------------------------------------------

    def says_queue(self, plugin: str, pod: ModelPod, kind: str, about: str) -> bool:
        return {
            "Fit": kind in ("pod deleted", "node added"),
            "Names": kind == "node label" and about == pod.name,
            "Self": kind == "own label",
            "Door": kind == "claim added",
            "Lock": kind == "node added",
        }[plugin]

    def is_heard(self, kind: str) -> bool:
        return kind in ("pod deleted", "node added", "node label", "own label", "claim added")

    # --- rules --------------------------------------------------------------------------------------------------------

    def at(self, *places: str) -> list[ModelPod]:
        return [pod for pod in self.pods if pod.place in places]

    def queued(self, name: str) -> ModelPod | None:
        found = [pod for pod in self.pods if pod.name == name and pod.place != "flight"]
        assert len(found) <= 1
        return found[0] if found else None

    def restamp(self, pod: ModelPod) -> None:
        self.n_stamps += 1
        pod.stamp = (self.now, self.n_stamps)

    def worth(self, pod: ModelPod, kind: str, about: str) -> str:
        if not pod.rejectors or kind == "timeout":
            return "after backoff"
        if kind == "activated":
            return "after backoff" if about == pod.uid else "skip"
        says = {plugin for plugin in pod.rejectors if self.says_queue(plugin, pod, kind, about)}
        if says & pod.pending:
            return "immediately"
        return "after backoff" if says else "skip"

    def check_gates(self, pod: ModelPod) -> bool:
        for plugin in sorted(self.closed, key=lambda plugin: (plugin != pod.gate, plugin)):
            if pod.name in self.closed[plugin]:
                pod.gate = plugin
                pod.rejectors.add(plugin)
                pod.is_flushed = False
                pod.place = "gated"
                return False
        pod.gate = ""
        return True

    def requeue(self, pod: ModelPod, strategy: str) -> None:
        if strategy == "skip":
            pod.place = "gated" if pod.gate else "unschedulable"
        elif strategy == "after backoff" and pod.expiration is not None and pod.expiration >= floor(self.now):
            if self.check_gates(pod):
                pod.place = "backoff"
        else:
            self.activate(pod)

    def activate(self, pod: ModelPod) -> None:
        if self.check_gates(pod):
            pod.place = "active"
            pod.first_active = self.now if pod.first_active is None else pod.first_active

    def add(self, pod: ModelPod) -> None:
        self.pods.append(pod)
        self.restamp(pod)
        self.activate(pod)

    def update(self, name: str, uid: str, priority: int, kind: str) -> None:
        if any(pod.uid == uid for pod in self.at("flight")):
            self.log.append((kind, uid))
            return
        pod = self.queued(name)
        assert pod is not None
        pod.priority = priority
        if pod.place in WAITING:
            self.requeue(pod, self.worth(pod, kind, uid))

    def delete(self, name: str) -> None:
        self.pods = [pod for pod in self.pods if pod.name != name or pod.place == "flight"]

    def activate_by_name(self, name: str, uid: str) -> None:
        pod = self.queued(name)
        if pod is not None and pod.place == "backoff":
            pod.place = "active"
        elif pod is not None and pod.place in WAITING:
            self.activate(pod)
        elif any(pod.uid == uid for pod in self.at("flight")):
            self.log.append(("activated", uid))

    def pop(self) -> ModelPod | None:
        active = sorted(self.at("active"), key=lambda pod: pod.order)
        early = sorted(
            (pod for pod in self.at("backoff") if pod.rejectors), key=lambda pod: (pod.expiration or 0, *pod.order)
        )
        for pod in (*active, *early):
            pod.place, pod.mark = "flight", len(self.log)
            pod.attempts += 1
            return pod
        return None

    def done(self, pod: ModelPod) -> None:
        self.pods.remove(pod)

    def give_back(self, pod: ModelPod, rejectors: set[str], pending: set[str]) -> None:
        pod.gate = ""
        pod.rejectors, pod.pending = rejectors | pending, pending
        pod.n_errors = 0 if pod.rejectors else pod.n_errors + 1
        pod.n_rejections += bool(pod.rejectors)
        pod.is_flushed, pod.flushed = False, 0.0
        self.restamp(pod)
        answers = {self.worth(pod, kind, about) for kind, about in self.log[pod.mark :]}
        if not pod.rejectors:
            answers = {"after backoff"}
        self.requeue(pod, next((a for a in ("immediately", "after backoff") if a in answers), "skip"))

    def happen(self, kind: str, about: str) -> None:
        if not self.is_heard(kind):
            return
        for pod in self.at(*WAITING):
            if pod.gate and not self.says_queue(pod.gate, pod, kind, about):
                continue
            strategy = self.worth(pod, kind, about)
            if strategy != "skip":
                self.requeue(pod, strategy)
        self.log.append((kind, about))

    def go_to(self, later: float) -> None:
        """Let time pass, tick by tick."""
        seconds = [float(second) for second in range(floor(self.now) + 1, floor(later) + 1)]
        halves = [self.start + 30 * n for n in range(10_000) if self.now < self.start + 30 * n <= later]
        for tick in sorted(seconds + halves):
            self.now = tick
            if tick in halves:
                self.flush_unschedulable()
            else:
                self.flush_backoff()
        self.now = later

    def flush_backoff(self) -> None:
        for pod in self.at("backoff"):
            if pod.expiration is not None and pod.expiration < floor(self.now):
                pod.place = "active"

    def flush_unschedulable(self) -> None:
        old = [pod for pod in self.at(*WAITING) if self.now - max(pod.stamp[0], pod.flushed) > 300]
        for pod in old:
            pod.is_flushed, pod.flushed = True, self.now
            self.requeue(pod, self.worth(pod, "timeout", ""))
        if old:
            self.log.append(("timeout", ""))
