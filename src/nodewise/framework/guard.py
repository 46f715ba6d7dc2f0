"""Plugins from elsewhere: what they raise or wrongly answer becomes a PluginError in kube-scheduler's words."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np

from nodewise.api.objects import Pod
from nodewise.errors import PluginError
from nodewise.framework.events import ClusterEventWithHint, Hint, QueueingHint
from nodewise.framework.node_plugin import NodePluginAdapter
from nodewise.framework.plugin import EXTENSION_POINTS, PostFilterResult, PreFilterResult
from nodewise.framework.pod_group_plugin import (
    Placement,
    PlacementProgress,
    PodGroupInfo,
    PodGroupPostFilterResult,
    PodGroupVerdict,
    Proposal,
)
from nodewise.framework.status import Status
from nodewise.state.columns import Columns, IntArray, Rows

MAX_TEXT = 300
_COLUMN_METHODS = ("class_key", "compile", "reads")
_NEEDED = {
    "filter": (*_COLUMN_METHODS, "rejection"),
    "pre_filter": _COLUMN_METHODS,
    "pre_score": (*_COLUMN_METHODS, "score"),
    "score": _COLUMN_METHODS,
}
_FAILURES = {
    "class_key": 'running class_key of plugin "{}"',
    "compile": 'running compile of plugin "{}"',
    "sort_key": 'running QueueSort plugin "{}"',
    "pre_filter": 'running PreFilter plugin "{}"',
    "with_pods": 'running with_pods of plugin "{}"',
    "filter": 'running "{}" filter plugin',
    "filter_row": 'running "{}" filter plugin',
    "rejection": 'running "{}" filter plugin',
    "pre_score": 'running PreScore plugin "{}"',
    "score": 'running Score plugins: plugin "{}" failed with',
    "score_row": 'running Score plugins: plugin "{}" failed with',
    "normalize": 'running Normalize on Score plugins: plugin "{}" failed with',
    "reserve": 'running Reserve plugin "{}"',
    "unreserve": 'running Unreserve of Reserve plugin "{}"',
    "permit": 'running Permit plugin "{}"',
    "pre_bind": 'running PreBind plugin "{}"',
    "bind": 'running Bind plugin "{}"',
    "post_bind": 'running PostBind plugin "{}"',
    "events_to_register": 'asking plugin "{}" for its events_to_register',
    "hint": 'running a queueing hint of plugin "{}"',
}
"""What kube-scheduler says of a failure at the extension point that a method belongs to."""


class _Guard:
    """Stands before a plugin."""

    def __init__(self, plugin: Any) -> None:
        self.plugin = plugin
        self.name: str = plugin.name
        if hasattr(plugin, "reads"):
            self.reads = plugin.reads

    def ask(self, method: str, *args: Any) -> Any:
        """Call the plugin; whatever it raises comes out as a PluginError, kept from ending the process too."""
        try:
            return getattr(self.plugin, method)(*args)
        except PluginError:
            raise
        except (Exception, SystemExit) as error:
            raise self.failure(method, describe(error, self.plugin)) from error

    def failure(self, method: str, problem: str) -> PluginError:
        return PluginError(f"{_FAILURES[method].format(self.name)}: {problem}")

    def status(self, state: Any, code: int) -> Status:
        """Return what a code of `filter` means."""
        status = self.ask("rejection", state, code)
        if not isinstance(status, Status):
            raise self.failure("rejection", f"code {code} means {_shown(status)}, expected a Status")
        return status

    def check_rejection(self, state: Any, code: int) -> None:
        """Refuse a verdict that is neither success nor a rejection, as RunFilterPlugins does."""
        status = self.status(state, code)
        if not status.code.is_rejection:
            raise self.failure("filter", status.message)

    def array(self, method: str, answer: Any, length: int) -> IntArray:
        if not isinstance(answer, np.ndarray):
            raise self.failure(method, f"returned {_shown(answer)}, expected an array of int64")
        if answer.dtype.kind not in "iub":
            raise self.failure(method, f"returned an array of {answer.dtype}, expected int64")
        if answer.shape != (length,):
            raise self.failure(method, f"returned an array of shape {answer.shape}, expected ({length},)")
        return answer.astype(np.int64, copy=False)

    def number(self, method: str, answer: Any) -> int:
        if not isinstance(answer, int | np.integer):
            raise self.failure(method, f"returned {_shown(answer)}, expected a whole number")
        return int(answer)

    def answer(self, point: str, method: str, *args: object) -> Any:
        try:
            return getattr(self.plugin, method)(*args)
        except (Exception, SystemExit) as error:
            return Status.error(f'running {point} plugin "{self.name}": {describe(error, self.plugin)}')

    def wrong(self, point: str, answer: object, expected: str) -> Status:
        return Status.error(f'running {point} plugin "{self.name}": returned {_shown(answer)}, expected {expected}')


class _Methods(_Guard):
    """What stands for a plugin's methods; a guard has those that its plugin has."""

    def class_key(self, pod: Any) -> Hashable:
        key: Hashable = self.ask("class_key", pod)
        try:
            hash(key)
        except TypeError as error:
            raise self.failure("class_key", f"returned {_shown(key)}, expected something hashable") from error
        return key

    def pre_enqueue(self, pod: Any) -> Status:
        try:
            status = self.plugin.pre_enqueue(pod)
        except (Exception, SystemExit) as error:
            return Status.error(f'running PreEnqueue plugin "{self.name}": {describe(error, self.plugin)}')
        if isinstance(status, Status):
            return status
        return Status.error(f'running PreEnqueue plugin "{self.name}": returned {_shown(status)}, expected a Status')

    def pre_filter(self, state: Any) -> PreFilterResult:
        result = self.ask("pre_filter", state)
        if not isinstance(result, PreFilterResult):
            raise self.failure("pre_filter", f"returned {_shown(result)}, expected a PreFilterResult")
        return result

    def filter(self, state: Any, columns: Columns, rows: Rows) -> IntArray:
        codes = self.array("filter", self.ask("filter", state, columns, rows), _length(columns, rows))
        if codes.any():
            for code in np.unique(codes[codes != 0]).tolist():
                self.check_rejection(state, code)
        return codes

    def filter_row(self, state: Any, columns: Columns, row: int) -> int:
        code = self.number("filter_row", self.ask("filter_row", state, columns, row))
        if code:
            self.check_rejection(state, code)
        return code

    def rejection(self, state: Any, code: int) -> Status:
        return self.status(state, code)

    def score(self, state: Any, columns: Columns, rows: Rows) -> IntArray | None:
        scores = self.ask("score", state, columns, rows)
        return None if scores is None else self.array("score", scores, _length(columns, rows))

    def score_row(self, state: Any, columns: Columns, row: int) -> int:
        return self.number("score_row", self.ask("score_row", state, columns, row))

    def normalize(self, state: Any, scores: IntArray) -> IntArray:
        return self.array("normalize", self.ask("normalize", state, scores), len(scores))

    def post_filter(self, verdict: Any) -> PostFilterResult:
        """Return an error as a status: the pod stays unschedulable then (schedulingCycle)."""
        try:
            result = self.plugin.post_filter(verdict)
        except (Exception, SystemExit) as error:
            problem = describe(error, self.plugin)
        else:
            if isinstance(result, PostFilterResult):
                return result
            problem = f"returned {_shown(result)}, expected a PostFilterResult"
        return PostFilterResult(Status.error(f'running PostFilter plugin "{self.name}": {problem}'))

    def events_to_register(self) -> list[ClusterEventWithHint]:
        events = self.ask("events_to_register")
        if not isinstance(events, list | tuple):
            raise self.failure("events_to_register", f"returned {_shown(events)}, expected a list of events")
        for event in events:
            if not isinstance(event, ClusterEventWithHint):
                raise self.failure("events_to_register", f"returned {_shown(event)}, expected a ClusterEventWithHint")
        return [event if event.hint is None else replace(event, hint=_guarded(self, event.hint)) for event in events]


class _GroupMethods(_Guard):
    """What stands for a plugin's methods that are about pod groups: all failures are statuses there."""

    def generate_placements(self, group: PodGroupInfo, parent: Placement) -> list[Placement] | Status:
        answer = self.answer("PlacementGenerate", "generate_placements", group, parent)
        if isinstance(answer, Status):
            return answer
        if not isinstance(answer, list) or not all(isinstance(placement, Placement) for placement in answer):
            return self.wrong("PlacementGenerate", answer, "a list of Placement")
        return answer

    def score_placement(self, group: PodGroupInfo, placement: Placement, proposed: Sequence[Proposal]) -> int | Status:
        answer = self.answer("PlacementScore", "score_placement", group, placement, proposed)
        if isinstance(answer, Status):
            return answer
        is_number = isinstance(answer, int | np.integer)
        return int(answer) if is_number else self.wrong("PlacementScore", answer, "a whole number")

    def normalize_placements(self, group: PodGroupInfo, scores: IntArray) -> IntArray | Status:
        answer = self.answer("PlacementScore", "normalize_placements", group, scores)
        if isinstance(answer, Status):
            return answer
        try:
            return self.array("normalize", answer, len(scores))
        except PluginError as error:
            return Status.error(str(error))

    def placement_feasible(self, group: PodGroupInfo, progress: PlacementProgress) -> Status:
        answer = self.answer("PlacementFeasible", "placement_feasible", group, progress)
        return answer if isinstance(answer, Status) else self.wrong("PlacementFeasible", answer, "a Status")

    def pod_group_post_filter(self, verdict: PodGroupVerdict) -> PodGroupPostFilterResult:
        answer = self.answer("PodGroupPostFilter", "pod_group_post_filter", verdict)
        if isinstance(answer, PodGroupPostFilterResult):
            return answer
        if not isinstance(answer, Status):
            answer = self.wrong("PodGroupPostFilter", answer, "a PodGroupPostFilterResult")
        return PodGroupPostFilterResult(answer)


def _guarded(guard: _Guard, hint: Hint) -> Hint:
    """Return a hint whose failures come out as PluginErrors; for the queue any of them means Queue."""

    def ask(pod: Pod, old: Any, new: Any) -> QueueingHint:
        try:
            answer = hint(pod, old, new)
        except (Exception, SystemExit) as error:
            raise guard.failure("hint", describe(error, guard.plugin)) from error
        if not isinstance(answer, QueueingHint):
            raise guard.failure("hint", f"returned {_shown(answer)}, expected a QueueingHint")
        return answer

    return ask


def _passing_on(method: str) -> Callable[..., Any]:
    def call(self: _Guard, *args: Any) -> Any:
        return self.ask(method, *args)

    return call


_GUARDED: dict[str, Callable[..., Any]] = {
    **{method: _passing_on(method) for method in _FAILURES},
    **{name: member for name, member in vars(_Methods).items() if not name.startswith("_")},
    **{name: member for name, member in vars(_GroupMethods).items() if not name.startswith("_")},
}


def guarded(plugin: Any) -> Any:
    """Return a plugin over columns that does what this one does, its failures and wrong answers named.

    Raises
    ------
    PluginError
        When it takes part in no extension point, or lacks a method for one.
    """
    for method, needed in _NEEDED.items():
        missing = [name for name in needed if not hasattr(plugin, name)]
        if hasattr(plugin, method) and missing:
            raise PluginError(f"plugin {plugin.name}: has {method} but not {', '.join(missing)}")
    if not any(isinstance(plugin, protocol) for protocol in EXTENSION_POINTS.values()):
        raise PluginError(f"plugin {plugin.name}: has no method of any extension point, such as filter(pod, node)")
    members = {name: member for name, member in _GUARDED.items() if hasattr(plugin, name)}
    return type("GuardedPlugin", (_Guard,), members)(plugin)


def describe(error: BaseException, plugin: Any) -> str:
    """Return an exception in one line, with the place in the plugin's file that it comes from."""
    text = " ".join(str(error).split())
    shown = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if len(shown) > MAX_TEXT:
        shown = shown[:MAX_TEXT] + "…"
    owner = plugin.plugin if isinstance(plugin, NodePluginAdapter) else plugin
    place = _place(error.__traceback__, getattr(owner, "__module__", ""))
    return f"{shown} ({place})" if place else shown


def _place(traceback: TracebackType | None, module: str) -> str:
    """Return file and line of the innermost frame that is in a module."""
    place = ""
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_globals.get("__name__") == module:
            place = f"{os.path.basename(frame.f_code.co_filename)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place


def _length(columns: Columns, rows: Rows) -> int:
    return len(range(columns.n_rows)[rows]) if isinstance(rows, slice) else len(rows)


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:60]}… ({type(value).__name__})"
