"""The command line: verbs, flags and exit codes. Everything heavy is imported by the verb that needs it."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from nodewise.cli.cluster_flags import add_cluster_flags, add_dump
from nodewise.cli.config_parser import add_config
from nodewise.errors import NodewiseError

EXIT_OK, EXIT_DOES_NOT_FIT, EXIT_ERROR, EXIT_INTERRUPTED = 0, 1, 2, 130
TIE_BREAKS = ("first", "round-robin", "random", "kube")
OUTPUTS = ("table", "wide", "json", "yaml", "jsonl")
_LIVE = (
    "Without FILE, --context or --kubeconfig names a running cluster, which is read and never written to; called as "
    "kubectl nodewise, the current context is read without either."
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 everything fits, 1 something does not, 2 error."""
    if sys.stderr is None:  # closed by the caller; print would go to standard output then
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open to the end
    if sys.stdout is None:
        return _fail("standard output is closed")
    arguments = build_parser().parse_args(argv)
    try:
        exit_code = run_verb(arguments)
        sys.stdout.flush()
    except NodewiseError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        _fail("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Nobody reads on, as with `| head`; what is still buffered must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail(f"cannot write the result: {error.strerror or error}")
    except MemoryError:
        return _fail("out of memory")
    return exit_code


def _fail(text: str) -> int:
    """Say in one line what is wrong."""
    from nodewise.cli.console import printable

    with contextlib.suppress(OSError):
        print(f"nodewise: {printable(text)}", file=sys.stderr)
    return EXIT_ERROR


def run_verb(arguments: argparse.Namespace) -> int:
    """Import the verb's module and run it."""
    collects_garbage = gc.isenabled()
    try:
        if arguments.verb == "simulate" and arguments.trace:
            from nodewise.cli.replay import run_replay

            return run_replay(arguments)
        if arguments.verb == "simulate" and arguments.until:
            from nodewise.cli.settle import run_settle

            return run_settle(arguments)
        if arguments.verb == "simulate":
            from nodewise.cli.simulate import run_simulate

            return run_simulate(arguments)
        if arguments.verb == "dump":
            from nodewise.cli.dump import run_dump

            return run_dump(arguments)
        if arguments.verb == "run":
            from nodewise.cli.run import run_live

            return run_live(arguments)
        if arguments.verb == "config":
            from nodewise.cli.config_command import run_config

            return run_config(arguments)
        from nodewise.cli.explain import run_explain

        return run_explain(arguments)
    finally:
        if collects_garbage:
            gc.enable()


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line.

    Attributes
    ----------
    fill : Callable[[argparse.ArgumentParser], None] | None
        Adds what is only added once this is the parser that is needed.
    """

    fill: Callable[[argparse.ArgumentParser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.fill is not None:
            fill, self.fill = self.fill, None
            fill(self)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_ERROR, f"nodewise: {message}; see {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs."""
    is_kubectl_plugin = os.path.basename(sys.argv[0]).startswith("kubectl-")
    parser = _Parser(
        prog="kubectl nodewise" if is_kubectl_plugin else "nodewise",
        allow_abbrev=False,
        description="A Kubernetes scheduler in Python: what would be placed where, and why.",
        epilog="Exit codes: 0 everything fits, 1 something does not, 2 error.",
    )
    parser.add_argument("--version", action="version", version=f"nodewise {_version()}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    simulate = verbs.add_parser(
        "simulate",
        help="place the pending pods of a cluster file one after another",
        allow_abbrev=False,
        description="Places pending pods in queue order, with preemption, on the cluster that the files describe. "
        f"{_LIVE}",
    )
    _add_input(simulate)
    _add_scheduling(simulate)
    _add_time(simulate)
    explain = verbs.add_parser(
        "explain",
        help="say what every plugin makes of a pod on every node",
        allow_abbrev=False,
        description="Judges pending pods against the cluster as it is, without placing any. A pod that has a node is "
        f"judged as if it were pending and not there. {_LIVE}",
    )
    _add_input(explain)
    _add_scheduling(explain)
    explain.add_argument("--all", action="store_true", help="explain every pending pod (default without POD)")
    add_dump(verbs)
    add_config(verbs)
    _add_run(verbs)
    parser.set_defaults(is_kubectl=is_kubectl_plugin)
    return parser


def _add_run(verbs: Any) -> None:
    run: _Parser = verbs.add_parser(
        "run",
        help="schedule a real cluster, beside kube-scheduler or in its place",
        allow_abbrev=False,
        description="Schedules a real cluster until it is told to stop. The flags are kube-scheduler's, and some more.",
        epilog="Exit codes: 0 told to stop, 1 the lease was lost, 2 error.",
    )
    run.fill = _add_run_flags


def _add_run_flags(parser: argparse.ArgumentParser) -> None:
    from nodewise.server.flags import add_run_flags

    add_run_flags(parser)


def _add_input(parser: argparse.ArgumentParser) -> None:
    what = "YAML or JSON files, directories, or - for standard input"
    if parser.prog.endswith("explain"):
        parser.add_argument("inputs", nargs="*", metavar="FILE|POD", help=f"{what}; then the pod, as NAMESPACE/NAME")
    else:
        parser.add_argument("inputs", nargs="*", metavar="FILE", help=what)
    parser.add_argument("-f", "--filename", action="append", default=[], metavar="FILE", help="the same as FILE")
    add_cluster_flags(parser)
    parser.add_argument(
        "--workloads",
        choices=("expand", "ignore"),
        default="",
        help="make the pods that controllers would make (default for files), or leave controllers' objects alone "
        "(default for a cluster)",
    )
    parser.add_argument("-n", "--namespace", default="", help="list only pods of this namespace")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="list pods of all namespaces (default)")
    parser.add_argument("-l", "--selector", default="", help="list only pods with these labels, as in kubectl")
    parser.add_argument("-o", "--output", choices=OUTPUTS, default="table", help="default: table")


def _add_scheduling(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", default="", metavar="FILE", help="a KubeSchedulerConfiguration, or a Policy")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="add a plugin; it runs at its extension points after the profile's own, with weight 1",
    )
    parser.add_argument(
        "--feature-gates",
        action="append",
        default=[],
        metavar="A=true,B=false",
        help="as of kube-scheduler; a gate that would change something not built yet is refused",
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


def _add_time(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--until",
        default="",
        metavar="settled|DURATION",
        help="let time pass: backoff, grace periods and events, until nothing more happens or for so long",
    )
    parser.add_argument(
        "--trace",
        default="",
        metavar="FILE",
        help="play arrivals, durations and node failures from a file (YAML, JSON or CSV), and report on them",
    )
    parser.add_argument("--chart", default="", metavar="FILE", help="with --trace: draw the report as SVG or PNG")


def _percentage(text: str) -> int:
    if not (text.isdecimal() and len(text) <= 3 and int(text) <= 100):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number in 0..100")
    return int(text)


def _version() -> str:
    from nodewise import __version__

    return __version__
