"""What every verb starts with: files to a cluster, flags to a scheduler."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from nodewise.api.selectors import Selector
from nodewise.cli.label_selector import parse_label_selector
from nodewise.cli.progress import progress_bar
from nodewise.cluster.files import InputFile, read_file
from nodewise.cluster.load import LoadedCluster, load_cluster
from nodewise.cluster.object_set import InputError
from nodewise.config.feature_gates import parse_feature_gates
from nodewise.config.load import default_configuration, load_configuration
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.errors import NodewiseError
from nodewise.plugins import in_tree_registry
from nodewise.runtime.selection import TieBreak
from nodewise.simulation.session import Session, SessionOptions, open_session

MAX_MESSAGE = 2000
PodFilter = Callable[[str, Mapping[str, str]], bool]
"""Whether a pod of a namespace with these labels is asked for."""
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
    return paths, pod.removeprefix("pod/").removeprefix("pods/")


def _looks_like_pod(text: str) -> bool:
    return text != "-" and not text.lower().endswith(YAML_SUFFIXES) and not os.path.exists(text)


def open_cluster(arguments: argparse.Namespace, paths: list[str]) -> Opened:
    """Read the files and put a scheduler over them."""
    if not paths:
        raise UsageError("no input: give a FILE, a directory, or - for standard input")
    configuration = _read_configuration(arguments.config) if arguments.config else default_configuration()
    parse_feature_gates(arguments.feature_gates)  # those that can be switched have no effect on decisions
    registry = in_tree_registry()
    registry.load_entry_points()
    added = [registry.load_plugin(source) for source in arguments.plugin]
    with progress_bar() as report:
        cluster = load_cluster(paths, workloads=arguments.workloads, stdin=_stdin(), progress=report)
    options = SessionOptions(
        TieBreak(arguments.tie_break), arguments.seed, arguments.percentage_of_nodes_to_score, tuple(added)
    )
    session = open_session(cluster.objects, configuration, registry, options)
    # A process that ends with its answer: reference counts free what is not needed, looking for cycles only costs.
    gc.disable()
    return Opened(session, cluster, cluster.errors)


def _stdin() -> BinaryIO | None:
    return sys.stdin.buffer if sys.stdin is not None else None


def _read_configuration(path: str) -> KubeSchedulerConfiguration:
    try:
        return load_configuration(read_file(InputFile(path), _stdin()))
    except NodewiseError as error:
        text = str(error)
        shown = text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}…"
        raise UsageError(f"--config {path}: {shown}") from error


def pod_filter(arguments: argparse.Namespace) -> PodFilter:
    """Return which pods to list, by namespace and labels."""
    namespace = "" if arguments.all_namespaces else arguments.namespace
    selector: Selector | None = parse_label_selector(arguments.selector) if arguments.selector else None

    def wanted(pod_namespace: str, labels: Mapping[str, str]) -> bool:
        return (not namespace or pod_namespace == namespace) and (selector is None or selector.matches(labels))

    return wanted


def source_of(opened: Opened, pod_key: str) -> str:
    """Return where in the input a pod stands."""
    return opened.cluster.sources.get(pod_key, "")
