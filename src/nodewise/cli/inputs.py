"""What every verb starts with: files to a cluster, flags to a scheduler, with a progress bar on a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from nodewise.api.selectors import Selector
from nodewise.cli.label_selector import parse_label_selector
from nodewise.cluster.load import LoadedCluster, load_cluster
from nodewise.cluster.object_set import InputError
from nodewise.config.errors import ConfigError
from nodewise.config.load import default_configuration, load_configuration
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.errors import NodewiseError
from nodewise.plugins import in_tree_registry
from nodewise.runtime.selection import TieBreak
from nodewise.simulation.session import Session, SessionOptions, open_session

T = TypeVar("T")
YAML_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class Opened:
    """A cluster with its scheduler, and what was wrong with the input."""

    session: Session
    cluster: LoadedCluster
    errors: list[InputError]


class UsageError(NodewiseError):
    """The command line asks for something that cannot be done."""


def split_inputs(arguments: argparse.Namespace) -> tuple[list[str], str]:
    """Tell input files from the pod that may stand last."""
    paths, pod = list(arguments.filename), ""
    positional = list(arguments.inputs)
    if positional and (paths or len(positional) > 1) and _looks_like_pod(positional[-1]):
        pod = positional.pop()
    paths.extend(positional)
    if not paths:
        raise UsageError("no input: give a FILE, a directory, or - for standard input")
    return paths, pod.removeprefix("pod/").removeprefix("pods/")


def _looks_like_pod(text: str) -> bool:
    return text != "-" and not text.lower().endswith(YAML_SUFFIXES) and not os.path.exists(text)


def open_cluster(arguments: argparse.Namespace, paths: list[str]) -> Opened:
    """Read the files and put a scheduler over them."""
    configuration = _read_configuration(arguments.config) if arguments.config else default_configuration()
    registry = in_tree_registry()
    registry.load_entry_points()
    added = [registry.load_plugin(source) for source in arguments.plugin]
    with loading_bar() as report:
        cluster = load_cluster(paths, workloads=arguments.workloads, stdin=sys.stdin.buffer, progress=report)
    options = SessionOptions(
        TieBreak(arguments.tie_break), arguments.seed, arguments.percentage_of_nodes_to_score, tuple(added)
    )
    session = open_session(cluster.objects, configuration, registry, options)
    return Opened(session, cluster, cluster.errors)


def _read_configuration(path: str) -> KubeSchedulerConfiguration:
    try:
        return load_configuration(path)
    except OSError as error:
        raise UsageError(f"--config {path}: {error.strerror or error}") from error
    except ConfigError as error:
        raise UsageError(f"--config {path}: {error}") from error


def pod_filter(arguments: argparse.Namespace) -> Callable[[str, Mapping[str, str]], bool]:
    """Return which pods to list, by namespace and labels."""
    namespace = "" if arguments.all_namespaces else arguments.namespace
    selector: Selector | None = parse_label_selector(arguments.selector) if arguments.selector else None

    def wanted(pod_namespace: str, labels: Mapping[str, str]) -> bool:
        return (not namespace or pod_namespace == namespace) and (selector is None or selector.matches(labels))

    return wanted


def print_problems(opened: Opened, extra: Iterable[InputError] = ()) -> None:
    """Say on standard error what was refused and what was left out, a line each."""
    for error in (*opened.errors, *extra):
        print(f"nodewise: {error}", file=sys.stderr)
    for note in (*opened.cluster.notes, *opened.session.notes):
        print(f"note: {note}", file=sys.stderr)


@contextmanager
def loading_bar() -> Iterator[Callable[[str, int, int], None] | None]:
    """Show how far reading is, on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, object] = {}

        def report(phase: str, done: int, total: int) -> None:
            task = tasks.setdefault(phase, bar.add_task(phase, total=total)) if phase not in tasks else tasks[phase]
            bar.update(task, completed=done, total=total)  # type: ignore[arg-type]

        yield report


def with_progress(items: Iterator[T], total: int, what: str) -> Iterator[T]:
    """Pass items on, with a bar on a terminal when there are many."""
    if total < 500 or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        for done, item in enumerate(items, 1):
            if done % 64 == 0:
                bar.update(task, completed=done)
            yield item


def source_of(opened: Opened, pod_key: str) -> str:
    """Return where in the input a pod stands."""
    return opened.cluster.sources.get(pod_key, "")
