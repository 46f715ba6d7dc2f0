"""`nodewise explain`."""

from __future__ import annotations

import argparse
import sys
from typing import Protocol

from nodewise.cli.explained_pod import find_subject
from nodewise.cli.inputs import Opened, UsageError, open_inputs, pod_filter, read_inputs, split_inputs
from nodewise.cli.interrupt import stop_request
from nodewise.cli.main import EXIT_DOES_NOT_FIT, EXIT_ERROR, EXIT_INTERRUPTED, EXIT_OK
from nodewise.cli.problems import Problems
from nodewise.cli.progress import with_progress
from nodewise.cli.structured import DocumentWriter, error_document, explanation_document
from nodewise.cluster.object_set import InputError
from nodewise.simulation.explain import Explanation, explain
from nodewise.simulation.group_explanation import GroupExplainer


class _Output(Protocol):
    """Where explanations go, one after another: those of many pods on many nodes do not fit into memory at once."""

    def add(self, explanation: Explanation) -> None: ...

    def close(self, errors: list[InputError]) -> None: ...


def run_explain(arguments: argparse.Namespace) -> int:
    """Print what every plugin says about one pod, or about every pending pod."""
    paths, pod_name = split_inputs(arguments)
    if pod_name and arguments.all:
        raise UsageError(f"give the pod {pod_name} or --all, not both")
    wanted = pod_filter(arguments)
    inputs = read_inputs(arguments, paths)
    subject = find_subject(inputs, pod_name, arguments.namespace) if pod_name else None
    opened = open_inputs(inputs)
    if subject is not None:
        pods = [pod for pod in opened.session.waiting if pod.pod is subject.pod]
    else:
        pods = [p for p in opened.session.waiting if wanted(p.pod.metadata.namespace, p.pod.metadata.labels)]
    is_single = bool(pod_name) or len(pods) == 1
    output = _output(arguments, opened, is_single=is_single)
    with_nodes = is_single or arguments.output not in ("table", "wide")
    problems = Problems()
    fits, n_done = True, 0
    with stop_request() as stop:
        groups = GroupExplainer(opened.session)
        explanations = (explain(opened.session, pod, with_nodes=with_nodes, groups=groups) for pod in pods)
        for explanation in with_progress(explanations, len(pods), "explaining pods"):
            n_done += 1
            if subject is not None:
                subject.tell(explanation, opened.session.notes)
            output.add(explanation)
            if explanation.error:
                problems.add_failure(explanation.pod, explanation.error)
            fits = fits and _fits(explanation)
            if stop.is_made:
                opened.session.notes.append(f"interrupted: {len(pods) - n_done} of {len(pods)} pods are left out")
                break
    output.close(opened.errors)
    sys.stdout.flush()
    problems.print(opened)
    if stop.is_made:
        return EXIT_INTERRUPTED
    if opened.errors or problems:
        return EXIT_ERROR
    return EXIT_OK if fits else EXIT_DOES_NOT_FIT


def _fits(explanation: Explanation) -> bool:
    """Tell whether a pod gets a node, or is not tried at all."""
    if explanation.skipped:
        return True
    group = explanation.pod_group
    return bool(explanation.feasible) and (group is None or bool(group.node))


class _Document:
    def __init__(self, output: str) -> None:
        self._writer = DocumentWriter("Explanation", output)

    def add(self, explanation: Explanation) -> None:
        self._writer.add(explanation_document(explanation))

    def close(self, errors: list[InputError]) -> None:
        self._writer.close({"inputErrors": [error_document(error) for error in errors]})


def _output(arguments: argparse.Namespace, opened: Opened, *, is_single: bool) -> _Output:
    if arguments.output not in ("table", "wide"):
        return _Document(arguments.output)
    wide = arguments.output == "wide"
    if is_single:
        from nodewise.cli.explanation_table import ExplanationPage

        return ExplanationPage(opened.session, wide=wide)
    from nodewise.cli.explanation_list import ExplanationList

    return ExplanationList(wide=wide)
