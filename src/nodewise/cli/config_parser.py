"""The flags of `nodewise config`."""

from __future__ import annotations

import argparse
from typing import Any

EXIT_OK, EXIT_DIFFERS, EXIT_ERROR = 0, 1, 2
OUTPUTS = ("table", "yaml", "json")


def add_config(verbs: Any) -> None:
    """Add the verb `config` with its own verbs to a parser's."""
    config = verbs.add_parser(
        "config",
        help="look at, check, compare and translate scheduler configurations",
        allow_abbrev=False,
        description="Says what a KubeSchedulerConfiguration, or an old Policy, comes to.",
    )
    own = config.add_subparsers(dest="config_verb", required=True, metavar="VERB")
    what = "a KubeSchedulerConfiguration, an older one or a Policy, - for standard input, or default"
    view = _parser(own, "view", "show what is in force after defaults and merging, and where each value comes from")
    view.add_argument("file", nargs="?", default="default", metavar="FILE", help=f"{what} (which is the default)")
    _add_output(view)
    validate = _parser(own, "validate", "name every mistake in configurations, one a line; exit code 2 if there is any")
    validate.add_argument("files", nargs="+", metavar="FILE", help=what)
    diff = _parser(own, "diff", "show what differs in force; exit code 0 nothing, 1 something, 2 error")
    diff.add_argument("first", metavar="A", help=what)
    diff.add_argument("second", metavar="B", help="the same")
    _add_output(diff)
    translate = _parser(own, "translate", "turn an old configuration into one of v1; notes go to standard error")
    translate.add_argument("file", nargs="?", default="", metavar="FILE", help="a Policy, or a configuration before v1")
    translate.add_argument(
        "--provider", default="", metavar="NAME", help="DefaultProvider or ClusterAutoscalerProvider"
    )
    translate.add_argument("--predicates", metavar="A,B", help="names of predicates; default: DefaultProvider's")
    translate.add_argument("--priorities", metavar="C=2,D", help="priorities and weights; default: DefaultProvider's")
    translate.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="default: yaml")


def _parser(verbs: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verbs.add_parser(
        name, help=text, allow_abbrev=False, description=f"{text[0].upper()}{text[1:]}."
    )
    parser.add_argument(
        "--feature-gates", action="append", default=[], metavar="A=true,B=false", help="as of kube-scheduler"
    )
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="MODULE:CLASS", help="a plugin that configurations may name"
    )
    return parser


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=OUTPUTS, default="table", help="default: table")
