"""What every verb starts with: files or a running cluster as its input, flags to a scheduler."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from nodewise.api.selectors import Selector
from nodewise.cli.cluster_flags import names_cluster
from nodewise.cli.config_source import named, read_source
from nodewise.cli.label_selector import parse_label_selector
from nodewise.cli.live_input import read_live_cluster
from nodewise.cli.progress import progress_bar
from nodewise.cluster.load import LoadedCluster, load_cluster
from nodewise.cluster.object_set import InputError
from nodewise.config.feature_gates import FeatureGates, parse_feature_gates
from nodewise.config.load import default_configuration
from nodewise.config.model import KubeSchedulerConfiguration
from nodewise.errors import NodewiseError
from nodewise.framework.registry import Registry
from nodewise.plugins import in_tree_registry
from nodewise.runtime.selection import TieBreak
from nodewise.scheduler.assembly import SchedulerOptions
from nodewise.simulation.session import Session, open_session

PodFilter = Callable[[str, Mapping[str, str]], bool]
"""Whether a pod of a namespace with these labels is asked for."""
YAML_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class Opened:
    """A cluster with its scheduler, and what was wrong with the input."""

    session: Session
    cluster: LoadedCluster
    errors: list[InputError]


@dataclass(slots=True)
class Inputs:
    """What a verb works on: a cluster, and all that makes a scheduler."""

    cluster: LoadedCluster
    configuration: KubeSchedulerConfiguration
    registry: Registry
    options: SchedulerOptions


class UsageError(NodewiseError):
    """The command line asks for something that cannot be done."""


def split_inputs(arguments: argparse.Namespace) -> tuple[list[str], str]:
    """Tell input files from the pod that may stand last."""
    paths, pod = list(arguments.filename), ""
    positional = list(arguments.inputs)
    has_others = bool(paths) or len(positional) > 1 or arguments.is_kubectl or names_cluster(arguments)
    if positional and has_others and _looks_like_pod(positional[-1]):
        pod = positional.pop()
    paths.extend(positional)
    return paths, pod.removeprefix("pod/").removeprefix("pods/")


def _looks_like_pod(text: str) -> bool:
    return text != "-" and not text.lower().endswith(YAML_SUFFIXES) and not os.path.exists(text)


def open_cluster(arguments: argparse.Namespace, paths: list[str]) -> Opened:
    """Read the cluster and put a scheduler over it."""
    return open_inputs(read_inputs(arguments, paths))


def open_inputs(inputs: Inputs) -> Opened:
    """Put a scheduler over a cluster."""
    cluster = inputs.cluster
    session = open_session(cluster.objects, inputs.configuration, inputs.registry, inputs.options)
    stop_collecting_garbage()
    return Opened(session, cluster, cluster.errors)


def stop_collecting_garbage() -> None:
    """Let reference counts free what is not needed: in a process that ends with its answer, cycles only cost."""
    gc.disable()


def read_inputs(arguments: argparse.Namespace, paths: list[str]) -> Inputs:
    """Read the cluster, from files or as it runs, the configuration and the plugins."""
    is_live = _is_live(arguments, paths)
    gates = parse_feature_gates(",".join(arguments.feature_gates))
    configuration, notes = _read_configuration(arguments.config, gates)
    registry = in_tree_registry()
    registry.load_entry_points()
    added = [registry.load_plugin(source) for source in arguments.plugin]
    keep_documents = bool(configuration.extenders)
    with progress_bar() as report:
        if is_live:
            cluster = read_live_cluster(
                arguments,
                workloads="expand" if arguments.workloads == "expand" else "ignore",
                gates=gates,
                keep_documents=keep_documents,
                progress=report,
            )
        else:
            cluster = load_cluster(
                paths,
                workloads=arguments.workloads or "expand",
                stdin=_stdin(),
                progress=report,
                gates=gates,
                keep_documents=keep_documents,
            )
    cluster.notes[:0] = notes
    options = SchedulerOptions(
        TieBreak(arguments.tie_break),
        arguments.seed,
        arguments.percentage_of_nodes_to_score,
        tuple(added),
        gates,
        cluster.objects.documents,
    )
    return Inputs(cluster, configuration, registry, options)


def _is_live(arguments: argparse.Namespace, paths: list[str]) -> bool:
    """Tell whether a running cluster is asked for."""
    if paths and names_cluster(arguments):
        raise UsageError(f"give FILE or --context and --kubeconfig, not both: found {paths[0]}")
    if not paths and not names_cluster(arguments) and not arguments.is_kubectl:
        raise UsageError(
            "no input: give a FILE, a directory, or - for standard input; --context or --kubeconfig for a cluster"
        )
    return not paths


def _stdin() -> BinaryIO | None:
    return sys.stdin.buffer if sys.stdin is not None else None


def _read_configuration(path: str, gates: FeatureGates) -> tuple[KubeSchedulerConfiguration, list[str]]:
    """Return a configuration, translated when it is an old one, and what a translation could not say."""
    if not path:
        return default_configuration(gates), []
    try:
        source = read_source(path)
        return source.configuration(gates), [f"--config {path}: {note}" for note in source.notes]
    except NodewiseError as error:
        raise UsageError(f"--config {named(path, error)}") from error


def pod_filter(arguments: argparse.Namespace) -> PodFilter:
    """Return which pods to list, by namespace and labels."""
    namespace = "" if arguments.all_namespaces else arguments.namespace
    selector: Selector | None = parse_label_selector(arguments.selector) if arguments.selector else None

    def wanted(pod_namespace: str, labels: Mapping[str, str]) -> bool:
        return (not namespace or pod_namespace == namespace) and (selector is None or selector.matches(labels))

    return wanted
