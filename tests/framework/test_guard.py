"""A guard passes on what a plugin says, and names what it should not have done."""

from typing import Any

import numpy as np
import pytest

from nodewise.errors import PluginError
from nodewise.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint
from nodewise.framework.guard import guarded
from nodewise.framework.node_plugin import adapt
from nodewise.framework.plugin import FilterPlugin, NormalizePlugin, PostFilterResult, ScorePlugin
from nodewise.framework.pod_group_plugin import (
    Placement,
    PlacementProgress,
    PodGroupInfo,
    PodGroupPostFilterResult,
)
from nodewise.framework.status import SUCCESS, Code, Status
from nodewise.plugins import in_tree_registry
from nodewise.runtime.profile import implemented_points
from nodewise.state.dirty_log import Reads
from nodewise.state.pod_groups import key_of
from nodewise.testing.builders import FakeHandle, make_pod
from nodewise.testing.group_builders import make_group


class Answering:
    """A plugin over columns that answers as it is told."""

    name = "Answering"
    reads = Reads.NODE

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def _answer(self, method: str) -> Any:
        answer = self.answers[method]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def class_key(self, pod: Any) -> Any:
        return self._answer("class_key")

    def compile(self, pod: Any, snapshot: Any) -> Any:
        return self._answer("compile")

    def filter(self, state: Any, columns: Any, rows: Any) -> Any:
        return self._answer("filter")

    def rejection(self, state: Any, code: int) -> Any:
        return self._answer("rejection")

    def filter_row(self, state: Any, columns: Any, row: int) -> Any:
        return self._answer("filter_row")

    def score(self, state: Any, columns: Any, rows: Any) -> Any:
        return self._answer("score")

    def normalize(self, state: Any, scores: Any) -> Any:
        return self._answer("normalize")

    def post_filter(self, verdict: Any) -> Any:
        return self._answer("post_filter")

    def pre_enqueue(self, pod: Any) -> Any:
        return self._answer("pre_enqueue")


ROWS = np.array([0, 1])


def test_every_in_tree_plugin_has_the_same_extension_points_behind_a_guard() -> None:
    registry = in_tree_registry()
    for name in registry:
        plugin = registry.make(name, None, FakeHandle())
        if implemented_points(plugin):
            assert implemented_points(guarded(plugin)) == implemented_points(plugin), name


def test_a_plugin_over_single_nodes_keeps_its_points() -> None:
    class OnlyScoring:
        name = "OnlyScoring"

        def score(self, pod: Any, node: Any) -> int:
            return 1

    guard = guarded(adapt(OnlyScoring()))
    assert isinstance(guard, ScorePlugin)
    assert not isinstance(guard, FilterPlugin | NormalizePlugin)


def test_right_answers_pass_unchanged() -> None:
    status = Status.unschedulable("full")
    codes, scores = np.array([0, 3]), np.array([5, 7])
    guard = guarded(
        Answering(class_key=("a",), compile=None, filter=codes, rejection=status, filter_row=np.int64(3), score=scores)
    )
    assert guard.class_key(None) == ("a",)
    assert guard.compile(None, None) is None
    assert guard.filter(None, None, ROWS) is codes
    assert guard.filter_row(None, None, 1) == 3
    assert guard.rejection(None, 3) is status
    assert guard.score(None, None, ROWS) is scores
    assert guarded(Answering(score=None)).score(None, None, ROWS) is None
    assert guarded(Answering(filter=np.array([False, True]), rejection=status)).filter(None, None, ROWS).tolist() == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("method", "answers", "message"),
    [
        ("filter", {"filter": [0, 0]}, r"returned \[0, 0\], expected an array of int64"),
        ("filter", {"filter": np.zeros(2)}, "returned an array of float64, expected int64"),
        ("filter", {"filter": np.zeros(3, int)}, r"returned an array of shape \(3,\), expected \(2,\)"),
        ("filter", {"filter": np.array([0, 1]), "rejection": "no"}, "code 1 means 'no', expected a Status"),
        ("filter", {"filter": np.array([0, 1]), "rejection": Status.error("down")}, "filter plugin: down$"),
        ("filter", {"filter": np.array([0, 1]), "rejection": SUCCESS}, "filter plugin"),
        ("filter", {"filter": OSError()}, "filter plugin: OSError"),
        ("score", {"score": "x" * 100}, r"failed with: returned 'x+… \(str\), expected"),
        ("score", {"score": ValueError("a\n b" + "x" * 999)}, "failed with: ValueError: a bx+…"),
    ],
)
def test_wrong_answers_are_named(method: str, answers: dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=message) as caught:
        getattr(guarded(Answering(**answers)), method)(None, None, ROWS)
    assert "Answering" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_failures_before_and_after_the_cycle_are_statuses() -> None:
    status = guarded(Answering(pre_enqueue=KeyError("k"))).pre_enqueue(None)
    assert status.code is Code.ERROR
    assert status.message.startswith("running PreEnqueue plugin \"Answering\": KeyError: 'k' (test_guard.py:")
    assert guarded(Answering(pre_enqueue=None)).pre_enqueue(None).code is Code.ERROR
    result = guarded(Answering(post_filter=SystemExit(3))).post_filter(None)
    assert isinstance(result, PostFilterResult)
    assert result.status.message.startswith('running PostFilter plugin "Answering": SystemExit: 3 (test_guard.py:')


def test_an_interrupt_is_not_kept_from_the_user() -> None:
    with pytest.raises(KeyboardInterrupt):
        guarded(Answering(score=KeyboardInterrupt())).score(None, None, ROWS)


# --- events -----------------------------------------------------------------------------------------------------------


class Listening(Answering):
    """Hears of new nodes."""

    def events_to_register(self) -> Any:
        return self._answer("events_to_register")


NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)


def listening(hint: Any) -> Any:
    """Give the hint of a guarded plugin."""
    (event,) = guarded(Listening(events_to_register=[ClusterEventWithHint(NODE_ADD, hint)])).events_to_register()
    assert event.event == NODE_ADD
    return event.hint


def test_a_guard_passes_events_on_where_its_plugin_has_some() -> None:
    assert listening(None) is None
    assert listening(lambda pod, old, new: QueueingHint.SKIP)(make_pod("p"), None, None) is QueueingHint.SKIP
    assert not hasattr(guarded(Answering()), "events_to_register")


@pytest.mark.parametrize("error", [KeyError("zone"), SystemExit(3)])
def test_a_hint_that_fails_does_so_as_a_plugin_error(error: BaseException) -> None:
    def failing(pod: Any, old: Any, new: Any) -> Any:
        raise error

    with pytest.raises(PluginError, match=f'a queueing hint of plugin "Answering": {type(error).__name__}'):
        listening(failing)(make_pod("p"), None, None)


def test_a_hint_that_answers_something_else_does_so_as_a_plugin_error() -> None:
    with pytest.raises(PluginError, match="returned True, expected a QueueingHint"):
        listening(lambda pod, old, new: True)(make_pod("p"), None, None)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "returned None, expected a list of events"),
        ([NODE_ADD], "expected a ClusterEventWithHint"),
        (KeyError("zone"), "KeyError: 'zone'"),
    ],
)
def test_events_of_another_form_are_refused(answer: Any, text: str) -> None:
    with pytest.raises(PluginError, match='asking plugin "Answering" for its events_to_register') as found:
        guarded(Listening(events_to_register=answer)).events_to_register()
    assert text in str(found.value)


class AnsweringForGroups:
    """A plugin about pod groups that answers everything in the same way."""

    name = "Answering"

    def __init__(self, answer: Any) -> None:
        self.given = answer

    def _answer(self) -> Any:
        if isinstance(self.given, BaseException):
            raise self.given
        return self.given

    def generate_placements(self, group: Any, parent: Any) -> Any:
        return self._answer()

    def score_placement(self, group: Any, placement: Any, proposed: Any) -> Any:
        return self._answer()

    def normalize_placements(self, group: Any, scores: Any) -> Any:
        return self._answer()

    def placement_feasible(self, group: Any, progress: Any) -> Any:
        return self._answer()

    def pod_group_post_filter(self, verdict: Any) -> Any:
        return self._answer()


GROUP = make_group("g")
INFO = PodGroupInfo(key_of(GROUP), GROUP)
EVERYWHERE = Placement("", ROWS)
ASKED: dict[str, tuple[Any, ...]] = {
    "generate_placements": (INFO, EVERYWHERE),
    "score_placement": (INFO, EVERYWHERE, ()),
    "normalize_placements": (INFO, ROWS),
    "placement_feasible": (INFO, PlacementProgress(0, 1)),
    "pod_group_post_filter": (None,),
}


def said_of(answer: Any, method: str) -> Any:
    said = getattr(guarded(AnsweringForGroups(answer)), method)(*ASKED[method])
    return said.status if isinstance(said, PodGroupPostFilterResult) else said


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("generate_placements", [EVERYWHERE]),
        ("score_placement", 7),
        ("placement_feasible", SUCCESS),
        *[(method, Status.unschedulable("no")) for method in ASKED],
    ],
)
def test_right_answers_about_groups_pass_unchanged(method: str, answer: Any) -> None:
    assert said_of(answer, method) == answer


def test_normalized_scores_of_placements_pass_unchanged() -> None:
    assert said_of(ROWS, "normalize_placements").tolist() == ROWS.tolist()


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize(("answer", "text"), [(ValueError("oh"), "ValueError: oh"), ("yes", "returned 'yes'")])
def test_failures_and_wrong_answers_about_groups_are_statuses(method: str, answer: Any, text: str) -> None:
    said = said_of(answer, method)
    assert said.code is Code.ERROR
    assert "Answering" in said.message
    assert text in said.message
