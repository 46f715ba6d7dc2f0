"""The flags that name a running cluster, and those of the verb that writes one down."""

from __future__ import annotations

import argparse
from typing import Any


def add_cluster_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name a cluster, as kubectl has them."""
    parser.add_argument("--kubeconfig", default="", metavar="FILE", help="how to reach a cluster, as for kubectl")
    parser.add_argument("--context", default="", metavar="NAME", help="the context of the kubeconfig to use")


def names_cluster(arguments: argparse.Namespace) -> bool:
    """Tell whether flags ask for a running cluster."""
    return bool(arguments.context or arguments.kubeconfig)


def add_dump(verbs: argparse._SubParsersAction[Any]) -> None:
    """Add the verb `dump`."""
    dump = verbs.add_parser(
        "dump",
        help="write a running cluster down as a file for simulate and explain",
        allow_abbrev=False,
        description="Writes all objects of a cluster that scheduling depends on, as one List. Nothing in the cluster "
        "is changed. It is found as kubectl finds it: --kubeconfig, $KUBECONFIG, ~/.kube/config, or the service "
        "account of this pod.",
    )
    dump.add_argument("inputs", nargs="*", metavar="FILE", help="with --anonymize: files to read instead of a cluster")
    dump.add_argument("-f", "--filename", action="append", default=[], metavar="FILE", help="the same as FILE")
    add_cluster_flags(dump)
    dump.add_argument(
        "--anonymize",
        action="store_true",
        help="replace every name and every other word that could tell whose cluster it is; decisions stay the same",
    )
    dump.add_argument("-o", "--output", choices=("json", "yaml"), default="json", help="default: json")
