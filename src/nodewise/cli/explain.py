"""`nodewise explain`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from nodewise.cli.inputs import (
    Opened,
    UsageError,
    open_cluster,
    pod_filter,
    print_problems,
    source_of,
    split_inputs,
    with_progress,
)
from nodewise.cli.main import EXIT_DOES_NOT_FIT, EXIT_ERROR, EXIT_OK
from nodewise.cli.structured import error_document, explanation_document, print_document, print_line
from nodewise.cluster.object_set import InputError
from nodewise.simulation.explain import Explanation, explain
from nodewise.state.pod_info import PodInfo


def run_explain(arguments: argparse.Namespace) -> int:
    """Print what every plugin says about one pod, or about every pending pod."""
    paths, pod_name = split_inputs(arguments)
    opened = open_cluster(arguments, paths)
    wanted = pod_filter(arguments)
    if pod_name:
        pods = [_find(opened, pod_name, arguments.namespace)]
    else:
        pods = [p for p in opened.session.pending if wanted(p.pod.metadata.namespace, p.pod.metadata.labels)]
    unsupported: list[InputError] = []
    fits = True
    explanations = (explain(opened.session, pod) for pod in pods)
    for explanation in _print_all(arguments, opened, explanations, len(pods)):
        if explanation.unsupported_field:
            source = source_of(opened, explanation.pod)
            where, why = explanation.unsupported_field, explanation.error.partition(": ")[2]
            unsupported.append(InputError(source, f"Pod {explanation.pod}", where, why))
        fits = fits and bool(explanation.feasible or explanation.skipped)
    sys.stdout.flush()
    print_problems(opened, unsupported)
    if opened.errors or unsupported:
        return EXIT_ERROR
    return EXIT_OK if fits else EXIT_DOES_NOT_FIT


def _print_all(
    arguments: argparse.Namespace, opened: Opened, explanations: Iterator[Explanation], total: int
) -> Iterator[Explanation]:
    """Print explanations as they come, and pass them on."""
    if arguments.output == "jsonl":
        for explanation in with_progress(explanations, total, "explaining pods"):
            print_line(explanation_document(explanation))
            yield explanation
    elif arguments.output in ("json", "yaml"):
        done = list(with_progress(explanations, total, "explaining pods"))
        pods = [explanation_document(explanation) for explanation in done]
        document = {"apiVersion": "nodewise/v1", "kind": "Explanation", "pods": pods}
        document["inputErrors"] = [error_document(error) for error in opened.errors]
        print_document(document, arguments.output, lines_of="pods")
        yield from done
    else:
        from nodewise.cli.explanation_table import print_explanation, print_explanations

        if total == 1:
            for explanation in explanations:
                print_explanation(explanation, opened.session, wide=arguments.output == "wide")
                yield explanation
        else:
            done = list(with_progress(explanations, total, "explaining pods"))
            print_explanations(done, wide=arguments.output == "wide")
            yield from done


def _find(opened: Opened, name: str, namespace: str) -> PodInfo:
    keys = {pod.key: pod for pod in opened.session.pending}
    if "/" in name:
        matches = [name] if name in keys else []
    else:
        matches = [
            key for key in keys if key.partition("/")[2] == name and (not namespace or key.startswith(f"{namespace}/"))
        ]
    if len(matches) == 1:
        return keys[matches[0]]
    if matches:
        raise UsageError(f"pod {name} is ambiguous: {', '.join(sorted(matches))}")
    running = [pod for pod in opened.cluster.objects.pods if pod.key == name or pod.metadata.name == name]
    if running:
        raise UsageError(f"pod {name} is not pending: it is on node {running[0].spec.node_name}")
    close = [key for key in keys if name.partition("/")[2] in key or name in key]
    hint = f"; did you mean {', '.join(sorted(close)[:5])}?" if close and name else ""
    raise UsageError(f"no pending pod {name} in the input{hint}")
