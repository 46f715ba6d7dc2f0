"""The conformance suite finds each way of breaking the contract of plugins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

from nodewise.api.objects import Pod
from nodewise.framework.events import QUEUE, SKIP, ActionType, ClusterEvent, EventResource, register
from nodewise.framework.plugin import Handle
from nodewise.framework.status import SUCCESS, Status
from nodewise.state.columns import Columns, NodeTable, Rows
from nodewise.state.dirty_log import Reads
from nodewise.state.snapshot import Snapshot
from nodewise.testing.check_plugin import PluginCheckError, check_plugin


class Honest:
    """Rejects nodes with an odd number of cores, and likes those with free cores."""

    name = "Honest"
    reads = Reads.RESOURCES | Reads.NODE

    def __init__(self, args: object, handle: Handle) -> None:
        pass

    def class_key(self, pod: Pod) -> Hashable:
        return None

    def compile(self, pod: Pod, snapshot: Snapshot) -> Any:
        return "state"

    def filter(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return columns.allocatable[0][rows] // 1000 % 2

    def rejection(self, state: Any, code: int) -> Status:
        return Status.unschedulable("odd")

    def score(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return np.clip((columns.allocatable[0][rows] - columns.requested[0][rows]) // 100, 0, 100)


class WrongType(Honest):
    def filter(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return columns.allocatable[0][rows] > 0


class NegativeCode(Honest):
    def filter(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return -super().filter(state, columns, rows)


class ReadOnlyAnswer(Honest):
    def filter(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return columns.allocatable[0][rows]


class RejectionThatSucceeds(Honest):
    def rejection(self, state: Any, code: int) -> Status:
        return SUCCESS


class ForgetsRows(Honest):
    def score(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return np.arange(len(columns.alive[rows]), dtype=np.int64)


class RowAnswerDiffers(Honest):
    def filter_row(self, state: Any, columns: Columns, row: int) -> int:
        return 0


class ScoreTooHigh(Honest):
    def score(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return np.full(len(columns.alive[rows]), 101)


class NormalizeWrites(Honest):
    def normalize(self, state: Any, scores: Any) -> Any:
        scores //= 2
        return scores


class Writes(Honest):
    def filter(self, state: Any, columns: Columns, rows: Rows) -> Any:
        if isinstance(columns, NodeTable):
            columns.writable("non_zero")[0] += 1
        return super().filter(state, columns, rows)


class ReadsMoreThanItSays(Honest):
    reads = Reads.NODE


class KeyIsTooCoarse(Honest):
    def compile(self, pod: Pod, snapshot: Snapshot) -> Any:
        return pod.spec.tolerations

    def filter(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return np.full(len(columns.alive[rows]), len(state))


class StateGoesStale(Honest):
    def compile(self, pod: Pod, snapshot: Snapshot) -> Any:
        return snapshot.n_nodes % 2

    def filter(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return np.full(len(columns.alive[rows]), state)


class Changeable(Honest):
    calls = 0

    def filter(self, state: Any, columns: Columns, rows: Rows) -> Any:
        self.calls += 1
        return np.full(len(columns.alive[rows]), self.calls)

    def rejection(self, state: Any, code: int) -> Status:
        return Status.unschedulable(str(code))


class KeepsPodsByRow(Honest):
    reads = Reads.RESOURCES | Reads.PODS

    def filter(self, state: Any, columns: Columns, rows: Rows) -> Any:
        return np.arange(columns.n_rows)[rows] % 2


class ListensWrongly(Honest):
    def events_to_register(self) -> Any:
        return [ClusterEvent(EventResource.NODE, ActionType.ADD)]


class HintFails(Honest):
    def events_to_register(self) -> Any:
        return [register(EventResource.NODE, ActionType.ADD, self.after_node_addition)]

    def after_node_addition(self, pod: Pod, old: Any, new: Any) -> Any:
        return QUEUE if old.metadata.labels else SKIP  # but an object that is new was nothing before


class HintSaysTrue(Honest):
    def events_to_register(self) -> Any:
        return [register(EventResource.ASSIGNED_POD, ActionType.DELETE, self.after_pod_deletion)]

    def after_pod_deletion(self, pod: Pod, old: Pod, new: None) -> Any:
        return old.priority > 0


class ListensToEverything(Honest):
    """Says Skip to all that can happen, and counts it."""

    asked: ClassVar[Counter[EventResource]] = Counter()

    def events_to_register(self) -> Any:
        return [register(resource, ActionType.ALL, partial(self.hint, resource)) for resource in EventResource]

    def hint(self, resource: EventResource, pod: Pod, old: Any, new: Any) -> Any:
        self.asked[resource] += 1
        assert old is not None or new is not None
        return SKIP


class Nameless(Honest):
    name = ""


class DoesNothing:
    name = "DoesNothing"

    def __init__(self, args: object, handle: Handle) -> None:
        pass


def test_an_honest_plugin_passes() -> None:
    check_plugin(Honest)


def test_hints_are_asked_about_objects_of_every_kind_that_is_known() -> None:
    ListensToEverything.asked.clear()
    check_plugin(ListensToEverything)
    assert set(ListensToEverything.asked) == set(EventResource) - {EventResource.WILDCARD}


@pytest.mark.parametrize(
    ("plugin", "problem"),
    [
        (WrongType, "filter returned bool"),
        (NegativeCode, "filter gave code -1"),
        (RejectionThatSucceeds, "expected a Status that rejects"),
        (ForgetsRows, "with all rows"),
        (RowAnswerDiffers, "filter_row differs from filter"),
        (ScoreTooHigh, "a score is 101 after normalizing"),
        (NormalizeWrites, "normalize wrote to the raw scores"),
        (Writes, "the plugin wrote to the columns"),
        (ReadsMoreThanItSays, "covers no such change"),
        (KeyIsTooCoarse, "the class key is that of"),
        (StateGoesStale, "the compiled state is out of date"),
        (Changeable, "asked twice"),
        (KeepsPodsByRow, "on columns of this row alone"),
        (ReadOnlyAnswer, "returned a read-only array"),
        (ListensWrongly, "expected a list of ClusterEventWithHint"),
        (HintFails, "the hint for Node .*, asked about default/plain, raised AttributeError"),
        (HintSaysTrue, "the hint for AssignedPod .* returned (True|False), expected a QueueingHint"),
        (Nameless, "has no name"),
        (DoesNothing, "takes part at no extension point"),
    ],
)
def test_a_broken_promise_is_found(plugin: type, problem: str) -> None:
    with pytest.raises(PluginCheckError, match=problem):
        check_plugin(plugin)
