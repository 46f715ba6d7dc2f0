"""The command line: verbs, flags and exit codes. Everything heavy is imported by the verb that needs it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from nodewise.errors import NodewiseError

EXIT_OK, EXIT_DOES_NOT_FIT, EXIT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130
TIE_BREAKS = ("first", "round-robin", "random", "kube")
OUTPUTS = ("table", "wide", "json", "yaml", "jsonl")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 everything fits, 1 something does not, 2 error."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    try:
        return run_verb(arguments)
    except NodewiseError as error:
        print(f"nodewise: {error}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("nodewise: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK


def run_verb(arguments: argparse.Namespace) -> int:
    """Import the verb's module and run it."""
    if arguments.verb == "simulate":
        from nodewise.cli.simulate import run_simulate

        return run_simulate(arguments)
    from nodewise.cli.explain import run_explain

    return run_explain(arguments)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs."""
    parser = argparse.ArgumentParser(
        prog="nodewise",
        description="A Kubernetes scheduler in Python: what would be placed where, and why.",
        epilog="Exit codes: 0 everything fits, 1 something does not, 2 error.",
    )
    parser.add_argument("--version", action="version", version=f"nodewise {_version()}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    simulate = verbs.add_parser(
        "simulate",
        help="place the pending pods of a cluster file one after another",
        description="Places pending pods in queue order, with preemption, on the cluster that the files describe.",
    )
    _add_input(simulate)
    _add_scheduling(simulate)
    explain = verbs.add_parser(
        "explain",
        help="say what every plugin makes of a pod on every node",
        description="Judges pending pods against the cluster as it is, without placing any.",
    )
    _add_input(explain)
    _add_scheduling(explain)
    explain.add_argument("--all", action="store_true", help="explain every pending pod (default without POD)")
    return parser


def _add_input(parser: argparse.ArgumentParser) -> None:
    what = "YAML or JSON files, directories, or - for standard input"
    if parser.prog.endswith("explain"):
        parser.add_argument("inputs", nargs="*", metavar="FILE|POD", help=f"{what}; then the pod, as NAMESPACE/NAME")
    else:
        parser.add_argument("inputs", nargs="*", metavar="FILE", help=what)
    parser.add_argument("-f", "--filename", action="append", default=[], metavar="FILE", help="the same as FILE")
    parser.add_argument(
        "--workloads",
        choices=("expand", "ignore"),
        default="expand",
        help="make the pods that controllers would make (default), or leave controllers' objects alone",
    )
    parser.add_argument("-n", "--namespace", default="", help="list only pods of this namespace")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="list pods of all namespaces (default)")
    parser.add_argument("-l", "--selector", default="", help="list only pods with these labels, as in kubectl")
    parser.add_argument("-o", "--output", choices=OUTPUTS, default="table", help="default: table")


def _add_scheduling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", default="", metavar="FILE", help="a KubeSchedulerConfiguration (v1)")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="add a plugin; it runs at its extension points after the profile's own, with weight 1",
    )
    parser.add_argument("--seed", type=int, default=0, help="for --tie-break random")
    parser.add_argument("--tie-break", choices=TIE_BREAKS, default="first", help="among equals: default first by name")
    parser.add_argument(
        "--percentage-of-nodes-to-score",
        type=_percentage,
        default=None,
        metavar="N",
        help="0 is kube-scheduler's adaptive rule; default: the configuration's, or all nodes",
    )


def _percentage(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not in 0..100")
    return value


def _version() -> str:
    from nodewise import __version__

    return __version__
